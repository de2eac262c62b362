"""A body that follows a clip of another body, on synthetic motion whose phases are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.apps.runs.following import stand_in_words
from deepphase.corpus.clip_store import ClipStore
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.matching.database.across import (
    is_of_another_body,
    on_shared_manifold,
    query_across,
)
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.following import follow
from deepphase.matching.player.playback import Playback
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.model import PhaseModel
from deepphase.phase.shared_frames import SharedFrames
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import SyntheticMotion, locomotion
from tests.formula_motion import NAMES, swinging
from tests.matching.made_databases import swinging_store, untrained_model

LAYOUT = FeatureLayout(Feature("trajectory_position", offsets_s=(0.3, 0.6)))


def shared(motions: list[SyntheticMotion], gaits: list[int]) -> SharedFrames:
    """The true phases of motions, and a code and a place for each gait."""
    phase = np.concatenate([each.phase[:, 0] for each in motions])
    codes = np.repeat(gaits, [len(each.clip) for each in motions])
    angle = 2.0 * np.pi * phase
    moves = 0.6 * (codes > 0)
    places = np.stack([3.0 * codes, moves * np.sin(angle), moves * np.cos(angle), 0.0 * angle], 1)
    frequency = np.concatenate([each.frequency[:, 0] for each in motions])
    return SharedFrames(places.astype(np.float32), codes, phase, frequency)


@pytest.fixture(scope="module")
def dog():
    gaits = ("idle", "walk", "trot")
    motions = [locomotion(n, 8.0, body="quadruped", gait=gait) for n, gait in enumerate(gaits)]
    database = MotionDatabase.build(ClipStore.from_clips(each.clip for each in motions), LAYOUT)
    return database, Playback.of_database(database), shared(motions, [0, 1, 2])


def person(gait: str, code: int):
    motion = locomotion(5, 6.0, gait=gait)
    root = root_trajectory(motion.clip, find_roles(motion.clip.skeleton, clip=motion.clip))
    return shared([motion], [code]), root, motion


@pytest.mark.parametrize(("gait", "code"), [("walk", 1), ("run", 2)])
def test_a_dog_keeps_the_rhythm_and_the_gait_of_a_person(dog, gait, code):
    database, playback, own = dog
    clip, root, _ = person(gait, code)
    found = follow(database, playback, own, clip, root, "dog")
    assert len(found.clip) == len(clip)
    assert found.same_codes == 1.0
    apart = wrapped(own.phase[found.rows] - clip.phase)
    assert np.abs(apart[60:]).max() < 0.06
    assert found.phase_error < 0.03
    # It strides as often as the person, which its own clips do not.
    own_hz = np.median(own.frequency[own.codes == code])
    turns = np.unwrap(own.phase[found.rows], period=1.0)
    assert abs(own_hz - clip.frequency.mean()) > 0.1
    assert (turns[-1] - turns[60]) / (len(turns) - 61) * 60 == pytest.approx(
        clip.frequency[60:].mean(), rel=0.03
    )


def test_codes_that_a_body_lacks_are_stood_in_for_by_the_nearest_in_speed_and_stride(dog):
    database, playback, own = dog
    clip, root, _ = person("run", 2)
    clip = replace(
        clip, codes=np.full(len(clip), 7), places=clip.places + np.array([0.5, 0, 0, 0.2])
    )
    assert clip.stand_ins(own) == {7: (2,)}
    found = follow(database, playback, own, clip, root, "dog")
    assert found.stand_ins == {7: (2,)}
    assert found.same_codes == 1.0
    assert found.phase_error < 0.03
    (words,) = stand_in_words(found)
    assert "lacks code 7 of the clip: code 2, nearest by stride and speed" in words
    assert "has its code, 7, for less than a second in all" in clip.unshared_words(0, own)
    assert own.stand_ins(clip) == dict.fromkeys((0, 1, 2), (7,))


def test_codes_of_less_than_a_second_count_as_lacking(dog):
    own = dog[2]
    brief = replace(own, codes=np.where(np.arange(len(own)) < 59, 5, own.codes))
    clip, *_ = person("walk", 5)
    assert list(clip.stand_ins(brief)) == [5]
    assert list(clip.stand_ins(replace(own, codes=np.where(own.codes == 1, 5, own.codes)))) == []
    assert clip.unshared_words(0, replace(own, codes=np.where(own.codes == 1, 5, 0))) == ""


def test_jumps_leave_no_step_in_the_pose_and_headings_are_followed(dog):
    database, playback, own = dog
    stands, walks = person("idle", 0), person("walk", 1)
    clip = SharedFrames(
        np.concatenate([stands[0].places, walks[0].places]),
        *(
            np.concatenate([getattr(each[0], name) for each in (stands, walks)])
            for name in ("codes", "phase", "frequency")
        ),
    )
    frames = len(clip)
    root = replace(walks[1], positions=np.zeros((frames, 3)), angles=np.full(frames, 0.5))
    found = follow(database, playback, own, clip, root, "dog")
    assert found.jumps >= 1
    joints = joint_positions(found.clip)
    relative = joints - joints[:, :1]
    step = np.linalg.norm(np.diff(relative, axis=0), axis=2).max(1)
    stored = joint_positions(database.clip(1))
    usual = np.linalg.norm(np.diff(stored - stored[:, :1], axis=0), axis=2).max()
    assert step.max() < 2.5 * usual
    end = root_trajectory(found.clip, find_roles(found.clip.skeleton, clip=found.clip)).angles[-1]
    assert abs(np.angle(np.exp(1j * (end - 0.5)))) < 0.35


@pytest.mark.parametrize("angle", [0.0, -1.5])
def test_a_query_that_sits_says_that_codes_do_not_tell_it_from_standing(dog, angle):
    """A body on the floor, by the shipped model: at rest, dogs and people have one code."""
    clip, _ = swinging(1.0, 4.0)
    rotations = np.zeros_like(clip.rotations)
    rotations[..., 3] = 1.0
    for name in ("LeftUpLeg", "RightUpLeg"):
        rotations[:, NAMES.index(name)] = Rotation.from_rotvec([angle, 0.0, 0.0]).as_quat()
    still = np.repeat(clip.translations[:1], len(clip), axis=0)
    clip = replace(clip, rotations=rotations, translations=still)
    model = PhaseModel.load(SHIPPED["shared"].path)
    database, own = on_shared_manifold(dog[0], model)
    query, words = query_across(database, own, model, clip, 120)
    assert query.query.shape == own.places[0].shape
    assert ("is sitting at this moment: codes are read from movement" in words) == (angle < 0)


def test_other_bodies_are_known_by_their_joints_and_need_a_codebook(dog):
    database = dog[0]
    clip = person("walk", 1)[2].clip
    assert is_of_another_body(database, clip)
    assert not is_of_another_body(database, database.clip(0))
    with pytest.raises(ParameterError, match="no codebook that skeletons share"):
        on_shared_manifold(database, untrained_model(swinging_store()))
