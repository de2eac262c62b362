"""From the values of the degrees of freedom to the rotations of every joint, legs by exact IK."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import convolve1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.bodies import Body, BodyLimb, limb_lengths
from deepphase.synthetic.footholds import FootMotion

_AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
# Shares of the spine's and the neck's bend in each of their joints.
_SPINE = {"Spine": 0.3, "Spine1": 0.35, "Spine2": 0.35}
_NECK = {"Neck": 0.3, "Neck1": 0.2, "Head": 0.5}
# An arm that waves: raised sideways, forearm up, swinging about the bent elbow.
_WAVE_RAISE, _WAVE_ELBOW, _WAVE_ELBOW_SWING, _WAVE_ARM_SWING = 1.6, 1.25, 0.5, 0.12
_WAVE_TWIST = -1.5
# A tail that wags, joint by joint with this delay in cycles.
_TAIL_SWING, _TAIL_DELAY = 0.3, 0.06
# A standing leg is stretched to this share of its length at most: near 1 the knee would snap.
_STRETCH = 0.986
# A swinging leg is bent a little more, and drawn in over this range of its length.
_SWING_BEND, _SWING_RANGE = 0.035, 0.012
_LOWERING_S = 0.14


def pose_trunk(body: Body, values: Mapping[str, Array], oscillators: tuple[Array, Array]) -> Array:
    """Local rotations of all joints but those of the limbs, which stay at rest.

    Parameters
    ----------
    values
        Degree of freedom (FREEDOMS) -> (frames,) value, with "heading"; those of a limb's side
        are (frames, 2), left and right.
    oscillators
        Cycles and amplitudes, (frames, oscillators) each.

    Returns
    -------
    (frames, joints, 4)
    """
    frames = len(values["heading"])
    rotations = np.zeros((frames, len(body.skeleton), 4))
    rotations[..., 3] = 1.0
    names = body.skeleton.names

    def put(name: str, *turns: tuple[str, Array]) -> None:
        rotations[:, names.index(name)] = euler(*turns)

    put(
        "Hips",
        ("y", values["heading"] + values["turn"]),
        ("x", values["tilt"]),
        ("z", values["list"]),
    )
    for name, share in _SPINE.items():
        put(
            name,
            ("y", share * values["spine_turn"]),
            ("x", share * values["spine_tilt"]),
            ("z", share * values["spine_list"]),
        )
    for name, share in _NECK.items():
        put(name, ("y", share * values["head_turn"]), ("x", share * values["head_tilt"]))
    if body.kind == "biped":
        for side, (name, sign) in enumerate((("Left", 1.0), ("Right", -1.0))):
            cycles, amplitude = (part[:, side] for part in oscillators)
            arm = _waving(values, side, cycles, amplitude)
            put(
                f"{name}Arm",
                ("x", -arm["arm_swing"]),
                ("z", -sign * (np.pi / 2 - arm["arm_raise"])),
                ("x", arm["arm_twist"]),
            )
            put(f"{name}ForeArm", ("y", -sign * arm["elbow"]))
            put(f"{name}Hand", ("y", -0.25 * sign * arm["elbow"]))
            put(f"{name}HandMiddle1", ("z", np.full(frames, -0.25 * sign)))
    else:
        for side, name in enumerate(("Left", "Right")):
            put(f"{name}Shoulder", ("x", -values["scapula"][:, side]))
        cycles, amplitude = (part[:, 0] for part in oscillators)
        for link, name in enumerate(("Tail", "Tail1", "Tail2", "Tail3")):
            wag = _TAIL_SWING * amplitude * np.cos(2 * np.pi * (cycles - _TAIL_DELAY * link))
            put(name, ("y", wag), ("x", values["tail_raise"] * (0.7 - 0.15 * link)))
    return rotations


def _waving(values: Mapping[str, Array], side: int, cycles: Array, amplitude: Array) -> dict:
    wave = np.cos(2 * np.pi * cycles)
    waved = {
        "arm_swing": 0.15 + 0.0 * wave,
        "arm_raise": _WAVE_RAISE + _WAVE_ARM_SWING * wave,
        "elbow": _WAVE_ELBOW + _WAVE_ELBOW_SWING * wave,
        "arm_twist": _WAVE_TWIST + 0.0 * wave,
    }
    return {
        name: (1 - amplitude) * values[name][:, side] + amplitude * waved[name] for name in waved
    }


def euler(*turns: tuple[str, Array]) -> Array:
    """(frames, 4) product of turns about axes, the first applied last."""
    rotation = quaternions.about_axis(_AXES[turns[0][0]], turns[0][1])
    for axis, angle in turns[1:]:
        rotation = quaternions.multiply(rotation, quaternions.about_axis(_AXES[axis], angle))
    return rotation


def plant_feet(
    body: Body,
    rotations: Array,
    root: Array,
    heading: Array,
    feet: list[FootMotion],
    fps: float,
) -> tuple[Array, Array]:
    """Legs that reach their feet, and a root that comes down where they would be too short.

    Parameters
    ----------
    rotations : (frames, joints, 4)
        Local, of the trunk; the limbs' are replaced.
    root : (frames, 3)
        Metres.
    heading : (frames,)
        Radians.

    Returns
    -------
    rotations : (frames, joints, 4)
    root : (frames, 3)
    """
    skeleton = body.skeleton
    trunk_rotations, trunk_positions = _trunk_transforms(body, rotations, root)
    roots = np.stack([trunk_positions[limb.upper] for limb in body.limbs])
    world_feet = [_foot_rotation(foot.yaw, foot.pitch) for foot in feet]
    ankles = np.stack(
        [
            foot.toe - quaternions.rotate(rotation, limb.ball)
            for limb, foot, rotation in zip(body.limbs, feet, world_feet, strict=True)
        ]
    )
    contacts = np.stack([foot.contact for foot in feet])
    lowered = _root_lowering(skeleton, body.limbs, roots, ankles, contacts, fps)
    root = root - lowered[:, None] * _AXES["y"]
    roots = roots - lowered[:, None] * _AXES["y"]
    rotations = rotations.copy()
    for number, (limb, foot) in enumerate(zip(body.limbs, feet, strict=True)):
        between = 0.5 * (heading + foot.yaw)
        forward = np.stack([np.sin(between), np.zeros_like(between), np.cos(between)], axis=1)
        ankle = _feet_in_reach(skeleton, limb, roots[number], ankles[number], foot.aloft)
        upper, lower = _two_joint_rotations(skeleton, limb, roots[number], ankle, forward)
        chain = (
            (limb.upper, trunk_rotations[skeleton.parents[limb.upper]], upper),
            (limb.lower, upper, lower),
            (limb.foot, lower, world_feet[number]),
            (limb.toe, world_feet[number], _foot_rotation(foot.yaw, foot.toe_pitch)),
        )
        for joint, parent, world in chain:
            rotations[:, joint] = quaternions.multiply(quaternions.conjugate(parent), world)
    return rotations, root


def _trunk_transforms(
    body: Body, rotations: Array, root: Array
) -> tuple[dict[int, Array], dict[int, Array]]:
    """World rotations and positions of the joints that limbs hang from, and the limbs' roots."""
    parents, offsets = body.skeleton.parents, body.skeleton.offsets
    needed = {0}
    for joint in [limb.upper for limb in body.limbs]:
        while joint > 0:
            needed.add(joint)
            joint = int(parents[joint])
    world = {0: rotations[:, 0]}
    positions = {0: root}
    for joint in sorted(needed - {0}):
        parent = int(parents[joint])
        positions[joint] = positions[parent] + quaternions.rotate(world[parent], offsets[joint])
        world[joint] = quaternions.multiply(world[parent], rotations[:, joint])
    return world, positions


