"""From the values of the degrees of freedom to the rotations of every joint, legs by exact IK."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import convolve1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion.quaternions import IDENTITY, about_axis, conjugate, multiply, rotate
from deepphase.synthetic.bodies import Body, BodyLimb
from deepphase.synthetic.footholds import FootMotion

_AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
# Shares of the spine's and the neck's bend in each of their joints.
_SPINE = {"Spine": 0.3, "Spine1": 0.35, "Spine2": 0.35}
_NECK = {"Neck": 0.3, "Neck1": 0.2, "Head": 0.5}
# An arm that waves: raised sideways, forearm up, swinging about the bent elbow. Mean and swing.
_WAVING = {
    "arm_swing": (0.15, 0.0),
    "arm_raise": (1.6, 0.12),
    "elbow": (1.25, 0.5),
    "arm_twist": (-1.5, 0.0),
}
# A tail that wags, joint by joint with this delay in cycles.
_TAIL = ("Tail", "Tail1", "Tail2", "Tail3")
_TAIL_SWING, _TAIL_DELAY = 0.3, 0.06
# A standing leg is stretched to this share of its length at most: near 1 the knee would snap.
_STRETCH = 0.986
# A swinging leg is bent a little more, and drawn in over this range of its length.
_SWING_BEND, _SWING_RANGE = 0.035, 0.012
_LOWERING_S = 0.14


def pose_trunk(body: Body, values: Mapping[str, Array], cycles: Array, amplitude: Array) -> Array:
    """Local rotations (frames, joints, 4) of all joints but those of the limbs, which rest.

    `values` are (frames,) of each degree of freedom and the heading; those of a limb's side are
    (frames, 2), left and right. Cycles and amplitude of the oscillators are (frames, oscillators).
    """
    names = body.skeleton.names
    rotations = np.tile(IDENTITY, (len(values["heading"]), len(names), 1))

    def put(name: str, **turns: Array) -> None:
        rotations[:, names.index(name)] = _product(turns)

    put("Hips", y=values["heading"] + values["turn"], x=values["tilt"], z=values["list"])
    for name, share in _SPINE.items():
        turn, tilt, bend = (share * values[f"spine_{way}"] for way in ("turn", "tilt", "list"))
        put(name, y=turn, x=tilt, z=bend)
    for name, share in _NECK.items():
        put(name, y=share * values["head_turn"], x=share * values["head_tilt"])
    if body.kind == "biped":
        waved = np.cos(2 * np.pi * cycles)
        swing, lift, elbow, twist = (
            (1 - amplitude) * values[name] + amplitude * (mean + size * waved)
            for name, (mean, size) in _WAVING.items()
        )
        for side, (name, sign) in enumerate((("Left", 1.0), ("Right", -1.0))):
            raised = -sign * (np.pi / 2 - lift[:, side])
            put(f"{name}Arm", x=-swing[:, side], z=raised, x_after=twist[:, side])
            put(f"{name}ForeArm", y=-sign * elbow[:, side])
            put(f"{name}Hand", y=-0.25 * sign * elbow[:, side])
            put(f"{name}HandMiddle1", z=np.full(len(rotations), -0.25 * sign))
        return rotations
    for side, name in enumerate(("Left", "Right")):
        put(f"{name}Shoulder", x=-values["scapula"][:, side])
    for link, name in enumerate(_TAIL):
        wag = amplitude[:, 0] * np.cos(2 * np.pi * (cycles[:, 0] - _TAIL_DELAY * link))
        put(name, y=_TAIL_SWING * wag, x=values["tail_raise"] * (0.7 - 0.15 * link))
    return rotations


def _product(turns: Mapping[str, Array]) -> Array:
    """(frames, 4) product of turns about axes, the first applied last."""
    product, *others = (about_axis(_AXES[axis[0]], angle) for axis, angle in turns.items())
    for turn in others:
        product = multiply(product, turn)
    return product


def plant_feet(
    body: Body, rotations: Array, root: Array, heading: Array, feet: list[FootMotion], fps: float
) -> tuple[Array, Array]:
    """Rotations with legs that reach their feet, and a root that is low enough for it.

    `rotations` (frames, joints, 4) are local, `root` is (frames, 3) in metres and `heading`
    (frames,) in radians.
    """
    parents = body.skeleton.parents
    trunk, positions = _trunk_transforms(body, rotations, root)
    roots = np.stack([positions[limb.upper] for limb in body.limbs])
    world_feet = [_foot_rotation(foot.yaw, foot.pitch) for foot in feet]
    ankles = np.stack(
        [
            foot.toe - rotate(rotation, limb.ball)
            for limb, foot, rotation in zip(body.limbs, feet, world_feet, strict=True)
        ]
    )
    lowered = _root_lowering(body, roots, ankles, feet, fps)[:, None] * _AXES["y"]
    root, roots = root - lowered, roots - lowered
    rotations = rotations.copy()
    for number, (limb, foot) in enumerate(zip(body.limbs, feet, strict=True)):
        between = 0.5 * (heading + foot.yaw)
        forward = np.stack([np.sin(between), np.zeros_like(between), np.cos(between)], axis=1)
        ankle = _foot_in_reach(limb, roots[number], ankles[number], foot.aloft)
        upper, lower = _two_joint_rotations(body, limb, roots[number], ankle, forward)
        above = trunk[int(parents[limb.upper])]
        toes = _foot_rotation(foot.yaw, foot.toe_pitch)
        for joint, world in (
            (limb.upper, upper),
            (limb.lower, lower),
            (limb.foot, world_feet[number]),
            (limb.toe, toes),
        ):
            rotations[:, joint] = multiply(conjugate(above), world)
            above = world
    return rotations, root


def _trunk_transforms(
    body: Body, rotations: Array, root: Array
) -> tuple[dict[int, Array], dict[int, Array]]:
    """World rotations and positions of the joints that limbs hang from, and the limbs' roots."""
    parents, offsets = body.skeleton.parents.tolist(), body.skeleton.offsets
    needed = set()
    for joint in [limb.upper for limb in body.limbs]:
        while joint > 0:
            needed.add(joint)
            joint = parents[joint]
    world, positions = {0: rotations[:, 0]}, {0: root}
    for joint in sorted(needed):
        parent = parents[joint]
        positions[joint] = positions[parent] + rotate(world[parent], offsets[joint])
        world[joint] = multiply(world[parent], rotations[:, joint])
    return world, positions


