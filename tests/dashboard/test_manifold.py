"""Page Manifold: the cloud, its colours, what a selection plays, and the spaces beside it."""

from __future__ import annotations

import base64
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.dashboard.parts import encodings
from deepphase.apps.dashboard.parts.cloud_view import (
    CloudAnswer,
    Passage,
    beside_take,
    passages_of,
    passages_take,
    passages_text,
    playable,
    read_answer,
    read_passages,
    stated_colours,
)
from deepphase.apps.dashboard.parts.clouds import make_cloud
from deepphase.apps.dashboard.parts.collection import OpenModel, demo_clips, demo_model
from deepphase.apps.dashboard.parts.encodings import Encodings, first_sight, steadiest_of
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store_writer import write_store
from deepphase.figures.theme import Colouring
from deepphase.motion.clip import joint_positions
from deepphase.phase.recurrence import periodic_moments
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import components, opened, players, words


@pytest.fixture(scope="module")
def read() -> Encodings:
    model = demo_model()
    return Encodings(demo_clips(), OpenModel("demo", "demo", model.sha256, model))


@pytest.fixture(scope="module")
def cloud(read):
    return make_cloud(read, 5_000)


def test_a_point_is_where_its_frame_lies(read, cloud):
    assert 4_000 < len(cloud.cloud.points) <= 5_000
    for point in (0, 1234, len(cloud.frame) - 1):
        phases = read.phases(int(cloud.clip[point]))
        assert phases.interior[cloud.frame[point]]
        place = cloud.cloud.projection(phases.parameters.manifold()[cloud.frame[point]])
        np.testing.assert_allclose(cloud.cloud.points[point], place, atol=1e-5)
        assert cloud.cloud.time[point] == pytest.approx(cloud.frame[point] / phases.fps)
    assert make_cloud(read, 500).cloud.note == "1 frame in 10 of 4,860 is drawn"


def test_colours_say_what_is_true(read, cloud):
    names = set(cloud.colourings)
    assert names >= {"Clip", "Label: Gait", "Time", "Speed", "Frequency", "Amplitude", "Phase"}
    speed = cloud.colourings["Speed"]
    names = read.store.names
    run, turn = (np.median(speed.values[cloud.clip == names.index(n)]) for n in ("run", "turn"))
    assert speed.unit == "m/s"
    assert run > 3.0 > 0.5 > turn
    assert set(cloud.colourings["Label: Gait"].values[cloud.clip == 3]) == {"run"}


def test_selected_points_become_passages(cloud):
    clip, frame = cloud.clip, cloud.frame
    first, second = np.flatnonzero(clip == 1), np.flatnonzero(clip == 4)
    # A gap of two points is within a passage.
    chosen = np.concatenate([first[10:50], first[52:60], first[200:240]])
    assert passages_of(cloud, chosen, 60.0, [660] * 9) == [
        Passage(1, int(frame[first[10]]), int(frame[first[59]]) + 1),
        Passage(1, int(frame[first[200]]), int(frame[first[239]]) + 1),
    ]
    # What is shorter than half a second is padded, and joined where it then meets.
    chosen = np.concatenate([first[80:85], first[96:100], first[300:303], second[40:44]])
    found = passages_of(cloud, chosen, 60.0, [660] * 9)
    assert [each.clip for each in found] == [1, 1, 4]
    assert [each.stop - each.start >= 30 for each in found] == [True, True, True]
    assert found[0].start <= frame[first[80]] < frame[first[99]] < found[0].stop
    assert found[2].stop - found[2].start == 30
    (moment,) = passages_of(cloud, first[50:51], 60.0, [660] * 9)
    assert moment.start <= frame[first[50]] < moment.stop
    assert moment.stop - moment.start == 30
    assert passages_of(cloud, np.zeros(0, int), 60.0, [660] * 9) == []
    assert playable([Passage(0, 0, 5_000), Passage(1, 0, 5_000)], 60.0) == [
        Passage(0, 0, 5_000),
        Passage(1, 0, 400),
    ]


def test_passages_survive_an_address_and_a_hostile_one_gives_none():
    passages = [Passage(1, 80, 110), Passage(4, 0, 30)]
    assert read_passages(passages_text(passages), [660] * 9) == passages
    for text in ("1:5-2", "9:0-30", "1:0-661", "x", "1:-5-20", "1:0-30" * 0):
        assert read_passages(text, [660] * 9) == []


def test_an_answer_of_a_browser_names_points_that_exist():
    assert read_answer({"clicked": 7}, 10) == CloudAnswer(clicked=7)
    for hostile in (None, [], {"clicked": 10}, {"clicked": "7"}, {"clicked": -1}, {"selected": 3}):
        assert read_answer(hostile, 10) == CloudAnswer()
    assert read_answer({"selected": [3, 1, 99, "x", -2, 3]}, 10).selected.tolist() == [1, 3]
    assert read_answer({"selected": []}, 10).selected.size == 0


