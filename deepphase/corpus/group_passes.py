"""Passes over complete skeleton groups: agreement on units and up axes, and mirroring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.store_writer import StoreWriter
from deepphase.errors import SkeletonError
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.orientation import (
    ASSUMED_UP,
    agreed_up,
    axis_levels,
    body_length,
    other_floors,
)
from deepphase.motion.roles import find_roles

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
    for numbers in writer.groups.values():
        clips = [writer.records[number].clip for number in numbers]
        units = [clip.source.unit_m for clip in clips]
        votes = Counter(units)
        # The larger unit wins a tie, so that the order of files does not decide.
        unit_m = max(votes, key=lambda unit: (votes[unit], unit))
        # Total bone lengths in the files' own units.
        sizes = np.array(
            [np.linalg.norm(clip.skeleton.offsets[1:], axis=-1).sum() for clip in clips]
        ) / np.array(units)
        usual = np.median(sizes[np.array(units) == unit_m])
        ratios = np.maximum(sizes / usual, usual / np.maximum(sizes, 1e-12))
        differing = {
            clip.source.path: clip.source.unit_m
            for clip, ratio in zip(clips, ratios, strict=True)
            if clip.source.unit_m != unit_m and ratio < _SAME_UNIT_FACTOR
        }
        for file, own in differing.items():
            yield (
                file,
                unit_m,
                f"a unit of {unit_m:g} m, as in {votes[unit_m]} of {len(clips)} clips of its "
                f"skeleton; alone it looked like {own:g} m",
            )


def files_of_another_axis(writer: StoreWriter) -> Iterator[tuple[str, str | None, str]]:
    """Files whose up axis differs from that of most of their group: file, up axis, sentence.

    The axis is the one to read the file with; None where it keeps its own.
    """
    for numbers in writer.groups.values():
        first = writer.records[numbers[0]].clip
        sources = [writer.records[number].clip.source for number in numbers]
        ups = [source.up for source in sources]
        if len(set(ups)) == 1:
            continue
        levels = [
            axis_levels(joint_positions(writer.clip(number)), up)
            for number, up in zip(numbers, ups, strict=True)
        ]
        differing = other_axes(
            ups, [source.notes for source in sources], levels, body_length(first.skeleton)
        )
        # One entry for each file, which may have several clips.
        by_file = {sources[index].path: found for index, found in differing.items()}
        for file, (up, sentence) in by_file.items():
            yield file, up, sentence


def other_axes(
    ups: Sequence[str], notes: Sequence[Sequence[str]], levels: Sequence[Array], length: float
) -> dict[int, tuple[str | None, str]]:
    """Clips whose up axis differs from that of most of their group: index -> axis and sentence.

    The axis is the one to read the clip with, None for its own. `notes` are those of each clip;
    the others as in :func:`deepphase.motion.orientation.agreed_up`, which decides.
    """
    assumed = [any(note.startswith(ASSUMED_UP) for note in each) for each in notes]
    up, misread = agreed_up(ups, assumed, np.stack(levels), length)
    of_all = f"in {ups.count(up)} of {len(ups)} clips of its skeleton"
    return {
        index: (up, f"the up axis {up}, as {of_all}; alone it looked like {own}")
        if index in misread
        else (None, f"the up axis {own}, unlike {up} {of_all}; --up gives another one")
        for index, own in enumerate(ups)
        if own != up
    }


def files_of_another_floor(writer: StoreWriter) -> Iterator[tuple[str, str]]:
    """Files whose lowest joints are at another height than in most of their group: file, sentence.

    See :func:`deepphase.motion.orientation.other_floors`.
    """
    for numbers in writer.groups.values():
        records = [writer.records[number] for number in numbers]
        heights = {record.clip.source.path: record.provenance["lowest_m"] for record in records}
        files = list(heights)
        length = body_length(records[0].clip.skeleton)
        usual, apart = other_floors(list(heights.values()), length)
        for file in (files[index] for index in apart):
            yield (
                file,
                f"its lowest joint is at {heights[file]:.2f} m, in most clips of its skeleton at "
                f"{usual:.2f} m: its heights may be wrong, or it was captured on other ground",
            )


def add_mirrored_clips(
    writer: StoreWriter, description: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    """Add the mirror image of every clip; (group, sentence) of groups without two sides.

    The correspondence of joints is found once for a group, so that mirrored clips agree.
    """
    notes: list[tuple[str, str]] = []
    first_error: SkeletonError | None = None
    groups = list(writer.groups.values())
    for numbers in map(list, groups):
        spread = np.linspace(0, len(numbers) - 1, _MIRROR_SAMPLES).round().astype(int)
        samples = [writer.clip(numbers[place]) for place in sorted(set(spread.tolist()))]
        skeleton = samples[0].skeleton
        try:
            roles = find_roles(skeleton, description, max(samples, key=len))
            if (roles.pairs == np.arange(len(roles.pairs))).all():
                raise SkeletonError(
                    f"{skeleton.group_name} has no left and right joints that are known",
                    hint="give the pairs in a skeleton description",
                )
            mapping = mirror_map(samples, roles)
        except SkeletonError as error:
            first_error = first_error or error
            notes.append((skeleton.group_name, f"no mirrored clips: {error.fact}"))
            continue
        for number in numbers:
            clip = writer.clip(number)
            image = replace(
                mirrored(clip, mapping),
                name=f"{clip.name} mirrored",
                labels={**clip.labels, "mirrored": "yes"},
            )
            writer.add(image, {**writer.records[number].provenance, "mirrored": True})
    if first_error is not None and len(notes) == len(groups):
        raise first_error
    return notes
