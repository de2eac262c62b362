"""Stores: folders of NumPy files and one JSON with the clips of one or more skeleton groups.

Format "deepphase.store", version 2, by docs/formats.md. Version 1 was one safetensors file with the
same header and arrays; it is still read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.config import (
    check_numbers,
    checked_count,
    checked_labels,
    checked_mapping,
    checked_text,
)
from deepphase.corpus.clip_store import ClipStore, shared_skeletons
from deepphase.corpus.groups import same_rest_frames
from deepphase.corpus.motion_files import STORE_FORMAT, STORE_JSON, is_store_folder
from deepphase.corpus.store_writer import ARRAY_TYPES, ONE_BODY, STORE_VERSION
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.files import check_size, json_hash, parsed_json
from deepphase.formats.array_file import (
    checked_joints,
    checked_rate,
    checked_source,
    chunks,
    map_arrays,
    read_header,
)
from deepphase.formats.reading import checked_skeleton
from deepphase.motion.skeleton import Skeleton

# These stay in their files.
_MAPPED = ("rotations", "translations")
_FRAMES, _ENDS = (*_MAPPED, "range_starts", "range_stops"), ("end_parents", "end_offsets")


@brief_repr
@dataclass(frozen=True)
class StoreGroup:
    """Summary of a skeleton group of a store: its name, joints, clips and duration."""

    name: str
    joints: tuple[str, ...]
    clips: int
    minutes: float
    hierarchy: frozenset = frozenset()


def store_header(path: str | Path) -> dict[str, Any]:
    """The JSON of a store. Raises CheckpointError as :func:`open_store`."""
    path = Path(path)
    # Looked for first, which puts back the store of a writer that was killed.
    is_folder = is_store_folder(path)
    if not path.is_dir():
        return read_header(path, STORE_FORMAT, STORE_VERSION)
    if not is_folder:
        raise CheckpointError(
            "this is a folder, but not a store",
            hint="`deepphase prepare` makes one store of a folder of clips",
            path=path,
        )
    with _refused(path):
        check_size(path / STORE_JSON, "store header")
        header = dict(parsed_json((path / STORE_JSON).read_text(encoding="utf-8")))
        stated = header.pop("json_sha256")
        if type(header["version"]) is int and header["version"] > STORE_VERSION:
            raise CheckpointError(
                f"written by a newer deepphase: version {header['version']} of {STORE_FORMAT}, "
                f"this one reads up to {STORE_VERSION}",
                hint="upgrade deepphase: pip install -U deepphase",
                path=path,
            )
        if json_hash(header) != stated:
            raise ValueError(f"{STORE_JSON} does not match its hash")
        check_numbers(header)
        checked_labels(header["sha256"])
        return header


@contextmanager
def _refused(path: str | Path) -> Iterator[None]:
    """Context in which what is wrong with a store is raised as CheckpointError."""
    try:
        yield
        return
    except CheckpointError:
        raise
    except OSError as error:
        fact = f"the store cannot be read: {error.strerror or error}"
        path = error.filename or path
    except (DeepPhaseError, TypeError, ValueError, LookupError, AttributeError) as error:
        # A header whose hash is right and whose content is not was made by another program.
        reason = getattr(error, "fact", f"{type(error).__name__}: {error}")
        fact = f"this is not a store of this version of deepphase, or it is damaged ({reason})"
    except RecursionError:
        fact = f"{STORE_JSON} is nested too deeply"
    raise CheckpointError(fact, hint="prepare the store again", path=path) from None


def store_groups(path: str | Path) -> list[StoreGroup]:
    """The skeleton groups of a store. Raises CheckpointError as :func:`open_store`."""
    return _groups(Path(path), store_header(path))


def groups_with(
    path: str | Path, skeleton: str | None = None, joints: Sequence[str] = ()
) -> list[StoreGroup]:
    """The group that `open_store` opens, and others of its joints with other rest frames."""
    return _chosen(path, store_groups(path), skeleton, joints)


def open_store(
    path: str | Path,
    skeleton: str | None = None,
    *,
    joints: Sequence[str] = (),
    verify: bool = True,
) -> ClipStore:
    """Open one group of a store; its frames are memory-mapped.

    `skeleton` names the group, where the store has several. Without it, the group that has all
    `joints`, such as a model's, and the fewest others is opened; of several bodies with the same
    joints and other rest frames the largest, and `ClipStore.other_bodies` has the others. `verify`
    compares the arrays with their hashes first, which reads them once.

    Raises ParameterError where the group is unknown, or there are several and none is named, and
    CheckpointError where it is not a store, damaged, or written by a newer deepphase.
    """
    path, header = Path(path), store_header(path)
    groups = _chosen(path, _groups(path, header), skeleton, joints)
    largest = max(groups, key=lambda group: group.minutes)
    others = tuple(group.name for group in groups if group is not largest)
    with _refused(path):
        return _stored(path, largest.name, header, verify, others)


def _groups(path: Path, header: Mapping[str, Any]) -> list[StoreGroup]:
    with _refused(path):
        groups = [_group(group, 60.0 * checked_rate(header["fps"])) for group in header["groups"]]
        # Names of groups are names of folders.
        if not groups or not all(re.fullmatch(r"[\w-]+", group.name) for group in groups):
            raise ValueError("no groups, or a group without a plain name")
        return groups


def _group(group: Mapping[str, Any], frames_a_minute: float) -> StoreGroup:
    joints = checked_joints(group["joints"])
    parents = [checked_count(parent, "parent", -1, len(joints) - 1) for parent in group["parents"]]
    above = (joints[parent] if parent >= 0 else "" for parent in parents)
    return StoreGroup(
        checked_text(group["name"], "name"),
        joints,
        len(group["clips"]),
        checked_count(group["frames"], "frames") / frames_a_minute,
        frozenset(zip(joints, above, strict=True)),
    )


def _chosen(
    path: str | Path, groups: list[StoreGroup], skeleton: str | None, joints: Sequence[str]
) -> list[StoreGroup]:
    """The group that is named or has the joints; several where they differ in rest frames alone."""
    fitting, fact = groups, f"it has {len(groups)} skeletons, and one is needed"
    if skeleton is not None:
        fitting = [group for group in groups if group.name == skeleton]
        fact = f"it has no skeleton {skeleton!r}"
    elif len(groups) > 1 and joints:
        fitting = [group for group in groups if set(joints) <= set(group.joints)]
        least = min((len(group.joints) for group in fitting), default=0)
        fitting = [group for group in fitting if len(group.joints) == least]
    if len({group.hierarchy for group in fitting}) == 1:
        return fitting
    listed = "; ".join(
        f"{group.name} ({group.clips} clips, {group.minutes:.1f} min)" for group in groups
    )
    raise ParameterError(fact, hint=f"choose with --skeleton NAME: {listed}", path=path)


def _stored(
    path: Path, name: str, header: Mapping[str, Any], verify: bool, others: tuple[str, ...]
) -> ClipStore:
    group = next(group for group in header["groups"] if group["name"] == name)
    arrays = _arrays(path, name, header, verify)
    stored = len(arrays["rotations"])
    if group["frames"] != stored:
        raise ValueError(f"{group['frames']} frames are declared, and {stored} are stored")
    skeletons, moving = _skeletons(group, arrays), arrays.pop("translated_joints")
    if group.get(ONE_BODY) is not True and len(same_rest_frames(skeletons, moving)) > 1:
        raise ValueError("it is of an earlier version, and its bodies have different rest frames")
    clips = group["clips"]
    return ClipStore(
        group=name,
        fps=checked_rate(header["fps"]),
        skeletons=skeletons,
        translated_joints=moving,
        **{name: arrays[name] for name in _FRAMES},
        names=tuple(checked_text(clip["name"], "name") for clip in clips),
        labels=tuple(checked_labels(clip["labels"]) for clip in clips),
        sources=tuple(checked_source(clip["source"]) for clip in clips),
        provenance=tuple(checked_mapping(clip["provenance"], "provenance") for clip in clips),
        header=header,
        path=path,
        other_bodies=others,
    )


def _arrays(path: Path, group: str, header: Mapping[str, Any], verify: bool) -> dict[str, Array]:
    """The arrays of a group, of the right types; the long ones are mapped."""
    if path.is_dir():
        hashes = header["sha256"] if verify else None
        arrays = {name: _read_npy(path, group, name, hashes) for name in ARRAY_TYPES}
    else:
        prefix = f"{group}/"
        mapped, _ = map_arrays(path, format=STORE_FORMAT, version=1, prefix=prefix, verify=verify)
        arrays = {name: mapped[prefix + name] for name in ARRAY_TYPES}
    for name, dtype in ARRAY_TYPES.items():
        if arrays[name].dtype != dtype:
            raise ValueError(f"{name} is of type {arrays[name].dtype}, not {np.dtype(dtype)}")
        if verify and not all(np.isfinite(part).all() for part in chunks(arrays[name])):
            raise ValueError(f"{name} has values that are not finite")
        if name not in _MAPPED:
            arrays[name] = np.array(arrays[name])
    return arrays


def _read_npy(path: Path, group: str, name: str, hashes: Mapping[str, str] | None) -> Array:
    file = path / group / f"{name}.npy"
    if not file.is_file():
        raise ValueError(f"{group}/{name}.npy is missing, or not a file")
    if hashes is not None:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != hashes[f"{group}/{name}"]:
            raise ValueError(f"{group}/{name}.npy does not match its hash")
    try:
        # Mapped, so that a shape beyond the file is refused before memory is taken for it.
        return np.lib.format.open_memmap(file, mode="r")
    # The header is read as Python, whose parser has many errors.
    except Exception:
        raise ValueError(f"{group}/{name}.npy is not a NumPy array of its size") from None


def _skeletons(group: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Skeleton, ...]:
    ends = arrays["end_starts"]
    if len(ends) != len(arrays["offsets"]) + 1 or (np.diff(ends) < 0).any():
        raise ParameterError("the ranges of end sites do not fit the clips")
    names, parents = tuple(group["joints"]), np.array(group["parents"], np.int64)
    return shared_skeletons(
        checked_skeleton(
            Skeleton(names, parents, offsets, *(arrays[name][start:stop] for name in _ENDS))
        )
        for offsets, start, stop in zip(arrays["offsets"], ends[:-1], ends[1:], strict=True)
    )
