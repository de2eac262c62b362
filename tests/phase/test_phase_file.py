"""Phases files: round trip, table, refusals."""

import json

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.phase.parameters import (
    ClipPhases,
    PhaseParameters,
    load_phases,
    save_csv,
    save_phases,
)


@pytest.fixture
def phases():
    rng = np.random.default_rng(0)
    phase, frequency, amplitude, offset = rng.uniform(0, 0.49, (4, 40, 3)).astype(np.float32)
    inside = np.arange(40) > 5
    parameters = PhaseParameters(phase, frequency, amplitude, offset)
    return ClipPhases(parameters, inside, 60.0, "wälk: 1", "a/b.bvh")


def test_round_trip(phases, tmp_path):
    path = tmp_path / "walk.phases.npz"
    save_phases(phases, path, window_s=2.0, model_sha256="abc")
    again, meta = load_phases(path)
    for name in ("phase", "frequency", "amplitude", "offset"):
        np.testing.assert_array_equal(
            getattr(again.parameters, name), getattr(phases.parameters, name)
        )
    np.testing.assert_array_equal(again.interior, phases.interior)
    assert (again.name, again.source, again.fps) == ("wälk: 1", "a/b.bvh", 60.0)
    assert meta["format"] == "deepphase.phases"
    assert (meta["version"], meta["channels"], meta["window_s"]) == (1, 3, 2.0)
    with np.load(path) as content:
        assert content["manifold"].shape == (40, 6)
        assert content["time"].dtype == np.float64
        np.testing.assert_allclose(content["time"][:2], [0.0, 1 / 60])


def test_csv_has_a_row_a_frame(phases, tmp_path):
    path = tmp_path / "walk.phases.csv"
    save_csv(phases, path)
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert len(table) == 40
    np.testing.assert_allclose(table["phase_2"], phases.parameters.phase[:, 2], rtol=1e-5)
    np.testing.assert_allclose(
        table["manifold_1_cos"], phases.parameters.manifold()[:, 3], rtol=1e-4, atol=1e-6
    )
    assert table["interior"][[0, 39]].tolist() == [0, 1]


def _with(path, **changes):
    with np.load(path) as content:
        arrays = dict(content)
    meta = json.loads(str(arrays["meta"]))
    change = changes.pop("meta", {})
    meta = {**meta, **change} if isinstance(change, dict) else change
    arrays |= changes | {"meta": np.array(json.dumps(meta))}
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"meta": {"format": "other"}}, "other file"),
        ({"meta": {"version": 9}}, "reads up to 1"),
        ({"meta": {"version": "one"}}, "version one"),
        ({"meta": {"fps": float("nan")}}, "NaN is not a number"),
        ({"meta": {"fps": 0}}, "fps is 0, expected a number"),
        ({"meta": {"fps": 1e308}}, "fps is 1e[+]308, expected a number"),
        ({"meta": {"fps": True}}, "fps is True, expected a number"),
        ({"meta": {"fps": "60"}}, "fps is '60', expected a number"),
        ({"meta": {"fps": 30.0}}, "its times are not those of 30 frames a second"),
        ({"meta": {"clip": 3}}, "clip is 3, expected a text"),
        ({"meta": None}, "'meta' is not a JSON object"),
        ({"meta": [1]}, "'meta' is not a JSON object"),
        ({"manifold": np.zeros((40, 5))}, "manifold"),
        ({"manifold": np.zeros((40, 6))}, "its manifold is not that of its phases"),
        ({"time": np.zeros(40)}, "its times are not those"),
        ({"phase": np.full((40, 3), np.nan)}, "every number is finite"),
        ({"phase": np.full((40, 3), 0.7)}, "phases are outside"),
        ({"phase": np.zeros((40, 3), complex)}, "not numbers"),
        ({"phase": np.full((40, 3), "a")}, "not numbers"),
        ({"phase": np.zeros(40)}, "expected"),
        ({"amplitude": np.zeros((40, 2))}, "expected"),
        ({"interior": np.zeros(40)}, "not booleans"),
        ({"interior": np.ones(39, bool)}, r"expected \(40\)"),
    ],
)
def test_wrong_content_is_refused(phases, tmp_path, change, words):
    path = tmp_path / "x.phases.npz"
    save_phases(phases, path, window_s=2.0, model_sha256="")
    _with(path, **change)
    with pytest.raises(FormatError, match=words):
        load_phases(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(FormatError, match=r"not an \.npz file"):
        load_phases(path)
    np.savez(path, a=np.zeros(2))
    with pytest.raises(FormatError, match="no array 'meta'"):
        load_phases(path)
