"""Editors for clips of another skeleton than that of their training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deepphase.arrays import Array
from deepphase.edit.damage import Damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import JointStatistics, MotionSpace
from deepphase.edit.targets import JointTarget
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.correspondence import match_joints
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import ancestors, path_length

_ENDS = ("left_hand", "right_hand", "left_foot", "right_foot")
# Parts whose joints may be missing: hands and toes do not turn in every capture.
_LIMBS = ("hip", "knee", "shoulder", "elbow")


@dataclass(eq=False, kw_only=True)
class BoundEditor(MotionEditor):
    """An editor for clips of another skeleton: the trained one, of clips that are retargeted.

    Whole frames stay, and estimates continue them: what retargeting changes on both ways cancels
    out. Noise and jumps are not found: what is rough differs between captures.
    """

    bound: ClassVar[bool] = True

    trained: MotionEditor
    # (joints of the trained body, 2) columns of `Damage.known` that each is retargeted from; or -1
    sources: Array
    sample: Clip

    def on_trained(self, clip: Clip) -> Clip:
        """A clip without gaps on the body of the trained editor."""
        space = self.trained.space
        return space.on_hips(retarget(clip, space.skeleton).clip)

    def damage_on_trained(self, damage: Damage) -> Damage:
        """Damage of a clip as that of the clip on the body of the trained editor."""
        space, frames = self.trained.space, len(damage.known)
        known = np.ones((frames, len(space.joints) + 1), np.float32)
        known[:, 0] = damage.known[:, 0]
        for column, pair in enumerate(self.sources, start=1):
            if pair[0] >= 0:
                known[:, column] = damage.known[:, pair].min(axis=1)
        return Damage(known, space.joints)

    def targets_on_trained(
        self, clip: Clip, trained: Clip, targets: Sequence[JointTarget]
    ) -> list[JointTarget]:
        """Targets on the trained body: as far from hands and feet there, in its size."""
        space = self.trained.space
        roles = self.space.roles_of(clip), space.roles_of(trained)
        own, other = joint_positions(clip), joint_positions(trained)
        size = _leg(trained, roles[1]) / _leg(clip, roles[0])
        made = []
        for target in targets:
            joint = clip.skeleton.index(target.joint)
            above = ancestors(clip.skeleton, joint)
            part = next(name for name in _ENDS if getattr(roles[0], name) in above)
            at = getattr(roles[1], part)
            for frame in range(target.first, target.last + 1):
                place = other[frame, at] + size * (np.array(target.place) - own[frame, joint])
                name = trained.skeleton.names[at]
                made.append(JointTarget(name, frame, frame, tuple(place.tolist())))
        return made

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


def _leg(clip: Clip, roles: Roles) -> float:
    """Length of the left leg in metres."""
    assert roles.left_hip is not None
    assert roles.left_foot is not None
    return path_length(clip.skeleton, roles.left_hip, roles.left_foot)
