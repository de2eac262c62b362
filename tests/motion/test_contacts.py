"""Contacts of feet whose steps are known."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import find_roles
from tests.motion.bodies import DOG, HUMAN, body, standing


def stepping(geometry, feet, duty, period, stride, fps=60.0, seconds=6.0, floor=0.0, size=1.0):
    """A gliding body whose feet step on a schedule: the clip, and the true contacts.

    `feet` maps the joint that moves freely to its lag in cycles.
    """
    skeleton, index = body(geometry, scale=size)
    frames = int(seconds * fps)
    time = np.arange(frames) / fps
    clip = standing(skeleton, frames, fps)
    speed = stride / period
    root = clip.translations + [0.0, floor, 0.0] + (speed * time)[:, None, None] * [0.0, 0.0, 1.0]
    joints = sorted(index[foot] for foot in feet)
    translations = [root[:, 0]]
    truth = {}
    for joint in joints:
        foot = next(name for name in feet if index[name] == joint)
        cycle = time / period + feet[foot]
        phase = cycle % 1.0
        truth[foot] = phase < duty
        swing = np.clip((phase - duty) / (1.0 - duty), 0.0, 1.0)
        ahead = np.floor(cycle) + swing - np.sin(2 * np.pi * swing) / (2 * np.pi)
        # The foot stands still in the world while the body glides over it.
        world = stride * (ahead - feet[foot] - 0.5 * duty) + 0.0
        forward = world - speed * time
        lift = 0.12 * size * np.sin(np.pi * swing) ** 2
        local = np.broadcast_to(skeleton.offsets[joint], (frames, 3)).copy()
        local[:, 1] += lift
        local[:, 2] += forward
        translations.append(local)
    moving = np.array([0, *joints])
    return Clip(skeleton, clip.rotations, np.stack(translations, 1), fps, moving), truth


def errors_in_frames(found, truth):
    """Frames from each true change of contact to the nearest one found."""

    def changes(flags):
        return np.flatnonzero(np.diff(flags.astype(int)))

    true, seen = changes(truth), changes(found)
    assert len(true) == len(seen)
    return np.abs(true - seen)


@pytest.mark.parametrize(
    ("duty", "period", "stride"),
    [(0.62, 1.1, 1.4), (0.35, 0.7, 2.0), (0.75, 1.6, 0.8)],
    ids=["walk", "run", "stroll"],
)
@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("floor", [0.0, -0.4])
def test_steps_of_a_human_are_found_within_two_frames_of_60_hertz(duty, period, stride, fps, floor):
    feet = {"left_foot": 0.0, "right_foot": 0.5}
    clip, truth = stepping(HUMAN, feet, duty, period, stride, fps, floor=floor)
    contacts = foot_contacts(clip, find_roles(clip.skeleton))
    assert contacts.flags.shape == (len(clip), 2)
    assert contacts.flags.dtype == bool
    for column, foot in enumerate(feet):
        late = errors_in_frames(contacts.flags[:, column], truth[foot])
        # A foot that eases in and out of its swing is nearly still for a while.
        assert late.max() <= max(2, 3 * fps / 60.0)
    names = [clip.skeleton.names[joint] for joint in contacts.joints]
    assert names == ["left_foot", "right_foot"]
    assert contacts.floor == pytest.approx(floor + 0.02, abs=0.01)


@pytest.mark.parametrize("size", [0.6, 1.0, 3.0])
def test_four_paws_of_any_size(size):
    feet = {"left_foot": 0.0, "right_foot": 0.5, "left_hand": 0.25, "right_hand": 0.75}
    # Animals of all sizes move alike at the same Froude number.
    period, stride = 0.7 * np.sqrt(size), 0.7 * size
    clip, truth = stepping(DOG, feet, 0.6, period, stride, seconds=8.0, size=size)
    roles = find_roles(clip.skeleton, clip=clip)
    assert roles.kind == "quadruped"
    contacts = foot_contacts(clip, roles)
    assert [clip.skeleton.names[joint] for joint in contacts.joints] == list(feet)
    for column, foot in enumerate(feet):
        late = errors_in_frames(contacts.flags[:, column], truth[foot])
        assert late.max() <= 4 * np.sqrt(size)


def test_standing_is_contact_and_flying_is_none():
    skeleton, _ = body(HUMAN)
    clip = standing(skeleton, 120)
    roles = find_roles(skeleton)
    assert foot_contacts(clip, roles).flags.all()
    translations = clip.translations.copy()
    translations[40:80, 0, 1] += 0.4 * np.sin(np.linspace(0, np.pi, 40))
    jump = foot_contacts(replace(clip, translations=translations), roles).flags
    assert jump[:38].all()
    assert not jump[43:77].any()
    assert jump[82:].all()


def test_a_foot_held_up_all_the_time_is_never_in_contact():
    skeleton, index = body(HUMAN)
    clip = standing(skeleton, 60)
    local = np.broadcast_to(skeleton.offsets[index["right_foot"]], (60, 3)) + np.array(
        [0.0, 0.25, 0.0]
    )
    translations = np.stack([clip.translations[:, 0], local], axis=1)
    clip = replace(
        clip, translations=translations, translated_joints=np.array([0, index["right_foot"]])
    )
    flags = foot_contacts(clip, find_roles(skeleton)).flags
    assert flags[:, 0].all()
    assert not flags[:, 1].any()


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_very_short_clips(frames):
    skeleton, _ = body(HUMAN)
    assert foot_contacts(standing(skeleton, frames), find_roles(skeleton)).flags.all()