def _foot_rotation(yaw: Array, pitch: Array) -> Array:
    """(frames, 4) rotation of a foot that points to `yaw`, toe up by `pitch` (radians)."""
    return _product({"y": yaw, "x": -pitch})


def _root_lowering(
    body: Body, roots: Array, ankles: Array, feet: list[FootMotion], fps: float
) -> Array:
    """(frames,) metres by which a body must come down for its standing legs to reach their feet.

    `roots` and `ankles` are (limbs, frames, 3). Smooth over time, and never less than needed.
    """
    needed = np.zeros(roots.shape[1])
    for limb, root, ankle, foot in zip(body.limbs, roots, ankles, feet, strict=True):
        length = _STRETCH * sum(limb.lengths)
        apart = np.hypot(root[:, 0] - ankle[:, 0], root[:, 2] - ankle[:, 2])
        highest = ankle[:, 1] + np.sqrt(np.maximum(length**2 - apart**2, (0.3 * length) ** 2))
        needed = np.maximum(needed, np.where(foot.contact, root[:, 1] - highest, 0.0))
    reach = max(int(np.ceil(_LOWERING_S * fps)), 2)
    # The largest of a window, averaged over a window no wider, is nowhere less than the need.
    kernel = np.bartlett(2 * reach + 3)[1:-1] ** 2
    envelope = maximum_filter1d(needed, 2 * reach + 1, mode="nearest")
    return convolve1d(envelope, kernel / kernel.sum(), mode="nearest")


def _foot_in_reach(limb: BodyLimb, root: Array, ankle: Array, aloft: Array) -> Array:
    """(frames, 3) the foot joint, drawn in where a swinging leg would be stretched for it.

    `aloft` (frames,) is 0 in stance, where `_root_lowering` has made the leg long enough, and 1 in
    mid-swing.
    """
    length, vector = sum(limb.lengths), ankle - root
    distance = np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-9)
    start = _STRETCH - _SWING_BEND * aloft[:, None]
    over = np.maximum(distance / length - start, 0.0)
    drawn = start + _SWING_RANGE * np.tanh(over / _SWING_RANGE)
    return np.where(over > 0, root + vector * (drawn * length / distance), ankle)


def _two_joint_rotations(
    body: Body, limb: BodyLimb, root: Array, ankle: Array, forward: Array
) -> tuple[Array, Array]:
    """World rotations of the upper and the lower joint that bring the foot joint to its place.

    A knee bends towards `forward` (frames, 3), an elbow of a front leg the other way. The law of
    cosines gives the middle joint in the plane of limb and `forward`; both joints turn about that
    plane's normal, as hinges do.
    """
    first, second = limb.lengths
    vector = ankle - root
    length = np.linalg.norm(vector, axis=1, keepdims=True)
    distance = np.clip(length, abs(first - second) + 1e-6, first + second - 1e-9)
    axis = vector / np.maximum(length, 1e-9)
    pole = limb.bends * forward
    pole = pole - axis * np.einsum("fc,fc->f", pole, axis)[:, None]
    pole /= np.maximum(np.linalg.norm(pole, axis=1, keepdims=True), 1e-9)
    along = (first**2 - second**2 + distance**2) / (2 * distance)
    across = np.sqrt(np.maximum(first**2 - along**2, 0.0))
    middle = axis * along + pole * across
    hinge = limb.bends * np.cross(pole, axis)
    offsets = body.skeleton.offsets
    upper = _aligned(offsets[limb.lower], middle / first, hinge)
    lower = _aligned(offsets[limb.foot], (axis * distance - middle) / second, hinge)
    return upper, lower


def _aligned(rest: Array, direction: Array, hinge: Array) -> Array:
    """(frames, 4) rotations that bring a rest offset to a direction, and +X to the hinge."""
    rest = rest / np.linalg.norm(rest)
    from_frame = np.stack([_AXES["x"], rest, np.cross(_AXES["x"], rest)], axis=1)
    to_frame = np.stack([hinge, direction, np.cross(hinge, direction)], axis=2)
    return Rotation.from_matrix(to_frame @ from_frame.T).as_quat()
