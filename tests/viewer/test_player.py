"""The player's page, as Python writes it: small, exact, closed, and safe with any name."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import FormatError, ParameterError
from deepphase.figures.theme import Colouring, channel_colour
from deepphase.motion.clip import global_transforms, joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.actor import Actor, Skin, joints_and_tips, links_of
from deepphase.viewer.page import PackedArrays, player_html, save_player
from deepphase.viewer.take import (
    Channels,
    Curve,
    Gating,
    ManifoldCloud,
    Marker,
    PlayerSong,
    Take,
    point_colours,
)
from tests.figures.made_phases import FPS, made_phases
from tests.viewer.player_pages import (
    PARENTS,
    PageParts,
    addresses,
    made_actor,
    made_costs,
    made_take,
    wav_bytes,
)

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u2028\udcff%%scene%%"


def _nan(shape):
    values = np.zeros(shape)
    values.flat[-1] = np.nan
    return values


def _turns():
    return np.tile([0.0, 0, 0, 1], (120, 6, 1))


def test_page_without_data_is_below_150_kb():
    assert len(player_html([]).encode()) < 150_000


def test_page_asks_nothing_from_anywhere():
    page = player_html([made_take()])
    assert addresses(page) == []
    assert "default-src 'none'" in page
    assert "src=" not in page.replace("data:,", "")


@pytest.mark.parametrize(
    ("name", "shape", "key"),
    [
        ("ball", (9, 3), "ball"),
        ("desired_trajectory", (9, 6, 2), "desiredTrajectory"),
        ("desired_path", (40, 2), "desiredPath"),
        ("root_directions", (9, 3), "rootDirections"),
    ],
)
def test_arrays_of_a_body_come_back_and_have_to_fit(name, shape, key):
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    parts = PageParts(player_html([Take("t", [made_actor(9, **{name: values})])]))
    (described,) = parts.scene["takes"][0]["actors"]
    np.testing.assert_array_equal(parts.array(described[key]), values)
    assert described["ballRadius"] == 0.11
    for wrong, words in ((values[..., :1], "expected"), (_nan(shape), "not finite")):
        with pytest.raises(ParameterError, match=f"{name}.*{words}"):
            made_actor(9, **{name: wrong})


def test_positions_come_back_to_a_tenth_of_a_millimetre_far_from_the_origin():
    actor = made_actor(300)
    far = Actor("far", actor.positions + np.array([5000.0, 0, -300]), actor.links, FPS)
    parts = PageParts(player_html([Take("far", [far])]))
    error = np.abs(parts.positions(parts.scene["takes"][0]["actors"][0]) - far.positions).max()
    # float32 at 5 km has steps of 0.5 mm.
    assert error < 4e-4
    near = PageParts(player_html([Take("near", [actor])]))
    again = near.positions(near.scene["takes"][0]["actors"][0])
    assert np.abs(again - actor.positions).max() < 5e-5


def test_everything_of_a_take_comes_back():
    take = made_take(200, 7)
    parts = PageParts(player_html([take]))
    stated = parts.scene["takes"][0]
    parameters = take.channels.parameters
    for name in ("phase", "frequency", "amplitude", "offset"):
        values = getattr(parameters, name)
        again = parts.array(stated["channels"][name])
        assert np.abs(again - values).max() <= np.ptp(values, axis=0).max() / 65534 + 1e-6
    np.testing.assert_array_equal(
        parts.array(stated["channels"]["interior"]), take.channels.interior
    )
    np.testing.assert_allclose(
        parts.array(stated["gating"]["weights"]), take.gating.weights, atol=1e-4
    )
    np.testing.assert_allclose(
        parts.array(stated["curves"][0]["values"]), take.curves[0].values, atol=1e-4
    )
    np.testing.assert_allclose(
        parts.array(stated["manifold"]["path"]), take.manifold.path, atol=1e-3
    )
    actor = stated["actors"][0]
    np.testing.assert_array_equal(parts.array(actor["contacts"]), take.actors[0].contacts)
    np.testing.assert_allclose(parts.array(actor["rootPositions"]), take.actors[0].root_positions)
    assert stated["markers"] == [["first half", 0.0, 200 / FPS / 2]]


@settings(max_examples=30)
@given(
    st.integers(1, 40),
    st.integers(1, 5),
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, 1e-6, 1.0, 1e4]),
    st.integers(0, 2**31),
)
def test_series_are_exact_to_a_part_of_their_range(frames, columns, middle, extent, seed):
    values = middle + extent * np.random.default_rng(seed).uniform(-1, 1, (frames, columns))
    packed = PackedArrays()
    stated = packed.add_series(values)
    whole = np.frombuffer(packed.contents[stated["id"]], "<i2").reshape(columns, frames).T
    again = whole * np.array(stated["step"]) + np.array(stated["middle"])
    assert np.abs(again - values).max() <= np.ptp(values, axis=0).max() / 65534 + 1e-9 * abs(middle)


def test_same_array_is_carried_once():
    take = made_take()
    one = PageParts(player_html([take]))
    two = PageParts(player_html([take, take]))
    assert one.scripts.keys() == two.scripts.keys()
    assert len(two.scene["takes"]) == 2


def test_names_are_data_and_no_markup():
    actor = made_actor(name=HOSTILE, joint_names=(HOSTILE,) * len(PARENTS))
    take = made_take(
        name=HOSTILE,
        actors=[actor],
        note=HOSTILE,
        markers=[Marker(HOSTILE, 0, 1)],
        curves=[Curve(HOSTILE, HOSTILE, np.zeros((120, 2)), FPS, lines=(HOSTILE, "b"))],
        song=PlayerSong(wav_bytes(1.0), "audio/wav", HOSTILE),
    )
    plain, hostile = (
        PageParts(player_html([made_take()])),
        PageParts(player_html([take], title=HOSTILE)),
    )
    assert [t for t in hostile.tags if t != "script"] == [t for t in plain.tags if t != "script"]
    scene = hostile.scene
    assert scene["title"] == scene["takes"][0]["name"] == HOSTILE
    assert scene["takes"][0]["actors"][0]["jointNames"][0] == HOSTILE
    assert scene["takes"][0]["markers"][0][0] == HOSTILE
    assert hostile.title == HOSTILE.replace("\udcff", "?")


def test_colours_are_those_of_all_figures():
    styles = PageParts(player_html([])).scene["palette"]["styles"]
    assert [style["colour"] for style in styles[:8]] == [channel_colour(i) for i in range(8)]
    assert len({(s["colour"], tuple(s["dash"])) for s in styles}) == 32


def test_point_colours():
    words = point_colours(Colouring("gait", np.array(["walk", "run", "walk"])))
    assert words.dtype == np.uint8
    assert (words[0] == words[2]).all()
    assert "#{:02X}{:02X}{:02X}".format(*words[0]) == channel_colour(0)
    around = point_colours(Colouring("phase", np.array([-0.5, 0.0, 0.4999]), cyclic=True))
    assert np.abs(around[0].astype(int) - around[2]).max() < 8
    assert np.abs(around[0].astype(int) - around[1]).max() > 30


def test_time_axis_holds_actors_of_several_rates():
    take = Take("two", [made_actor(61, fps=30.0), made_actor(121, fps=120.0, start_s=1.5)])
    assert take.fps == 120.0
    assert take.duration_s == pytest.approx(2.5)
    longer = Take(
        "song", take.actors, song=PlayerSong(wav_bytes(1.0), "audio/wav", duration_s=9, start_s=1)
    )
    assert longer.duration_s == 10
    assert Take("curve", curves=[Curve("a", "", np.zeros(31), 10.0)]).duration_s == 3.0
    assert Take("nothing").duration_s == 0.0


def test_actor_of_a_clip_has_joints_tips_contacts_and_path():
    motion = locomotion(1, 2.0)
    actor = Actor.from_clip(motion.clip, colour="#112233")
    joints = len(motion.clip.skeleton)
    np.testing.assert_allclose(actor.positions[:, :joints], joint_positions(motion.clip))
    assert actor.positions.shape[1] == joints + len(motion.clip.skeleton.end_parents)
    assert len(actor.links) == actor.positions.shape[1] - 1
    assert actor.colour == "#112233"
    feet = [motion.clip.skeleton.names[foot] for foot in actor.feet]
    assert feet == list(motion.limb_names)
    agreement = (actor.contacts == motion.contacts).mean()
    assert agreement > 0.8
    assert actor.root_positions.shape == (len(motion), 3)


def test_actor_of_points_keeps_their_edges():
    track = PointTrack(("a", "b"), np.ones((4, 2, 3)), 30.0, np.array([[0, 1]]))
    actor = Actor.from_motion(track)
    assert actor.links.tolist() == [[0, 1]]
    assert actor.floor == 1.0
    assert links_of(PARENTS).tolist() == [[0, 1], [1, 2], [0, 3], [3, 4], [0, 5]]


def test_size_is_limited():
    with pytest.raises(ParameterError, match="MB of data") as caught:
        player_html([made_take(2000)], max_bytes=50_000)
    assert "fewer" in caught.value.hint


def test_30000_frames_of_30_joints_are_below_10_mb():
    positions = np.random.default_rng(0).normal(size=(30_000, 30, 3)).astype(np.float32)
    page = player_html([Take("long", [Actor("a", positions, links_of(np.arange(30) - 1), 60.0)])])
    assert len(page) < 8_200_000


def test_save_writes_the_page(tmp_path):
    path = save_player(tmp_path / "deep" / "player.html", [made_take()], title="Ünïcode")
    assert PageParts(path.read_text(encoding="utf-8")).title == "Ünïcode"


def test_song_of_a_file(tmp_path):
    path = tmp_path / "tone.WAV"
    path.write_bytes(wav_bytes(0.5))
    song = PlayerSong.from_file(path, beats=np.array([0.1, 0.2]))
    assert (song.mime, song.name) == ("audio/wav", "tone")
    parts = PageParts(player_html([Take("s", [made_actor()], song=song)]))
    stated = parts.scene["takes"][0]["song"]
    assert parts.raw(stated["data"]) == path.read_bytes()
    assert stated["beats"] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("a.mid", b"x", r"no \.mid"), ("none.wav", None, "cannot be read"), ("b.wav", b"", "empty")],
)
def test_files_that_are_not_songs_of_a_browser_are_refused(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=words):
        PlayerSong.from_file(tmp_path / name)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Actor("a", np.zeros((0, 2, 3)), np.zeros((0, 2)), 60.0), "expected"),
        (lambda: Actor("a", _nan((2, 2, 3)), np.zeros((0, 2)), 60.0), "not finite"),
        (lambda: Actor("a", np.zeros((2, 2, 3)), np.array([[0, 2]]), 60.0), "link"),
        (lambda: made_actor(start_s=np.inf), "frames a second"),
        (lambda: made_actor(contacts=np.zeros((3, 2))), "contacts"),
        (lambda: made_actor(feet=(0, 99)), "foot"),
        (lambda: made_actor(joint_names=("a",)), "names"),
        (lambda: made_actor(colour="red"), "colour"),
        (lambda: Channels(made_phases(0, 2), FPS), "phases"),
        (lambda: Channels(made_phases(5, 2), FPS, np.ones(4, bool)), "interior"),
        (lambda: Gating(_nan((3, 2)), FPS), "not finite"),
        (lambda: Curve("c", "", _nan(3), FPS), "not finite"),
        (lambda: Curve("c", "", np.zeros((3, 2)), FPS, lines=("a",)), "names"),
        (lambda: ManifoldCloud(np.zeros((2, 2)), np.zeros((3, 3)), FPS, np.ones(3)), "points"),
        (lambda: ManifoldCloud(np.zeros((2, 3)), _nan((3, 3)), FPS, np.ones(3)), "not finite"),
        (lambda: player_html([], look="pink"), "look"),
        (
            lambda: Skin(PARENTS, _turns()[:, :5], "biped", {}),
            "rotations: the shape is (120, 5, 4), expected (frames, 6, 4)",
        ),
        (lambda: Skin(PARENTS, _nan((120, 6, 4)), "biped", {}), "not finite"),
        (lambda: Skin(PARENTS, _turns(), "biped", {"hips": 6}), "not one of 6"),
        (
            lambda: made_actor(60, skin=Skin(PARENTS, _turns(), "biped", {"hips": 0})),
            "rotations have shape (120, 6, 4) for positions (60,",
        ),
    ],
)
def test_impossible_input_is_refused(make, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        make()


def test_costs_come_back_search_by_search():
    parts = PageParts(player_html([made_take(costs=made_costs(), name="costs")]))
    stated = parts.scene["takes"][0]["costs"]
    assert stated["times"] == [0.5, 1.0]
    assert stated["counts"] == [1, 2]
    assert [stated["names"][label] for label in stated["labels"]] == [
        "walk at 0.50 s",
        "walk at 1.00 s",
        "run at 3.00 s",
    ]
    assert stated["marks"] == ["playing", "playing", "chosen"]
    np.testing.assert_array_equal(
        parts.array(stated["terms"]), np.outer([1, 4, 1], [1, 2, 3]).astype(np.float32)
    )
    assert PageParts(player_html([made_take()])).scene["takes"][0]["costs"] is None


def _suffixed(clip):
    """The clip with sides as suffixes of the joints' names, as in `Foot_L`."""
    names = tuple(
        f"{name.removeprefix(side)}_{side[0]}"
        if (side := next((s for s in ("Left", "Right") if name.startswith(s)), ""))
        else name
        for name in clip.skeleton.names
    )
    return replace(clip, skeleton=replace(clip.skeleton, names=names))


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ("biped", ("left", "right")),
        ("quadruped", ("left hind", "right hind", "left front", "right front")),
    ],
)
def test_feet_are_labelled_by_their_role_and_not_by_their_name(body, labels):
    gait = next(iter(gaits_of(body)))
    actor = Actor.from_clip(_suffixed(locomotion(1, 1.0, body=body, gait=gait).clip))
    assert actor.feet_labels == labels
    parts = PageParts(player_html([Take("walk", [actor])]))
    assert parts.scene["takes"][0]["actors"][0]["feetLabels"] == list(labels)


def test_end_sites_without_length_are_no_joints():
    clip = locomotion(1, 0.5).clip
    ends = np.array(clip.skeleton.end_offsets)
    head = [clip.skeleton.names[parent] for parent in clip.skeleton.end_parents].index("Head")
    ends[head] = 0.0
    clip = replace(clip, skeleton=replace(clip.skeleton, end_offsets=ends))
    positions, parents, names = joints_and_tips(clip, global_transforms(clip))
    assert "Head tip" not in names
    assert positions.shape[1] == len(parents) == len(names)
    assert len(names) == len(clip.skeleton) + len(ends) - 1
