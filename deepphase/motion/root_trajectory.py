"""Root trajectory of a body: its path on the ground and its facing, and root space.

The root of a frame is the hips' projection onto the ground with the facing direction of hips and
shoulders (Holden, Komura and Saito 2017, section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors

# Standard deviation, in seconds, of the Gaussian that smooths the facing: it removes the sway of
# the pelvis in a step and keeps turns.
FACING_SMOOTHING_S = 0.15
# Up to this standard deviation directions are averaged as vectors: over half a turn they would
# cancel, and dancers spin once in 0.5 s. For longer ones their angles are averaged.
VECTOR_SMOOTHING_S = 0.03
_GROUND = np.array([1.0, 0.0, 1.0])
_UP = np.array([0.0, 1.0, 0.0])
_FRONT = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class RootTrajectory:
    """A body's path over the ground and its facing.

    Parameters
    ----------
    positions
        (frames, 3) metres: the hips projected onto the ground, y = 0 where it is flat.
    directions
        (frames, 3) unit vectors on the ground: the facing.
    rotations
        (frames, 4) quaternions about Y that turn +Z to the facing.
    angles
        (frames,) radians of those turns, continuous over time (not wrapped).
    note
        One sentence on the source of the facing.
    """

    positions: Array
    directions: Array
    rotations: Array
    angles: Array
    note: str = ""

    def __repr__(self) -> str:
        steps = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        return short_repr(self, counted(len(self), "frame"), f"{steps.sum():.2f} m long")

    def __len__(self) -> int:
        return len(self.positions)

    @classmethod
    def from_ground(
        cls, positions: Array, angles: Array, heights: Array | float = 0.0
    ) -> RootTrajectory:
        """Trajectory from (frames, 2) x and z in metres and (frames,) radians about Y from +Z.

        `heights` are those of the ground, (frames,) metres.
        """
        return cls(
            positions=np.insert(positions, 1, heights, axis=1),
            directions=np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=-1),
            rotations=quaternions.about_axis(_UP, angles),
            angles=angles,
        )


def root_trajectory(
    clip: Clip,
    roles: Roles,
    positions: Array | None = None,
    smoothing_s: float = FACING_SMOOTHING_S,
) -> RootTrajectory:
    """The root trajectory of a clip.

    A biped faces (the average of its hip line and shoulder line, right to left) x up. A quadruped
    faces along its trunk, from the middle of the hips to that of the shoulders, and across those
    lines only where it rears: on dogs the trunk sways half as much in a gait, and does not turn
    over when they lie down. A body without these faces in its direction of travel over the whole
    clip, else +Z. The smoothing weights each frame by how well its facing is defined, so that
    a somersault is bridged by its neighbours.

    Parameters
    ----------
    positions
        (frames, joints, 3) metres: the clip's joint positions, if they were computed before.
    smoothing_s
        Standard deviation of the Gaussian over time, in seconds; 0 for none.
    """
    positions = joint_positions(clip) if positions is None else positions
    facing, note = _facing(positions, roles, clip.fps)
    angles = _smooth_angles(facing.astype(np.float64), smoothing_s, clip.fps)
    root, kind = RootTrajectory.from_ground(positions[:, roles.hips, ::2], angles), positions.dtype
    places, directions, rotations = (
        values.astype(kind) for values in (root.positions, root.directions, root.rotations)
    )
    return RootTrajectory(places, directions, rotations, angles.astype(kind), note)


def facing_angles(positions: Array, roles: Roles, fps: float) -> Array:
    """(frames,) radians from +Z towards +X of the facing of (frames, joints, 3) positions."""
    facing, _ = _facing(positions, roles, fps)
    return _smooth_angles(facing.astype(np.float64), FACING_SMOOTHING_S, fps)


def _facing(positions: Array, roles: Roles, fps: float) -> tuple[Array, str]:
    """(frames, 3) facing on the ground, longer where it is better defined, and its source."""
    pairs = {"hips": roles.both("hip"), "shoulders": roles.both("shoulder")}
    lines = {
        name: positions[:, pair[0]] - positions[:, pair[1]] for name, pair in pairs.items() if pair
    }
    if lines:
        across = np.cross(sum(lines.values()) / len(lines), _UP)
        hips, shoulders = pairs.values()
        if roles.kind == "quadruped" and hips and shoulders:
            trunk = positions[:, list(shoulders)] - positions[:, list(hips)]
            along = trunk.mean(axis=1) * _GROUND
            return along + across, "facing along the trunk, from hips to shoulders"
        return across, f"facing across the line of {' and '.join(lines)}"
    path = positions[:, roles.hips] * _GROUND
    travelled = path[-1] - path[0]
    if np.linalg.norm(travelled) > 0.1 * max(np.ptp(positions[0], axis=0).max(), 1e-9):
        return np.tile(travelled, (len(path), 1)), "facing along the travel"
    return np.tile(_FRONT, (len(path), 1)), "facing assumed to be +Z: no evidence"


def _smooth_angles(facing: Array, smoothing_s: float, fps: float) -> Array:
    """(frames,) radians from +Z towards +X, continuous; smoothing weighted by vector length."""
    frames = len(facing)
    smooth = smoothing_s > 0 and frames > 1
    if smooth:
        sigma = min(VECTOR_SMOOTHING_S, smoothing_s) * fps
        facing = gaussian_filter1d(facing, sigma, axis=0, mode="nearest")
    weights = np.linalg.norm(facing, axis=1)
    if weights.max() < 1e-9:
        return np.zeros(frames)
    defined = np.flatnonzero(weights > 1e-2 * weights.max())
    angles = np.unwrap(np.arctan2(facing[defined, 0], facing[defined, 2]))
    angles = np.interp(np.arange(frames), defined, angles)
    if not smooth:
        return angles
    # Odd reflection: the smoothing does not slow down a turn that continues at a clip's edge.
    sigma = smoothing_s * fps
    margin = int(np.ceil(4 * sigma))
    angles = np.pad(angles, margin, mode="reflect", reflect_type="odd")
    weights = np.pad(np.maximum(weights, 1e-6 * weights.max()), margin, mode="reflect")
    smoothed = gaussian_filter1d(weights * angles, sigma) / gaussian_filter1d(weights, sigma)
    return smoothed[margin : margin + frames]


def to_root_space(positions: Array, root: RootTrajectory) -> Array:
    """World positions (frames, ..., 3) relative to the root of their frame."""
    return velocities_in_root_space(positions - _per_frame(root.positions, positions), root)


def from_root_space(positions: Array, root: RootTrajectory) -> Array:
    """World positions of positions (frames, ..., 3) relative to the root of their frame."""
    turned = quaternions.rotate(_per_frame(root.rotations, positions), positions)
    return turned + _per_frame(root.positions, positions)


def velocities_in_root_space(velocity: Array, root: RootTrajectory) -> Array:
    """World velocities (frames, ..., 3) rotated into the facing of their frame.

    They stay velocities relative to the world: the root's own velocity is not subtracted.
    """
    back = quaternions.conjugate(root.rotations)
    return quaternions.rotate(_per_frame(back, velocity), velocity)


def _per_frame(values: Array, like: Array) -> Array:
    return values.reshape(len(values), *(1,) * (like.ndim - 2), values.shape[-1])


RootMotion = Literal["auto", "root", "hips", "in_place"]
"""Where root motion goes; see `with_root_motion`."""


def with_root_motion(clip: Clip, hips: int, root: RootTrajectory, root_motion: RootMotion) -> Clip:
    """The same motion with its travel on another joint, or without travel.

    ========  ====================================================================================
    auto      the clip as it is
    root      the topmost joint lies on the ground at the root trajectory and turns with it; the
              hips move relative to it. Where the hips are the topmost joint, a joint ``root`` is
              added above them
    hips      the hips carry travel and turn; joints above them stay at the origin
    in_place  the hips move relative to the root trajectory, and nothing carries it: height stays,
              travel and turn are removed
    ========  ====================================================================================

    With "root" and "hips" the hips and all joints below them have the same places in the world.
    """
    if root_motion not in get_args(RootMotion):
        raise ParameterError(
            f"root motion {root_motion!r} is not possible",
            hint=f"choose one of {', '.join(get_args(RootMotion))}",
        )
    if root_motion == "auto":
        return clip
    if len(root) != len(clip):
        raise ParameterError(
            f"the root trajectory has {len(root)} frames and the clip {len(clip)}",
            hint="compute it from this clip",
        )
    if root_motion == "root" and hips == 0:
        clip, hips = _with_joint_above(clip), 1
    rotations, local = clip.rotations.astype(np.float64), clip.local_positions().astype(np.float64)
    above = ancestors(clip.skeleton, hips)[1:]
    moving = np.union1d(clip.translated_joints, [0, *above, hips])
    whole = replace(clip, rotations=rotations, translations=local[:, clip.translated_joints])
    turns, places = (array[:, hips] for array in global_transforms(whole))
    if root_motion != "hips":
        back = quaternions.conjugate(root.rotations)
        turns = quaternions.multiply(back, turns)
        places = quaternions.rotate(back, places - root.positions)
    rotations[:, above], local[:, above] = quaternions.IDENTITY, 0.0
    rotations[:, hips], local[:, hips] = turns, places
    if root_motion == "root":
        rotations[:, 0], local[:, 0] = root.rotations, root.positions
    return replace(
        clip,
        rotations=quaternions.sign_continuous(rotations),
        translations=local[:, moving],
        translated_joints=moving,
    )


def _with_joint_above(clip: Clip) -> Clip:
    """The clip with another root, at the origin, above its own."""
    skeleton, orders = clip.skeleton, clip.source.rotation_orders
    name = "root"
    while name in skeleton.names:
        name += "_"
    return replace(
        clip,
        skeleton=Skeleton(
            (name, *skeleton.names),
            np.concatenate([[-1], skeleton.parents + 1]),
            np.insert(skeleton.offsets, 0, 0.0, axis=0),
            skeleton.end_parents + 1,
            skeleton.end_offsets,
        ),
        rotations=np.insert(clip.rotations, 0, quaternions.IDENTITY, axis=1),
        translations=np.insert(clip.translations, 0, 0.0, axis=1),
        translated_joints=np.concatenate([[0], clip.translated_joints + 1]),
        source=replace(clip.source, rotation_orders=("", *orders) if orders else ()),
    )
