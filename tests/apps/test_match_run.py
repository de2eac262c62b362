"""`deepphase match run`, from a database file to motion, pages and measures."""

import csv
import json

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.demo import CONTROLLER
from deepphase.corpus.store import open_store
from deepphase.formats.load import load, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.clip import joint_positions
from deepphase.steering.path import read_path
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.ground_file import save_ground
from deepphase.terrain.heightmap import Heightmap
from tests.matching.made_matchers import small_matcher, styled_database

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    (folder / "clips").mkdir()
    for rate in (-0.8, 0.0, 0.8):
        clip = locomotion(3, 5.0, speed=1.3, turn_rate=rate, variety=0.0).clip
        save(clip, folder / "clips" / f"walk{rate:g}.bvh")
    assert main(["prepare", str(folder / "clips"), "-o", str(folder / "walks.store")]) == 0
    built = MotionDatabase.build(open_store(folder / "walks.store"), "pose_trajectory")
    return built.save(folder / "walks.db")


def test_made_paths_give_motion_pages_and_measures(database, tmp_path, capsys):
    words = ["match", "run", str(database), "-o", str(tmp_path), "--seconds", "3"]
    assert main([*words, "--path", "circle,wave"]) == 0
    said = capsys.readouterr().out
    assert "100% of the frames of the database are played" in said
    assert "locomotion 100%" in said
    for name in ("circle", "wave"):
        bvh, glb = load(tmp_path / f"{name}.bvh"), load(tmp_path / f"{name}.glb")
        assert len(bvh) == len(glb) == 180
        np.testing.assert_allclose(joint_positions(bvh), joint_positions(glb), atol=1e-3)
        with (tmp_path / f"{name}.frames.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 180
        assert {row["kind"] for row in rows} == {"locomotion"}
        assert {row["jumped"] for row in rows} <= {"0", "1"}
        assert float(rows[-1]["t"]) == pytest.approx(179 / 60, abs=1e-3)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["format"] == "deepphase.report"
    values = {(each["by"].get("goal"), each["name"]): each["value"] for each in report["measures"]}
    assert values["circle", "path_error"] < 0.2
    assert "<iframe" in (tmp_path / "index.html").read_text()


def test_a_path_file_is_followed_by_several_side_by_side(database, tmp_path):
    way = tmp_path / "way.csv"
    way.write_text("t,x,z,mood\n0,1,0,calm\n2,1,2.6,calm\n3,1,3.9,calm\n")
    words = ["match", "run", str(database), "-o", str(tmp_path / "out"), "--path", str(way)]
    assert main([*words, "--characters", "2"]) == 0
    hips = [
        joint_positions(load(tmp_path / "out" / f"way-{number}.bvh"))[:, 0, ::2]
        for number in ("01", "02")
    ]
    assert read_path(way).distances(hips[0]).mean() < 0.2
    assert np.median(hips[1][:, 0] - hips[0][:, 0]) > 0.8


def test_a_database_is_compressed_and_a_matcher_is_replaced_by_force_alone(
    database, tmp_path, capsys
):
    path = tmp_path / "walks.matcher"
    words = ["train", "matching", str(database), "-o", str(path)]
    assert main(words) == 0
    assert "It worked: joints are 0." in capsys.readouterr().out
    whole = path.read_bytes()
    for options, said in (([], "--force"), (["--force", "--spacing", "2"], "spacing of 2 s")):
        assert main([*words, *options]) == 2
        assert said in capsys.readouterr().err
        assert path.read_bytes() == whole
    assert main([*words, "--force", "--latents", "1"]) == 0
    assert path.stat().st_size < 0.5 * len(whole)


def test_others_follow_the_path_beside_a_matcher(database, tmp_path, capsys):
    matcher = small_matcher(styled_database()).save(tmp_path / "walks.matcher")
    words = ["match", "run", str(matcher), "-o", str(tmp_path / "out"), "--seconds", "1"]
    assert main([*words, "--path", "circle", "--beside", f"{database},{CONTROLLER}"]) == 0
    names = ["walks.matcher", "walks.db", "gaits.controller"]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    runs = [each["by"] for each in report["measures"] if each["name"] == "path_error"]
    assert runs == [{"goal": "circle", "features": name} for name in names]
    page = (tmp_path / "out" / "index.html").read_text()
    assert f"On one path, 1.2 m apart: {', '.join(names)}." in page
    for option in (["--compare"], ["--weight", "trajectory_position=2"]):
        assert main([*words, *option]) == 2
        assert f"{option[0]} is an option of motion databases" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--path", "spiral"], "no path 'spiral'"),
        (["--path", "none.csv"], "none.csv"),
        (["--characters", "0"], "characters must be at least 1, not 0"),
        (["--labels", "walk"], "'walk' is not of the form label=value"),
        (["--labels", "mood=calm"], "no label 'mood'"),
        (["--include", "dances"], "'dances' is not of the form label=value"),
        (["--speed", "-1"], "speed"),
        (["--path", "wave,wave"], "two paths"),
        (["--seconds", "-3"], "duration"),
    ],
)
def test_mistakes_are_named(database, tmp_path, capsys, words, fact):
    assert main(["match", "run", str(database), "-o", str(tmp_path / "out"), *words]) == 2
    assert fact in capsys.readouterr().err


