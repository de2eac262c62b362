"""The whole chain on small files, by the program's own commands.

Each step is a function of a folder that it may write to, and returns one array. Steps use commands
and public names only, so that they outlive changes inside. `python -m tests.golden.chain` writes
`expected.npz` again, after a change of results that is meant.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import deepphase as dp
from deepphase import shipped
from deepphase.apps.cli import main
from deepphase.music import song_features

_INPUTS = Path(__file__).parent / "inputs"
_FILES = Path(__file__).parents[1] / "compatibility/files"
EXPECTED = Path(__file__).parent / "expected.npz"


def _run(*words: object) -> None:
    status = main([str(word) for word in (*words, "--quiet")])
    assert status == 0, f"{' '.join(map(str, words[:2]))} ended with {status}"


def _places(path: Path) -> np.ndarray:
    """Positions of all joints at every fifth frame, metres."""
    motion = dp.load(path)
    return (dp.joint_positions(motion) if isinstance(motion, dp.Clip) else motion.positions)[::5]


def _clip_in(folder: Path) -> Path:
    (path,) = folder.glob("**/*.bvh")
    return path


def _store(folder: Path, kind: str) -> Path:
    clips = folder / f"{kind}s"
    if not clips.exists():
        clips.mkdir()
        for path in _INPUTS.glob(f"{kind}*.bvh"):
            shutil.copy(path, clips)
        if kind == "dance":
            shutil.copy(_FILES / "song.ogg", clips / "dance.ogg")
        _run("prepare", clips, "-o", folder / f"{kind}.store")
    return folder / f"{kind}.store"


def _database(folder: Path) -> Path:
    path = folder / "walk.db"
    if not path.exists():
        model = _FILES / "default.model"
        _run("match", "build", _store(folder, "walk"), "--model", model, "-o", path)
    return path


def _square(folder: Path, command: tuple[str, ...], source: Path, *words: object) -> np.ndarray:
    out = folder / f"{source.stem}_{'_'.join(command)}{len(words)}"
    _run(*command, source, "--path", "square", "--seconds", 3, *words, "-o", out)
    return _places(_clip_in(out))


def phases_of_person(folder: Path) -> np.ndarray:
    _run("encode", _FILES / "default.model", _INPUTS / "walk_1.bvh", "-o", folder / "person")
    phases = dp.load_phases(folder / "person/walk_1.phases.npz")[0]
    return phases.parameters.manifold()[::5]


def phases_of_dog(folder: Path) -> np.ndarray:
    """By the shipped model for any skeleton."""
    _run("encode", _INPUTS / "dog.bvh", "-o", folder / "dog")
    return dp.load_phases(folder / "dog/dog.phases.npz")[0].parameters.manifold()[::5]


def controller_on_square(folder: Path) -> np.ndarray:
    return _square(folder, ("control",), _FILES / "experts.controller")


def person_on_square(folder: Path) -> np.ndarray:
    """The shipped person, by learned matching."""
    return _square(folder, ("match", "run"), Path(shipped.__file__).parent / "person.matcher")


def database_on_square(folder: Path) -> np.ndarray:
    return _square(folder, ("match", "run"), _database(folder))


def matcher_on_square(folder: Path) -> np.ndarray:
    return _square(folder, ("match", "run"), _FILES / "small.matcher")


def database_on_ground(folder: Path) -> np.ndarray:
    ground = _INPUTS / "heights.npy"
    return _square(folder, ("match", "run"), _database(folder), "--terrain", ground)


def dance_by_database(folder: Path) -> np.ndarray:
    store, database = _store(folder, "dance"), folder / "dance.db"
    model = _FILES / "default.model"
    words = ("--model", model, "--songs", folder / "dances", "--config", "dance_music")
    _run("match", "build", store, *words, "-o", database)
    out = folder / "by_database"
    _run("dance", _FILES / "song.ogg", "--database", database, "--seconds", 4, "-o", out)
    return _places(_clip_in(out))


def dance_by_dancer(folder: Path) -> np.ndarray:
    out, dancer = folder / "by_dancer", _FILES / "small.dancer"
    _run("dance", _FILES / "song.ogg", "--dancer", dancer, "--seconds", 3, "-o", out)
    return _places(_clip_in(out))


def repaired(folder: Path) -> np.ndarray:
    out = folder / "repaired.bvh"
    words = ("--joints", "LeftHand", "--frames", "60-90", "--ground", "-o", out)
    _run("edit", "repair", _INPUTS / "walk_1.bvh", *words)
    return _places(out)


def in_between(folder: Path) -> np.ndarray:
    out = folder / "between.bvh"
    clips = (_INPUTS / "walk_1.bvh", _INPUTS / "walk_2.bvh")
    _run("edit", "inbetween", *clips, "--follow", "--seconds", 1, "-o", out)
    return _places(out)


def solved(folder: Path) -> np.ndarray:
    """A skeleton from the markers of a C3D file."""
    _run("solve", _INPUTS / "markers.c3d", "-o", folder / "solved.bvh")
    return _places(folder / "solved.bvh")


def retargeted(folder: Path) -> np.ndarray:
    """A run on the skeleton that was solved, whose joints have other rest frames."""
    if not (folder / "solved.bvh").exists():
        solved(folder)
    out = folder / "retargeted.bvh"
    _run("retarget", _INPUTS / "run.glb", "--to", folder / "solved.bvh", "-o", out)
    return _places(out)


def rig_solved(folder: Path) -> np.ndarray:
    """Controls of a rig, refined until its joints are where the clip has them."""
    rig, clip, out = folder / "person.rig", _INPUTS / "run.glb", folder / "on_rig.bvh"
    _run("train", "rig", clip, "--poses", clip, "-o", rig, *_small_rig())
    _run("rig-controls", rig, clip, "-o", out)
    return _places(out)


def _small_rig() -> list[str]:
    sizes = {"training.examples": 60, "training.hidden": 64, "training.samples": 500}
    sizes |= {"training.frames": 60, "training.epochs": 8}
    return [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]


def song(folder: Path) -> np.ndarray:
    """Audio features of every tenth frame, side by side."""
    blocks = song_features(_FILES / "song.ogg", cache=False).blocks
    return np.concatenate([np.reshape(b, (len(b), -1))[::10] for _, b in sorted(blocks.items())], 1)


def bvh_read(folder: Path) -> np.ndarray:
    return _places(_INPUTS / "dog.bvh")


def gltf_read(folder: Path) -> np.ndarray:
    return _places(_INPUTS / "run.glb")


def c3d_read(folder: Path) -> np.ndarray:
    return _places(_INPUTS / "markers.c3d")


def bvh_written(folder: Path) -> np.ndarray:
    _run("convert", _INPUTS / "run.glb", "-o", folder / "run.bvh")
    return _places(folder / "run.bvh")


def gltf_written(folder: Path) -> np.ndarray:
    _run("convert", _INPUTS / "walk_1.bvh", "-o", folder / "walk.glb")
    return _places(folder / "walk.glb")


# Step -> tolerance. A generated frame is the input of the next one, which enlarges the last bits in
# which processors differ.
STEPS: dict[Callable[[Path], np.ndarray], float] = {
    phases_of_person: 1e-4,
    phases_of_dog: 1e-4,
    controller_on_square: 1e-4,
    person_on_square: 1e-4,
    database_on_square: 1e-4,
    matcher_on_square: 1e-4,
    database_on_ground: 1e-4,
    dance_by_database: 1e-4,
    dance_by_dancer: 1e-4,
    repaired: 1e-5,
    in_between: 1e-5,
    solved: 1e-5,
    retargeted: 1e-5,
    # Where the refinement begins depends on a training.
    rig_solved: 5e-3,
    song: 1e-4,
    bvh_read: 1e-5,
    gltf_read: 1e-5,
    c3d_read: 1e-5,
    bvh_written: 1e-5,
    gltf_written: 1e-5,
}


@cache
def expected() -> dict[str, np.ndarray]:
    with np.load(EXPECTED) as file:
        return dict(file)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        results = {}
        for step in STEPS:
            print(step.__name__, file=sys.stderr)
            results[step.__name__] = step(Path(name)).astype(np.float32)
    np.savez_compressed(EXPECTED, **results)
