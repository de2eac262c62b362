"""Settings that stay in a folder: every way of reading its files knows them."""

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.options import folder_reader
from deepphase.corpus.clips import clips_in
from deepphase.corpus.motion_files import (
    SETTINGS_FILE,
    FolderSettings,
    find_motion_files,
    read_settings,
    save_settings,
    settings_in,
)
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.formats.points import load_points, save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture
def captures(tmp_path):
    folder = tmp_path / "captures"
    (folder / "deeper").mkdir(parents=True)
    for seed, name in enumerate(("aa_x1", "aa_y1", "bb_x1", "bb_y1")):
        save(locomotion(seed, 1.0).clip, folder / "deeper" / f"{name}.bvh")
    return folder


def test_settings_are_kept_and_removed(tmp_path):
    settings = FolderSettings("z", "cm", {"field1": "style"}, 0.12, {"aa.bvh": 60.0})
    save_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    save_settings(tmp_path, FolderSettings())
    assert not (tmp_path / SETTINGS_FILE).exists()
    assert read_settings(tmp_path) == FolderSettings()


def test_all_ways_of_reading_know_the_settings(captures, tmp_path, capsys):
    save_settings(captures, FolderSettings("z", "cm", {"field1": "style"}))
    prepare(captures, tmp_path / "all.store")
    store = open_store(tmp_path / "all.store")
    assert {source.up for source in store.sources} == {"z"}
    assert {source.unit_m for source in store.sources} == {0.01}
    assert sorted({labels["style"] for labels in store.labels}) == ["aa", "bb"]
    clip = clips_in([captures])[0].load()
    assert (clip.source.up, clip.source.unit_m) == ("z", 0.01)
    capsys.readouterr()
    assert main(["inspect", str(captures)]) == 0
    said = capsys.readouterr().out
    assert f"{captures / SETTINGS_FILE}: up z, unit cm" in said
    assert "up: z" in said
    assert "style: " in said
    assert "{style}" in said


def test_a_floor_becomes_zero_in_all_ways_of_reading(captures, tmp_path):
    file, captures = captures / "deeper" / "aa_x1.bvh", captures / "deeper"
    (before,) = (entry.load() for entry in clips_in([file]))
    track = PointTrack(("a", "b"), np.ones((8, 2, 3)), 30.0)
    save_points(track, captures / "points.npz")
    save_settings(captures, FolderSettings("y", "m", floor=0.25))
    (after,) = (entry.load() for entry in clips_in([file]))
    moved = joint_positions(after) - joint_positions(before)
    np.testing.assert_allclose(moved, np.broadcast_to([0, -0.25, 0], moved.shape), atol=1e-6)
    prepare([file], tmp_path / "one.store")
    stored = joint_positions(open_store(tmp_path / "one.store").clip(0))
    assert stored[..., 1].min() == pytest.approx(joint_positions(after)[..., 1].min(), abs=1e-3)
    given = settings_in(captures).reader()
    points = load_points(captures / "points.npz", **given).positions
    np.testing.assert_allclose(points, np.broadcast_to([1, 0.75, 1], points.shape))


def test_options_of_a_command_come_first(captures):
    save_settings(captures, FolderSettings("z", "cm"))
    entries = clips_in([captures], up="y", unit="m")
    assert {entry.load().source.up for entry in entries} == {"y"}


def test_settings_come_from_where_the_user_pointed(captures):
    file = captures / "deeper" / "aa_x1.bvh"
    save_settings(captures, FolderSettings("z"))
    # Of a file that is given alone, only those of its own folder.
    assert folder_reader(file) == find_motion_files(file)[0].settings.reader() == {}
    assert find_motion_files(captures / "deeper")[0].settings == FolderSettings()
    assert find_motion_files(captures)[0].settings.up == "z"
    assert find_motion_files(file, captures)[0].settings.up == "z"
    save_settings(captures / "deeper", FolderSettings("x"))
    assert settings_in(captures / "deeper", captures).up == folder_reader(file)["up"] == "x"
    assert settings_in(captures).up == "z"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("up: w", "up axis of 'w'"),
        ("unit: parsec", "unit of 'parsec'"),
        ("unit: yes", "unit of True"),
        ("unit: 1e7", "unit of '1e7'"),
        ("up: y\nup: z", "written twice"),
        ("a: &a {up: z}\n<<: *a", "merge keys"),
        (f"unit: 0x{'f' * 5000}", "number is too large"),
        ("a: &a [*a]", "aliases"),
        (f"a: &a [x]\nb: &b [{'*a, ' * 999}]\nunit: [{'*b, ' * 999}]", "aliases"),
        ("floor: low", "floor at 'low'"),
        ("floor: yes", "floor at True"),
        ("rates: [a.bvh]", "rates must be a mapping"),
        ("rates: {a.bvh: 0}", "rate of 0"),
        ("rates: {a.bvh: yes}", "rate of True"),
        ("axis: y", "unknown key 'axis'"),
        ("- y", "must be a mapping"),
        ("labels: [a]", "labels must be a mapping"),
        ("labels: {field1: 'a b{'}", "cannot have the name"),
        ("labels: {field1: style, field2: style}", "several labels"),
        ("up: [", "not valid YAML"),
    ],
)
def test_wrong_settings_name_the_file(tmp_path, content, said):
    (tmp_path / SETTINGS_FILE).write_text(content)
    with pytest.raises(ParameterError, match=said) as caught:
        read_settings(tmp_path)
    assert caught.value.path == tmp_path / SETTINGS_FILE
