"""Characters set on a path, or put under a stick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.steering.followers import (
    Follower,
    Movers,
    PathFollower,
    PathSettings,
    StickFollower,
    StickSettings,
)
from deepphase.steering.path import Path
from deepphase.steering.stick import Stick
from matching.database import MotionDatabase
from matching.next_rows import NextRows
from matching.playback import Playback
from matching.player import Player, PlayerSettings
from matching.search import Searcher

Array = np.ndarray

# Characters stand side by side, so many times the length of their legs apart.
_APART = 1.8


def start_on_path(
    database: MotionDatabase,
    playback: Playback,
    searcher: Searcher,
    path: Path,
    *,
    characters: int = 1,
    labels: Mapping[str, str | Sequence[str]] | None = None,
    settings: PlayerSettings | None = None,
    path_settings: PathSettings | None = None,
    seed: int = 0,
) -> tuple[Player, PathFollower]:
    """Characters at the beginning of a path, each of its own copy beside the others'.

    The first begins with the motion that goes as the path does; the others at random.

    Parameters
    ----------
    database, playback, searcher, labels, settings
        As for :class:`matching.player.Player`.
    path
        To follow.
    seed
        Of the random beginnings.
    """
    origins = _side_by_side(playback, characters)
    follower = PathFollower(path, origins, path_settings)
    begin = path.times[:1]
    movers = Movers(
        origins + path.positions_at(begin),
        np.repeat(path.velocities_at(begin), characters, axis=0),
        np.repeat(path.facings_at(begin), characters),
        np.zeros(characters),
    )
    rows = _first_rows(database, searcher, follower, movers, labels, seed)
    player = Player(
        database,
        playback,
        searcher,
        rows,
        positions=movers.positions,
        angles=movers.angles,
        labels=labels,
        settings=settings,
    )
    return player, follower


def start_under_stick(
    database: MotionDatabase,
    playback: Playback,
    searcher: Searcher,
    stick: Stick,
    *,
    characters: int = 1,
    labels: Mapping[str, str | Sequence[str]] | None = None,
    settings: PlayerSettings | None = None,
    stick_settings: StickSettings | None = None,
    seed: int = 0,
) -> tuple[Player, StickFollower]:
    """Characters at rest, side by side, facing +Z, that go as a stick says.

    Parameters as for `start_on_path`.
    """
    rest = np.zeros(characters)
    positions = _side_by_side(playback, characters)
    movers = Movers(positions, np.zeros_like(positions), rest, rest)
    follower = StickFollower(stick, movers, stick_settings)
    rows = _first_rows(database, searcher, follower, movers, labels, seed)
    player = Player(
        database, playback, searcher, rows, positions=positions, labels=labels, settings=settings
    )
    return player, follower


def _side_by_side(playback: Playback, characters: int) -> Array:
    """(characters, 2) metres, from the origin to the left."""
    return np.arange(characters)[:, None] * np.array([_APART * playback.leg_length, 0.0])


def _first_rows(
    database: MotionDatabase,
    searcher: Searcher,
    follower: Follower,
    movers: Movers,
    labels: Mapping[str, str | Sequence[str]] | None,
    seed: int,
) -> Array:
    next_rows = NextRows(database, searcher, labels=labels)
    count = len(movers.positions)
    first = next_rows.first(next_rows.wishes(follower, movers, np.arange(1)))
    offered = database.offered if labels is None else database.offered & database.rows_with(labels)
    others = np.random.default_rng(seed).choice(np.flatnonzero(offered), count - 1)
    return np.concatenate([first, others])
