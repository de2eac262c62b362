"""The shipped editor on a body that it was not trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.edit.bound_editor import bound_editor
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.repair import repaired
from deepphase.formats.load import load
from deepphase.motion.clip import joint_positions
from deepphase.shipped import SHIPPED
from tests.phase.test_any_skeleton import foreign
from tests.real_data import real_clips
from tests.studies.repair import interpolated

_GAP = slice(100, 160)


@pytest.fixture(scope="module")
def clip():
    return foreign(5, 5.0)[0]


@pytest.fixture(scope="module")
def editor(clip):
    return bound_editor(MotionEditor.load(SHIPPED["editor"].path), clip)


def test_a_gap_is_filled_nearer_than_by_interpolation(clip, editor):
    clip = editor.space.on_hips(clip)
    stretch = [(_GAP.start, _GAP.stop - 1)]
    damage = Damage.stated(len(clip), editor.space.joints, stretches=stretch)
    true = joint_positions(clip)
    errors = {
        name: np.linalg.norm(joint_positions(made) - true, axis=-1)
        for name, made in (
            ("editor", repaired(clip, editor, damage)),
            ("interpolation", interpolated(clip, editor, damage)),
        )
    }
    assert errors["editor"][_GAP].mean() < 0.8 * errors["interpolation"][_GAP].mean()


def test_frames_that_are_not_named_keep_their_bits(clip, editor):
    damage = Damage.stated(len(clip), editor.space.joints, stretches=[(_GAP.start, _GAP.stop - 1)])
    made = repaired(clip, editor, damage)
    outside = np.delete(np.arange(len(clip)), _GAP)
    assert made.skeleton.names == clip.skeleton.names
    np.testing.assert_array_equal(made.rotations[outside], clip.rotations[outside])
    np.testing.assert_array_equal(made.local_positions()[outside], clip.local_positions()[outside])
    assert not np.array_equal(made.rotations[_GAP], clip.rotations[_GAP])


def test_a_captured_dance_is_whole_and_keeps_all_that_is_not_named():
    path = real_clips("cmu_dance") / "salsa" / "07.bvh"
    dance = load(path)
    editor = bound_editor(MotionEditor.load(SHIPPED["editor"].path), dance)
    assert repaired(dance, editor) is dance
    arm = [name for name in editor.space.joints if name in ("lShldr", "lForeArm")]
    damage = Damage.stated(len(dance), editor.space.joints, joints=arm, stretches=[(400, 519)])
    made = repaired(dance, editor, damage)
    turned = (made.rotations != dance.rotations).any(axis=-1)
    assert set(np.flatnonzero(turned.any(axis=1))) == set(range(400, 520))
    assert {dance.skeleton.names[joint] for joint in np.flatnonzero(turned.any(axis=0))} == set(arm)
    np.testing.assert_array_equal(made.translations, dance.translations)


def test_what_is_whole_is_not_damage_and_held_poses_of_any_length_are(clip, editor):
    clip = editor.space.on_hips(clip)
    assert not find_damage(clip, editor).any
    rotations, places = clip.rotations.copy(), clip.translations.copy()
    rotations[_GAP], places[_GAP] = rotations[_GAP.start], places[_GAP.start]
    held = replace(clip, rotations=rotations, translations=places)
    found = find_damage(held, editor)
    assert found.frames[_GAP.start + 1 : _GAP.stop].all()
    assert not found.frames[: _GAP.start].any()
    assert "too long" in " ".join(find_damage(held).findings)
    assert "too long" not in " ".join(found.findings)
