"""Values of a schema's blocks at every frame of a clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from deepphase.arrays import Array, wrapped
from deepphase.controllers.ball.ball_track import BallTrack
from deepphase.controllers.ball.fitting import fit_ball
from deepphase.controllers.schema.config import BALL_BLOCKS, PHASE_BLOCKS, TRAJECTORY_HEIGHT
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.features.feature import (
    TRAJECTORY_PATH,
    TRAJECTORY_VELOCITY,
    BodyFrames,
    Feature,
    facing_directions,
    path_of_clip,
    relative_trajectory,
)
from deepphase.features.layout import FeatureLayout, at_offsets, offset_frames, reach_inside
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, velocities
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.quaternions import six_numbers
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)
from deepphase.phase.parameters import ClipPhases
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.springs import spring_to_angle, spring_to_velocity
from deepphase.terrain.grounded_clip import GroundedClip
from deepphase.terrain.heightmap import ground_level, trajectory_heights


class PhaseSource(Protocol):
    """A source of phases, such as a `deepphase.phase.extractor.PhaseExtractor`."""

    def encode(self, clip: Clip) -> ClipPhases:
        """Phases of every frame of a clip, at the clip's rate."""
        ...


@dataclass(frozen=True, eq=False)
class FrameBlocks:
    """The quantities of a clip that a schema's blocks are read from."""

    schema: ControllerSchema
    body: BodyFrames
    rotations: Array  # (frames, joints, 4) quaternions of the same joints, in root space
    contacts: Array  # (frames, feet) bool
    phases: ClipPhases | None
    label: str
    tracks: Mapping[str, Array]  # Name -> (frames, values)
    # (frames, 3 * offsets) metres of the ground; no columns if the schema has no heights.
    heights: Array
    ball: BallTrack | None = None
    sudden: tuple[SuddenGoal, ...] = ()

    @classmethod
    def from_clip(
        cls,
        clip: Clip,
        schema: ControllerSchema,
        phases: PhaseSource | None = None,
        tracks: Mapping[str, Array] | None = None,
        grounded: GroundedClip | None = None,
        ball: BallTrack | None = None,
        sudden: tuple[SuddenGoal, ...] = (),
    ) -> FrameBlocks:
        """Read a clip."""
        schema.check_clip(clip)
        roles = find_roles(clip.skeleton, description=dict(schema.body), clip=clip)
        if schema.config.heights and grounded is None:
            grounded = GroundedClip.on_floor(clip, roles)
        moving = clip if grounded is None else grounded.clip
        transforms = global_transforms(moving)
        root = root_trajectory(moving, roles, positions=transforms[1])
        names = clip.skeleton.names
        joints = [names.index(name) for name in schema.joints]
        positions = transforms[1][:, joints]
        if grounded is None:
            contacts = foot_contacts(clip, roles, transforms=transforms)
        else:
            contacts = grounded.contacts
        columns = {names[joint]: i for i, joint in enumerate(contacts.joints)}
        facing = quaternions.conjugate(root.rotations)[:, None]
        tracks = dict(tracks or {})
        for name in schema.config.tracks:
            if len(tracks.get(name, ())) != len(clip):
                raise ParameterError(
                    f"{clip.name}: the track {name!r} is missing or does not have the clip's "
                    f"{len(clip)} frames"
                )
        if schema.config.ball and ball is None:
            ball = fit_ball(clip, roles=roles)
        relative = to_root_space(positions, root)
        heights = np.zeros((len(clip), 0), np.float32)
        if schema.config.heights and grounded is not None:
            ground, places = grounded.ground, root.positions[:, ::2]
            level = ground_level(ground, places, root.directions[:, ::2])
            relative[..., 1] -= level[:, None].astype(relative.dtype)
            path, _ = path_of_clip(root, np.array(schema.config.offsets_s), clip.fps)
            around = trajectory_heights(
                ground, path.positions[..., ::2], path.directions[..., ::2], level
            )
            heights = around.reshape(len(clip), -1).astype(np.float32)
        return cls(
            schema,
            BodyFrames(
                schema.joints,
                relative,
                velocities_in_root_space(velocities(positions, clip.fps), root),
                root,
                clip.fps,
            ),
            quaternions.multiply(facing, transforms[0][:, joints]),
            contacts.flags[:, [columns[name] for name in schema.feet]],
            _phases(clip, schema, phases),
            _label(clip, schema),
            tracks,
            heights,
            ball if schema.config.ball else None,
            sudden,
        )

    def __len__(self) -> int:
        return len(self.body)

    def rows(self, layout: FeatureLayout | None) -> Array:
        """(frames, dims) float32 raw values of a layout of the schema."""
        if layout is None:
            return np.zeros((len(self), 0), np.float32)
        return layout.assembled({feature.name: self._block(feature) for feature in layout})

    def inside(self) -> Array:
        """(frames,) bool: whether all trajectory samples and the phase window lie in the clip."""
        inside = reach_inside(len(self), self.schema.config.offsets_s, self.body.fps)
        return inside if self.phases is None else inside & self.phases.interior

    def _block(self, feature: Feature) -> Array:
        name, frames = feature.name, len(self)
        if feature.kind in TRAJECTORY_PATH:
            columns = [self.schema.config.offsets_s.index(time) for time in feature.offsets_s]
            return self._trajectory[name][:, columns].reshape(frames, -1)
        if feature.kind.startswith("joint"):
            of_joints = self.body.positions
            if feature.kind == "joint_velocity":
                of_joints = self.body.velocities
            return of_joints[:, self.body.index_of(feature.joints)].reshape(frames, -1)
        if name == TRAJECTORY_VELOCITY:
            return self._root_velocities(feature)
        if name == TRAJECTORY_HEIGHT:
            return self.heights
        if name in BALL_BLOCKS and self.ball is not None:
            return self._of_ball(name, feature.offsets_s, self.ball)
        return at_offsets(self._per_frame(name), feature.offsets_s, self.body.fps)

    @cached_property
    def _trajectory(self) -> dict[str, Array]:
        """Block -> (frames, offsets, 2) at all offsets of the schema."""
        root, offsets = self.body.root, np.array(self.schema.config.offsets_s)
        path, _ = path_of_clip(root, offsets, self.body.fps)
        for goals in self._goals_ahead(self.schema.config.offsets_s):
            path.positions[goals.frames][goals.known, ::2] = goals.positions[goals.known]
            turned = facing_directions(goals.angles[goals.known])
            path.directions[goals.frames][goals.known] = turned
        relative = relative_trajectory(
            path.positions, path.directions, root.positions, root.directions
        )
        shape = (len(self), len(offsets), 2)
        return {
            name: each.reshape(shape) for name, each in zip(TRAJECTORY_PATH, relative, strict=True)
        }

    def _root_velocities(self, feature: Feature) -> Array:
        root = self.body.root
        moved = velocities(root.positions, self.body.fps)
        frames = offset_frames(len(self), feature.offsets_s, self.body.fps)
        ahead = moved[frames]
        for goals in self._goals_ahead(feature.offsets_s):
            ahead[goals.frames][goals.known, ::2] = goals.velocities[goals.known]
        relative = velocities_in_root_space(ahead, root)
        return relative[..., [0, 2]].reshape(len(self), -1)

    def _goals_ahead(self, offsets_s: tuple[float, ...]) -> list[GoalsAhead]:
        root, ahead = self.body.root, np.array(offsets_s)
        return [GoalsAhead.from_change(root, goal, ahead, self.body.fps) for goal in self.sudden]

    def _of_ball(self, name: str, offsets_s: tuple[float, ...], ball: BallTrack) -> Array:
        root = self.body.root
        frames = offset_frames(len(self), offsets_s, self.body.fps)
        if name == "ball_position":
            # Over the floor, as are the heights of the track.
            places = ball.positions[frames] - (root.positions * (1.0, 0.0, 1.0))[:, None]
            return velocities_in_root_space(places, root).reshape(len(self), -1)
        moved = velocities_in_root_space(ball.velocities[frames], root)
        return moved.reshape(len(self), -1)

    def _per_frame(self, name: str) -> Array:
        """(frames, values) of a block that has no offsets."""
        schema, root, fps = self.schema, self.body.root, self.body.fps
        if name == "joint_rotation":
            return six_numbers(self.rotations).reshape(len(self), -1)
        if name == "contact":
            return self.contacts.astype(np.float32)
        if name == "root_velocity":
            step = _step(root.positions) * fps
            before = np.concatenate([root.rotations[:1], root.rotations[:-1]])
            return quaternions.rotate(quaternions.conjugate(before), step)[:, [0, 2]]
        if name == "root_turn":
            return (_step(root.angles) * fps)[:, None]
        if name == schema.config.label:
            one_hot = np.zeros((len(self), len(schema.label_values)), np.float32)
            one_hot[:, schema.label_values.index(self.label)] = 1.0
            return one_hot
        if name in PHASE_BLOCKS and self.phases is not None:
            return self._of_phases(name, self.phases)
        return self.tracks[name].reshape(len(self), -1)

    def _of_phases(self, name: str, phases: ClipPhases) -> Array:
        parameters, channel = phases.parameters, self.schema.config.phase_channel
        if name == "phase_manifold":
            return parameters.manifold()
        if name == "phase_frequency":
            return parameters.frequency
        if name == "phase_amplitude":
            return parameters.amplitude
        phase = parameters.phase[:, [channel or 0]]
        if name == "phase":
            return phase
        # Noisy phases may run backwards; at run time the phase only advances.
        return np.maximum(wrapped(_step(phase)), 0.0) * phases.fps


