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


def _named(middle, paired, pattern="{}", paired_pattern="{}"):
    """Names of all parts, from words for the middle parts and for the paired ones.

    In patterns <Left>, <left>, <L> and <l> are the side.
    """
    names = {}
    for part, word in zip(("hips", "spine", "chest", "neck", "head"), middle.split(), strict=True):
        names[part] = pattern.format(word)
    for part, word in zip(PAIRED, paired.split(), strict=True):
        for side in ("left", "right"):
            name = paired_pattern.format(word).replace("<Left>", side.capitalize())
            name = name.replace("<left>", side).replace("<L>", side[0].upper())
            names[f"{side}_{part}"] = name.replace("<l>", side[0])
    return names


_PLAIN = "Hips Spine Chest Neck Head"
# Those of programs are in tests/formats/programs.yaml.
CONVENTIONS = {
    "smpl": _named(
        "Pelvis Spine1 Spine3 Neck Head",
        "Collar Shoulder Elbow Wrist Hip Knee Ankle Foot",
        paired_pattern="<L>_{}",
    ),
    "unreal": _named(
        "pelvis spine_01 spine_03 neck_01 head",
        "clavicle upperarm lowerarm hand thigh calf foot ball",
        paired_pattern="{}_<l>",
    ),
    "acclaim": _named(
        "root lowerback thorax upperneck head",
        "clavicle humerus radius hand femur tibia foot toes",
        paired_pattern="<l>{}",
    ),
    "side last": _named(
        "SpineBase SpineMid SpineShoulder Neck Head",
        "Clavicle Shoulder Elbow Wrist Hip Knee Ankle Foot",
        paired_pattern="{}<Left>",
    ),
    "capitals": _named(
        _PLAIN.upper(),
        "CLAVICLE UPPERARM FOREARM HAND THIGH CALF FOOT TOE",
        paired_pattern="<L>_{}",
    ),
}
