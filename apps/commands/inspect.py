"""`deepphase inspect`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.corpus_notes import (
    listed_counts,
    note_groups,
    note_kinds,
    note_name_labels,
    note_store_kinds,
)
from deepphase.apps.options import FileOptions
from deepphase.apps.terminal import Outcome, list_left_out, next_step, note, progress, table, warn
from deepphase.arrays import Array
from deepphase.corpus.inspection import FileFacts, inspect_files
from deepphase.corpus.motion_files import find_motion_files
from deepphase.corpus.name_labels import read_name_labels
from deepphase.corpus.rest_frames import other_frames_sentence, same_rest_frames
from deepphase.corpus.store import is_store, open_store, store_groups
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.features.moment_kinds import KINDS, clip_kinds
from deepphase.formats.frame_rates import is_warning
from deepphase.motion.clip import Clip
from deepphase.motion.orientation import body_length, other_floors
from deepphase.short_repr import counted

_ROWS = 40


def command(
    path: list[Path],
    allow_truncated: bool = False,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> Outcome:
    """Show the content of motion files and stores: skeletons, rates, units, lengths, problems.

    Parameters
    ----------
    path
        Motion files, folders of motion files, or stores.
    """
    stores = [each for each in path if is_store(each)]
    path = [each for each in path if each not in stores]
    documents = [_show_store(store) for store in stores]
    if not path:
        next_step("train", "phase", stores[0], "-o", "walk.model")
        return Outcome({"stores": documents, "skeletons": [], "files": []})
    reader: dict[str, Any] = reading.reader
    if allow_truncated:
        reader["allow_truncated"] = True
    with progress() as report:
        found = inspect_files(
            path,
            description=reading.description,
            measure=_kind_seconds,
            progress=report,
            **reader,
        )
    good = [each for each in found if each.error is None]
    if len(found) == 1 and found[0].error is not None:
        raise found[0].error
    groups: dict[tuple[str, tuple[str, ...]], list[FileFacts]] = {}
    for each in good:
        groups.setdefault((each.group, tuple(sorted(each.joints))), []).append(each)
    skeletons = [_show_group(members, detailed=len(good) == 1) for members in groups.values()]
    settings = {file.file: file.settings.labels for file in find_motion_files(path)}
    names = read_name_labels(settings, settings)
    if len(names.labels) > 1:
        note_name_labels(names)
        note("")
    if len(good) > 1:
        _show_files(good)
    _show_problems(found)
    if not good:
        raise FormatError(
            f"none of {len(found)} files can be read",
            path=path[0],
            hint="the reasons are listed above",
        )
    if all(each.has_rotations for each in good):
        next_step("prepare", *path, "-o", "mocap.store")
    else:
        next_step("solve", *path, "-o", "solved")
    return Outcome(
        {
            "stores": documents,
            "skeletons": skeletons,
            "files": [_file_document(each) for each in found],
            "labels": {"patterns": dict(names.patterns), "files": names.counts()},
        }
    )


def _kind_seconds(clip: Clip) -> Array | None:
    """(kinds,) seconds of each kind of moment; None for bodies whose kinds cannot be found."""
    try:
        return np.bincount(clip_kinds(clip), minlength=len(KINDS)) / clip.fps
    except DeepPhaseError:
        return None


def _file_document(facts: FileFacts) -> dict[str, Any]:
    if facts.error is not None:
        return {"file": facts.file, "error": str(facts.error)}
    return {
        "file": facts.file,
        "animation": facts.animation or None,
        "skeleton": facts.group,
        "rotations": facts.has_rotations,
        **{name: getattr(facts, name) for name in ("fps", "frames", "seconds", "unit_m", "up")},
        "contact_shares": dict(facts.contact_shares),
        "floor_m": facts.floor,
        "song": facts.song or None,
        "notes": list(facts.notes),
        "problems": [{"frame": each.first, "problem": each.sentence} for each in facts.glitches],
    }


def _show_group(members: list[FileFacts], *, detailed: bool) -> dict[str, Any]:
    """Print what the files of a skeleton have in common; the same as a document."""
    first, files = members[0], len({each.file for each in members})
    seconds = sum(each.seconds for each in members)
    text = counted(files, "file")
    if files < len(members):
        text += f" with {len(members)} animations"
    note(
        f"skeleton {first.group}: {len(first.joints)} joints, "
        f"{listed_counts(Counter(each.kind for each in members), 'files')}; {text}, "
        f"{seconds / 60:.1f} minutes"
    )
    note("  " + ", ".join(f"{role} {joint}" for role, joint in first.roles))
    for what, values in {
        "fps": [f"{each.fps:g}" for each in members],
        "metres a unit": [f"{each.unit_m:g}" for each in members],
        "up": [each.up for each in members],
    }.items():
        note(f"  {what}: {listed_counts(Counter(values), 'files')}")
    floors = [each.floor for each in members if each.floor is not None]
    if floors:
        # Not "-0.00".
        note(f"  floor: at {round(float(np.median(floors)), 2) + 0.0:.2f} m")
    kinds = None
    measured = [each.measured for each in members if each.measured is not None]
    if measured:
        total = np.sum(measured, 0)
        kinds = dict(zip(KINDS, (total / total.sum()).tolist(), strict=True))
        note_kinds(kinds, "  ")
    if not any(each.has_rotations for each in members):
        note("  points without rotations: joints have positions only")
    songs = sum(bool(each.song) for each in members)
    if songs:
        note(f"  songs: {songs} of {len(members)} files have one beside them")
    # Warnings are listed file by file, other notes where most files have them.
    counts = Counter(text for each in members for text in each.notes)
    for text, count in counts.items():
        if detailed or (count > len(members) / 2 and not is_warning(text)):
            note(f"  {text}")
    if detailed:
        note(f"  joints: {', '.join(first.joints)}")
    note("")
    _warn_of_other_rest_frames(members)
    # As `prepare` measures them: what is below every joint are feet in an unusual pose.
    length = 0.0 if first.skeleton is None else body_length(first.skeleton)
    for index, sentence in other_floors([each.lowest_m for each in members], length).items():
        warn(f"{members[index].title}: {sentence}")
    return {
        "name": first.group,
        "kind": first.kind,
        "joints": list(first.joints),
        "roles": dict(first.roles),
        "files": files,
        "clips": len(members),
        "seconds": seconds,
        "kinds": kinds,
    }


def _warn_of_other_rest_frames(members: list[FileFacts]) -> None:
    """Say which files have bodies whose rotations do not fit the body of the others."""
    known = [(each, each.skeleton) for each in members if each.joints == members[0].joints]
    skeletons = [skeleton for _, skeleton in known if skeleton is not None]
    translated = np.unique(np.concatenate([each.translated for each, _ in known])).astype(int)
    bodies = same_rest_frames(skeletons, translated)
    largest = max(bodies, key=len)
    for body in bodies:
        if body is not largest:
            files = [known[index][0].title for index in body]
            first, other = skeletons[largest[0]], skeletons[body[0]]
            warn(other_frames_sentence(files, first, other, translated))


def _show_files(files: list[FileFacts]) -> None:
    rows = [
        (
            *(each.title, each.group, f"{each.fps:g}", str(each.frames), f"{each.seconds:.1f}"),
            " ".join(f"{share:.2f}" for _, share in each.contact_shares),
            str(len(each.glitches)) if each.glitches else "",
        )
        for each in files[:_ROWS]
    ]
    table(("file", "skeleton", "fps", "frames", "seconds", "feet on floor", "problems"), rows)
    if len(files) > _ROWS:
        note(f"... and {len(files) - _ROWS} more files, which --json lists")


def _show_problems(found: list[FileFacts]) -> None:
    for each in found:
        for text in each.notes:
            if is_warning(text):
                warn(f"{each.title}: {text}")
        for glitch in each.glitches:
            place = f":{each.first_line + glitch.first}" if each.first_line else ""
            note(f"problem: {each.title}{place}: {glitch.sentence}")
    list_left_out("cannot be read", [each.error for each in found if each.error is not None])


def _show_store(path: Path) -> dict[str, Any]:
    """Print what a store has; the same as a document."""
    groups = store_groups(path)
    note_groups(groups)
    left_out: list[dict[str, Any]] = []
    described = []
    for group in groups:
        store = open_store(path, group.name)
        note(f"{group.name}: {store.fps:g} fps; joints {', '.join(group.joints)}")
        labels = {name: Counter(map(str, store.label_column(name))) for name in store.label_names}
        for name, values in labels.items():
            note(f"  {name}: {listed_counts(values, 'clips')}")
        shares = note_store_kinds(store, "  ")
        described.append(
            {
                "name": group.name,
                "joints": list(group.joints),
                "fps": store.fps,
                "clips": group.clips,
                "minutes": group.minutes,
                "labels": labels,
                "kinds": shares,
            }
        )
        left_out = [{"file": each["file"], "reason": each["reason"]} for each in store.left_out]
    for each in left_out:
        warn(f"left out of the store: {each['file']}: {each['reason']}")
    return {"file": str(path), "skeletons": described, "left_out": left_out}
