"""Dancers in an engine: the program beside docs/engines.md against deepphase."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.engine_dance import dance_metadata, save_dance_music
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.engine_description import engine_metadata
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.onnx_export import export_controller
from deepphase.music.conditioning import sample_at
from tests.controllers.made_dances import made_song_features

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
EXAMPLES = TESTS.parent / "docs" / "examples"


@pytest.fixture(scope="module")
def dancer() -> Dancer:
    return Dancer.load(TESTS / "compatibility" / "files" / "small.dancer")


def test_the_music_of_a_song_is_what_the_network_reads(dancer, tmp_path):
    song = made_song_features()
    music = save_dance_music(dancer, song, tmp_path / "song.npz")
    with np.load(tmp_path / "song.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["music"], dancer.music.rows(song))
        np.testing.assert_allclose(file["beats_s"], song.beats_s)
        assert json.loads(str(file["meta"]))["values"] == list(dancer.music.values)
        assert str(file["style"]) == ""
    assert music.shape[1] == dancer.music.dims


def test_a_dance_by_the_document_is_ours(dancer, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    program = importlib.import_module("engine_dance")
    controller, song = dancer.controller, made_song_features()
    metadata = engine_metadata(controller) | dance_metadata(dancer)
    path = tmp_path / "small.onnx"
    export_controller(controller.network, controller.schema, path, metadata=metadata)
    music = save_dance_music(dancer, song, tmp_path / "song.npz")
    theirs = program.Dancer(str(path), tmp_path / "song.npz", start=3, start_s=1.0)
    settings = CharacterSettings(foot_ik=False)
    ours = Characters(controller, controller.starts.select([3]), settings=settings)
    offsets = np.array(controller.schema.config.offsets_s)
    for index in range(120):
        samples = sample_at(music, 1.0 + (index - 1) / 60 + offsets)
        frame = ours.step(None, {"music": samples[None]})
        _, positions = theirs.dance()
        assert abs(theirs.places[-1] - complex(*frame.positions[0])) < 1e-3
        assert theirs.angles[-1] == pytest.approx(frame.angles[0], abs=1e-3)
    assert positions[0, 1] == pytest.approx(frame.translations[0, 0, 1], abs=1e-3)
