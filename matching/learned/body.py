"""Bodies of matchers, with what was measured in the motion of their databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from deepphase.arrays import Array
from deepphase.matching.learned.pose_values import PoseValues
from deepphase.matching.player.playback import Playback
from deepphase.motion.clip import Source
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class MatcherBody:
    """The body of a matcher, and what was measured in all of the database's motion."""

    # skeleton, translated_joints, source: As of a `Playback`.
    skeleton: Skeleton
    description: Mapping[str, str]  # Role -> joint name, as `find_roles` takes a description
    translated_joints: Array
    usual_acceleration: float  # As of a `Playback`
    # top_speed, travelling_speed: m/s: 99th percentile of all rows, and median of those in
    # locomotion.
    top_speed: float
    travelling_speed: float
    covered: tuple[bool, ...]  # (8,) bool: as of `FacingCoverage`
    source: Source = Source()  # noqa: RUF009 (frozen)

    @classmethod
    def of_playback(
        cls, playback: Playback, description: Mapping[str, str], playable: Array
    ) -> MatcherBody:
        """The body of a database's motion, of which the rows `playable` (rows,) are played."""
        return cls(
            playback.skeleton,
            dict(description),
            playback.translated_joints,
            playback.usual_acceleration,
            playback.top_speed,
            playback.travelling_speed,
            tuple(playback.facing_coverage(playable).covered.tolist()),
            playback.source,
        )

    @cached_property
    def roles(self) -> Roles:
        """Roles of the joints."""
        return find_roles(self.skeleton, description=dict(self.description))

    @cached_property
    def limbs(self) -> LegChains:
        """Limbs that end in feet."""
        return LegChains.of_skeleton(self.skeleton, self.roles).on_floor(self.skeleton, self.roles)

    def values(self, fps: float) -> PoseValues:
        """The values of its poses."""
        translated = self.translated_joints.tolist()
        limbs = len(self.limbs)
        return PoseValues.of_body(self.skeleton, self.roles.hips, translated, limbs, fps)
