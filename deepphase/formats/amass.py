"""Reader and writer of AMASS files: motion of the SMPL family of body models as .npz.

The body model is licensed and not in the file: a rest skeleton of average proportions moves, whose
lengths are shares of the stature from textbooks of anthropometry.

References
----------
Mahmood et al. 2019, AMASS: archive of motion capture as surface shapes. Loper et al. 2015, SMPL;
Romero et al. 2017, SMPL-H; Pavlakos et al. 2019, SMPL-X. Winter 2009, Biomechanics and motor
control of human movement, fig. 4.1; hands after the proportions of Buchholz et al. 1992.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.npz.archive import NpzArchive, read_npz, write_npz
from deepphase.formats.reading import (
    CHECK,
    check_writable_body,
    checked_options,
    in_metres_y_up,
    resolve_rate,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import ASSUMED_UP, infer_up, rotate_from_y_up
from deepphase.motion.skeleton import Skeleton

STATURE_M = 1.72

# Joint -> parent, and offset and end in thousandths of the stature: left, up, front. The rest pose
# is the T-pose, palms down. Joints of both sides are listed once, as those of the left.
_Place = tuple[int, int, int]
_CENTRE: dict[str, tuple[str, _Place, _Place | None]] = {
    "Pelvis": ("", (0, 0, 0), None),
    "Spine1": ("Pelvis", (0, 65, 0), None),
    "Spine2": ("Spine1", (0, 80, 0), None),
    "Spine3": ("Spine2", (0, 35, 0), None),
    "Neck": ("Spine3", (0, 95, 0), None),
    "Head": ("Neck", (0, 60, 15), (0, 87, 0)),
    "Jaw": ("Head", (0, -5, 10), None),
}
_LEFT: dict[str, tuple[str, _Place, _Place | None]] = {
    "Hip": ("Pelvis", (52, -48, 0), None),
    "Knee": ("Hip", (0, -245, 0), None),
    "Ankle": ("Knee", (0, -246, 0), None),
    "Foot": ("Ankle", (0, -30, 75), (0, -5, 45)),
    "Collar": ("Spine3", (45, 55, 0), None),
    "Shoulder": ("Collar", (84, 5, 0), None),
    "Elbow": ("Shoulder", (186, 0, 0), None),
    "Wrist": ("Elbow", (146, 0, 0), None),
    "Hand": ("Wrist", (50, 0, 0), (58, 0, 0)),
    "Eye": ("Head", (19, 28, 45), None),
}
# Finger -> offsets of its three joints, and its end.
_FINGERS: dict[str, tuple[_Place, _Place, _Place, _Place]] = {
    "Index": ((56, 0, 14), (22, 0, 0), (14, 0, 0), (11, 0, 0)),
    "Middle": ((57, 0, 2), (25, 0, 0), (15, 0, 0), (11, 0, 0)),
    "Pinky": ((47, 0, -19), (18, 0, 0), (11, 0, 0), (9, 0, 0)),
    "Ring": ((53, 0, -9), (23, 0, 0), (15, 0, 0), (11, 0, 0)),
    "Thumb": ((14, -4, 16), (18, -4, 17), (14, -2, 10), (11, 0, 7)),
}
for _name, (_first, _second, _third, _tip) in _FINGERS.items():
    _LEFT[f"{_name}1"] = ("Wrist", _first, None)
    _LEFT[f"{_name}2"] = (f"{_name}1", _second, None)
    _LEFT[f"{_name}3"] = (f"{_name}2", _third, _tip)


def _both(names: str) -> tuple[str, ...]:
    """Names of joints, of which those that begin with "_" are on both sides."""
    return tuple(
        f"{side}{name}"
        for name in names.split()
        for side in (("L", "R") if name.startswith("_") else ("",))
    )


# In the order of the models' pose vectors.
BODY = _both(
    "Pelvis _Hip Spine1 _Knee Spine2 _Ankle Spine3 _Foot Neck _Collar Head _Shoulder _Elbow _Wrist"
)
HANDS = _both("_Hand")
JAW = ("Jaw",)
EYES = _both("_Eye")
LEFT_FINGERS, RIGHT_FINGERS = (
    tuple(f"{side}_{finger}{number}" for finger in _FINGERS for number in (1, 2, 3))
    for side in "LR"
)
FINGERS = LEFT_FINGERS + RIGHT_FINGERS


@cache
def smpl_skeleton(names: tuple[str, ...]) -> Skeleton:
    """Rest skeleton of the named joints, pelvis at the origin: metres, Y up, facing +Z, T-pose."""
    index = {name: position for position, name in enumerate(names)}
    parents, offsets, end_parents, end_offsets = [], [], [], []
    for name in names:
        parent, offset, end = _joint(name)
        parents.append(index[parent] if parent else -1)
        offsets.append(offset)
        if end is not None:
            end_parents.append(index[name])
            end_offsets.append(end)
    # The wrist is the end of the arm if the model has neither hand nor fingers.
    for side, sign in (("L", 1), ("R", -1)):
        wrist = index[f"{side}_Wrist"]
        if wrist not in parents:
            end_parents.append(wrist)
            end_offsets.append((sign * 108, 0, 0))
    scale = STATURE_M / 1000
    return Skeleton(
        names,
        np.array(parents),
        np.array(offsets) * scale,
        np.array(end_parents),
        np.array(end_offsets) * scale,
    )


def _joint(name: str) -> tuple[str, tuple[int, ...], tuple[int, ...] | None]:
    """A joint's parent, its offset and its end site, in thousandths of the stature."""
    if name in _CENTRE:
        return _CENTRE[name]
    side, part = name.split("_")
    parent, (x, *rest), end = _LEFT[part]
    parent, sign = parent if parent in _CENTRE else f"{side}_{parent}", 1 if side == "L" else -1
    return parent, (sign * x, *rest), None if end is None else (sign * end[0], *end[1:])


