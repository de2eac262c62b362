"""What resampling may produce is limited, and a shortage of memory costs one file, not the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deepphase.corpus.clips
import deepphase.corpus.inspection
import deepphase.corpus.prepare_file
import deepphase.formats.bvh.reader
from deepphase.apps.dashboard.parts.session import MAX_FRAMES, Session
from deepphase.apps.dashboard.parts.uploads import read_upload
from deepphase.corpus.clips import clips_in
from deepphase.corpus.inspection import inspect_files
from deepphase.corpus.prepare import prepare
from deepphase.errors import DeepPhaseError, OutOfMemoryError, ParameterError
from deepphase.memory import within_memory
from deepphase.motion.resample import ResampleLimit, at_frames, resample
from tests.corpus.made_clips import made_clip, write_bvh
from tests.formats.bvh_text import two_joints

ROOT = Path(__file__).parents[2]


def out_of_memory(*_, **__):
    raise MemoryError


def only_for(name: str, function):
    """The function, out of memory for the file or clip of a name."""

    def limited(first, *rest, **options):
        if name in str(getattr(first, "name", first)):
            raise MemoryError
        return function(first, *rest, **options)

    return limited


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


def test_a_clip_that_does_not_grow_has_no_limit():
    clip = made_clip(frames=100, fps=120.0)
    assert len(resample(clip, 60.0, ResampleLimit(frames=1, size_bytes=1))) == 50


def test_blocks_of_a_spline_give_the_values_of_one(monkeypatch):
    clip = made_clip(frames=50, fps=30.0)
    whole = resample(clip, 100.0)
    monkeypatch.setattr("deepphase.motion.resample._VALUES_AT_ONCE", 70)
    assert np.array_equal(resample(clip, 100.0).rotations, whole.rotations)
    assert np.array_equal(resample(clip, 100.0).translations, whole.translations)
    assert np.array_equal(
        at_frames(clip, np.arange(0, 49, 0.3)).rotations.shape, (164, *clip.rotations.shape[1:])
    )


def test_animations_of_a_file_share_the_limit():
    clip = made_clip(frames=100)
    left = ResampleLimit(frames=150).without(clip)
    assert left.frames == 50
    assert left.without(clip).frames == 0


def test_an_upload_is_limited_before_it_is_resampled(monkeypatch):
    text = two_joints(np.zeros((MAX_FRAMES // 60 + 100, 9), np.int64), frame_time="1.0")
    own = Session()
    monkeypatch.setattr("deepphase.motion.resample._splined", out_of_memory)
    taken = read_upload(own, "slow.bvh", text.encode())
    assert taken.error is not None
    assert "more than 400,000 frames" in taken.error.fact


@pytest.mark.parametrize(
    "stage",
    [
        "deepphase.formats.bvh.reader.read_content",
        "deepphase.formats.bvh.reader.parse_frames",
        "deepphase.formats.bvh.reader.local_rotations",
        "deepphase.formats.bvh.reader.in_metres_y_up",
        "deepphase.corpus.prepare_file.find_glitches",
        "deepphase.corpus.prepare_file.resample",
        "deepphase.corpus.prepare_file._in_float32",
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
        _, facts = inspect_files(folder, workers=1)
        assert all("memory" in each.error.fact for (each,) in facts)
        for entry in clips_in([folder]):
            with pytest.raises(OutOfMemoryError, match="the memory does not suffice"):
                entry.load()


def test_only_the_file_of_the_shortage_is_lost(folder, tmp_path, monkeypatch):
    read = deepphase.formats.bvh.reader.read_content
    monkeypatch.setattr("deepphase.formats.bvh.reader.read_content", only_for("large", read))
    done = prepare(folder, tmp_path / "walk.store", workers=1)
    assert [each.file for each in done.left_out] == ["large.bvh"]
    assert done.clips == 1
    _, facts = inspect_files(folder, workers=1)
    assert [each.error is None for (each,) in facts] == [True, False]


def test_a_shortage_among_points(tmp_path, monkeypatch):
    positions = np.random.default_rng(0).random((9, 5, 3))
    np.savez(tmp_path / "points.npz", positions=positions, fps=30.0)
    with monkeypatch.context() as patch:
        # Files from which no hierarchy was found are read one by one.
        patch.setattr(deepphase.corpus.clips, "find_structure", out_of_memory)
        assert prepare(tmp_path / "points.npz", tmp_path / "walk.store", workers=1).clips == 1
        patch.setattr(deepphase.corpus.clips, "load_points", out_of_memory)
        with pytest.raises(DeepPhaseError, match="memory"):
            prepare(tmp_path / "points.npz", tmp_path / "walk.store", workers=1)
    with monkeypatch.context() as patch:
        patch.setattr("deepphase.formats.points.read_npz", out_of_memory)
        with pytest.raises(OutOfMemoryError):
            clips_in([tmp_path / "points.npz"])[0].load()


def test_shortages_of_pytorch_are_the_same_and_other_errors_are_not():
    def fails(words):
        raise RuntimeError(words)

    with pytest.raises(OutOfMemoryError) as caught:
        within_memory(fails, "DefaultCPUAllocator: can't allocate memory", about="walk.bvh")
    assert caught.value.path == Path("walk.bvh")
    # Otherwise its traceback would keep the arrays alive.
    assert caught.value.__context__ is None
    with pytest.raises(RuntimeError, match="another"):
        within_memory(fails, "another")


LIMITED = """
import resource, sys
from deepphase.corpus.prepare import prepare
import deepphase.formats.load, deepphase.motion.resample, deepphase.motion.glitches
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
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert ran.stdout == "['large.bvh'] 1 the memory does not suffice for this file\n", ran.stderr
