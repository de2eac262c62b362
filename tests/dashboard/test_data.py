"""Page Data: the table, the filter, the player, uploads and what is refused."""

from __future__ import annotations

import gc
import json
import re
import shutil
import threading
import time
from dataclasses import replace
from functools import partial

import pytest

from deepphase.apps.dashboard.parts import folder
from deepphase.apps.dashboard.parts.folder import look_into
from deepphase.apps.dashboard.parts.session import Session, read_upload, safe_name, suffix_of
from deepphase.apps.dashboard.parts.widgets import file_bytes
from deepphase.apps.reports.player import in_words
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import FolderSettings, read_settings
from deepphase.corpus.store_writer import write_store
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.npz.motion import save_npz_motion
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words
from tests.formats.marker_files import c3d_bytes, markers_of, motive_text, mvnx_text, trc_text

HOSTILE_NAME = "../../etc/<script>alert(1)</script>**walk**.bvh"


@pytest.fixture(scope="module")
def clip():
    return locomotion(3, 2.0, gait="walk").clip


def table(app):
    return app.dataframe[0].value


def scene(page: str) -> dict:
    """What a player's page says it plays."""
    return json.loads(re.search(r'id="scene">(.*?)</script>', page, re.S)[1])


def test_the_demo_opens_on_clips_that_play(monkeypatch):
    app = opened("data", monkeypatch)
    assert [each.value for each in app.title] == ["Data"]
    rows = table(app)
    assert len(rows) == 9
    assert set(rows["gait"]) >= {"walk", "run", "medley"}
    assert (rows["Seconds"] == 11.0).all()
    # Feet stand longer in a walk than in a run.
    ground = dict(zip(rows["Clip"], rows["On the ground (%)"], strict=True))
    assert 55 < ground["walk"] < 80
    assert 20 < ground["run"] < 45
    assert ground["turn"] > 95
    (page,) = players(app)
    assert [take["name"] for take in scene(page)["takes"]] == ["walk"]


def test_the_filter_finds_by_name_and_by_label(monkeypatch):
    app = opened("data", monkeypatch)
    app.text_input(key="find").set_value("SIDE step").run()
    assert list(table(app)["Clip"]) == ["side_step", "side_step_right"]
    app.text_input(key="find").set_value("").run()
    app.multiselect(key="label pace").set_value(["changing"]).run()
    assert list(table(app)["Clip"]) == ["medley"]
    assert scene(players(app)[0])["takes"][0]["name"] == "medley"
    app.text_input(key="find").set_value("no such clip").run()
    assert not app.exception
    assert "No clip matches the filters" in words(app)
    assert not players(app)


def test_a_doubt_of_what_plays_is_said(tmp_path, monkeypatch):
    save_bvh(replace(locomotion(0, 14.0).clip, fps=180.0), tmp_path / "fast.bvh")
    app = opened("data", monkeypatch, tmp_path)
    assert any("is the rate 90?" in each.value for each in app.warning)
    assert table(app)["Seconds"][0] == pytest.approx(14 / 3, abs=0.05)
    _give_rate(app, 60.0)
    assert read_settings(tmp_path) == FolderSettings(rates={"fast.bvh": 60.0})
    assert table(app)["Seconds"][0] == pytest.approx(14.0, abs=0.05)
    assert not app.warning
    _give_rate(app, None)
    assert read_settings(tmp_path) == FolderSettings()
    # An upload is read again from what the browser sent.
    content = (tmp_path / "fast.bvh").read_bytes()
    app = uploaded(opened("data", monkeypatch), "fast.bvh", content)
    for rate, seconds in ((60.0, 14.0), (None, 14 / 3)):
        _give_rate(app, rate)
        assert list(table(app)["Seconds"]) == [pytest.approx(seconds, abs=0.05)]


def _give_rate(app, rate):
    (field,) = (each for each in app.number_input if "Frames a second" in each.label)
    field.set_value(rate)
    next(each for each in app.button if each.label == "Read again").click().run()
    assert not app.exception


def test_an_empty_folder_says_what_to_do(tmp_path, monkeypatch):
    for address in ("data", "manifold"):
        app = opened(address, monkeypatch, tmp_path)
        said = words(app).replace("\\", "")
        assert "no clips here yet" in said.lower()
        assert "Upload motion files on page Data" in said


def test_a_damaged_store_is_a_sentence(tmp_path, monkeypatch, clip):
    write_store(tmp_path / "good.store", ClipStore.from_clips([clip]))
    for name in ("bad", "cut"):
        shutil.copytree(tmp_path / "good.store", tmp_path / f"{name}.store")
    (damaged,) = (tmp_path / "bad.store").glob("*/rotations.npy")
    content = bytearray(damaged.read_bytes())
    content[-40] ^= 0xFF
    damaged.write_bytes(content)
    (tmp_path / "cut.store" / "store.json").write_text('{"format": "deepphase.store", "ver')
    app = opened("data", monkeypatch, tmp_path)
    assert "bad.store" in words(app).replace("\\", "")
    assert "Traceback" not in words(app)
    assert str(tmp_path) not in words(app)
    good = next(each for each in app.selectbox[0].options if each.startswith("good"))
    app.selectbox[0].select(good).run()
    assert not app.exception
    assert len(table(app)) == 1


