"""Groups of clips in stores: whether bodies with the same joints have one rest pose, and arrays.

Programs and laboratories give one list of joint names to skeletons whose frames at rest differ. The
rotations of one then fold the body of the other. Lengths do no such harm: the rotations of a child
fit an adult whose frames are alike.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from deepphase.arrays import Array, counted
from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.orientation import body_length
from deepphase.motion.skeleton import Skeleton

Value = TypeVar("Value")

# Share of a body's length from tip to tip up to which a joint may lie elsewhere at rest. People of
# one laboratory with one rest pose differ by up to .04, mostly in their shins. Arms that hang in
# place of level ones differ by .1, and the people of ACCAD, whose frames are not alike, by .2.
_TOLERANCE = 0.05


@dataclass(frozen=True)
class RestDifference:
    """The joint that lies elsewhere most in two bodies of one size; `share` of their length."""

    joint: str
    degrees: float
    metres: float
    share: float

    def __str__(self) -> str:
        return f"{self.joint} by {self.degrees:.0f} degrees, {100 * self.metres:.0f} cm"


def rest_difference(body: Skeleton, other: Skeleton, translated: Array) -> RestDifference:
    """The largest difference of two skeletons with the same joints, but for `translated` ones."""
    own, offsets = _compared([body, other], translated)
    shift = np.linalg.norm(_in_one_size(own, offsets) - own, axis=-1)
    joint = int(shift.argmax())
    lengths = np.linalg.norm(own[joint]) * np.linalg.norm(offsets[joint])
    cosine = own[joint] @ offsets[joint] / max(float(lengths), 1e-12)
    return RestDifference(
        body.names[joint],
        float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        float(shift[joint]),
        float(shift[joint]) / max(body_length(body), 1e-9),
    )


def other_frames_sentence(
    files: Sequence[str], body: Skeleton, other: Skeleton, translated: Array
) -> str:
    """What is said of the clips of `files`, whose body is not that of the larger group."""
    ends = " to ".join(dict.fromkeys((files[0], files[-1])))
    return (
        f"{counted(len(files), 'clip')} ({ends}) with the joints of {body.group_name}, but other "
        f"rest frames ({rest_difference(body, other, translated)}): a skeleton of its own; prepare "
        "--retarget NAME puts all on one body"
    )


def same_rest_frames(skeletons: Sequence[Skeleton], translated: Array) -> list[list[int]]:
    """Indices of skeletons, a list for each body: of those that fit its first. One joint order."""
    offsets = _compared(skeletons, translated)
    left, bodies = np.arange(len(skeletons)), []
    while len(left):
        own = offsets[left[0]]
        shifts = np.linalg.norm(_in_one_size(own, offsets[left]) - own, axis=-1).max(axis=-1)
        fits = shifts == 0.0
        if not fits.all():
            fits = shifts <= _TOLERANCE * body_length(skeletons[left[0]])
        bodies.append(left[fits].tolist())
        left = left[~fits]
    return bodies


def have_one_body(first: Clip, clip: Clip) -> bool:
    """Whether two clips have one hierarchy and rest frames of one body."""
    alike = first.skeleton.same_hierarchy(clip.skeleton)
    return alike and len(bodies_of([first, clip.in_order_of(first.skeleton)])) == 1


def check_one_body(clips: Sequence[Clip]) -> None:
    """Raise SkeletonError where the rest frames of clips with one order of joints differ."""
    bodies = bodies_of(clips)
    if len(bodies) > 1:
        first, second = (clips[body[0]] for body in bodies[:2])
        translated = np.union1d(first.translated_joints, second.translated_joints)
        difference = rest_difference(first.skeleton, second.skeleton, translated)
        raise _misfit(f"{first.name!r} and {second.name!r}", difference)


def check_fits_body(clip: Clip, body: Skeleton, whose: str) -> None:
    """Raise SkeletonError where a body has the joints of a clip and its rotations do not fit it."""
    if body.same_hierarchy(clip.skeleton):
        clip = clip.in_order_of(body)
        difference = rest_difference(body, clip.skeleton, clip.translated_joints)
        if difference.share > _TOLERANCE:
            raise _misfit(f"{clip.name!r} and {whose}", difference)


def _misfit(both: str, difference: RestDifference) -> SkeletonError:
    return SkeletonError(
        f"{both} have the same joints, but other rest frames ({difference}): the rotations of one "
        "would fold the other",
        hint="put all on one body: prepare --retarget NAME, or convert --to CLIP",
    )


def bodies_of(clips: Sequence[Any]) -> list[list[int]]:
    """Indices of clips, or their facts, with one order of joints: a list for each body."""
    bodies = same_rest_frames([clip.skeleton for clip in clips], translated_joints(clips))
    if len(bodies) == 1:
        return bodies
    # A part may translate fewer joints, whose offsets then count.
    parts = ((body, bodies_of([clips[index] for index in body])) for body in bodies)
    return [[body[index] for index in own] for body, every in parts for own in every]


def _compared(skeletons: Sequence[Skeleton], translated: Array) -> Array:
    """(skeletons, joints, 3) offsets that place joints, zero for the others."""
    offsets = np.stack([skeleton.offsets for skeleton in skeletons])
    offsets[:, np.append(0, translated)] = 0.0
    return offsets


def _in_one_size(own: Array, offsets: Array) -> Array:
    """Offsets (..., joints, 3) in the size of a body's (joints, 3)."""
    sizes = np.linalg.norm(offsets, axis=-1).sum(axis=-1)
    size = np.linalg.norm(own, axis=-1).sum()
    scale = np.divide(size, sizes, out=np.ones_like(sizes), where=sizes > 0)
    return offsets * scale[..., None, None]


def group_arrays(clips: Sequence[Clip], lengths: Sequence[int]) -> dict[str, Array]:
    """The arrays of a group but its frames, by their names in a store; `lengths` in frames."""
    skeletons = [clip.skeleton for clip in clips]
    stops = np.cumsum(lengths)
    return {
        "translated_joints": translated_joints(clips),
        "range_starts": stops - lengths,
        "range_stops": stops,
        "offsets": np.stack([skeleton.offsets for skeleton in skeletons]),
        "end_starts": np.cumsum([0, *(len(skeleton.end_parents) for skeleton in skeletons)]),
        "end_parents": np.concatenate([skeleton.end_parents for skeleton in skeletons]),
        "end_offsets": np.concatenate([skeleton.end_offsets for skeleton in skeletons]),
    }


def once(value: Value, kept: dict[bytes, Any]) -> Value:
    """The value, or its equal of an earlier file: what many have in common is kept once."""
    content = io.BytesIO()
    pickler = pickle.Pickler(content)
    # Equal values have equal bytes, whichever of their parts are one object.
    pickler.fast = True
    pickler.dump(value)
    return kept.setdefault(hashlib.sha256(content.getvalue()).digest(), value)


def translated_joints(clips: Iterable[Any]) -> Array:
    """(joints,) rising indices of those that any of the clips translates."""
    return np.unique(np.concatenate([clip.translated_joints for clip in clips]))


def spread_translations(clip: Clip, translations: Array, wanted: Array) -> Array:
    """(frames, wanted, 3) translations; joints that the clip does not translate are at rest."""
    if len(wanted) == len(clip.translated_joints):
        return translations
    spread = np.empty((len(translations), len(wanted), 3), translations.dtype)
    spread[:] = clip.skeleton.offsets[wanted]
    spread[:, np.searchsorted(wanted, clip.translated_joints)] = translations
    return spread