# By the number of joints.
_FACES = (BODY + FINGERS + JAW, BODY + JAW + EYES + FINGERS)
LAYOUTS = {len(names): names for names in (BODY, BODY + HANDS, BODY + FINGERS, *_FACES)}
_WHOLE = ("poses", "pose", "full_pose", "fullpose", "smpl_poses")
_ROOT = ("root_orient", "global_orient")
_WITHOUT_ROOT = ("pose_body", "body_pose", *_WHOLE)
# Separate arrays for other body parts, and their joints.
_PARTS = (
    (("pose_jaw", "jaw_pose"), JAW),
    (("pose_eye", "pose_eyes"), EYES),
    (("leye_pose",), EYES[:1]),
    (("reye_pose",), EYES[1:]),
    (("pose_hand", "hand_pose"), FINGERS),
    (("left_hand_pose", "pose_lhand"), LEFT_FINGERS),
    (("right_hand_pose", "pose_rhand"), RIGHT_FINGERS),
)
_TRANSLATIONS = ("trans", "transl", "translation", "smpl_trans")
# AIST++ has no rate, and divides translations by the size of its bodies.
_AIST_FPS, _AIST_SCALE = 60.0, "smpl_scaling"
# Larger values are damage.
_LARGEST_ANGLE = 1e4
_LARGEST_TRANSLATION_M = 1e6


def is_amass(keys: Collection[str]) -> bool:
    """Whether an archive with these arrays contains a pose of the SMPL family."""
    whole, root, other = (not set(keys).isdisjoint(own) for own in (_WHOLE, _ROOT, _WITHOUT_ROOT))
    return whole or (root and other)


def _read_pose(archive: NpzArchive) -> tuple[tuple[str, ...], Array, tuple[str, ...]]:
    """Names of the joints, the pelvis first; (frames, joints, 3) axis times angle; and notes."""
    root, body, whole = map(archive.first, (_ROOT, _WITHOUT_ROOT, _WHOLE))
    notes: list[str] = []
    vectors = _vectors(archive, whole) if whole else None
    names = None if vectors is None else LAYOUTS.get(vectors.shape[1])
    if names is None:
        if not (root and body):
            raise _unknown_layout(archive, whole or "poses")
        names, vectors, notes = _joined(archive, root, body)
    assert vectors is not None
    if len(vectors) == 0:
        raise archive.fault("the pose has no frames", "save at least one")
    if names == LAYOUTS[len(BODY + FINGERS + JAW)]:
        notes.append("the last of 53 joints is assumed to be the jaw")
    return names, vectors, tuple(notes)


