"""`deepphase inspect`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from apps.options import told_skeleton
from apps.terminal import list_left_out, note, progress, table, warn
from deepphase.corpus.inspection import FileFacts, inspect_files
from deepphase.errors import FormatError
from deepphase.formats.array_file import is_array_file

_ROWS = 40


def command(
    path: list[Path],
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
    allow_truncated: bool = False,
    every: bool = False,
    skeleton_description: str | None = None,
) -> None:
    """What is in motion files or a store: skeletons, rates, units, lengths, contacts, problems.

    Parameters
    ----------
    path
        Motion files, folders of them, or stores.
    unit
        Unit of the files (m, cm, mm, inch, foot or metres as a number); inferred if not given.
    up
        Up axis of the files (x, y, z, -x, -y, -z); inferred if not given.
    file_fps
        Frames a second of the files, where theirs is wrong.
    allow_truncated
        Take the readable frames of files that end too early.
    every
        A row for every file, however many there are.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    """
    stores = [each for each in path if is_array_file(each)]
    path = [each for each in path if each not in stores]
    for store in stores:
        _show_store(store)
    if not path:
        return
    reader: dict[str, Any] = {
        "unit": unit,
        "up": up,
        "fps": file_fps,
        "allow_truncated": allow_truncated,
    }
    reader = {name: value for name, value in reader.items() if value not in (None, False)}
    description = told_skeleton(skeleton_description)
    found: list[FileFacts] = []
    with progress() as report:
        count, facts = inspect_files(path, description=description, **reader)
        for index, of_file in enumerate(facts):
            found.extend(of_file)
            report("inspecting", index + 1, count, "")
    good = [each for each in found if each.error is None]
    if len(found) == 1 and found[0].error is not None:
        raise found[0].error
    groups: dict[tuple[str, tuple[str, ...]], list[FileFacts]] = {}
    for each in good:
        groups.setdefault((each.group, tuple(sorted(each.joints))), []).append(each)
    for (name, _), members in groups.items():
        _show_group(name, members, detailed=len(good) == 1)
    if len(good) > 1:
        _show_files(good if every else good[:_ROWS])
        if len(good) > _ROWS and not every:
            note(f"... and {len(good) - _ROWS} more files: --every shows them")
    _show_problems(found)
    if not good:
        raise FormatError(f"none of {len(found)} files can be read", path=path[0])


def _show_group(name: str, members: list[FileFacts], *, detailed: bool) -> None:
    first = members[0]
    minutes = sum(each.seconds for each in members) / 60
    kinds = Counter(each.kind for each in members)
    note(
        f"skeleton {name}: {len(first.joints)} joints, {_counted(kinds)}; "
        f"{_files_and_clips(members)}, {minutes:.1f} minutes"
    )
    note("  " + ", ".join(f"{role} {joint}" for role, joint in first.roles))
    for what, values in (
        ("fps", Counter(f"{each.fps:g}" for each in members)),
        ("metres a unit", Counter(f"{each.unit_m:g}" for each in members)),
        ("up", Counter(each.up for each in members)),
    ):
        note(f"  {what}: {_counted(values)}")
    if not any(each.has_rotations for each in members):
        note("  points without rotations: joints have places only")
    songs = sum(bool(each.song) for each in members)
    if songs:
        note(f"  songs: {songs} of {len(members)} files have one beside them")
    said = first.notes if detailed else _common_notes(members)
    for text in said:
        note(f"  {text}")
    if detailed:
        note(f"  joints: {', '.join(first.joints)}")
    note("")


def _files_and_clips(members: list[FileFacts]) -> str:
    files = len({each.file for each in members})
    counted = f"{files} file{'s' if files > 1 else ''}"
    return counted if files == len(members) else f"{counted} with {len(members)} animations"


def _common_notes(members: list[FileFacts]) -> list[str]:
    counts = Counter(text for each in members for text in each.notes)
    return [text for text, count in counts.items() if count > len(members) / 2]


def _counted(values: Counter[str], of: str = "files") -> str:
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value or 'none'} ({count} {of})" for value, count in values.most_common())


def _show_files(files: list[FileFacts]) -> None:
    rows = [
        (
            each.title,
            each.group,
            f"{each.fps:g}",
            str(each.frames),
            f"{each.seconds:.1f}",
            " ".join(f"{share:.2f}" for _, share in each.contact_shares),
            str(len(each.glitches)) if each.glitches else "",
        )
        for each in files
    ]
    columns = ("file", "skeleton", "fps", "frames", "seconds", "feet on floor", "problems")
    table(columns, rows)


def _show_problems(found: list[FileFacts]) -> None:
    for each in found:
        for glitch in each.glitches:
            place = f":{each.first_line + glitch.first}" if each.first_line else ""
            note(f"problem: {each.title}{place}: {glitch.sentence}")
    list_left_out("cannot be read", [each.error for each in found if each.error is not None])


def _show_store(path: Path) -> None:
    from deepphase.corpus.store import open_store, store_groups

    groups = store_groups(path)
    rows = [(g.name, str(len(g.joints)), str(g.clips), f"{g.minutes:.1f}") for g in groups]
    table(("skeleton", "joints", "clips", "minutes"), rows)
    for group in groups:
        store = open_store(path, group.name)
        note(f"{group.name}: {store.fps:g} fps; joints {', '.join(group.joints)}")
        for name in store.label_names:
            values = Counter(str(value) for value in store.label_column(name))
            note(f"  {name}: {_counted(values, 'clips')}")
    for left_out in store.left_out:
        warn(f"left out of the store: {left_out['file']}: {left_out['reason']}")
