"""Editors for clips of another skeleton than that of their training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deepphase.arrays import Array
from deepphase.edit.damage import Damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import JointStatistics, MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.correspondence import match_joints
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles

# Parts whose joints may be missing: hands and toes do not turn in every capture.
_LIMBS = ("hip", "knee", "shoulder", "elbow")


@dataclass(eq=False, kw_only=True)
class BoundEditor(MotionEditor):
    """An editor for clips of another skeleton, for `repaired` and `in_between`.

    Noise and jumps are not found: what is rough differs between captures.

    Its body is that of the clips; the network's estimates are those of the trained editor, of the
    clips retargeted to its own body. Where a clip is whole, it stays as it is, and estimates are
    moved to continue it: what retargeting changes on both ways cancels out there.
    """

    bound: ClassVar[bool] = True

    trained: MotionEditor
    # (joints of the trained body, 2) columns of `Damage.known` that each is retargeted from; or -1
    sources: Array
    sample: Clip

    def on_trained(self, clip: Clip, damage: Damage) -> tuple[Clip, Damage]:
        """A clip without gaps, and its damage, on the body of the trained editor."""
        space = self.trained.space
        known = np.ones((len(clip), len(space.joints) + 1), np.float32)
        known[:, 0] = damage.known[:, 0]
        for column, pair in enumerate(self.sources, start=1):
            if pair[0] >= 0:
                known[:, column] = damage.known[:, pair].min(axis=1)
        return space.on_hips(retarget(clip, space.skeleton).clip), Damage(known, space.joints)

    def on_body(self, clip: Clip) -> Clip:
        """A clip of the trained editor's body on the body of the clips."""
        return self.space.on_hips(retarget(clip, self.sample).clip)


def bound_editor(editor: MotionEditor, clip: Clip) -> BoundEditor:
    """An editor for clips of another body, with an editor that was trained on its own."""
    roles = find_roles(clip.skeleton, clip=clip)
    space = MotionSpace.from_clip(clip, editor.fps)
    trained = editor.space.skeleton
    trained_roles = find_roles(trained, editor.space.description)
    columns = {int(joint): at + 1 for at, joint in enumerate(space.points.joints)}
    places = {int(joint): at for at, joint in enumerate(editor.space.points.joints)}
    sources = np.full((len(places), 2), -1)
    for match in match_joints(clip.skeleton, roles, trained, trained_roles):
        if match.joint in places and match.first in columns and match.second in columns:
            sources[places[match.joint]] = columns[match.first], columns[match.second]
    count = len(space.points.joints)
    # No joint is rough.
    spread, rough = np.zeros(count), np.full(count + 1, np.inf)
    for part in _LIMBS:
        pairs = roles.both(part), trained_roles.both(part)
        # A body may lack arms.
        for own, other in zip(pairs[0] or (), pairs[1] or (), strict=False):
            spread[columns[own] - 1] = editor.statistics.spread[places[other]]
    at_rest = np.tile(quaternions.IDENTITY, (count, 1))
    return BoundEditor(
        editor.network,
        editor.config,
        space,
        foot_contacts(clip, roles).joints,
        editor.normalisation,
        JointStatistics(at_rest, spread, rough),
        editor.report,
        editor.provenance,
        trained=editor,
        sources=sources,
        sample=clip,
    )
