"""Trainings of the files of `deepphase/shipped`, which are written over those that are there.

`python -m tests.studies.shipped [NAME ...] [--dances CMU_DANCE]` makes all of them or those that
are named, and prints their measures. CMU_DANCE is a folder with the BVH files of the CMU motion
capture database (salsa and Indian dance), or a store of them; all other motion is synthetic.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from deepphase.apps.terminal import note, progress
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.health import health_lines
from deepphase.corpus.prepare import corpus_of
from deepphase.errors import ParameterError
from deepphase.formats.array_file import read_arrays, read_header, write_arrays
from deepphase.phase.model import PhaseModel
from deepphase.progress import Progress
from deepphase.shipped import SHIPPED
from tests.studies.shipped.any_skeleton import train_any_skeleton
from tests.studies.shipped.characters import train_ball, train_dog, train_person

_CHARACTERS = {"person": train_person, "ball": train_ball, "dog": train_dog}


def main() -> None:
    """Make the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SHIPPED)}; all by default")
    parser.add_argument("--dances", type=Path, help="folder or store of the CMU dances")
    options = parser.parse_args()
    for name in options.names or SHIPPED:
        if name not in SHIPPED:
            raise ParameterError(f"there is no shipped file {name!r}", hint=", ".join(SHIPPED))
        path = SHIPPED[name].path
        with progress() as on_progress:
            made = _made(name, options.dances, on_progress)
        made.save(path)
        if isinstance(made, Controller):
            halve(path)
        note(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
        if isinstance(made, PhaseModel):
            for skeleton in made.skeletons:
                note(skeleton.words())
        else:
            for line in health_lines(made.health):
                note(line)


def _made(name: str, dances: Path | None, on_progress: Progress) -> Controller | PhaseModel:
    if name in _CHARACTERS:
        return _CHARACTERS[name](on_progress)
    if dances is None:
        raise ParameterError(f"{name} learns from the CMU dances", hint="give --dances")
    return train_any_skeleton(corpus_of(dances, progress=on_progress), on_progress)


def halve(path: Path) -> None:
    """Write the weights of a file in half precision, which `load_weights` reads."""
    kind = {key: read_header(path)[key] for key in ("format", "version")}
    arrays, header = read_arrays(path, **kind)
    for name, array in arrays.items():
        if name.startswith("network.") and array.dtype == np.float32:
            arrays[name] = array.astype(np.float16)
    write_arrays(path, arrays, header, **kind)


if __name__ == "__main__":
    main()
