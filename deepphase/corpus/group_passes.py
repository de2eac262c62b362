"""Passes over complete skeleton groups: agreement on units, and mirroring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.corpus.skeleton_group import default_group_name
from deepphase.corpus.spool import Record
from deepphase.corpus.store_writer import StoreWriter
from deepphase.errors import SkeletonError
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton

# Sizes of bodies, children and adults, differ by less than this factor; centimetres
# and inches, the nearest two units, differ by 2.54.
_SAME_UNIT_FACTOR = 2.2
# Number of clips whose mean poses determine how joints' frames are mirrored.
_MIRROR_SAMPLES = 12


def files_of_another_unit(writer: StoreWriter) -> Iterator[tuple[str, float, str]]:
    """Files whose inferred unit differs from their group's: file, metres per unit, sentence.

    A file whose numbers are of another magnitude than the group's is indeed in another unit and
    keeps it.
    """
    for group in writer.groups():
        records = [record for _, record in group]
        votes = Counter(record.source.unit_m for record in records)
        # The larger unit wins a tie, so that the order of files does not decide.
        unit_m = max(votes, key=lambda unit: (votes[unit], unit))
        usual = np.median([_raw_size(each) for each in records if each.source.unit_m == unit_m])
        outvoted = {
            record.source.path: record.source.unit_m
            for record in records
            if record.source.unit_m != unit_m
            and max(_raw_size(record) / usual, usual / max(_raw_size(record), 1e-12))
            < _SAME_UNIT_FACTOR
        }
        for file, own in outvoted.items():
            yield (
                file,
                unit_m,
                f"a unit of {unit_m:g} m, as in {votes[unit_m]} of {len(records)} clips of its "
                f"skeleton; alone it looked like {own:g} m",
            )


def add_mirrored_clips(
    writer: StoreWriter, description: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    """Add the mirror image of every clip; (group, sentence) of groups without two sides.

    The correspondence of joints is found once for a group, so that mirrored clips agree.

    Raises
    ------
    SkeletonError
        Where no group has two sides.
    """
    notes: list[tuple[str, str]] = []
    groups = writer.groups()
    first_error: SkeletonError | None = None
    for group in groups:
        numbers = [number for number, _ in group]
        spread = np.linspace(0, len(numbers) - 1, _MIRROR_SAMPLES).round().astype(int)
        samples = [writer.clip(numbers[place]) for place in sorted(set(spread.tolist()))]
        skeleton = samples[0].skeleton
        longest = max(samples, key=len)
        try:
            roles = find_roles(skeleton, description, longest)
            _check_sides(skeleton, roles.pairs)
            mapping = mirror_map(samples, roles)
        except SkeletonError as error:
            first_error = first_error or error
            notes.append((default_group_name(skeleton), f"no mirrored clips: {error.fact}"))
            continue
        for number in numbers:
            clip = writer.clip(number)
            image = mirrored(clip, mapping)
            image = replace(
                image,
                name=f"{clip.name} mirrored",
                labels={**clip.labels, "mirrored": "yes"},
            )
            writer.add(image, {**writer.record(number).provenance, "mirrored": True})
    if first_error is not None and len(notes) == len(groups):
        raise first_error
    return notes


def _check_sides(skeleton: Skeleton, pairs: np.ndarray) -> None:
    if (pairs == np.arange(len(pairs))).all():
        raise SkeletonError(
            f"{default_group_name(skeleton)} has no left and right joints that are known",
            hint="give the pairs in a skeleton description",
        )


def _raw_size(record: Record) -> float:
    """Total bone length in the file's own unit."""
    lengths = np.linalg.norm(record.skeleton.offsets[1:], axis=-1)
    return float(lengths.sum()) / record.source.unit_m
