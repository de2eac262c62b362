"""Root motion of every runner's files: one rule for skeletons with and without a joint above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.runs import write_motions
from deepphase.controllers.runtime.characters import Characters
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import FeatureLayout
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.source import PlayerSource
from deepphase.motion import quaternions
from deepphase.motion.clip import Source, joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout, start_on_path
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.replaying import replay_of

TURN = 0.9
CENTIMETRES = Source(unit_m=0.01, up="z")
UP = np.array([0.0, 1.0, 0.0])


def walk(above: bool):
    """A walk in centimetres; with two joints above the hips that stay at the origin."""
    clip = locomotion(3, 6.0, turn_rate=TURN, variety=0.0).clip
    skeleton = clip.skeleton
    if above:
        offsets = np.concatenate([np.zeros((2, 3)), skeleton.offsets])
        skeleton = Skeleton(
            ("World", "Base", *skeleton.names),
            np.concatenate([[-1, 0], np.where(skeleton.parents < 0, 1, skeleton.parents + 2)]),
            offsets,
            skeleton.end_parents + 2,
            skeleton.end_offsets,
        )
        still = np.broadcast_to(quaternions.IDENTITY, (len(clip), 2, 4))
        clip = replace(
            clip,
            skeleton=skeleton,
            rotations=np.concatenate([still, clip.rotations], axis=1),
            translations=np.insert(clip.translations, 0, 0.0, axis=1),
            translated_joints=np.array([0, 2]),
        )
    return replace(clip, source=CENTIMETRES)


def controlled(above):
    controller, starts, _ = replay_of(walk(above), "mann", [40, 60])
    controller.source = CENTIMETRES
    return rollout(Characters(controller, starts, positions=np.array([[0.0, 0], [3, 1]])), None, 3)


def matched(above):
    store = ClipStore.from_clips([walk(above)])
    database = MotionDatabase.build(store, FeatureLayout.load("pose_trajectory"))
    source = PlayerSource.from_database(database, "exact")
    return rollout(*start_on_path(source, made_path("circle", 1.3, 3.0), characters=2), 3)


@pytest.fixture(
    scope="module", params=["controlled-hips", "controlled-above", "matched-hips", "matched-above"]
)
def run(request):
    make, kind = request.param.split("-")
    return {"controlled": controlled, "matched": matched}[make](kind == "above")


def body(clip, run):
    """(frames, joints, 3) metres in the world, computed in float64."""
    exact = replace(
        clip,
        rotations=clip.rotations.astype(float),
        translations=clip.translations.astype(float),
    )
    joints = [clip.skeleton.index(name) for name in run.spec.joints]
    return joint_positions(exact)[:, joints]


def test_every_choice_has_the_same_places_in_the_world(run):
    recorded = body(run.clip(1), run)
    assert np.ptp(recorded[:, 0, ::2], axis=0).max() > 1.0
    for choice in ("root", "hips"):
        np.testing.assert_allclose(
            body(run.clip(1, root_motion=choice), run), recorded, rtol=0, atol=1e-6
        )


def test_the_root_travels_on_the_ground_and_turns_with_the_facing(run):
    clip = run.clip(1, root_motion="root")
    np.testing.assert_allclose(clip.translations[:, 0, ::2], run.positions[1], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(clip.translations[:, 0, 1], 0.0)
    facing = quaternions.about_axis(UP, run.angles[1])
    assert quaternions.angle_between(clip.rotations[:, 0], facing).max() < 1e-6
    hips = clip.skeleton.index(run.spec.joints[0])
    assert hips > 0
    between = clip.translations[:, np.searchsorted(clip.translated_joints, hips)]
    assert np.linalg.norm(between[:, ::2], axis=1).max() < 0.2
    assert (clip.skeleton.names[0] == "root") == (run.spec.skeleton.names[0] == run.spec.joints[0])


def test_hips_leave_the_joints_above_them_at_the_origin(run):
    clip = run.clip(1, root_motion="hips")
    hips = clip.skeleton.index(run.spec.joints[0])
    assert clip.skeleton.names == run.spec.skeleton.names
    still = np.broadcast_to(quaternions.IDENTITY, (len(clip), hips, 4))
    np.testing.assert_array_equal(clip.rotations[:, :hips], still)
    np.testing.assert_array_equal(clip.translations[:, clip.translated_joints < hips], 0.0)


def test_in_place_keeps_height_and_has_neither_travel_nor_turn(run):
    clip, recorded = run.clip(1, root_motion="in_place"), body(run.clip(1), run)
    places = body(clip, run)
    assert clip.skeleton.names == run.spec.skeleton.names
    assert np.abs(places[:, 0, ::2]).max() < 0.2
    back = quaternions.about_axis(UP, -run.angles[1])[:, None]
    relative = recorded - np.insert(run.positions[1], 1, 0.0, axis=1)[:, None]
    # Recorded float32 quaternions are of unit length to seven digits.
    np.testing.assert_allclose(places, quaternions.rotate(back, relative), rtol=0, atol=5e-6)


def test_files_have_the_unit_and_axis_of_the_source_and_the_same_places(run, tmp_path):
    expected = body(run.clip(1), run)
    found = {}
    for choice in ("auto", "root", "hips"):
        write_motions(run, tmp_path, "run", choice)
        bvh, glb = load(tmp_path / "run-02.bvh"), load(tmp_path / "run-02.glb")
        assert (bvh.source.unit_m, bvh.source.up) == (0.01, "z")
        found[choice] = body(bvh, run)
        np.testing.assert_allclose(found[choice], found["auto"], rtol=0, atol=1e-6)
        np.testing.assert_allclose(found[choice], expected, rtol=0, atol=5e-6)
        np.testing.assert_allclose(body(glb, run), expected, rtol=0, atol=5e-6)
