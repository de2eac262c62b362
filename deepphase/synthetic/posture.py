"""From the values of the degrees of freedom to the rotations of every joint."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.synthetic.bodies import Body
from deepphase.synthetic.footholds import FootMotion
from deepphase.synthetic.limb_ik import (
    feet_in_reach,
    foot_rotation,
    root_lowering,
    two_joint_rotations,
)

_AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
# Shares of the spine's and the neck's bend in each of their joints.
_SPINE = {"Spine": 0.3, "Spine1": 0.35, "Spine2": 0.35}
_NECK = {"Neck": 0.3, "Neck1": 0.2, "Head": 0.5}
# An arm that waves: raised sideways, forearm up, swinging about the bent elbow.
_WAVE_RAISE, _WAVE_ELBOW, _WAVE_ELBOW_SWING, _WAVE_ARM_SWING = 1.6, 1.25, 0.5, 0.12
_WAVE_TWIST = -1.5
# A tail that wags, joint by joint with this delay in cycles.
_TAIL_SWING, _TAIL_DELAY = 0.3, 0.06


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
    world_feet = [foot_rotation(foot.yaw, foot.pitch) for foot in feet]
    ankles = np.stack(
        [
            foot.toe - quaternions.rotate(rotation, limb.ball)
            for limb, foot, rotation in zip(body.limbs, feet, world_feet, strict=True)
        ]
    )
    contacts = np.stack([foot.contact for foot in feet])
    lowered = root_lowering(skeleton, body.limbs, roots, ankles, contacts, fps)
    root = root - lowered[:, None] * _AXES["y"]
    roots = roots - lowered[:, None] * _AXES["y"]
    rotations = rotations.copy()
    for number, (limb, foot) in enumerate(zip(body.limbs, feet, strict=True)):
        between = 0.5 * (heading + foot.yaw)
        forward = np.stack([np.sin(between), np.zeros_like(between), np.cos(between)], axis=1)
        ankle = feet_in_reach(skeleton, limb, roots[number], ankles[number], foot.aloft)
        upper, lower = two_joint_rotations(skeleton, limb, roots[number], ankle, forward)
        chain = (
            (limb.upper, trunk_rotations[skeleton.parents[limb.upper]], upper),
            (limb.lower, upper, lower),
            (limb.foot, lower, world_feet[number]),
            (limb.toe, world_feet[number], foot_rotation(foot.yaw, foot.toe_pitch)),
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
