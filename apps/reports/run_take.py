"""A run of a motion database as the player shows it."""

from __future__ import annotations

import numpy as np

from apps.reports.run_actor import character_name, run_actor
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import Curve, Marker, Take
from deepphase.steering.path import Path
from matching.playback import Playback
from matching.run import Run

Array = np.ndarray


def run_take(run: Run, playback: Playback, path: Path | None, name: str) -> Take:
    """All characters of a run, with its jumps as markers and its costs as curves."""
    curves = [Curve("cost of the last search", "", run.costs.T, run.fps)]
    if path is not None:
        away = np.linalg.norm(run.positions - run.wished_positions, axis=-1)
        curves.append(Curve("distance from the wished place", "m", away.T, run.fps))
    jumps = np.flatnonzero(run.jumped[0]) / run.fps
    return Take(
        name=name,
        actors=[_actor(run, playback, index) for index in range(run.characters)],
        curves=curves,
        markers=[Marker("jump", float(time), float(time)) for time in jumps],
        note="Played out of captured motion; markers are the first character's jumps.",
    )


def _actor(run: Run, playback: Playback, character: int) -> Actor:
    return run_actor(
        run.clip(playback, character),
        playback.body,
        name=character_name(character, run.characters),
        places=run.positions[character],
        angles=run.angles[character],
        contacts=run.held[character],
        feet=tuple(playback.limbs.tips.tolist()),
    )
