"""Store files: one array file with the clips of one or more skeleton groups.

Format "deepphase.store", version 1. The header has ``fps``, ``options``, ``made_with``,
``left_out`` and ``groups``, each with ``name``, ``joints``, ``parents``, ``frames`` and ``clips``
(``name``, ``labels``, ``source``, ``provenance``). The arrays of a group are named
``<group>/<array>``:

===================  ===================================  =======================================
rotations            (frames, joints, 4) float32          local, x y z w, clip behind clip
translations         (frames, translated, 3) float32      metres, local
translated_joints    (translated,) int64                  rising from the root, 0
range_starts, _stops (clips,) int64                       clip i: frames start to stop - 1
offsets              (clips, joints, 3) float64           metres, every clip's rest offsets
end_starts           (clips + 1,) int64                   clip i: ends start i to start i + 1
end_parents          (ends,) int64                        the joint that an end site hangs from
end_offsets          (ends, 3) float64                    metres
===================  ===================================  =======================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.skeleton_group import shared_skeletons
from deepphase.corpus.store_writer import (
    STORE_FORMAT,
    STORE_VERSION,
    StoreGroup,
    StoreWriter,
    write_store,
)
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import map_arrays, read_header
from deepphase.formats.body_checks import checked_skeleton
from deepphase.formats.header_values import (
    checked_count,
    checked_joints,
    checked_labels,
    checked_mapping,
    checked_rate,
    checked_source,
    checked_text,
)
from deepphase.motion.skeleton import Skeleton

__all__ = ["ClipStore", "StoreGroup", "StoreWriter", "open_store", "store_groups", "write_store"]

# Types of the arrays of every group.
STORE_TYPES = {
    "*/rotations": "F32",
    "*/translations": "F32",
    "*/offsets": "F64",
    "*/end_offsets": "F64",
    "*": "I64",
}


def store_groups(path: str | Path) -> list[StoreGroup]:
    """The skeleton groups of a store file.

    Raises
    ------
    CheckpointError
        Where it is not a store, damaged, or written by a newer deepphase.
    """
    header = read_header(path, STORE_FORMAT, STORE_VERSION)
    try:
        fps = checked_rate(header["fps"])
        groups = [_group(description, fps) for description in header["groups"]]
        if not groups:
            raise ValueError("no groups")
        return groups
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _inconsistent(path, error) from None
    except ParameterError as error:
        raise _inconsistent(path, error.fact) from None


def open_store(
    path: str | Path,
    skeleton: str | None = None,
    *,
    joints: Sequence[str] = (),
    verify: bool = True,
) -> ClipStore:
    """Open one group of a store file; its frames are memory-mapped.

    Parameters
    ----------
    path
        A file of :func:`write_store` or :func:`deepphase.corpus.prepare.prepare`.
    skeleton
        Name of the group; needed where the file has several.
    joints
        Joints that are read, as a model's. Of several groups the one that has all of them is
        opened where `skeleton` is not given, of two such groups the one with fewer others.
    verify
        Compare the arrays with their hashes first, which reads them once.

    Raises
    ------
    ParameterError
        Where the group is unknown, or there are several and none is named; the hint lists them.
    CheckpointError
        Where it is not a store, damaged, or written by a newer deepphase.
    """
    groups = store_groups(path)
    name = _chosen(path, groups, skeleton, joints)
    arrays, header = map_arrays(
        path,
        format=STORE_FORMAT,
        version=STORE_VERSION,
        prefix=f"{name}/",
        verify=verify,
        types=STORE_TYPES,
    )
    return store_of_group(path, name, header, arrays)


def store_of_group(
    path: str | Path, name: str, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> ClipStore:
    """The clips of one group of a file, out of the file's header and arrays.

    Raises CheckpointError where they do not fit together.
    """
    prefix = f"{name}/"
    arrays = {
        key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)
    }
    try:
        description = next(each for each in header["groups"] if each["name"] == name)
        clips = description["clips"]
        if description["frames"] != len(arrays["rotations"]):
            raise ParameterError(
                f"a group declares {description['frames']} frames, but the file has "
                f"{len(arrays['rotations'])} rotations",
                hint="prepare the store again",
            )
        return ClipStore(
            group=name,
            fps=checked_rate(header["fps"]),
            skeletons=_skeletons(description, arrays),
            rotations=arrays["rotations"],
            translations=arrays["translations"],
            translated_joints=np.array(arrays["translated_joints"]),
            range_starts=np.array(arrays["range_starts"]),
            range_stops=np.array(arrays["range_stops"]),
            names=tuple(checked_text(clip["name"], "name") for clip in clips),
            labels=tuple(checked_labels(clip["labels"]) for clip in clips),
            sources=tuple(checked_source(clip["source"]) for clip in clips),
            provenance=tuple(checked_mapping(clip["provenance"], "provenance") for clip in clips),
            header=header,
            path=Path(path),
        )
    # A header whose hash is right and whose content is not was made by another program.
    except (KeyError, TypeError, ValueError, IndexError, StopIteration, AttributeError) as error:
        raise _inconsistent(path, error) from None
    except DeepPhaseError as error:
        raise _inconsistent(path, error.fact) from None


def group_list(groups: list[StoreGroup]) -> str:
    """Text for messages: name, clips and minutes of each group."""
    return "; ".join(
        f"{group.name} ({group.clips} clips, {group.minutes:.1f} min)" for group in groups
    )


def _group(description: Mapping[str, Any], fps: float) -> StoreGroup:
    return StoreGroup(
        name=checked_text(description["name"], "name"),
        joints=checked_joints(description["joints"]),
        clips=len(description["clips"]),
        minutes=checked_count(description["frames"], "frames") / fps / 60.0,
    )


def _chosen(
    path: str | Path, groups: list[StoreGroup], skeleton: str | None, joints: Sequence[str]
) -> str:
    names = [group.name for group in groups]
    if skeleton is None and len(names) == 1:
        return names[0]
    if skeleton in names:
        return skeleton
    if skeleton is None and joints:
        fitting = [group for group in groups if set(joints) <= set(group.joints)]
        least = min((len(group.joints) for group in fitting), default=0)
        fitting = [group for group in fitting if len(group.joints) == least]
        if len(fitting) == 1:
            return fitting[0].name
    if skeleton is None:
        fact = f"it has {len(names)} skeletons, and one is needed"
    else:
        fact = f"it has no skeleton {skeleton!r}"
    raise ParameterError(fact, hint=f"choose with --skeleton NAME: {group_list(groups)}", path=path)


def _skeletons(description: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple:
    names = checked_joints(description["joints"])
    listed = [checked_count(each, "parent", -1, len(names)) for each in description["parents"]]
    parents = np.array(listed, np.int64)
    ends = np.array(arrays["end_starts"])
    if len(ends) != len(arrays["offsets"]) + 1 or (np.diff(ends) < 0).any():
        raise ParameterError(
            "the ranges of end sites do not fit the clips", hint="prepare the store again"
        )
    return shared_skeletons(
        checked_skeleton(
            Skeleton(
                names,
                parents,
                np.array(offsets),
                np.array(arrays["end_parents"][start:stop]),
                np.array(arrays["end_offsets"][start:stop]),
            )
        )
        for offsets, start, stop in zip(arrays["offsets"], ends[:-1], ends[1:], strict=True)
    )


def _inconsistent(path: str | Path, error: object) -> CheckpointError:
    reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return CheckpointError(
        f"this is not a store of this version of deepphase ({reason})",
        hint="prepare the store again",
        path=path,
    )