def test_a_legend_names_every_clip_in_its_group_and_colour():
    names = [f"clip {number}" for number in range(40)]
    clip = np.repeat(np.arange(40), 3)
    groups = {name: "walk" if number % 2 else "run" for number, name in enumerate(names)}
    colouring = Colouring("clip", np.array(names)[clip], spread=True)
    stated = stated_colours(groups, colouring)
    assert [entry["name"] for entry in stated["entries"]] == names
    assert [entry["group"] for entry in stated["entries"][:2]] == ["run", "walk"]
    assert all(entry["count"] == 3 for entry in stated["entries"])
    coloured = [entry["colour"] for entry in stated["entries"] if not entry["grey"]]
    assert len(set(coloured)) == len(coloured) == 12
    which = np.frombuffer(base64.b64decode(stated["which"]), "<u2")
    assert which.tolist() == clip.tolist()
    # Headings that would name one clip each are left out.
    alone = {name: f"gait of {name}" for name in names}
    assert {entry["group"] for entry in stated_colours(alone, colouring)["entries"]} == {""}


def test_poses_are_those_of_the_frames(read, cloud):
    """Seen from in front, a pose is upright and as tall as its body."""
    poses = cloud.poses
    assert len(poses.values) * poses.step >= len(cloud.clip)
    tall = poses.metres * np.ptp(poses.values[..., 1].astype(int), axis=1)
    assert 1.2 < np.median(tall) < 2.0
    point = 100
    clip = read.store.clip(int(cloud.clip[point]))
    height = joint_positions(clip)[cloud.frame[point], :, 1]
    np.testing.assert_allclose(poses.values[point, :, 1] * poses.metres, height, atol=0.02)


def test_the_skeleton_plays_the_selected_frames(read, cloud):
    passages = [Passage(3, 100, 160), Passage(0, 300, 330)]
    take = passages_take(passages, read)
    (actor,) = take.actors
    assert len(actor) == 90
    hips = [joint_positions(read.store.clip(p.clip))[p.start : p.stop, 0] for p in passages]
    np.testing.assert_allclose(actor.positions[:, 0], np.concatenate(hips), atol=1e-4)
    assert [(m.label, m.start_s, m.stop_s) for m in take.markers] == [
        ("run", 0.0, 1.0),
        ("walk", 1.0, 1.5),
    ]


