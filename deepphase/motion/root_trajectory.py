"""Root trajectory of a body: its path on the ground and its facing, and root space.

The root of a frame is the hips' projection onto the ground with the facing direction of hips and
shoulders (Holden, Komura and Saito 2017, section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms, joint_positions, velocities
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors
from deepphase.short_repr import counted, short_repr

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

        Parameters
        ----------
        heights : (frames,) metres, optional
            Of the ground.
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
    hips = positions[:, roles.hips]
    facing, note = _facing(positions, roles, clip.fps)
    angles = _smooth_angles(facing.astype(np.float64), smoothing_s, clip.fps)
    directions = np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=-1)
    dtype = positions.dtype
    return RootTrajectory(
        positions=hips * _GROUND.astype(dtype),
        directions=directions.astype(dtype),
        rotations=quaternions.about_axis(_UP, angles).astype(dtype),
        angles=angles.astype(dtype),
        note=note,
    )


def facing_angles(positions: Array, roles: Roles, fps: float) -> Array:
    """(frames,) radians from +Z towards +X of the facing of (frames, joints, 3) positions."""
    facing, _ = _facing(positions, roles, fps)
    return _smooth_angles(facing.astype(np.float64), FACING_SMOOTHING_S, fps)


def _facing(positions: Array, roles: Roles, fps: float) -> tuple[Array, str]:
    hips, shoulders = roles.both("hip"), roles.both("shoulder")
    if roles.kind == "quadruped" and hips and shoulders:
        trunk = positions[:, list(shoulders)].mean(axis=1) - positions[:, list(hips)].mean(axis=1)
        across = positions[:, [hips[0], shoulders[0]]] - positions[:, [hips[1], shoulders[1]]]
        rearing = np.cross(across.mean(axis=1), _UP)
        return trunk * _GROUND + rearing, "facing along the trunk, from hips to shoulders"
    lines = [
        positions[:, left] - positions[:, right] for left, right in filter(None, (hips, shoulders))
    ]
    if lines:
        across = sum(lines) / len(lines)
        parts = " and ".join(
            name for name, line in (("hips", hips), ("shoulders", shoulders)) if line
        )
        return np.cross(across, _UP), f"facing across the line of {parts}"
    path = positions[:, roles.hips] * _GROUND
    travelled = path[-1] - path[0]
    if np.linalg.norm(travelled) > 0.1 * max(np.ptp(positions[0], axis=0).max(), 1e-9):
        speed = velocities(path, fps)
        return np.broadcast_to(travelled, speed.shape).copy(), "facing along the travel"
    return np.broadcast_to(_FRONT, path.shape).copy(), "facing assumed to be +Z: no evidence"


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
    return _turned(
        _relative(positions, root.positions, -1.0), quaternions.conjugate(root.rotations)
    )


def from_root_space(positions: Array, root: RootTrajectory) -> Array:
    """World positions of positions (frames, ..., 3) relative to the root of their frame."""
    return _relative(_turned(positions, root.rotations), root.positions, 1.0)


def velocities_in_root_space(velocity: Array, root: RootTrajectory) -> Array:
    """World velocities (frames, ..., 3) rotated into the facing of their frame.

    They stay velocities relative to the world: the root's own velocity is not subtracted.
    """
    return _turned(velocity, quaternions.conjugate(root.rotations))


def _per_frame(values: Array, like: Array) -> Array:
    return values.reshape(len(values), *(1,) * (like.ndim - 2), values.shape[-1])


def _relative(positions: Array, origins: Array, sign: float) -> Array:
    return positions + sign * _per_frame(origins, positions)


def _turned(vectors: Array, rotations: Array) -> Array:
    return quaternions.rotate(_per_frame(rotations, vectors), vectors)


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
    clip = replace(
        clip,
        rotations=clip.rotations.astype(np.float64),
        translations=clip.translations.astype(np.float64),
    )
    turns, places = (array[:, hips] for array in global_transforms(clip))
    if root_motion != "hips":
        back = quaternions.conjugate(root.rotations)
        turns = quaternions.multiply(back, turns)
        places = quaternions.rotate(back, places - root.positions)
    if root_motion == "root" and hips == 0:
        clip, hips = _with_joint_above(clip), 1
    above = ancestors(clip.skeleton, hips)[1:]
    moving = np.union1d(clip.translated_joints, [0, *above, hips])
    rotations, local = clip.rotations.copy(), clip.local_positions()
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
    skeleton, source = clip.skeleton, clip.source
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
        rotations=_put_before(clip.rotations, quaternions.IDENTITY),
        translations=_put_before(clip.translations, np.zeros(3)),
        translated_joints=np.concatenate([[0], clip.translated_joints + 1]),
        source=replace(
            source,
            rotation_orders=("", *source.rotation_orders) if source.rotation_orders else (),
        ),
    )


def _put_before(values: Array, first: Array) -> Array:
    """(frames, joints + 1, ...) values with the same one before those of each frame."""
    return np.concatenate([np.broadcast_to(first, (len(values), 1, len(first))), values], axis=1)
