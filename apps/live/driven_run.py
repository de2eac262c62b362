"""Runs that were steered by hand in the live page, as the page sends them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.motion.clip import Clip
from deepphase.steering.run import Run, RunnerSpec

# Most characters of a text that is read: a minute of a large skeleton has some 20 million.
_MAX_TEXT = 100_000_000


def read_driven(text: Any, feet: int) -> tuple[str, dict[str, Array]]:
    """The BVH text and the arrays of a message, with contacts of some feet; FormatError otherwise.

    Arrays are ``positions`` (frames, 2) m, ``angles`` (frames,) rad, ``contacts`` (frames, feet),
    ``velocities`` (frames, 2) m/s and ``facings`` (frames, 2), 0 without a facing.
    """
    widths = {"positions": 2, "angles": 0, "contacts": feet, "velocities": 2, "facings": 2}
    try:
        given: Any = json.loads(text) if isinstance(text, str) and len(text) < _MAX_TEXT else None
        bvh, facings = given["bvh"], [each or (0.0, 0.0) for each in given["facings"]]
        lists = {**{name: given[name] for name in widths if name != "facings"}, "facings": facings}
        arrays = {name: np.array(each, np.float64) for name, each in lists.items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _foreign() from error
    frames = len(arrays["angles"])
    for name, each in arrays.items():
        shape = (frames, widths[name]) if widths[name] else (frames,)
        if each.shape != shape or not np.isfinite(each).all():
            raise _foreign(f": its {name} have the shape {each.shape}")
    if not isinstance(bvh, str):
        raise _foreign(": it has no BVH text")
    return bvh, arrays


def _foreign(why: str = "") -> FormatError:
    return FormatError(
        f"this is not a motion of the live page{why}", hint="save it there once more"
    )


def driven_run(clip: Clip, arrays: dict[str, Array], spec: RunnerSpec) -> Run:
    """The run of one character from the clip of the BVH text and the arrays of `read_driven`.

    `spec` is of a runner of the same file. Raises FormatError if they do not belong together.
    """
    missing = {*spec.joints, *spec.feet} - set(clip.skeleton.names)
    if missing or len(clip) != len(arrays["angles"]):
        raise FormatError(
            "the motion has another skeleton or length than its goals",
            hint="save it with the file that it is read with",
        )
    spec = replace(
        spec,
        fps=clip.fps,
        skeleton=clip.skeleton,
        translated_joints=clip.translated_joints,
        note="steered by hand",
        # The page sends no poses of before the lock.
        locked_joints=np.zeros(0, np.int64),
    )
    facings = arrays["facings"]
    # Without a facing, the body faces the way that it is steered.
    facings = np.where(facings.any(axis=1, keepdims=True), facings, arrays["velocities"])
    angles = np.arctan2(facings[:, 0], facings[:, 1])
    return Run(
        spec=spec,
        rotations=clip.rotations[None],
        translations=clip.translations[None],
        positions=arrays["positions"][None],
        angles=arrays["angles"][None],
        contacts=arrays["contacts"][None],
        alive=np.ones((1, len(clip)), bool),
        commanded_velocities=arrays["velocities"][None],
        commanded_angles=angles[None],
    )