def _foot_rotation(yaw: Array, pitch: Array) -> Array:
    """(frames, 4) rotation of a foot that points to `yaw`, toe up by `pitch` (radians)."""
    return quaternions.multiply(
        quaternions.about_axis(_AXES["y"], yaw),
        quaternions.about_axis(_AXES["x"], -np.asarray(pitch)),
    )


def _root_lowering(
    skeleton: Skeleton,
    limbs: tuple[BodyLimb, ...],
    roots: Array,
    feet: Array,
    contacts: Array,
    fps: float,
) -> Array:
    """How far a body must come down for its standing legs to reach their feet.

    From the limbs' upper joints and foot joints (limbs, frames, 3) to (frames,) metres, smooth
    over time, and never less than needed.
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


def _feet_in_reach(
    skeleton: Skeleton, limb: BodyLimb, root: Array, foot: Array, aloft: Array
) -> Array:
    """(frames, 3) the foot joint, drawn in where a swinging leg would be stretched for it.

    `aloft` (frames,) is 0 in stance, where `_root_lowering` has made the leg long enough, and 1 in
    mid-swing.
    """
    length = sum(limb_lengths(skeleton, limb))
    vector = foot - root
    distance = np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-9)
    start = _STRETCH - _SWING_BEND * aloft[:, None]
    over = np.maximum(distance / length - start, 0.0)
    drawn = start + _SWING_RANGE * np.tanh(over / _SWING_RANGE)
    return np.where(over > 0, root + vector * (drawn * length / distance), foot)


def _two_joint_rotations(
    skeleton: Skeleton, limb: BodyLimb, root: Array, foot: Array, forward: Array
) -> tuple[Array, Array]:
    """World rotations of the upper and the lower joint that bring the foot joint to its place.

    A knee bends towards `forward` (frames, 3), an elbow of a front leg the other way. The law of
    cosines gives the middle joint in the plane of limb and `forward`; both joints turn about that
    plane's normal, as hinges do.
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
    from_frame = np.stack([_AXES["x"], rest, np.cross(_AXES["x"], rest)], axis=1)
    to_frame = np.stack([hinge, direction, np.cross(hinge, direction)], axis=2)
    return Rotation.from_matrix(to_frame @ from_frame.T).as_quat()
