"""Passes over all clips of a store: agreement on units and up axes, one body, mirroring."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array, counted
from deepphase.corpus.groups import (
    other_frames_sentence,
    rest_difference,
    spread_translations,
    translated_joints,
)
from deepphase.corpus.store_writer import StoreWriter
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.reading import ANOTHER_RATE, CHECK, CORRECTED
from deepphase.motion.clip import Clip, in_float32, joint_positions
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.orientation import (
    ASSUMED_UP,
    agreed_up,
    axis_levels,
    body_length,
    other_floors,
)
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.work import Progress, report

# Sizes of bodies, children and adults, differ by less than this factor; centimetres
# and inches, the nearest two units, differ by 2.54.
_SAME_UNIT_FACTOR = 2.2
# Share of a body from which differences of one group's clips are mentioned.
_MENTIONED = 0.02
# Number of clips whose poses stand for those of a group, and of frames of each that may stand.
_SAMPLES, _STANDING_FRAMES = 12, 100
# Doubts of a rate in notes, with any rate.
_ASKED = re.compile(re.escape(ANOTHER_RATE(0.0)).replace("0", r"[\d.]+"))


def files_of_another_unit(writer: StoreWriter) -> Iterator[tuple[str, float, str]]:
    """Files whose inferred unit differs from their group's: file, metres per unit, sentence."""
    for numbers in writer.hierarchies:
        clips = [writer.records[number].clip for number in numbers]
        units = np.array([clip.source.unit_m for clip in clips])
        votes = Counter(units.tolist())
        # The larger unit wins a tie, so that the order of files does not decide.
        unit_m = max(votes, key=lambda unit: (votes[unit], unit))
        # Total bone lengths in the files' own units.
        lengths = [np.linalg.norm(clip.skeleton.offsets[1:], axis=-1).sum() for clip in clips]
        sizes = np.maximum(lengths / units, 1e-12)
        distance = np.abs(np.log(sizes / np.median(sizes[units == unit_m])))
        others = np.flatnonzero((units != unit_m) & (distance < np.log(_SAME_UNIT_FACTOR)))
        # One entry for each file, which may have several clips.
        for file, own in {clips[i].source.path: clips[i].source.unit_m for i in others}.items():
            of_all = f"as in {votes[unit_m]} of {len(clips)} clips of its skeleton"
            yield file, unit_m, f"a unit of {unit_m:g} m, {of_all}; alone it looked like {own:g} m"


def files_of_another_axis(writer: StoreWriter) -> Iterator[tuple[str, str | None, str]]:
    """Files whose up axis differs from their group's: file, axis to read it with, sentence."""
    # Of one body: other frames at rest are another program's, whose axis may be another one, too.
    for numbers in writer.groups().values():
        sources = [writer.records[number].clip.source for number in numbers]
        ups, notes = [source.up for source in sources], [source.notes for source in sources]
        if len(set(ups)) == 1:
            continue
        clips = map(writer.clip, numbers)
        levels = [axis_levels(joint_positions(c), up) for c, up in zip(clips, ups, strict=True)]
        length = body_length(writer.records[numbers[0]].clip.skeleton)
        others = other_axes(ups, notes, levels, length)
        for file, found in {sources[index].path: found for index, found in others.items()}.items():
            yield file, *found


def other_axes(
    ups: Sequence[str], notes: Sequence[Sequence[str]], levels: Sequence[Array], length: float
) -> dict[int, tuple[str | None, str]]:
    """Clips of another up axis than most: index -> axis to read with, or None, and sentence."""
    if len(set(ups)) == 1:
        return {}
    assumed = [any(note.startswith(ASSUMED_UP) for note in lines) for lines in notes]
    up, misread = agreed_up(ups, assumed, np.stack(levels), length)
    of_all = f"in {ups.count(up)} of {len(ups)} clips of its skeleton"
    return {
        index: (up, f"{CORRECTED}the up axis {up}, as {of_all}; alone it looked like {own}")
        if index in misread
        else (None, f"{CHECK}the up axis {own}, unlike {up} {of_all}; --up gives another one")
        for index, own in enumerate(ups)
        if own != up
    }


def files_of_another_rate(
    clips: Iterable[tuple[str, Hashable, float, Sequence[str]]],
) -> Iterator[tuple[str, str]]:
    """Files without a doubt of their rate that most of their body have: file, sentence.

    `clips` are file, body, stated frames a second, and notes of each.
    """
    groups: dict[Hashable, dict[str, str]] = defaultdict(dict)
    for file, body, fps, notes in clips:
        asked = _ASKED.search(" ".join(notes))
        groups[body, fps][file] = asked[0] if asked else ""
    for files in groups.values():
        (way, votes), *_ = Counter(files.values()).most_common(1)
        if way and 2 * votes > len(files):
            of_all = f"{votes} of {len(files)} files of its skeleton move as at another rate"
            yield from ((file, f"{CHECK}{of_all}: {way}") for file in files if not files[file])


