"""Page Control: every way of steering, what is steered, what is refused, what comes out."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.dashboard.parts import steerables, widgets
from deepphase.apps.dashboard.parts.drawing import checked_points
from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE
from deepphase.apps.dashboard.parts.session import Session
from deepphase.apps.dashboard.parts.steerables import (
    CONTROLLERS,
    RunRequest,
    Steerable,
    keep_driven,
    of_controller,
    of_database,
    of_matcher,
    shown_run,
)
from deepphase.apps.dashboard.parts.widgets import file_bytes
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.runs import run_goal
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import write_store
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError, ParameterError
from deepphase.evaluation.measurement import values_by_name
from deepphase.formats.bvh.writer import save_bvh
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.settings import PlayerSettings
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout, start_on_path
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import components, opened, players, words
from tests.matching.made_matchers import small_matcher, styled_database

_SHORT_S = 3


@pytest.fixture(scope="module")
def demo() -> Steerable:
    return of_controller("demo", "demo", Controller.load(CONTROLLER))


@pytest.fixture(scope="module")
def walks() -> ClipStore:
    return ClipStore.from_clips(
        [locomotion(seed, 6.0, gait="walk", turn_rate=turn).clip for seed, turn in _TURNS]
    )


_TURNS = ((1, 0.0), (2, 0.6), (3, -0.6))


@pytest.fixture
def page(monkeypatch):
    """The page of a new session, with runs that do not take long."""
    monkeypatch.setattr("deepphase.apps.dashboard.parts.drawing._DEFAULT_S", _SHORT_S)
    return opened("control", monkeypatch)


def widget(app, label: str):
    kinds = ("slider", "selectbox", "multiselect", "number_input", "toggle", "button_group")
    found = [each for kind in kinds for each in app.get(kind) if each.label == label]
    assert found, f"no widget {label}"
    return found[0]


def chosen(app, label: str, value):
    """The page after a choice."""
    widget(app, label).set_value(value).run()
    assert not app.exception, app.exception
    return app


def upload(app, label: str, name: str, content: bytes) -> None:
    uploader = next(each for each in app.file_uploader if label in each.label)
    uploader.set_value([(name, content, "")]).run()
    assert not app.exception


def take(app) -> dict:
    """What the page's player shows."""
    (page,) = players(app)
    (shown,) = json.loads(re.search(r'id="scene">(.*?)</script>', page, re.S)[1])["takes"]
    return shown


def measures(app) -> dict[str, float]:
    table = app.dataframe[0].value
    # Values without what is faster stand in brackets.
    names, texts = (table[each].str.partition(" (")[0] for each in ("Measure", "This run"))
    return dict(zip(names, texts.replace("never", "inf").astype(float), strict=True))


def test_it_opens_on_a_run_with_phases_and_gating(monkeypatch):
    app = opened("control", monkeypatch)
    shown = take(app)
    assert shown["duration"] == pytest.approx(12, abs=0.1)
    assert shown["channels"]["phase"]["shape"][1] == 5
    assert shown["gating"]["weights"]["shape"][1] == 4
    assert shown["curves"]
    assert not app.warning
    assert measures(app)["Frozen while it should move"] == 0
    assert {each.label for each in app.get("download_button")} == {
        "BVH", "GLB", "Frames (CSV)", "Player (HTML)", "Table (CSV)",
    }  # fmt: skip


def test_files_of_a_run(page, monkeypatch):
    files = {}
    monkeypatch.setattr(widgets, "offer", lambda words, data, name, **_: files.update({name: data}))
    chosen(page, "Characters", 2)
    chosen(page, "Character", 1)
    rows = list(csv.DictReader(io.StringIO(files["wave-02.csv"]())))
    assert len(rows) == 60 * _SHORT_S
    weights = [[float(row[f"weight_{expert}"]) for expert in range(4)] for row in rows]
    np.testing.assert_allclose(np.sum(weights, axis=1), 1, atol=1e-3)
    names = zipfile.ZipFile(io.BytesIO(files["wave.zip"]())).namelist()
    assert sum(name.endswith(".bvh") for name in names) == 2
    assert not any("/" in name for name in names)


def test_a_drawn_path_is_followed(page):
    page.session_state["path map points"] = [[0, 0], [0, 2], [2, 4]]
    chosen(page, "Path", "Draw")
    chosen(page, "Speed (m/s)", 1.2)
    assert "4.8 m, 4.0 s at this speed" in words(page)
    assert take(page)["duration"] == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("given", [[[0, 0, 0, 1, 5]], [["a", "b"]], [[0, 1e9]], [[0, None]]])
def test_what_a_browser_draws_is_checked(given):
    with pytest.raises(ParameterError):
        checked_points(given)


