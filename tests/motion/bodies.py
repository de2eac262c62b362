"""Bodies for tests: a human and a dog, in a T-pose or standing, named after many conventions."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton

# part: (parent, offset in metres); of paired parts the left one.
HUMAN = {
    "hips": (None, (0.0, 0.95, 0.0)),
    "spine": ("hips", (0.0, 0.1, 0.0)),
    "chest": ("spine", (0.0, 0.22, 0.0)),
    "neck": ("chest", (0.0, 0.2, 0.0)),
    "head": ("neck", (0.0, 0.1, 0.01)),
    "collar": ("chest", (0.03, 0.15, 0.0)),
    "shoulder": ("collar", (0.15, 0.0, 0.0)),
    "elbow": ("shoulder", (0.28, 0.0, 0.0)),
    "hand": ("elbow", (0.25, 0.0, 0.0)),
    "hip": ("hips", (0.1, -0.05, 0.0)),
    "knee": ("hip", (0.0, -0.42, 0.0)),
    "foot": ("knee", (0.0, -0.4, -0.02)),
    "toe": ("foot", (0.0, -0.06, 0.14)),
}
DOG = {
    "hips": (None, (0.0, 0.5, 0.0)),
    "spine": ("hips", (0.0, 0.02, 0.15)),
    "chest": ("spine", (0.0, 0.0, 0.2)),
    "neck": ("chest", (0.0, 0.1, 0.2)),
    "head": ("neck", (0.0, 0.1, 0.12)),
    "collar": ("chest", (0.03, 0.03, 0.17)),
    "shoulder": ("collar", (0.02, -0.07, 0.05)),
    "elbow": ("shoulder", (0.0, -0.15, -0.05)),
    "hand": ("elbow", (0.0, -0.2, 0.03)),
    "hip": ("hips", (0.05, -0.07, 0.0)),
    "knee": ("hip", (0.0, -0.15, 0.05)),
    "foot": ("knee", (0.0, -0.15, -0.1)),
    "toe": ("foot", (0.0, -0.1, 0.0)),
    "tail": ("hips", (0.0, 0.02, -0.08)),
    "tail1": ("tail", (0.0, 0.0, -0.12)),
}
PAIRED = ("collar", "shoulder", "elbow", "hand", "hip", "knee", "foot", "toe")
ROLE_PARTS = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")


def body(geometry=HUMAN, names=None, *, scale=1.0, right_first=False):
    """A skeleton and the joint index of every part; `names` maps parts (as left_knee) to names."""
    sides = ("right_", "left_") if right_first else ("left_", "right_")
    parts, parents, offsets = [], [], []
    for part, (parent, offset) in geometry.items():
        for side in sides if part in PAIRED else ("",):
            above = f"{side}{parent}" if parent in PAIRED else parent
            parents.append(-1 if parent is None else parts.index(above))
            parts.append(f"{side}{part}")
            offsets.append(np.array(offset) * ([-1, 1, 1] if side == "right_" else [1, 1, 1]))
    index = {part: joint for joint, part in enumerate(parts)}
    joint_names = [part if names is None else names[part] for part in parts]
    return Skeleton(tuple(joint_names), parents, scale * np.array(offsets)), index


def standing(skeleton, frames=4, fps=60.0, dtype=np.float64):
    """A clip of the rest pose."""
    rotations = np.zeros((frames, len(skeleton), 4), dtype)
    rotations[..., 3] = 1.0
    translations = np.repeat(skeleton.offsets[None, :1], frames, axis=0).astype(dtype)
    return Clip(skeleton, rotations, translations, fps)


def random_clip(skeleton, rng, frames=12, spread=0.5, fps=60.0):
    """Random rotations of `spread` radians about the rest pose, and a random path."""
    vectors = spread * rng.standard_normal((frames * len(skeleton), 3))
    rotations = Rotation.from_rotvec(vectors).as_quat().reshape(frames, len(skeleton), 4)
    translations = skeleton.offsets[:1] + rng.standard_normal((frames, 1, 3))
    return Clip(skeleton, rotations, translations, fps)


def walking(skeleton, index, *, seconds=4.0, fps=60.0, speed=1.2, heading=0.0, swing=0.5):
    """The body gliding along a heading (radians from +Z to +X) with its legs and arms swinging."""
    clip = standing(skeleton, int(seconds * fps) + 1, fps)
    time = np.arange(len(clip)) / fps
    rotations = clip.rotations.copy()
    for part, sign in (("left_hip", 1), ("right_hip", -1), ("left_shoulder", -1)):
        if part in index:
            angle = sign * swing * np.sin(2 * np.pi * time)
            rotations[:, index[part]] = Rotation.from_rotvec(
                angle[:, None] * np.array([1.0, 0.0, 0.0])
            ).as_quat()
    turn = Rotation.from_euler("y", heading)
    rotations[:, 0] = turn.as_quat()
    path = speed * time[:, None] * turn.apply([0.0, 0.0, 1.0])
    return Clip(skeleton, rotations, clip.translations + path[:, None], fps)


def _named(middle, paired):
    """Names of all parts: middle parts in order, and of the paired a pattern with the side."""
    names = dict(zip(("hips", "spine", "chest", "neck", "head"), middle, strict=True))
    for part, pattern in zip(PAIRED, paired, strict=True):
        for side in ("left", "right"):
            names[f"{side}_{part}"] = (
                pattern.replace("Left", side.capitalize())
                .replace("left", side)
                .replace("<L>", side[0].upper())
                .replace("<l>", side[0])
            )
    return names


def words(text):
    return text.split()


_UP_LEG = ["Shoulder", "Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot", "ToeBase"]
CONVENTIONS = {
    "mixamo": _named(
        [f"mixamorig:{name}" for name in ("Hips", "Spine", "Spine2", "Neck", "Head")],
        [f"mixamorig:Left{name}" for name in _UP_LEG],
    ),
    "motionbuilder": _named(
        [f"Character1_{name}" for name in ("Hips", "Spine", "Spine2", "Neck", "Head")],
        [f"Character1_Left{name}" for name in _UP_LEG],
    ),
    "3ds max biped": _named(
        [f"Bip01 {name}" for name in ("Pelvis", "Spine", "Spine2", "Neck", "Head")],
        [
            f"Bip01 <L> {name}"
            for name in words("Clavicle UpperArm Forearm Hand Thigh Calf Foot Toe0")
        ],
    ),
    "smpl": _named(
        ["Pelvis", "Spine1", "Spine3", "Neck", "Head"],
        [f"<L>_{name}" for name in words("Collar Shoulder Elbow Wrist Hip Knee Ankle Foot")],
    ),
    "smpl, long": _named(
        ["pelvis", "spine1", "spine3", "neck", "head"],
        [f"left_{name}" for name in words("collar shoulder elbow wrist hip knee ankle foot")],
    ),
    "unreal": _named(
        ["pelvis", "spine_01", "spine_03", "neck_01", "head"],
        [
            f"{name}_<l>"
            for name in [
                "clavicle",
                "upperarm",
                "lowerarm",
                "hand",
                "thigh",
                "calf",
                "foot",
                "ball",
            ]
        ],
    ),
    "xsens": _named(
        ["Pelvis", "L5", "T8", "Neck", "Head"],
        [
            f"Left{name}"
            for name in [
                "Shoulder",
                "UpperArm",
                "ForeArm",
                "Hand",
                "UpperLeg",
                "LowerLeg",
                "Foot",
                "Toe",
            ]
        ],
    ),
    "acclaim": _named(
        ["root", "lowerback", "thorax", "upperneck", "head"],
        [f"<l>{name}" for name in words("clavicle humerus radius hand femur tibia foot toes")],
    ),
    "poser": _named(
        ["hip", "abdomen", "chest", "neck", "head"],
        [f"<l>{name}" for name in words("Collar Shldr ForeArm Hand Thigh Shin Foot Toe")],
    ),
    "hip knee ankle": _named(
        ["Hips", "Chest", "Chest4", "Neck", "Head"],
        [f"Left{name}" for name in words("Collar Shoulder Elbow Wrist Hip Knee Ankle Toe")],
    ),
    "side last": _named(
        ["SpineBase", "SpineMid", "SpineShoulder", "Neck", "Head"],
        [f"{name}Left" for name in words("Clavicle Shoulder Elbow Wrist Hip Knee Ankle Foot")],
    ),
    "vrm": _named(
        [f"J_Bip_C_{name}" for name in ("Hips", "Spine", "Chest", "Neck", "Head")],
        [
            f"J_Bip_<L>_{name}"
            for name in [
                "Shoulder",
                "UpperArm",
                "LowerArm",
                "Hand",
                "UpperLeg",
                "LowerLeg",
                "Foot",
                "ToeBase",
            ]
        ],
    ),
    "rigify": _named(
        ["DEF-spine", "DEF-spine.001", "DEF-spine.003", "DEF-spine.004", "DEF-spine.006"],
        [
            f"DEF-{name}.<L>"
            for name in words("shoulder upper_arm forearm hand thigh shin foot toe")
        ],
    ),
    "thigh and shin": _named(
        ["Hips", "Spine", "Chest", "Neck", "Head"],
        [f"Left{name}" for name in words("Shoulder Arm ForeArm Hand Thigh Shin Foot Toe")],
    ),
    "suffix": _named(
        ["Hips", "Spine", "Chest", "Neck", "Head"],
        [
            f"{name}_<L>"
            for name in [
                "Shoulder",
                "UpperArm",
                "LowerArm",
                "Hand",
                "UpperLeg",
                "LowerLeg",
                "Foot",
                "Toes",
            ]
        ],
    ),
    "capitals": _named(
        ["HIPS", "SPINE", "CHEST", "NECK", "HEAD"],
        [f"<L>_{name}" for name in words("CLAVICLE UPPERARM FOREARM HAND THIGH CALF FOOT TOE")],
    ),
}
