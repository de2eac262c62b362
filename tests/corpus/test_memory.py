"""What resampling may produce is limited, and a shortage of memory costs one file, not the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.dashboard.parts.session import Session, read_upload
from deepphase.corpus.clips import clips_in
from deepphase.corpus.inspection import inspect_files
from deepphase.corpus.prepare import prepare
from deepphase.errors import DeepPhaseError, OutOfMemoryError, ParameterError
from deepphase.motion.resample import ResampleLimit, at_frames, resample
from tests.corpus.made_clips import made_clip, write_bvh
from tests.formats.bvh_text import two_joints

ROOT = Path(__file__).parents[2]


def out_of_memory(*_, **__):
    raise MemoryError


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "captures"
    for name, seed in (("good", 0), ("large", 1)):
        write_bvh(folder / f"{name}.bvh", made_clip(seed, 40, 30.0))
    return folder


def test_resampling_has_a_limit_that_is_checked_first(monkeypatch):
    clip = made_clip(frames=100, fps=30.0)
    assert len(resample(clip, 60.0, ResampleLimit(frames=199))) == 199
    size = resample(clip, 60.0).rotations.nbytes + resample(clip, 60.0).translations.nbytes
    assert len(resample(clip, 60.0, ResampleLimit(size_bytes=size))) == 199
    monkeypatch.setattr("deepphase.motion.resample._splined", out_of_memory)
    for limit in (ResampleLimit(frames=198), ResampleLimit(size_bytes=size - 1)):
        with pytest.raises(
            ParameterError, match="100 frames at 30 a second would be 199"
        ) as caught:
            resample(clip, 60.0, limit)
        assert "--file-fps" in caught.value.hint
    with pytest.raises(ParameterError, match="would be"):
        resample(made_clip(frames=200_000, fps=1.0), 60.0)


def test_blocks_of_a_spline_give_the_values_of_one(monkeypatch):
    clip = made_clip(frames=50, fps=30.0)
    whole = resample(clip, 100.0)
    monkeypatch.setattr("deepphase.motion.resample._VALUES_AT_ONCE", 70)
    assert np.array_equal(resample(clip, 100.0).rotations, whole.rotations)
    assert np.array_equal(resample(clip, 100.0).translations, whole.translations)
    assert np.array_equal(
        at_frames(clip, np.arange(0, 49, 0.3)).rotations.shape, (164, *clip.rotations.shape[1:])
    )


@pytest.mark.parametrize(
    "stage",
    [
        "deepphase.formats.bvh.reader.read_content",
        "deepphase.corpus.prepare_file.find_glitches",
    ],
)
def test_a_shortage_at_any_stage_is_a_refusal(folder, tmp_path, monkeypatch, stage):
    monkeypatch.setattr(stage, out_of_memory)
    with pytest.raises(DeepPhaseError, match="none of 2 files") as caught:
        prepare(folder, tmp_path / "walk.store", workers=1)
    assert "good.bvh: the memory does not suffice" in caught.value.hint
    taken = read_upload(Session(), "good.bvh", (folder / "good.bvh").read_bytes())
    assert "the memory does not suffice" in taken.error.fact
    if "reader" in stage:
        found = inspect_files(folder, workers=1)
        assert all("memory" in each.error.fact for each in found)
        for entry in clips_in([folder]):
            with pytest.raises(OutOfMemoryError, match="the memory does not suffice"):
                entry.load()


LIMITED = """
import resource, sys
from deepphase.corpus.prepare import prepare
import deepphase.formats.load, deepphase.motion.resample, scipy.interpolate
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 40_000_000,) * 2)
done = prepare(sys.argv[1], sys.argv[2], workers=1)
print([each.file for each in done.left_out], done.clips, done.left_out[0].reason)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space")
def test_a_real_shortage_costs_one_file(folder, tmp_path):
    rows = np.zeros((12_000, 9), np.int64)
    (folder / "large.bvh").write_text(two_joints(rows, frame_time="0.5"))
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, folder, tmp_path / "walk.store"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ran.stdout == "['large.bvh'] 1 the memory does not suffice for this file\n", ran.stderr


def test_what_files_have_in_common_is_kept_once(folder):
    first, second = inspect_files(folder, workers=1)
    for name in ("skeleton", "source", "roles", "notes"):
        assert getattr(first, name) is getattr(second, name)
