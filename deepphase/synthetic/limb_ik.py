"""Two-joint inverse kinematics of legs, exact and in three dimensions."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.bodies import BodyLimb

# A standing leg is stretched to this share of its length at most: near 1 the knee would snap.
_STRETCH = 0.986
# A swinging leg is bent a little more, and drawn in over this range of its length.
_SWING_BEND, _SWING_RANGE = 0.035, 0.012
_LOWERING_S = 0.14
_X = np.array([1.0, 0.0, 0.0])


def foot_rotation(yaw: Array, pitch: Array) -> Array:
    """(frames, 4) rotation of a foot that points to `yaw`, toe up by `pitch` (radians)."""
    up = np.array([0.0, 1.0, 0.0])
    return quaternions.multiply(
        quaternions.about_axis(up, yaw), quaternions.about_axis(_X, -np.asarray(pitch))
    )


def limb_lengths(skeleton: Skeleton, limb: BodyLimb) -> tuple[float, float]:
    """Metres of the two long parts."""
    upper, lower = skeleton.offsets[limb.lower], skeleton.offsets[limb.foot]
    return float(np.linalg.norm(upper)), float(np.linalg.norm(lower))


def root_lowering(
    skeleton: Skeleton,
    limbs: tuple[BodyLimb, ...],
    roots: Array,
    feet: Array,
    contacts: Array,
    fps: float,
) -> Array:
    """How far a body must come down for its standing legs to reach their feet.

    Parameters
    ----------
    roots, feet : (limbs, frames, 3)
        Metres: the limbs' upper joints and foot joints.
    contacts : (limbs, frames)
        Whether the foot stands.

    Returns
    -------
    (frames,) metres, smooth over time, and never less than needed.
    """
    needed = np.zeros(roots.shape[1])
    for limb, root, foot, contact in zip(limbs, roots, feet, contacts, strict=True):
        length = _STRETCH * sum(limb_lengths(skeleton, limb))
        apart = np.hypot(root[:, 0] - foot[:, 0], root[:, 2] - foot[:, 2])
        highest = foot[:, 1] + np.sqrt(np.maximum(length**2 - apart**2, (0.3 * length) ** 2))
        needed = np.maximum(needed, np.where(contact, root[:, 1] - highest, 0.0))
    reach = max(int(np.ceil(_LOWERING_S * fps)), 2)
    # The largest of a window, averaged over a window no wider, is nowhere less than the need.
    kernel = np.bartlett(2 * reach + 3)[1:-1] ** 2
    envelope = maximum_filter1d(needed, 2 * reach + 1, mode="nearest")
    return convolve1d(envelope, kernel / kernel.sum(), mode="nearest")


def feet_in_reach(
    skeleton: Skeleton, limb: BodyLimb, root: Array, foot: Array, aloft: Array
) -> Array:
    """(frames, 3) the foot joint, drawn in where a swinging leg would be stretched for it.

    `aloft` (frames,) is 0 in stance, where `root_lowering` has made the leg long enough, and 1 in
    mid-swing.
    """
    length = sum(limb_lengths(skeleton, limb))
    vector = foot - root
    distance = np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-9)
    start = _STRETCH - _SWING_BEND * aloft[:, None]
    over = np.maximum(distance / length - start, 0.0)
    drawn = start + _SWING_RANGE * np.tanh(over / _SWING_RANGE)
    return np.where(over > 0, root + vector * (drawn * length / distance), foot)


def two_joint_rotations(
    skeleton: Skeleton, limb: BodyLimb, root: Array, foot: Array, forward: Array
) -> tuple[Array, Array]:
    """World rotations of the upper and the lower joint that bring the foot joint to its place.

    Parameters
    ----------
    root, foot : (frames, 3)
        Metres; no further apart than the limb is long.
    forward : (frames, 3)
        Direction to which a knee bends; an elbow of a front leg bends the other way.

    Returns
    -------
    Two of (frames, 4).

    Notes
    -----
    The law of cosines gives the middle joint in the plane of limb and `forward`; both joints turn
    about that plane's normal, as hinges do.
    """
    first, second = limb_lengths(skeleton, limb)
    vector = foot - root
    distance = np.linalg.norm(vector, axis=1, keepdims=True)
    distance = np.clip(distance, abs(first - second) + 1e-6, first + second - 1e-9)
    axis = vector / np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-9)
    pole = limb.bends * forward
    pole = pole - axis * np.einsum("fc,fc->f", pole, axis)[:, None]
    pole /= np.maximum(np.linalg.norm(pole, axis=1, keepdims=True), 1e-9)
    along = (first**2 - second**2 + distance**2) / (2 * distance)
    across = np.sqrt(np.maximum(first**2 - along**2, 0.0))
    middle = root + axis * along + pole * across
    hinge = limb.bends * np.cross(pole, axis)
    upper = _aligned(skeleton.offsets[limb.lower], (middle - root) / first, hinge)
    lower_direction = root + axis * distance - middle
    lower = _aligned(skeleton.offsets[limb.foot], lower_direction / second, hinge)
    return upper, lower


def _aligned(rest: Array, direction: Array, hinge: Array) -> Array:
    """(frames, 4) rotations that bring a rest offset to a direction, and +X to the hinge."""
    rest = rest / np.linalg.norm(rest)
    from_frame = np.stack([_X, rest, np.cross(_X, rest)], axis=1)
    to_frame = np.stack([hinge, direction, np.cross(hinge, direction)], axis=2)
    return Rotation.from_matrix(to_frame @ from_frame.T).as_quat()