def _joined(archive: NpzArchive, root: str, body: str) -> tuple[tuple[str, ...], Array, list[str]]:
    """A pose that is split into the root's, the body's and others."""
    blocks = [_vectors(archive, root), _vectors(archive, body)]
    notes: list[str] = []
    if blocks[0].shape[1] != 1:
        raise archive.fault(
            f"array {root!r} has rotations of {blocks[0].shape[1]} joints, expected one"
        )
    names = {len(BODY) - 1: BODY, len(BODY + HANDS) - 1: BODY + HANDS}.get(blocks[1].shape[1])
    if names is None:
        raise _unknown_layout(archive, body)
    for spellings, joints in _PARTS:
        key = archive.first(spellings)
        if not key:
            continue
        # Hands are often given as a few components of the model's own pose space.
        shape = archive.shape(key)
        if int(np.prod(shape[1:])) != 3 * len(joints):
            notes.append(f"array {key!r} of shape {shape} is ignored: not a rotation per joint")
            continue
        if joints[0].endswith("Index1") and HANDS[0] in names:
            notes.append(f"array {key!r} is ignored: the body's pose already has hands")
            continue
        blocks.append(_vectors(archive, key))
        names += joints
    frames = {len(block) for block in blocks}
    if len(frames) != 1:
        fact = f"parts of the pose have {', '.join(map(str, sorted(frames)))} frames"
        raise archive.fault(fact, "all parts of a pose need the same number of frames")
    return names, np.concatenate(blocks, axis=1), notes


