"""Clips that the shipped characters perform: motion to try every command with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

import deepphase as dp
from deepphase.arrays import Array
from deepphase.files import atomic_write, temporary_folder, user_cache
from deepphase.formats.bvh.writer import save_bvh
from deepphase.packages import version
from deepphase.shipped import SHIPPED
from deepphase.steering.dance import DanceRequest
from deepphase.steering.goal_sources import RootStates, side_by_side
from deepphase.steering.run import Frame, RunnerSource, rollout
from deepphase.work import Progress

# Seconds from one desired velocity to the next.
_HOLD_S = 2.5
# Characters start amid a movement: seconds until they do what is desired.
_SETTLED_S = 1.0


@dataclass(frozen=True)
class Sample:
    """What a character is asked for."""

    name: str
    speeds: tuple[float, ...]  # m/s, one after the other
    turns: float = 50.0  # largest change of direction, degrees
    facing: float = 0.0  # of the body from the direction of travel, degrees


# By name, {action}_{style}_{take}: actions and styles repeat, by which they are found to be labels.
PERSON = (
    Sample("walk_neutral_01", (1.2, 1.0, 1.4)),
    Sample("run_neutral_01", (2.2, 1.9), 35.0),
    Sample("run_neutral_02", (1.2, 2.2), 35.0),
    Sample("backward_neutral_01", (0.9, 0.7), 30.0, 180.0),
    Sample("sidestep_neutral_01", (1.1, 0.8), 30.0, 90.0),
    Sample("turn_neutral_01", (1.3, 1.1), 80.0),
    Sample("turn_neutral_02", (1.2,), 180.0),
    Sample("stop_neutral_01", (1.2, 0.0), 90.0),
    Sample("idle_neutral_01", (0.0,)),
    Sample("walk_angry_01", (1.2,)),
    Sample("walk_elated_01", (1.2,)),
    Sample("walk_rushed_01", (1.5,)),
)
# Seconds of what the dashboard shows at once, where it is given no folder, and of all its clips.
_FIRST_S, _FILLED_S = 8.0, 12.0
# Beats a minute of the songs.
_SONGS_BPM = (92.0, 104.0, 118.0)
DOG = (
    Sample("walk_01", (0.8, 0.7)),
    Sample("walk_02", (1.0,), 90.0),
    Sample("trot_01", (2.0,), 30.0),
    Sample("trot_02", (1.7, 2.2)),
)


def save_samples(
    folder: Path | str,
    of: Literal["person", "dog", "dances"] = "person",
    seconds: float = 20.0,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Write BVH clips of a shipped character, dances with their songs; returns their files."""
    folder = Path(folder)
    performers: dict[str, Callable[[float, int, Progress | None], Iterator[dp.Clip]]]
    performers = {"person": _person_clips, "dog": _dog_clips, "dances": partial(_dances, folder)}
    paths = []
    for clip in performers[of](seconds, seed, progress):
        paths.append(folder / f"{clip.name}.bvh")
        save_bvh(clip, paths[-1])
    return paths


