"""The format of stores: names, types and arrays of its files, and which paths are stores."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.files import PREFIX
from deepphase.formats.array_file import is_array_file
from deepphase.motion.clip import Clip

STORE_FORMAT, STORE_VERSION = "deepphase.store", 2
STORE_JSON = "store.json"
# Key of a group whose clips are known to have one body's rest frames.
ONE_BODY = "one_body"
ARRAY_TYPES = {
    "rotations": np.float32,
    "translations": np.float32,
    "translated_joints": np.int64,
    "range_starts": np.int64,
    "range_stops": np.int64,
    "offsets": np.float64,
    "end_starts": np.int64,
    "end_parents": np.int64,
    "end_offsets": np.float64,
}


def is_store(path: str | Path) -> bool:
    """Whether a path is to be opened as a store: its folder, or a file of an earlier version.

    Other files of deepphase are, too: `open_store` says what they are.
    """
    path = Path(path)
    return is_store_folder(path) or (path.is_file() and is_array_file(path))


def is_store_folder(path: Path) -> bool:
    """Whether a folder has the JSON of a store.

    A writer that was killed between its two renames left the older store aside: it is put back.
    """
    try:
        if not os.path.lexists(path) and path.name and place_aside(path).exists():
            os.replace(place_aside(path), path)
        with (path / STORE_JSON).open("rb") as file:
            return STORE_FORMAT.encode() in file.read(100)
    except OSError:
        return False


def place_aside(path: Path) -> Path:
    """Where an older store lies while another one takes its place."""
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f"{PREFIX}{digest}.older")


def json_hash(header: Mapping[str, Any]) -> str:
    """Hash of the JSON of a store, its own hash left out."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def group_arrays(clips: Sequence[Clip], lengths: Sequence[int]) -> dict[str, Array]:
    """The arrays of a group but its frames, by their names in a store.

    `lengths` are the frames of each clip, of which `clips` may have the first alone.
    """
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


def first_frame(clip: Clip) -> Clip:
    """The first frame of a clip, copied: it does not keep the other frames in memory."""
    return replace(
        clip, rotations=clip.rotations[:1].copy(), translations=clip.translations[:1].copy()
    )


def translated_joints(clips: Iterable[Clip]) -> Array:
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


def unique_clip_names(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names; repeated ones are numbered from the second on: walk, walk-2, walk-3."""
    plain = list(names)
    used: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in plain:
        unique = name
        while unique in used or (unique != name and unique in plain):
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name}-{counts[name]}"
        used.add(unique)
        result.append(unique)
    return tuple(result)
