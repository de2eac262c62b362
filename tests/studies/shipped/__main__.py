"""Trainings of the files of `deepphase/shipped`, which are written over those that are there.

`python -m tests.studies.shipped [NAME ...] [--captures FOLDER]` makes all of them or those that
are named, and prints their measures. FOLDER has the free captures, of BVH files: `accad`
(`female1`, `male2`), `style100`, `cmu_dance`, `cmu_locomotion_dance`, `cmu_amc`, and of
`animals/mesh2motion`. The dog's motion is synthetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from deepphase.apps.terminal import note, progress
from deepphase.edit.editor import MotionEditor
from deepphase.edit.report import report_lines
from deepphase.errors import ParameterError
from deepphase.formats.array_file import read_arrays, read_header, write_arrays
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.training import matcher_lines
from deepphase.phase.model import PhaseModel
from deepphase.shipped import SHIPPED
from deepphase.work import Progress
from tests.studies.shipped.any_skeleton import train_any_skeleton
from tests.studies.shipped.dancer import train_dancer
from tests.studies.shipped.dog import train_dog
from tests.studies.shipped.editor import train_editor
from tests.studies.shipped.person import train_person

Shipped: TypeAlias = Matcher | MotionEditor | PhaseModel
_TRAININGS: dict[str, Callable[[Path, Progress], Shipped]] = {
    "person": train_person,
    "dancer": train_dancer,
    "dog": lambda _, on_progress: train_dog(on_progress),
    "editor": train_editor,
    "any_skeleton": train_any_skeleton,
}


def main() -> None:
    """Make the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SHIPPED)}; all by default")
    parser.add_argument("--captures", type=Path, help="folder of the free captures")
    options = parser.parse_args()
    for name in options.names or SHIPPED:
        if name not in SHIPPED:
            raise ParameterError(f"there is no shipped file {name!r}", hint=", ".join(SHIPPED))
        path = SHIPPED[name].path
        if options.captures is None and name != "dog":
            raise ParameterError(f"{name} learns from captures", hint="give --captures")
        with progress() as on_progress:
            made = _TRAININGS[name](options.captures, on_progress)
        made.save(path)
        pack(path, SHIPPED[name].motion)
        note(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
        for line in _measures(made):
            note(line)


def _measures(made: Shipped) -> Iterable[str]:
    if isinstance(made, PhaseModel):
        return [skeleton.words() for skeleton in made.skeletons]
    if isinstance(made, MotionEditor):
        return report_lines(made.report)
    return matcher_lines(made.health)


def pack(path: Path, motion: str) -> None:
    """Write a file with weights of half precision, which `load_weights` reads, and its source."""
    kind = {key: read_header(path)[key] for key in ("format", "version")}
    arrays, header = read_arrays(path, **kind)
    for name, array in arrays.items():
        if name.startswith("network.") and array.dtype == np.float32:
            arrays[name] = array.astype(np.float16)
    header["provenance"]["motion"] = motion
    write_arrays(path, arrays, header, **kind)


if __name__ == "__main__":
    main()
