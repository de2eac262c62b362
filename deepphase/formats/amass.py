"""Motion of the SMPL family of body models, as the archive AMASS keeps it: .npz.

A file holds the axis-angle rotation of every joint (`poses`, or split into `root_orient`,
`pose_body` and others), the body's translation (`trans`) in metres, and a frame rate that is
spelt in two ways. The joints' places belong to a licensed body model and are not in the file, so
the motion is put on a rest skeleton of average proportions; the notes say so.

References
----------
Mahmood et al. 2019, AMASS: archive of motion capture as surface shapes. Loper et al. 2015, SMPL;
Romero et al. 2017, SMPL-H; Pavlakos et al. 2019, SMPL-X.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.errors import FormatError
from deepphase.formats.amass_pose import Pose, has_pose, read_pose
from deepphase.formats.frame_rate import told_or_read_rate
from deepphase.formats.npz_archive import NpzArchive, read_npz
from deepphase.formats.smpl_skeleton import STATURE_M, smpl_skeleton
from deepphase.formats.told_options import check_told_rate, check_told_up
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import infer_up, rotate_up
from deepphase.motion.skeleton import Array

# The archive's two spellings, and what other tools write.
_RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate", "framerate")
_TRANSLATIONS = ("trans", "transl", "translation")
# Rotations are some turns at most and places on this planet: beyond is damage.
_LARGEST_ANGLE = 1e4
_LARGEST_TRANSLATION_M = 1e6


def is_amass(keys: Collection[str]) -> bool:
    """Whether an archive of these arrays holds a pose of the SMPL family."""
    return has_pose(keys)


def load_amass(path: str | Path, *, up: str | None = None, fps: float | None = None) -> Clip:
    """Read motion of the SMPL family as a clip: metres, Y up.

    Poses of 22 (body), 24 (SMPL), 52 (SMPL-H), 53 (SMPL-H and the jaw) and 55 joints (SMPL-X) are
    read; fingers, jaw and eyes are kept. The pelvis stands at `trans`: in the body model it is a
    fixed vector away, which depends on the subject's shape and is some centimetres high.

    Parameters
    ----------
    up
        The file's up axis; None takes z, as AMASS has it, unless the body stands along y.
    fps
        Frames a second, in place of the file's.

    Raises
    ------
    FormatError
        Where the file cannot be read, lacks an array, or has no rate and none is told.
    ParameterError
        Where an option is impossible.
    """
    path = Path(path)
    check_told_up(up)
    check_told_rate(fps)
    archive = read_npz(path)
    rate, notes = told_or_read_rate(_file_rates(archive), fps, path)
    pose = read_pose(archive)
    translations = _translations(archive, len(pose.rotation_vectors))
    clip = Clip(
        smpl_skeleton(pose.names),
        _rotations(pose, path),
        translations[:, None].astype(np.float64),
        rate,
        name=path.stem,
    )
    notes += (*pose.notes, *_about_the_body(archive, len(pose.names)))
    if up is None:
        up, note = _file_up(clip)
        notes += (note,)
    source = Source(str(path), 1.0, up, rate, (), notes)
    return replace(rotate_up(clip, up), source=source)


def _file_rates(archive: NpzArchive) -> dict[str, float]:
    return {key: archive.scalar(key) for key in _RATES if key in archive}


def _translations(archive: NpzArchive, frames: int) -> Array:
    """(frames, 3) metres."""
    key = next((key for key in _TRANSLATIONS if key in archive), None)
    if key is None:
        raise FormatError(
            "no array 'trans': where the body goes is not in the file",
            hint=archive.contents,
            path=archive.path,
        )
    translations = archive.array(key, (None, 3))
    if len(translations) != frames:
        raise FormatError(
            f"{frames} frames of poses, but {len(translations)} of {key!r}", path=archive.path
        )
    far = np.abs(translations).max(axis=1) > _LARGEST_TRANSLATION_M
    if far.any():
        frame = int(np.argmax(far))
        raise FormatError(
            f"frame {frame}: a translation of {np.abs(translations[frame]).max():.3g} m",
            hint="the file is damaged, or not in metres",
            path=archive.path,
        )
    return translations


def _rotations(pose: Pose, path: Path) -> Array:
    """(frames, joints, 4) unit quaternions, float64."""
    vectors = pose.rotation_vectors.astype(np.float64)
    # A square may overflow; what is beyond the limit is refused below.
    with np.errstate(over="ignore"):
        angles = np.sqrt(np.einsum("fjc,fjc->fj", vectors, vectors))
    if (angles > _LARGEST_ANGLE).any():
        frame, joint = np.argwhere(angles > _LARGEST_ANGLE)[0]
        raise FormatError(
            f"frame {frame}, joint {pose.names[joint]!r}: a turn of {angles[frame, joint]:.3g} "
            "radians",
            hint="the file is damaged, or its poses are not axis-angle",
            path=path,
        )
    rotations = np.empty((*angles.shape, 4))
    # sin(a / 2) / a, which is 1/2 where the angle is 0.
    rotations[..., :3] = vectors * (0.5 * np.sinc(angles / (2 * np.pi)))[..., None]
    rotations[..., 3] = np.cos(angles / 2)
    return quaternions.sign_continuous(rotations)


def _about_the_body(archive: NpzArchive, joints: int) -> tuple[str, ...]:
    notes = [
        f"a generic rest skeleton of {joints} joints and {STATURE_M:g} m stands in for the body "
        "model, which is licensed: angles are the file's, lengths are an average adult's",
        "the pelvis is put at the file's translation; in the body model it is a fixed vector away",
    ]
    # The subject's shape changes nothing here, so its damage is no reason to refuse the motion.
    with suppress(FormatError):
        shape, gender = archive.shape("betas"), archive.text("gender")
        notes.append(
            f"gender {gender[:40]!r} and {shape[-1] if shape else 1} shape parameters are in the "
            "file and do not shape the skeleton"
        )
    return tuple(notes)


def _file_up(clip: Clip) -> tuple[str, str]:
    found, note = infer_up(clip)
    if found == "y" and "leans" not in note:
        return "y", f"up taken for y, unlike AMASS's own z: {note.partition(': ')[2]}"
    return "z", "up is z, as AMASS has it"
