"""Phases as arrays, as tables of pandas and back, and of files without a model of one's own."""

import numpy as np
import pandas
import pytest

import deepphase as dp
from deepphase.errors import FormatError, ParameterError
from deepphase.phase.parameters import save_csv


@pytest.fixture(scope="module")
def walk():
    return dp.synthetic.locomotion(3, 4.0, gait="walk").clip


@pytest.fixture(scope="module")
def phases(walk):
    return dp.phases(walk)


def same(one, other, atol=2e-6):
    for name, values in one.to_numpy().items():
        np.testing.assert_allclose(other.to_numpy()[name], values, rtol=1e-5, atol=atol)


def test_arrays_have_the_names_of_phases_files(phases):
    arrays = phases.to_numpy()
    frames, channels = phases.parameters.phase.shape
    assert arrays["manifold"].shape == (frames, 2 * channels)
    assert arrays["time"][-1] == pytest.approx((frames - 1) / phases.fps)
    again = dp.ClipPhases.from_numpy(arrays, phases.fps, name=phases.name)
    same(phases, again)
    only = {name: arrays[name] for name in ("phase", "frequency", "amplitude", "offset")}
    assert dp.ClipPhases.from_numpy(only, 60.0).interior.all()
    with pytest.raises(ParameterError, match="lack the array 'offset'"):
        dp.ClipPhases.from_numpy({name: only[name] for name in list(only)[:3]}, 60.0)


def test_tables_go_to_pandas_and_back(phases, tmp_path):
    table = phases.to_pandas()
    assert len(table) == len(phases)
    assert table.index.name == "time"
    assert table["interior"].dtype == bool
    again = dp.ClipPhases.from_pandas(table)
    same(phases, again)
    assert (again.fps, again.name) == (phases.fps, phases.name)
    save_csv(phases, tmp_path / "walk.csv")
    read = dp.ClipPhases.from_pandas(pandas.read_csv(tmp_path / "walk.csv"))
    same(phases, read, atol=5e-5)  # six digits
    assert read.fps == phases.fps
    with pytest.raises(ParameterError, match="not those of one frame rate"):
        dp.ClipPhases.from_pandas(pandas.read_csv(tmp_path / "walk.csv").drop(index=3))


def test_phases_of_clips_files_and_folders(walk, phases, tmp_path):
    for number in range(2):
        dp.save(walk, tmp_path / "clips" / f"walk_{number}.npz")
    one = dp.phases(str(tmp_path / "clips" / "walk_0.npz"))
    same(phases, one, 1e-4)
    assert [each.name for each in dp.phases(tmp_path / "clips")] == ["walk_0", "walk_1"]
    (tmp_path / "clips" / "broken.bvh").write_text("HIERARCHY\n")
    with pytest.warns(UserWarning, match="left out: .*broken"):
        assert len(dp.phases(tmp_path / "clips")) == 2
    (tmp_path / "clips" / "broken.bvh").rename(tmp_path / "broken.bvh")
    with pytest.raises(FormatError, match="broken"):
        dp.phases(tmp_path / "broken.bvh")
    listed = dp.phases(sorted((tmp_path / "clips").iterdir()), dp.shipped_model())
    same(phases, listed[1], 1e-4)
    store = dp.corpus_of(tmp_path / "clips")
    dp.phase.fit_phases(store).save(tmp_path / "contact.model")
    assert dp.phases(walk, tmp_path / "contact.model").parameters.channels == 2