@pytest.mark.parametrize("where", ["half", "other", "pickle", "huge"])
def test_what_is_no_controller_is_refused(where):
    content = CONTROLLER.read_bytes()
    broken = {
        "half": content[: len(content) // 2],
        "other": (CONTROLLER.parent / "phases.model").read_bytes(),
        "pickle": b"\x80\x04\x95evil.",
        # The header says that a layer is wider than the file has it.
        "huge": content.replace(b'\\"hidden\\":64', b'\\"hidden\\":99'),
    }
    assert broken[where] != content
    own = Session()
    with pytest.raises((CheckpointError, FormatError)) as caught:
        CONTROLLERS.read_upload(own, "../../evil.controller", broken[where])
    assert caught.value.hint
    assert str(own.folder) not in str(caught.value)
    assert own.files == []
    assert list(own.folder.iterdir()) == []


def test_an_upload_is_chosen_in_its_own_session_only(page, monkeypatch):
    upload(page, "controller", "mine.controller", CONTROLLER.read_bytes())
    assert widget(page, "Controller or motion").value == "session:mine"
    assert take(page)["actors"]
    other = opened("control", monkeypatch)
    assert not any("mine" in each for each in widget(other, "Controller or motion").options)


def test_a_hostile_upload_is_a_sentence(page):
    upload(page, "controller", "<img src=x>.controller", b"\x00" * 500)
    assert "Refused" in page.error[0].value
    assert "<img" not in page.error[0].value.replace("\\<", "")
    assert take(page)["actors"], "what was there goes on"


def test_a_folder_offers_its_controllers_databases_and_clips(tmp_path, monkeypatch, walks):
    (tmp_path / "mine.controller").write_bytes(CONTROLLER.read_bytes())
    (tmp_path / "broken.controller").write_bytes(b"nothing")
    write_store(tmp_path / "walks.store", walks)
    stored = open_store(tmp_path / "walks.store")
    MotionDatabase.build(stored, "pose_trajectory").save(tmp_path / "walks.database")
    # It has no trajectory ahead, so that it cannot follow a path.
    MotionDatabase.build(stored, "full_pose").save(tmp_path / "poses.database")
    app = opened("control", monkeypatch, tmp_path)
    offered = widget(app, "Controller or motion").options
    assert offered[:2] == ["Controller: mine.controller", "Motion matching: walks.database"]
    assert any("walks.store, by phases" in each for each in offered)
    assert not any("poses.database" in each for each in offered)
    assert take(app)["gating"]
    assert take(app)["costs"] is None
    database = f"database:{tmp_path / 'walks.database'}"
    app.selectbox(key="steerable").set_value(database).run()
    assert not app.exception
    assert measures(app)["Distance from the path"] < 1.0
    assert take(app)["costs"]["features"][-2:] == ["trajectory_position", "trajectory_direction"]


def test_speeds_are_those_of_the_data(demo, walks):
    run, jog, walk = (demo.speed({"gait": gait}) for gait in ("run", "jog", "walk"))
    assert run > jog > walk > 1.0
    database = MotionDatabase.build(walks, "pose_trajectory")
    opened_one = of_database("walks", "walks", database)
    assert opened_one.speed({}) == pytest.approx(1.3, abs=0.3)
    settings = PlayerSettings(foot_lock=False)
    run = shown_run(opened_one, RunRequest(made_path("wave", 1.2, 2.0), 2.0, settings=settings))
    assert values_by_name(run.result.measures)["speed"] == pytest.approx(1.2, abs=0.3)


def test_what_a_matcher_was_driven_to_is_kept_and_measured(monkeypatch):
    own = Session()
    monkeypatch.setattr(steerables, "session", lambda: own)
    database = styled_database()
    with pytest.raises(DeepPhaseError, match="cannot be steered by hand"):
        of_database("walks", "walks", database).asset()
    walks = of_matcher("walks", "walks", small_matcher(database))
    assert len(walks.asset()) > 10_000
    source = walks.source
    runner, goals = start_on_path(source, made_path("wave", 1.0, 2.0))
    run = rollout(runner, goals, 2.0)
    motion = {
        "bvh": file_bytes(lambda path: save_bvh(run.clip(), path), "run.bvh").decode(),
        "positions": run.positions[0].tolist(),
        "angles": run.angles[0].tolist(),
        "contacts": run.contacts[0].tolist(),
        "velocities": [[0.0, 1.0]] * len(run),
        "facings": [None] * len(run),
    }
    result = keep_driven(json.dumps(motion), walks)
    assert not isinstance(result, DeepPhaseError), result
    measures = values_by_name(result.measures)
    again = run_goal(source, made_path("wave", 1.0, 2.0), seconds=2.0).measures
    assert measures["speed"] == pytest.approx(values_by_name(again)["speed"], rel=0.02)
    assert measures["desired_speed"] == pytest.approx(1.0)


def test_what_was_driven_is_kept_and_measured(demo, tmp_path, monkeypatch):
    own = Session()
    monkeypatch.setattr(steerables, "session", lambda: own)
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    clip = locomotion(1, 4.0).clip
    save_bvh(clip, tmp_path / "driven.bvh")
    root = root_trajectory(clip, find_roles(clip.skeleton))
    feet = len(demo.controller.schema.feet)
    motion = {
        "bvh": (tmp_path / "driven.bvh").read_text(),
        "positions": root.positions[:, [0, 2]].tolist(),
        "angles": root.angles.tolist(),
        "contacts": [[1.0] * feet] * len(clip),
        "velocities": [[0.0, 1.3]] * len(clip),
        "facings": [None] * len(clip),
    }
    result = keep_driven(json.dumps(motion), demo)
    assert not isinstance(result, DeepPhaseError), result
    kept, measures = result.clip, values_by_name(result.measures)
    assert own.clips[0][0] is kept
    assert "demo by hand" in kept.name
    order = [kept.skeleton.names.index(name) for name in clip.skeleton.names]
    np.testing.assert_allclose(joint_positions(kept)[:, order], joint_positions(clip), atol=1e-4)
    travelled = np.linalg.norm(np.diff(joint_positions(clip)[:, 0, [0, 2]], axis=0), axis=1)
    assert measures["speed"] == pytest.approx(60.0 * travelled.mean(), rel=0.1)
    assert measures["desired_speed"] == pytest.approx(1.3)
    assert measures["survived"] == 1
    # In a folder it is a file, too, which is among the clips of a source of its own.
    assert result.file == ""
    own.clips.pop()
    folder = tmp_path / "folder"
    folder.mkdir()
    write_store(folder / "walks.store", [clip])
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    result = keep_driven(json.dumps(motion), demo)
    assert result.file == "recordings/demo_01.bvh"
    assert (folder / result.file).read_text() == motion["bvh"]
    clips = opened("data", monkeypatch, folder).sidebar.selectbox[0].options
    assert clips == ["walks.store", "Recordings"]
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    # The clips of a session have 60 frames a second, whatever the controller has.
    schema = replace(demo.controller.schema, fps=30.0)
    slow = of_controller("demo", "demo", replace(demo.controller, schema=schema))
    save_bvh(replace(clip, fps=30.0), tmp_path / "slow.bvh")
    result = keep_driven(json.dumps(motion | {"bvh": (tmp_path / "slow.bvh").read_text()}), slow)
    assert not isinstance(result, DeepPhaseError), result
    assert result.clip.fps == 60.0
    assert result.clip.duration == pytest.approx(8.0, abs=0.05)
    own.clips.pop()
    save_bvh(clip.sliced(0, 200), tmp_path / "shorter.bvh")
    others = (
        motion | {"bvh": "HIERARCHY\n{"},
        motion | {"bvh": (tmp_path / "shorter.bvh").read_text()},
        {name: each if name == "bvh" else each[:200] for name, each in motion.items()},
        motion | {"angles": motion["angles"][1:]},
        motion | {"facings": [["a", "b"]] * len(clip)},
        motion | {"contacts": [[1.0]] * len(clip)},
        {"bvh": motion["bvh"]},
        3,
    )
    for given in ("HIERARCHY\n{", "text", "", None, {"driven": 3}, *map(json.dumps, others)):
        assert isinstance(keep_driven(given, demo), DeepPhaseError), given
    assert len(own.clips) == 1


def test_a_matcher_of_the_folder_is_steered_alone_and_beside_another(tmp_path, monkeypatch):
    small_matcher(styled_database()).save(tmp_path / "walks.matcher")
    app = chosen(opened("control", monkeypatch, tmp_path), "Seconds", _SHORT_S)
    offered = widget(app, "Controller or motion")
    assert offered.options[0] == "Learned matching: walks.matcher"
    assert len(take(app)["actors"]) == 1
    assert widget(app, "Only style").options == ["left", "right"]
    chosen(app, "Beside it", ["Controller: small demo"])
    assert not app.error
    names = ["Learned matching: walks.matcher", "Controller: small demo"]
    assert [each["name"] for each in take(app)["actors"]] == ["Learned matching", "Controller"]
    table = app.dataframe[0].value
    assert "Distance from the path" in table["Measure"].tolist()
    assert list(table.columns[1:3]) == names
    # By hand as well, on both pages that offer it.
    chosen(app, "Steer by hand", True)
    titles = [str(each.get("title", "")) for each in components(app)]
    assert [each for each in titles if each.startswith("Steer ")] == ["Steer walks.matcher"]
    chosen(app, "Steer by hand", False)
    # One click takes one of each other kind.
    chosen(app, "Beside it", [])
    next(each for each in app.button if each.label == "Every way beside it").click().run()
    assert not app.exception
    assert len(take(app)["actors"]) == 2
