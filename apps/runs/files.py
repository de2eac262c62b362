"""Files of a run: the motion of every character, and a table of its frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootMotion
from deepphase.steering.run import Run

_SUFFIXES = (".bvh", ".glb")
# Root motion -> the joint that carries the travel, in words.
_CARRIERS: dict[RootMotion, str] = {
    "auto": "the topmost joint carries the travel",
    "root": "a joint above the hips, on the ground, carries the travel",
    "hips": "the hips carry the travel",
    "in_place": "the motion is in place, without travel and turn",
}


def write_motion(clip: Clip, folder: Path, stem: str) -> list[tuple[str, str]]:
    """Write a motion as BVH and as glb; name and description of each file."""
    for suffix in _SUFFIXES:
        save(clip, folder / f"{stem}{suffix}")
    return [(f"{stem}{suffix}", "the motion") for suffix in _SUFFIXES]


def motion_note(run: Run, root_motion: RootMotion) -> str:
    """The sentence on travel and units of the motion files of a run."""
    unit = f"{run.spec.conventions.unit_m:g} m"
    return (
        f"In the motion files {_CARRIERS[root_motion]} (--root-motion). One unit of the BVH files "
        f"is {unit}, as in the source clips; glb is in metres."
    )


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file atomically."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def write_motions(
    run: Run, folder: Path, stem: str, root_motion: RootMotion = "auto"
) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; name and description of each file."""
    files = []
    for character in range(run.characters):
        own = stem if run.characters == 1 else f"{stem}-{character + 1:02d}"
        files += write_motion(run.clip(character, own, root_motion), folder, own)
        table = frame_columns(run, character)
        write_table(folder / f"{own}.frames.csv", list(table), zip(*table.values(), strict=True))
        files.append((f"{own}.frames.csv", "root, goals, contacts and phases of every frame"))
    return files


def frame_columns(run: Run, character: int) -> dict[str, Sequence[object]]:
    """Name -> (frames,) values of one character's frames, the columns of its table.

    ``t`` in seconds; ``x``, ``z`` and ``facing`` of the root in metres and radians, and with goals
    the same with ``desired_``; ``alive``; ``contact_`` of each foot, in [0, 1]; ``jumped`` and the
    tracks of runners that have them; ``phase_`` in cycles, ``frequency_`` in Hz and ``amplitude_``
    of each phase channel; ``weight_`` of each expert.
    """
    numbers: dict[str, Array] = {
        "x": run.positions[character, :, 0],
        "z": run.positions[character, :, 1],
        "facing": run.angles[character],
    }
    if run.desired_positions is not None and run.desired_angles is not None:
        numbers["desired_x"] = run.desired_positions[character, :, 0]
        numbers["desired_z"] = run.desired_positions[character, :, 1]
        numbers["desired_facing"] = run.desired_angles[character]
    numbers["alive"] = run.alive[character]
    for index, foot in enumerate(run.spec.feet):
        numbers[f"contact_{foot}"] = run.contacts[character, :, index]
    if run.jumped is not None:
        numbers["jumped"] = run.jumped[character]
    for name, values in run.tracks.items():
        if values.ndim == 2:
            numbers[name] = values[character]
    if run.phases is not None:
        for name in ("phase", "frequency", "amplitude"):
            values = getattr(run.phases, name)[character]
            numbers |= {f"{name}_{i}": column for i, column in enumerate(values.T)}
    if run.gating is not None:
        numbers |= {f"weight_{i}": column for i, column in enumerate(run.gating[character].T)}
    times = [f"{index / run.fps:.4f}" for index in range(len(run))]
    table: dict[str, Sequence[object]] = {"t": times}
    return table | {name: _texts(values) for name, values in numbers.items()}


def _texts(values: Array) -> Sequence[object]:
    if values.dtype.kind == "U":
        return [str(value) for value in values]
    if values.dtype.kind in "biu":
        return [str(int(value)) for value in values]
    return [f"{value:.5f}" for value in values]