def test_a_run_on_terrain_stands_on_it(database, tmp_path, capsys):
    words = ["match", "run", str(database), "-o", str(tmp_path / "flat"), "--seconds", "4"]
    assert main([*words, "--path", "circle"]) == 0
    line = np.linspace(-10, 10, 101)
    slope = Heightmap.centred(np.tile(0.2 * line[:, None], (1, 101)), 0.2, "slope")
    save_ground(slope, tmp_path / "slope.npz")
    words[4] = str(tmp_path / "slope")
    ground = ["--terrain", str(tmp_path / "slope.npz")]
    assert main([*words, "--path", "circle", *ground]) == 0
    flat, laid = (
        joint_positions(load(tmp_path / name / "circle.bvh"))[:, 0] for name in ("flat", "slope")
    )
    np.testing.assert_allclose(laid[:, ::2], flat[:, ::2], atol=1e-4)
    rise = laid[:, 1] - flat[:, 1]
    assert np.corrcoef(rise, flat[:, 2])[0, 1] > 0.98
    assert np.polyfit(flat[:, 2], rise, 1)[0] == pytest.approx(0.2, abs=0.03)
    report = json.loads((tmp_path / "slope" / "report.json").read_text())
    values = {each["name"]: each["value"] for each in report["measures"]}
    assert report["settings"]["terrain"] == "slope"
    assert values["on_ground_deep"] < 0.02
    assert values["on_ground_slope"] == pytest.approx(0.2, abs=0.01)
    assert values["on_ground_cliffs"] == 0.0
    assert not any("under both feet" in each for each in report["findings"])
    page = (tmp_path / "slope" / "index.html").read_text()
    assert "contact frames with a foot more than 2 cm in the ground" in page
    assert "&quot;terrain&quot;:{" in page.replace(" ", "")
    # Blocks of a metre and more, a quarter of a metre apart.
    blocks = np.random.default_rng(0).uniform(0.0, 3.0, (80, 80))
    save_ground(Heightmap.centred(blocks, 0.25, "cliffs"), tmp_path / "cliffs.npz")
    cliffs = ["--terrain", str(tmp_path / "cliffs.npz")]
    assert main([*words, "--path", "circle", *cliffs]) == 0
    assert "the ground under both feet differs by more than half a leg" in capsys.readouterr().err
    report = json.loads((tmp_path / "slope" / "report.json").read_text())
    assert any("differs by more than half a leg" in each for each in report["findings"])
    for options, word in (
        (["--terrain", "lava"], "no ground 'lava'"),
        (["--terrain", str(tmp_path / "none.npy")], "none.npy"),
    ):
        assert main([*words, *options]) == 2
        assert word in capsys.readouterr().err