def files_of_another_floor(writer: StoreWriter) -> Iterator[tuple[str, str]]:
    """Files whose lowest joints are higher or lower than in most of their group: file, sentence."""
    for numbers in writer.hierarchies:
        records = [writer.records[number] for number in numbers]
        heights = {record.clip.source.path: record.provenance["lowest_m"] for record in records}
        others = other_floors(list(heights.values()), body_length(records[0].clip.skeleton))
        yield from ((list(heights)[index], sentence) for index, sentence in others.items())


def other_rest_frames(writer: StoreWriter) -> Iterator[tuple[str, str]]:
    """(group, sentence) of bodies with a larger group's joints and other rest frames or sizes."""
    largest: dict[frozenset, Skeleton] = {}
    for name, numbers in writer.groups().items():
        clips = [writer.records[number].clip for number in numbers]
        first, moving = clips[0], translated_joints(clips)
        body = largest.setdefault(first.skeleton.hierarchy, first.skeleton)
        if body is not first.skeleton:
            files = [clip.source.path for clip in clips]
            yield name, other_frames_sentence(files, body, first.skeleton, moving)
        of_skeleton = {clip.skeleton: clip for clip in reversed(clips)}
        differences = [
            (rest_difference(first.skeleton, skeleton, moving), clip.source.path)
            for skeleton, clip in of_skeleton.items()
        ]
        most, file = max(differences, key=lambda found: found[0].share)
        if most.share > _MENTIONED:
            differs = f"{file} differs from {first.source.path} most in {most}"
            yield name, f"people of one rest pose and other proportions: {differs}"


def retarget_clips(
    writer: StoreWriter, target: str, progress: Progress | None = None
) -> list[tuple[str, str]]:
    """Put the clips of all other groups on the body of a group; (group, sentence) on each."""
    # Its compiled kernels cost 80 MB, which other corpora need not have.
    from deepphase.motion.retarget import retarget

    groups = writer.groups()
    if target not in groups:
        raise ParameterError(
            f"there is no skeleton {target!r} to put clips on",
            hint=f"choose with --retarget NAME: {', '.join(groups)}",
        )
    body = _standing(_samples(writer, groups.pop(target)))
    notes: list[tuple[str, str]] = []
    total, done = sum(map(len, groups.values())), 0
    for name, numbers in groups.items():
        like = _standing(_samples(writer, numbers))
        refused: Counter[str] = Counter()
        for number in numbers:
            record = writer.records[number]
            try:
                moved = retarget(writer.clip(number), body, like=like).clip
            except SkeletonError as error:
                refused[error.fact] += 1
            else:
                writer.replace(number, in_float32(moved), {**record.provenance, "body": name})
            done += 1
            report(progress, "retargeting", done, total, record.clip.name)
        moved_clips = counted(len(numbers) - refused.total(), "clip")
        notes.append((name, f"{moved_clips} retargeted to {target}"))
        notes += [
            (name, f"{counted(count, 'clip')} not retargeted: {fact}")
            for fact, count in refused.items()
        ]
    return notes


def _standing(samples: Sequence[Clip]) -> Clip:
    """Frames of several clips of a body, among which some stand upright."""
    moving, rotations, translations = translated_joints(samples), [], []
    for clip in samples:
        step = max(1, len(clip) // _STANDING_FRAMES)
        rotations.append(clip.rotations[::step])
        translations.append(spread_translations(clip, clip.translations, moving)[::step])
    turns, places = np.concatenate(rotations), np.concatenate(translations)
    return replace(samples[0], rotations=turns, translations=places, translated_joints=moving)


def _samples(writer: StoreWriter, numbers: Sequence[int]) -> list[Clip]:
    """Clips that are evenly spread over a group."""
    spread = np.linspace(0, len(numbers) - 1, _SAMPLES).round().astype(int)
    return [writer.clip(numbers[place]) for place in sorted(set(spread.tolist()))]


def add_mirrored_clips(
    writer: StoreWriter, description: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    """Add the mirror image of every clip; (group, sentence) of groups without two sides."""
    notes: list[tuple[str, str]] = []
    first_error: SkeletonError | None = None
    groups = list(writer.groups().values())
    for numbers in groups:
        samples = _samples(writer, numbers)
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
