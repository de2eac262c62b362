"""`deepphase inspect`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import deepphase as dp
from deepphase.apps import terminal
from deepphase.apps.options import FileOptions
from deepphase.arrays import Array, counted
from deepphase.corpus.groups import other_frames_sentence, same_rest_frames
from deepphase.corpus.inspection import FileFacts, inspect_files
from deepphase.corpus.motion_files import find_motion_files, is_store
from deepphase.corpus.name_labels import read_name_labels
from deepphase.features.moment_kinds import KINDS, clip_kinds
from deepphase.formats.reading import is_warning
from deepphase.motion.orientation import body_length, other_floors


def command(
    path: list[Path],
    allow_truncated: bool = False,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> None:
    """Show the content of motion files and stores: skeletons, rates, units, lengths, problems.

    Parameters
    ----------
    path
        Motion files, folders of motion files, or stores.
    """
    stores = [each for each in path if is_store(each)]
    path = [each for each in path if each not in stores]
    for store in stores:
        _show_store(store)
    if not path:
        group = terminal.skeleton_words(dp.corpus.store_groups(stores[0]))
        terminal.next_step("train", "phase", stores[0], "-o", "walk.model", *group)
        return
    reader: dict[str, Any] = reading.reader | ({"allow_truncated": True} if allow_truncated else {})
    with terminal.progress() as report:
        found = inspect_files(
            path, description=reading.description, measure=_kind_seconds, progress=report, **reader
        )
    good = [each for each in found if each.error is None]
    if len(found) == 1 and found[0].error is not None:
        raise found[0].error
    groups: dict[frozenset[str], list[tuple[FileFacts, dp.Skeleton]]] = {}
    for facts in found:
        if facts.skeleton is not None:
            names = frozenset((facts.skeleton.group_name, *facts.skeleton.names))
            groups.setdefault(names, []).append((facts, facts.skeleton))
    for members in groups.values():
        _show_group(members, detailed=len(good) == 1)
    settings = {file.file: file.settings.labels for file in find_motion_files(path)}
    labels = read_name_labels(settings, settings)
    if len(labels.labels) > 1:
        terminal.note_name_labels(labels)
        terminal.note("")
    if len(good) > 1:
        _show_files(good)
    _show_problems(found)
    if not good:
        raise dp.FormatError(
            f"none of {len(found)} files can be read",
            path=path[0],
            hint="the reasons are listed above",
        )
    if all(each.has_rotations for each in good):
        terminal.next_step("prepare", *path, "-o", "mocap.store")
    else:
        terminal.next_step("solve", *path, "-o", "solved")


def _kind_seconds(clip: dp.Clip) -> Array | None:
    """(kinds,) seconds of each kind of moment; None for bodies whose kinds cannot be found."""
    try:
        return np.bincount(clip_kinds(clip), minlength=len(KINDS)) / clip.fps
    except dp.DeepPhaseError:
        return None


def _show_group(members: list[tuple[FileFacts, dp.Skeleton]], *, detailed: bool) -> None:
    """Print what the files of a skeleton have in common."""
    some, skeleton = [facts for facts, _ in members], members[0][1]
    first, files = some[0], len({facts.file for facts in some})
    seconds = sum(facts.seconds for facts in some)
    text = counted(files, "file")
    if files < len(some):
        text += f" with {len(some)} animations"
    kind = terminal.listed_counts(Counter(facts.kind for facts in some), "files")
    joints = f"skeleton {skeleton.group_name}: {len(skeleton)} joints"
    terminal.note(f"{joints}, {kind}; {text}, {seconds / 60:.1f} minutes")
    terminal.note("  " + ", ".join(f"{role} {joint}" for role, joint in first.roles.items()))
    for what, values in {
        "fps": [f"{facts.fps:g}" for facts in some],
        "metres a unit": [f"{facts.source.unit_m:g}" for facts in some],
        "up": [facts.source.up for facts in some],
    }.items():
        terminal.note(f"  {what}: {terminal.listed_counts(Counter(values), 'files')}")
    floors = [facts.floor for facts in some if facts.floor is not None]
    if floors:
        # Not "-0.00".
        terminal.note(f"  floor: at {round(float(np.median(floors)), 2) + 0.0:.2f} m")
    measured = [facts.measured for facts in some if facts.measured is not None]
    if measured:
        total = np.sum(measured, 0)
        shares = (total / total.sum()).tolist()
        terminal.note_kinds(dict(zip(KINDS, shares, strict=True)), "  ")
    if not any(facts.has_rotations for facts in some):
        terminal.note("  points without rotations: joints have positions only")
    songs = sum(bool(facts.song) for facts in some)
    if songs:
        terminal.note(f"  songs: {songs} of {len(some)} files have one beside them")
    # Warnings are listed file by file, other notes where most files have them.
    counts = Counter(text for facts in some for text in facts.notes)
    for text, count in counts.items():
        if detailed or (count > len(some) / 2 and not is_warning(text)):
            terminal.note(f"  {text}")
    if detailed:
        terminal.note(f"  joints: {', '.join(skeleton.names)}")
    terminal.note("")
    _warn_of_other_rest_frames(members)
    # As `prepare` measures them: what is below every joint are feet in an unusual pose.
    heights = [facts.lowest_m for facts in some]
    for index, sentence in other_floors(heights, body_length(skeleton)).items():
        terminal.warn(f"{some[index].title}: {sentence}")


def _warn_of_other_rest_frames(members: list[tuple[FileFacts, dp.Skeleton]]) -> None:
    """Say which files have bodies whose rotations do not fit the body of the others."""
    names = members[0][1].names
    same_order = [member for member in members if member[1].names == names]
    skeletons = [skeleton for _, skeleton in same_order]
    translated = np.unique(np.concatenate([each.translated_joints for each, _ in same_order]))
    bodies = same_rest_frames(skeletons, translated)
    largest = max(bodies, key=len)
    for body in bodies:
        if body is not largest:
            files = [same_order[index][0].title for index in body]
            first, other = skeletons[largest[0]], skeletons[body[0]]
            terminal.warn(other_frames_sentence(files, first, other, translated))


def _show_files(files: list[FileFacts]) -> None:
    rows = [
        (
            *(each.title, each.skeleton.group_name if each.skeleton else "", f"{each.fps:g}"),
            *(str(each.frames), f"{each.seconds:.1f}"),
            " ".join(f"{share:.2f}" for share in each.contact_shares.values()),
            str(len(each.glitches)) if each.glitches else "",
        )
        for each in files
    ]
    columns = ("file", "skeleton", "fps", "frames", "seconds", "feet on floor", "problems")
    terminal.table(columns, rows, more="files: inspect their folders one by one")


def _show_problems(found: list[FileFacts]) -> None:
    for each in found:
        for text in each.notes:
            if is_warning(text):
                terminal.warn(f"{each.title}: {text}")
        for glitch in each.glitches:
            line = each.source.first_line
            place = f":{line + glitch.first}" if line else ""
            terminal.note(f"problem: {each.title}{place}: {glitch.sentence}")
    terminal.list_left_out(
        "cannot be read", [each.error for each in found if each.error is not None]
    )


def _show_store(path: Path) -> None:
    """Print what a store has."""
    groups = dp.corpus.store_groups(path)
    terminal.note_groups(groups)
    for group in groups:
        store = dp.corpus.open_store(path, group.name)
        terminal.note(f"{group.name}: {store.fps:g} fps; joints {', '.join(group.joints)}")
        for name in store.label_names:
            values = Counter(map(str, store.label_column(name)))
            terminal.note(f"  {name}: {terminal.listed_counts(values, 'clips')}")
        terminal.note_store_kinds(store, "  ")
    for each in store.left_out:
        terminal.warn(f"left out of the store: {each['file']}: {each['reason']}")
