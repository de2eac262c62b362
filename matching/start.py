"""Characters set on a path, or put under a stick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.steering.followers import (
    Follower,
    PathFollower,
    PathSettings,
    StickFollower,
    StickSettings,
)
from deepphase.steering.movers import Movers, side_by_side
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
    origins = side_by_side(characters, _APART * playback.leg_length)
    follower = PathFollower(path, origins, path_settings)
    movers = Movers.on_path(path, origins)
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
    movers = Movers.at_rest(side_by_side(characters, _APART * playback.leg_length))
    follower = StickFollower(stick, movers, stick_settings)
    rows = _first_rows(database, searcher, follower, movers, labels, seed)
    player = Player(
        database,
        playback,
        searcher,
        rows,
        positions=movers.positions,
        labels=labels,
        settings=settings,
    )
    return player, follower


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