def _step(values: Array) -> Array:
    """(frames, ...) change since the previous frame; 0 at the first frame."""
    return np.diff(values, axis=0, prepend=values[:1])


def _phases(clip: Clip, schema: ControllerSchema, source: PhaseSource | None) -> ClipPhases | None:
    if not schema.channels:
        return None
    if source is None:
        raise ParameterError(
            f"{clip.name}: the controller reads {schema.channels} phase channels, but no phase "
            "model is given",
            hint="give the phase model that the controller was trained with",
        )
    phases = source.encode(clip)
    found = (len(phases), phases.parameters.channels)
    if found != (len(clip), schema.channels):
        raise ParameterError(
            f"{clip.name}: phases have {found[0]} frames and {found[1]} channels, expected "
            f"{len(clip)} and {schema.channels}",
            hint="give the phase model that the controller was trained with",
        )
    return phases


def _label(clip: Clip, schema: ControllerSchema) -> str:
    name = schema.config.label
    if not name:
        return ""
    value = clip.labels.get(name, "")
    if value not in schema.label_values:
        raise ParameterError(
            f"{clip.name}: {name} is {value!r}",
            hint=f"the controller has {', '.join(schema.label_values)}",
        )
    return value


# Seconds after a change in which the trajectory ahead is the goal's; then it is the clip's again.
_SECONDS = 1.0
# Velocities before and after are means over this time.
_MEAN_S = 0.3


