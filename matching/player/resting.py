"""Moments of rest of a motion database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.steering.rest import RestMoments


def rest_moments(
    database: MotionDatabase, playback: Playback, playable: Array | None, keep: Sequence[str]
) -> RestMoments:
    """The moments of rest of a database, none where its kinds of moments are not known.

    Where no body stands at rest, they are the quietest poses.

    `playable` (rows,) bool: the rows that are played; None for all.
    """
    rest = np.zeros(len(database), bool)
    if database.kinds is not None:
        rest = database.rows_of_kinds(["idle"])
    styles = [style_of(labels, keep) for labels in database.labels]

    def poses_of(rows: Array) -> Array:
        return playback.positions(playback.rotations[rows], playback.translations[rows])

    moments = RestMoments.of_rows(
        rest if playable is None else rest & playable,
        database.range_stops,
        styles,
        poses_of,
        playback.fps,
    )
    if len(moments) or database.kinds is None:
        return moments
    rows = playback.quiet_rows(
        database.offered if playable is None else database.offered & playable
    )
    clips = database.clip_of(rows).tolist()
    return RestMoments.of_held_rows(rows, [styles[clip] for clip in clips], poses_of(rows))


def style_of(labels: Mapping[str, str], keep: Sequence[str]) -> str:
    """The values of some labels in one text, which is the style of a moment of rest."""
    return " ".join(labels.get(name, "") for name in keep)
