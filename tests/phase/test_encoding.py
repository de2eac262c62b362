"""Encoding of many clips: the same files for any number of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepphase.corpus.clips import clips_in
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import write_store
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase import extractor
from deepphase.phase.baselines.pca_phase import PcaPhase
from deepphase.phase.extractor import encode_files
from tests.corpus.made_clips import made_clip, write_bvh


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Seven clips of two sessions, some of one name, and a store of them with its phases."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(7):
        write_bvh(
            folder / "captures" / f"session {number % 2}" / f"walk_{number // 2}.bvh",
            made_clip(number, 150),
        )
    clips = [each.load() for each in clips_in([folder / "captures"])]
    write_store(folder / "store", clips)
    return folder


@pytest.fixture(scope="module")
def model(corpus) -> Path:
    PcaPhase.fit(open_store(corpus / "store")).save(corpus / "model")
    return corpus / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_same_files_for_any_number_of_processes(corpus, model, tmp_path):
    entries = clips_in([corpus / "captures", corpus / "store"])
    for workers in (1, 2):
        done = encode_files(model, entries, tmp_path / str(workers), workers=workers)
        assert [each.frames for each in done] == [150] * 14
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert len(contents(tmp_path / "1")) == 14


def test_a_clip_that_kills_its_process_is_left_out(corpus, model, tmp_path, monkeypatch):
    def third_lost(function, tasks, workers, *, lost):
        for number, task in enumerate(tasks):
            yield lost(task, ParameterError("lost")) if number == 2 else function(task)

    monkeypatch.setattr(extractor, "map_in_order", third_lost)
    entries = clips_in([corpus / "captures"])
    done = encode_files(model, entries, tmp_path / "p")
    assert [each.error is None for each in done] == [True, True, False, True, True, True, True]
    assert str(done[2].error) == f"{entries[2].name}: lost"
    assert len(contents(tmp_path / "p")) == 6


def test_what_cannot_be_written_is_an_error(corpus, model, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot be written"):
        encode_files(model, clips_in([corpus / "store"]), tmp_path / "file")