@dataclass(frozen=True)
class SuddenGoal:
    """A change of a clip's motion that its trajectory ahead does not show before it happens."""

    frame: int
    settled: int


@dataclass(frozen=True, eq=False)
class GoalsAhead:
    """What the goals of a sudden change are ahead of some consecutive frames."""

    frames: slice
    positions: Array  # (frames, offsets, 2) m in the world, x and z
    angles: Array  # (frames, offsets) radians about Y
    velocities: Array  # (frames, offsets, 2) m/s in the world, x and z
    known: Array  # (frames, offsets) bool: where this replaces the clip's own trajectory

    @classmethod
    def from_change(
        cls, root: RootTrajectory, change: SuddenGoal, offsets_s: Array, fps: float
    ) -> GoalsAhead:
        """The goals around one change."""
        settings, at = GamepadSettings(), change.frame
        ahead = np.asarray(offsets_s, np.float64)
        begin = max(at - int(np.ceil(ahead.max() * fps)), 0)
        stop = min(at + round(_SECONDS * fps), len(root))
        places = root.positions[:, ::2].astype(np.float64)
        old, new = (_mean_velocity(places, frame, fps) for frame in (at, change.settled))
        angle, goal = float(root.angles[at]), np.array(float(root.angles[change.settled]))
        since = (np.arange(begin, stop) - at)[:, None] / fps
        later = since + ahead
        # Before the change all goes straight on; its moments that lie before it are the clip's.
        waiting = since < 0.0
        known = np.where(waiting, later > 0.0, ahead > 0.0)
        started = np.where(waiting, 0.0, since)
        still = np.zeros(2)

        def travelled(seconds: Array) -> tuple[Array, Array]:
            positions, speeds, _ = spring_to_velocity(
                still, old, still, new, settings.halflife_s, seconds[..., None]
            )
            return positions, speeds

        then, speeds = travelled(np.maximum(later, 0.0))
        positions = places[begin:stop, None] + then - travelled(started)[0]
        straight = places[at] + old * later[..., None]
        angles, _ = spring_to_angle(
            np.array(angle), np.zeros(()), goal, settings.facing_halflife_s, np.maximum(later, 0.0)
        )
        return cls(
            slice(begin, stop),
            np.where(waiting[..., None], straight, positions),
            np.where(waiting, angle, angles),
            np.where(waiting[..., None], old, speeds),
            known,
        )


def _mean_velocity(places: Array, frame: int, fps: float) -> Array:
    half = max(round(0.5 * _MEAN_S * fps), 1)
    first, last = max(frame - half, 0), min(frame + half, len(places) - 1)
    return (places[last] - places[first]) * fps / (last - first)