def test_a_folder_is_shown_while_it_is_prepared_and_keeps_what_is_chosen(tmp_path, monkeypatch):
    for seed, name in enumerate(("ba_x1", "ba_y1", "bb_x1", "bc_y1")):
        seconds = 0.5 if name == "bc_y1" else 4.0
        save_bvh(locomotion(seed, seconds, gait="walk").clip, tmp_path / f"{name}.bvh")
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT")
    whole, prepare = threading.Event(), folder.prepare
    monkeypatch.setattr(folder, "_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(
        folder, "prepare", lambda files, *given, **named:
        (len(files) == 1 or whole.wait(60)) and prepare(files, *given, **named),
    )  # fmt: skip
    app = opened("edit", monkeypatch, tmp_path)
    assert app.selectbox(key="edited clip").options == ["ba_x1"]
    app.slider(key="every").set_value(60).run()
    edited = players(app)
    assert "between 5 keys" in words(app)
    whole.set()
    _await_all(tmp_path)
    app.run()
    assert app.selectbox(key="edited clip").options == ["ba_x1", "ba_y1", "bb_x1", "bc_y1"]
    assert (players(app), "between 5 keys" in words(app)) == (edited, True)
    # A page that opens later has all files, of which a link names one, or one that is missing.
    app = opened("data", monkeypatch, tmp_path, {"clip": "bc_y1"})
    assert list(table(app)["Clip"]) == ["ba_x1", "ba_y1", "bb_x1", "bc_y1"]
    assert "field1" in table(app).columns
    assert in_words("field1") == "Name part 1"
    assert scene(players(app)[0])["takes"][0]["name"] == "bc_y1"
    assert app.sidebar.selectbox[0].options == [f"Motion files of {tmp_path.name}"]
    app = opened("channels", monkeypatch, tmp_path, {"clip": "bc_y1"})
    assert scene(players(app)[0])["takes"][0]["name"] == "bc_y1", "too short for phases"
    app = opened("data", monkeypatch, tmp_path, {"clip": "nobody"})
    assert "These clips have no nobody" in words(app)


def _await_all(path):
    latest = time.monotonic() + 120.0
    while folder.preparation(look_into(path)) is not None:
        assert time.monotonic() < latest
        time.sleep(0.01)


def test_a_preparation_is_cancelled_and_begun_again(tmp_path, monkeypatch, clip):
    for name in ("walk_1", "walk_2"):
        save_bvh(clip, tmp_path / f"{name}.bvh")
    prepare = folder.prepare

    def endless(files, *given, progress, **named):
        # Who asks again at once joins the work that has not yet been ended.
        while len(files) > 1 and folder.prepare is endless:
            progress("reading", 1, 2, "")
            time.sleep(0.01)
        return prepare(files, *given, progress=progress, **named)

    monkeypatch.setattr(folder, "_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(folder, "prepare", endless)
    app = opened("data", monkeypatch, tmp_path)
    app.button(key="cancel preparing").click().run()
    assert list(table(app.run())["Clip"]) == ["walk_1"]
    monkeypatch.setattr(folder, "prepare", prepare)
    next(each for each in app.sidebar.button if each.label == "Prepare all of them").click().run()
    _await_all(tmp_path)
    assert list(table(app.run())["Clip"]) == ["walk_1", "walk_2"]


def test_a_folder_keeps_what_is_said_of_it(tmp_path, monkeypatch, clip):
    for name in ("aa_x1", "aa_y1", "bb_x1", "bb_y1"):
        save_bvh(clip, tmp_path / f"{name}.bvh")
    app = opened("data", monkeypatch, tmp_path)
    (up,) = (box for box in app.selectbox if box.label == "Up axis")
    assert up.options[0] == "found: y"
    up.select("z")
    (floor,) = (field for field in app.number_input if field.label == "Floor (m)")
    floor.set_value(0.25)
    (name,) = (field for field in app.text_input if field.label == "Name of field1")
    name.input("style")
    (keep,) = (button for button in app.button if button.label == "Keep and read again")
    keep.click().run()
    assert not app.exception
    assert "style" in table(app).columns
    assert read_settings(tmp_path) == FolderSettings("z", None, {"field1": "style"}, 0.25)
    again = opened("data", monkeypatch, tmp_path)
    (up,) = (box for box in again.selectbox if box.label == "Up axis")
    assert up.value == "z"
    (name,) = (field for field in again.text_input if field.label == "Name of field1")
    assert name.value == "style"


def test_hidden_files_and_other_peoples_are_passed_over(tmp_path):
    (tmp_path / ".hidden.store").write_bytes(b"x" * 100)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "weights.safetensors").write_bytes((10).to_bytes(8, "little") + b"{" * 10)
    found = look_into(tmp_path)
    assert not found.files
    assert not found.motion