def test_selected_passages_begin_side_by_side_in_one_direction(read):
    passages = [Passage(clip, 100 + 20 * clip, 160 + 20 * clip) for clip in range(7)] * 2
    take = beside_take(passages, read)
    assert len(take.actors) == 12
    starts = np.stack([each.positions[0] for each in take.actors])
    hips = starts[:, 0, [0, 2]]
    places = [[(i % 4 - 1.5) * 1.1, -(i // 4) * 1.1] for i in range(12)]
    np.testing.assert_allclose(hips, places, atol=0.02)
    for actor in take.actors:
        assert len(actor) == 60
        assert actor.start_s == 0
        np.testing.assert_allclose(actor.root_directions[0], [0, 0, 1], atol=0.25)
    # Seen from its hips, each body has the pose that it had in its clip.
    clip = read.store.clip(3)
    height = joint_positions(clip)[160, :, 1]
    np.testing.assert_allclose(starts[3][: len(height), 1], height, atol=0.03)


def test_work_that_was_interrupted_goes_on(read):
    fresh = Encodings(read.clips, read.model)

    def stop(what, done, total, said):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fresh.all(stop)
    seen = []
    fresh.all(lambda what, done, total, said: seen.append(done))
    assert seen == [4, 5, 6, 7, 8, 9]


def pictures(app) -> list[dict]:
    """What the page's clouds were given."""
    return [each for each in components(app) if "spaces" in each]


def read_through(app):
    """The page, once all clips are read in a thread, and it has run again."""
    while len(titles(app)) == 1:
        time.sleep(0.1)
        app.run()
    return app


def titles(app) -> list[str]:
    return [each["title"] for each in pictures(app)]


def test_the_page_shows_the_manifold_and_what_lies_beside(monkeypatch):
    app = read_through(opened("manifold", monkeypatch))
    assert titles(app) == ["Phase manifold", "Joint velocities", "Latent curves", "Poses"]
    large, *small = pictures(app)
    assert "latent unit" in large["spaces"]["PCA"]["axes"][0]
    # One moment in all of them: what the player plays has a path in each.
    assert [len(each["played"]) for each in (large, *small)] == [1, 1, 1, 1]
    assert re.search(r'"name":\s*"walk"', players(app)[0])
    # Every picture is of the frames that are sent once.
    frames = {each["id"]: each for each in components(app) if "colourings" in each}
    assert len(frames) == 1
    assert {each["frames"] for each in (large, *small)} == set(frames)
    sent = frames[large["frames"]]
    assert {"Amplitude", "Label: Gait", "Time", "Phase of channel 4"} < set(sent["colourings"])
    assert len(base64.b64decode(sent["clip"])) // 2 > 1000
    channels = np.frombuffer(base64.b64decode(sent["phase"]), "<i2").reshape(-1, 5)
    assert len(channels) == len(base64.b64decode(sent["clip"])) // 2
    # The cycle that plays is drawn in its own plane, before the frames of all clips.
    assert next(iter(large["spaces"])) == "Ring of what plays"
    assert large["ring"]["to"] - large["ring"]["from"] == 239
    assert "winding 1.00" in large["note"]


def test_the_pages_open_on_the_steadiest_cycle(read):
    """A moment whose poses recur, before any clip is encoded whole."""
    fresh = Encodings(read.clips, read.model)
    found = first_sight(fresh)
    phases = read.phases(found.clip)[round(60 * found.start_s) :]
    ring = steadiest_of([phases])
    assert ring is not None
    assert (ring.winding > 0.99, ring.evenness < 0.1) == (True, True)
    assert phases.interior[ring.start : ring.stop].all()


def test_a_loop_of_legs_in_place_comes_before_arms_and_points_recur():
    walk = locomotion(3, 8.0, gait="walk", variety=0.0, fps=30.0).clip
    legs = [any(part in name for part in ("Leg", "Foot", "Toe")) for name in walk.skeleton.names]
    stands = np.where(np.array(legs)[:, None], walk.rotations[:1], walk.rotations)
    placed = np.repeat(walk.translations[:1], len(walk), axis=0)
    arms = replace(walk, name="arms", rotations=stands, translations=placed)
    loop = replace(walk, name="loop", translations=placed).sliced(60, 96)
    moments = periodic_moments(ClipStore.from_clips([arms, loop]), 2)
    assert [each.clip for each in moments] == [1, 0]
    places = joint_positions(walk)
    places[:120] = places[:1]
    places[:, 1:] -= places[:, walk.skeleton.parents[1:]]
    turned = np.broadcast_to(np.float32([0, 0, 0, 1]), walk.rotations.shape)
    joints = tuple(range(len(walk.skeleton)))
    tracks = replace(walk, rotations=turned, translations=places, translated_joints=joints)
    (moment,) = periodic_moments(ClipStore.from_clips([tracks]), 1)
    assert moment.start_s >= 3


def test_a_picture_is_drawn_of_the_clips_that_are_read(read):
    some = make_cloud(read, 5_000, [2, 5])
    assert set(some.clip) == {2, 5}
    whole = make_cloud(read, 20_000)
    np.testing.assert_array_equal(some.frame, whole.frame[np.isin(whole.clip, [2, 5])])
    assert set(some.colourings["Label: Gait"].values) == {
        read.store.labels[i]["gait"] for i in (2, 5)
    }


def test_a_thread_reads_the_shown_clip_first(read, monkeypatch):
    fresh, order = Encodings(read.clips, read.model), []
    read_one = fresh._read
    monkeypatch.setattr(fresh, "_read", lambda index: (order.append(index), read_one(index)))
    fresh.read_on(5)
    while fresh.reading:
        time.sleep(0.01)
    assert order == [5, 0, 1, 2, 3, 4, 6, 7, 8]
    assert fresh.is_whole


def test_another_session_does_not_undo_a_cancel(read, monkeypatch):
    fresh = Encodings(read.clips, read.model)
    monkeypatch.setattr(encodings, "draw_bar", lambda *_: fresh.cancel())
    encodings.show_reading(fresh)
    assert fresh.cancelled


def test_another_clip_plays_beside_the_chosen_one(monkeypatch):
    app = opened("manifold", monkeypatch)
    app.selectbox(key="compared clip").select("run").run()
    assert not app.exception
    assert len(pictures(app)[0]["played"]) == 2
    assert re.search(r'"ghost":\s*true', players(app)[0])


def test_an_address_leads_to_what_was_seen(monkeypatch):
    given = {"colour": "Speed", "axes": "Channel 1", "view": "Space", "clip": "run", "at": "4.00"}
    app = opened("manifold", monkeypatch, query=given)
    seen = pictures(app)[0]["seen"]
    assert seen == {"axes": "Channel 1", "colour": "Speed", "view": "Space"}
    (page,) = players(app)
    assert re.search(r'"at":\s*4.0', page)
    assert app.selectbox(key="clip").value == "run"
    # The moment at which the player was stopped, on each page that plays a clip.
    for page in ("data", "manifold", "channels"):
        app = opened(page, monkeypatch, query={"clip": "run", "now": "4.50"})
        assert re.search(r'"at":\s*4.5', players(app)[0])
    app = opened("manifold", monkeypatch, query={"passages": "3:100-160,0:300-330"})
    assert "2 passages, 1.5 s" in words(app)
    assert pictures(app)[0]["selected"] is not None


def test_clips_shorter_than_a_window_are_shown_with_a_word(tmp_path, monkeypatch):
    short = [locomotion(seed, 1.0, gait="walk").clip for seed in (1, 2)]
    named = [replace(clip, name=f"short {i}") for i, clip in enumerate(short)]
    write_store(tmp_path / "short.store", ClipStore.from_clips(named))
    app = opened("manifold", monkeypatch, tmp_path)
    assert "No clip is as long as a window" in words(app)
    assert players(app)