def sample_folder() -> Path | None:
    """A folder for samples in the user's cache, with one clip; None where it cannot be written."""
    folder = user_cache() / f"samples-{version()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.glob("*/*.bvh")):
            (clip,) = _person_clips(_FIRST_S, 0, None, PERSON[:1])
            save_bvh(clip, folder / "0_first" / f"{clip.name}.bvh")
    except (OSError, dp.DeepPhaseError):
        return None
    return folder


def fill_samples(folder: Path) -> None:
    """Write all samples that the folder of `sample_folder` lacks, each kind at once."""
    if hasattr(os, "nice"):
        os.nice(10)
    kinds: tuple[Literal["person", "dances", "dog"], ...] = ("person", "dances", "dog")
    for number, of in enumerate(kinds, 1):
        # The skeleton of the first file is the one that is shown first.
        kind = folder / f"{number}_{of}"
        if not kind.exists():
            with temporary_folder(folder) as unfinished:
                save_samples(unfinished / kind.name, of, _FILLED_S)
                (unfinished / kind.name).rename(kind)
    # Among all of them, the first clip has no place.
    shutil.rmtree(folder / "0_first", ignore_errors=True)


def _dances(
    folder: Path, seconds: float, seed: int, progress: Progress | None
) -> Iterator[dp.Clip]:
    """Dances of the shipped dancer, whose songs are written into the folder."""
    import soundfile

    from deepphase.apps.dances import DanceSource
    from deepphase.music.features import features_of

    folder.mkdir(parents=True, exist_ok=True)
    dancer = DanceSource.shipped()
    for number, bpm in enumerate(_SONGS_BPM, start=1):
        name = f"dance_{number:02d}"
        song = dp.synthetic.make_song(seed + number, seconds, tempo_bpm=bpm)
        with atomic_write(folder / f"{name}.flac") as file:
            soundfile.write(file, song.samples, song.sample_rate, format="FLAC")
        features = features_of(song.samples, name=name)
        yield dancer.dance(features, DanceRequest(seed=seed), progress).motion()


class _StyledGoals(dp.steering.VelocityGoals):
    """Goals of samples, whose styles are the second words of their names."""

    def __init__(self, root_states: RootStates, samples: tuple[Sample, ...]) -> None:
        super().__init__(root_states)
        words = [sample.name.split("_") for sample in samples]
        self._labels = [{"style": each[1]} if len(each) > 2 else {} for each in words]

    def labels(self) -> list[dict[str, str]]:
        return self._labels


def _person_clips(
    seconds: float, seed: int, progress: Progress | None, samples: tuple[Sample, ...] = PERSON
) -> Iterator[dp.Clip]:
    source = dp.matching.Matcher.load(SHIPPED["person"].path).source(seed=seed)
    return _performed(source, samples, seconds, seed, progress)


def _dog_clips(seconds: float, seed: int, progress: Progress | None) -> Iterator[dp.Clip]:
    source = dp.matching.Matcher.load(SHIPPED["dog"].path).source(seed=seed)
    return _performed(source, DOG, seconds, seed, progress)


def _performed(
    source: RunnerSource,
    samples: tuple[Sample, ...],
    seconds: float,
    seed: int,
    progress: Progress | None,
) -> Iterator[dp.Clip]:
    """The clip of each sample, all of which are performed at once."""
    start = RootStates.at_rest(side_by_side(len(samples), source.spacing_m))
    goals = _StyledGoals(start, samples)
    runner = source.start(goals, start)
    frames = round(_HOLD_S * runner.spec.fps)
    velocities, facings = _desired(samples, seconds, seed)

    def step(frame: int) -> Frame:
        goals.set(velocities[frame // frames], facings[frame // frames])
        return runner.step(goals)

    run = rollout(runner, goals, _SETTLED_S + seconds, progress, step=step)
    run = run.part(round(_SETTLED_S * run.fps), len(run))
    for number, sample in enumerate(samples):
        yield run.clip(number, sample.name)


def _desired(samples: tuple[Sample, ...], seconds: float, seed: int) -> tuple[Array, Array]:
    """(parts, samples, 2) m/s and (parts, samples) rad: what is desired in each part of a run."""
    parts = int((_SETTLED_S + seconds) / _HOLD_S) + 1
    velocities = np.zeros((parts, len(samples), 2))
    facings = np.full((parts, len(samples)), np.nan)
    for number, sample in enumerate(samples):
        generator = np.random.default_rng([seed, number])
        most = np.radians(sample.turns)
        angles = np.cumsum(generator.uniform(-most, most, parts))
        speeds = np.resize(sample.speeds, parts)
        velocities[:, number, 0] = speeds * np.sin(angles)
        velocities[:, number, 1] = speeds * np.cos(angles)
        if sample.facing:
            facings[:, number] = angles + np.radians(sample.facing)
    return velocities, facings