def uploaded(app, name: str, content: bytes):
    app.file_uploader[0].set_value([(name, content, "application/octet-stream")]).run()
    assert not app.exception
    return app


def test_an_upload_is_shown_and_plays(tmp_path, monkeypatch, clip):
    save_bvh(clip, tmp_path / "mine.bvh")
    content = (tmp_path / "mine.bvh").read_bytes()
    app = uploaded(opened("data", monkeypatch), HOSTILE_NAME, content)
    assert app.selectbox[0].value.startswith("uploads:")
    assert list(table(app)["Clip"]) == ["script>**walk**"]
    assert table(app)["Seconds"][0] == pytest.approx(2.0, abs=0.05)
    assert "<script>alert" not in players(app)[0]
    # Another session knows nothing of it.
    other = opened("data", monkeypatch)
    assert other.selectbox[0].options == ["Made motion (demo)"]
    assert len(table(other)) == 9
    app.button[-1].click().run()
    assert app.selectbox[0].options == ["Made motion (demo)"]


@pytest.mark.parametrize("kind", ["bvh", "npz", "glb", "c3d", "trc", "csv", "mvnx"])
def test_each_format_is_found_from_its_content(clip, kind):
    own, names = Session(), clip.skeleton.names
    content = {
        "bvh": lambda: file_bytes(partial(save_bvh, clip), "clip.bvh"),
        "npz": lambda: file_bytes(partial(save_npz_motion, clip), "clip.npz"),
        "glb": lambda: file_bytes(partial(save_gltf, clip), "clip.glb"),
        "c3d": lambda: c3d_bytes(markers_of(clip), names),
        "trc": lambda: trc_text(markers_of(clip), names).encode(),
        "csv": lambda: motive_text(markers_of(clip, unit_m=1.0), names).encode(),
        "mvnx": lambda: mvnx_text(clip).encode(),
    }[kind]()
    assert suffix_of(content) == f".{kind}"
    taken = read_upload(own, "wrong.txt", content)
    assert taken.error is None, taken.error
    assert set(names) <= {each.rpartition(":")[2] for each in taken.clips[0].skeleton.names}
    assert not list(own.folder.iterdir()), "the bytes stay no longer than they are read"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"MZ\x90\x00" + b"\0" * 200, "not a known motion format"),
        (b"<html><script>alert(1)</script>", "markup"),
        (b"HIERARCHY\n" + b"{" * 200_000, ""),
    ],
    ids=["empty", "program", "markup", "deep"],
)
def test_a_hostile_upload_is_refused_in_a_sentence(content, said):
    own = Session()
    taken = read_upload(own, "../../" + "x" * 5000 + "\x00.bvh", content)
    assert isinstance(taken.error, DeepPhaseError)
    assert said in taken.error.fact
    assert not taken.clips
    assert not own.clips
    assert str(own.folder) not in str(taken.error) + taken.error.hint
    assert not list(own.folder.iterdir())
    assert len(taken.file) <= 60
    assert "/" not in taken.file
    assert "\x00" not in taken.file


def test_a_refused_upload_is_said_on_the_page(monkeypatch):
    app = uploaded(opened("data", monkeypatch), "song.bvh", b"<b>no motion</b>")
    assert "Refused" in words(app)
    assert "Traceback" not in words(app)
    assert len(table(app)) == 9


def test_names_are_no_paths_and_too_large_is_refused():
    with pytest.raises(FormatError, match="more than 256"):
        suffix_of(b"HIERARCHY" + bytes(256_000_001))
    assert safe_name("..\\..\\windows\\walk.bvh") == "walk"
    assert safe_name("/etc/passwd") == "passwd"
    assert safe_name("a\nb\x1b[0m.bvh") == "a b [0m"
    assert safe_name("") == safe_name("/") == "file"


def test_a_sessions_files_go_with_it(clip):
    own = Session()
    folder = own.folder
    (folder / "left.bin").write_bytes(b"x")
    assert folder.stat().st_mode & 0o077 == 0, "only its owner may read it"
    del own
    gc.collect()
    assert not folder.exists()


def test_one_session_keeps_no_more_than_it_may(monkeypatch, clip):
    monkeypatch.setattr("deepphase.apps.dashboard.parts.session.MAX_FRAMES", 2 * len(clip))
    own = Session()
    assert own.add_clip(clip, {}).name == clip.name
    assert own.add_clip(clip, {}).name == f"{clip.name} (2)"
    with pytest.raises(DeepPhaseError, match="in one session"):
        own.add_clip(clip, {})