def _vectors(archive: NpzArchive, key: str) -> Array:
    """(frames, joints, 3) rotation vectors, stored so, as one row per frame, or as matrices."""
    shape = archive.shape(key)
    holds_matrices = len(shape) > 3 and shape[-2:] == (3, 3)
    # Programs that make or estimate motion have a first axis of one.
    if shape[:1] == (1,) and len(shape) == (5 if holds_matrices else 3 + (shape[-1] == 3)):
        shape = shape[1:]
    if len(shape) == 4 and holds_matrices and 0 not in shape:
        try:
            matrices = Rotation.from_matrix(archive.array(key).reshape(-1, 3, 3))
        except ValueError:
            raise archive.fault(f"array {key!r} holds matrices that are no rotations") from None
        return matrices.as_rotvec().reshape(*shape[:2], 3)
    flat = len(shape) == 2 and shape[1] % 3 == 0
    if not flat and (len(shape) != 3 or shape[2] != 3):
        raise _unknown_layout(archive, key)
    return archive.array(key).reshape(shape[0], shape[1] // 3 if flat else shape[1], 3)


def _unknown_layout(archive: NpzArchive, key: str) -> FormatError:
    widths = ", ".join(f"{3 * joints} ({joints} joints)" for joints in sorted(LAYOUTS))
    return archive.fault(
        f"array {key!r} is {archive.shape(key)}: no pose of the SMPL family",
        f"known widths: {widths}; axis times angle for each joint",
    )


def load_amass(path: str | Path, *, up: str | None = None, fps: float | None = None) -> Clip:
    """Read motion of the SMPL family as a clip: metres, Y up.

    Poses of 22, 24, 52, 53 and 55 joints are read. The pelvis is at `trans`; the body model adds a
    constant vector to it. Up is z unless the body stands along another axis or one is given.
    """
    path = Path(path)
    checked_options(None, up, fps)
    archive = read_npz(path)
    rates = archive.rates() or ({"AIST++": _AIST_FPS} if "smpl_poses" in archive else {})
    rate, notes = resolve_rate(rates, fps, path)
    names, vectors, pose_notes = _read_pose(archive)
    translations = _translations(archive, len(vectors))[:, None].astype(np.float64)
    rotations = _rotations(archive, names, vectors)
    turn = float(np.median(np.linalg.norm(vectors, axis=-1).max(axis=1)))
    if turn > 2.0 * np.pi:
        notes += (f"{CHECK}joints turn by {turn:.3g} radians: save poses in radians, not degrees",)
    clip = Clip(smpl_skeleton(names), rotations, translations, rate)
    notes += (*pose_notes, *_body_notes(archive, len(names)))
    if up is None:
        up, note = _file_up(clip)
        notes += (note,)
    return in_metres_y_up(clip, 1.0, up, Source(str(path), fps=rate, notes=notes))


def save_amass(clip: Clip, path: str | Path) -> None:
    """Write a clip of the joints of the SMPL family, in any order, as AMASS does: Z up.

    22 joints are written as the 52 of SMPL-H, with fingers at rest; 24, 52, 53 and 55 as they are.
    """
    check_writable_body(clip, path)
    names = smpl_layout(clip)
    if names is None or clip.translated_joints.tolist() != [0]:
        raise ParameterError(
            "the joints are not those of the SMPL family, with a pelvis that alone is translated",
            hint="put the motion on its skeleton: retarget(clip, smpl_skeleton(BODY))",
            path=path,
        )
    turned = rotate_from_y_up(clip, "z")
    vectors = Rotation.from_quat(turned.rotations.reshape(-1, 4)).as_rotvec()
    vectors = vectors.reshape(*turned.rotations.shape[:2], 3)
    written = BODY + FINGERS if names == BODY else names
    poses = np.zeros((len(clip), len(written), 3))
    for joint, name in enumerate(clip.skeleton.names):
        poses[:, written.index(name)] = vectors[:, joint]
    translations = turned.translations[:, 0].astype(np.float64)
    motion = {"poses": poses.reshape(len(clip), -1), "trans": translations}
    body = {"gender": np.array("neutral"), "betas": np.zeros(16)}
    write_npz(path, {**motion, "mocap_framerate": np.float64(clip.fps), **body})


def smpl_layout(clip: Clip) -> tuple[str, ...] | None:
    """The joints of the SMPL family in the order of pose vectors, if they are those of a clip."""
    names = set(clip.skeleton.names)
    return next((layout for layout in LAYOUTS.values() if set(layout) == names), None)


def _translations(archive: NpzArchive, frames: int) -> Array:
    """(frames, 3) metres."""
    key = archive.first(_TRANSLATIONS)
    if not key:
        fact = "no array 'trans': the file has no translation of the body"
        raise archive.fault(fact, archive.contents)
    translations = archive.array(key)
    if translations.ndim == 3 and 1 in translations.shape[:2]:
        translations = translations.reshape(-1, translations.shape[-1])
    if translations.ndim != 2 or translations.shape[1] != 3:
        raise archive.fault(f"array {key!r} is {translations.shape}, expected ({frames}, 3)")
    if _AIST_SCALE in archive:
        scale = archive.scalar(_AIST_SCALE)
        if not scale > 1e-6:
            raise archive.fault(f"array {_AIST_SCALE!r} is {scale:g}, expected a positive number")
        translations = translations / scale
    if len(translations) != frames:
        fact = f"there are {frames} frames of poses, but {len(translations)} of {key!r}"
        raise archive.fault(fact, "save both for the same frames")
    far = np.abs(translations).max(axis=1) > _LARGEST_TRANSLATION_M
    if far.any():
        frame = int(np.argmax(far))
        fact = f"a translation of {np.abs(translations[frame]).max():.3g} m is too far"
        raise archive.fault(f"frame {frame}: {fact}", "the file is damaged, or not in metres")
    return translations


def _rotations(archive: NpzArchive, names: tuple[str, ...], vectors: Array) -> Array:
    """(frames, joints, 4) unit quaternions, float64."""
    vectors = vectors.astype(np.float64)
    # A square may overflow; values beyond the limit are refused below.
    with np.errstate(over="ignore"):
        angles = np.sqrt(np.einsum("fjc,fjc->fj", vectors, vectors))
    if (angles > _LARGEST_ANGLE).any():
        frame, joint = np.argwhere(angles > _LARGEST_ANGLE)[0]
        fact = f"a rotation of {angles[frame, joint]:.3g} radians is not possible"
        hint = "the file is damaged, or its poses are not axis-angle"
        raise archive.fault(f"frame {frame}, joint {names[joint]!r}: {fact}", hint)
    return quaternions.sign_continuous(quaternions.from_rotation_vectors(vectors))


def _body_notes(archive: NpzArchive, joints: int) -> tuple[str, ...]:
    notes = [
        f"a generic rest skeleton of {joints} joints and {STATURE_M:g} m replaces the body "
        "model, which is licensed: angles are the file's, lengths are an average adult's",
        "the pelvis is at the file's translation; the body model adds a constant vector",
    ]
    # The subject's shape is not used, so the motion is read even if the shape is damaged.
    with suppress(FormatError):
        shape, gender = archive.shape("betas"), archive.text("gender")
        notes.append(
            f"gender {gender[:40]!r} and {shape[-1] if shape else 1} shape parameters are in the "
            "file and do not shape the skeleton"
        )
    return tuple(notes)


def _file_up(clip: Clip) -> tuple[str, str]:
    found, note = infer_up(clip)
    if found != "z" and "from the feet" in note and "leans" not in note:
        return found, f"{ASSUMED_UP}{found}, unlike AMASS's own z: {note.partition(': ')[2]}"
    return "z", "up axis z, the axis of AMASS"
