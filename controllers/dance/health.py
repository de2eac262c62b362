"""Health of a dancer: measures of dances to held-out songs, against its training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from controllers.dance.dancer import Dancer
from controllers.dance.dancing import NetworkDance, generate_dances
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress

_SONGS, _SECONDS, _SHORTEST_S = 6, 30.0, 3.0
# Mean speed, as a share of the recorded dances', below and above which training went wrong.
_MIN_SPEED_SHARE, _MAX_SPEED_SHARE = 0.6, 1.6
# Share of standing or broken windows of a second that a good dance may have beyond the recordings.
_TOLERANCE = 0.1


def dance_health(
    dancer: Dancer, songs: Sequence[SongFeatures], progress: Progress | None = None
) -> dict[str, Any]:
    """Measures of generated dances, as plain numbers and words.

    Songs that were held out of the training are best.

    ==========  ===========================================================================
    songs       number of songs
    seconds     maximum length of each dance
    values      measure -> mean over the dances, with the names of `DanceReference.dance_values`
    alive       share of the frames in which the pose stayed within bounds
    unheard     whether the songs were held out (added by `train_dance`)
    findings    what is out of the ordinary, and what to try
    ==========  ===========================================================================
    """
    # The first seconds of a song are skipped: they may be silent.
    requests = [
        (song, DanceRequest(min(2.0, 0.25 * song.duration_s), _SECONDS))
        for song in songs
        if song.duration_s > _SHORTEST_S
    ][:_SONGS]
    rows, alive = [], []
    dances = _dances(dancer, requests, progress)
    for dance, (song, request) in zip(dances, requests, strict=True):
        rows.append(dancer.reference.measured(dance.clip(song.name), song, request.start_s))
        alive.append(float(dance.alive.mean()))
    names = dict.fromkeys(name for row in rows for name in row)
    values = {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}
    health: dict[str, Any] = {
        "songs": len(rows),
        "seconds": _SECONDS,
        "values": values,
        "alive": float(np.mean(alive)) if alive else 0.0,
    }
    return health | {"findings": _findings(health, dancer)}


def dance_words(health: Mapping[str, Any], reference: Mapping[str, float]) -> list[str]:
    """The measures as lines of text."""
    lines = []
    values = health["values"]
    if health["songs"]:
        speed = values["speed"] / max(reference["speed"], 1e-9)
        which = "held-out songs" if health["unheard"] else "songs of the training"
        text = f"dances to {health['songs']} {which}: {speed:.0%} of the recorded dances' speed"
        if "by_motion" in values and "by_motion" in reference:
            text += (
                f", beat alignment {values['by_motion']:.3f} (by chance "
                f"{values['by_motion_chance']:.3f}; recorded dances "
                f"{reference['by_motion']:.3f})"
            )
        lines.append(f"{text}, {health['alive']:.0%} of the frames within bounds")
    return lines + list(health["findings"])


def _dances(
    dancer: Dancer, requests: Sequence[tuple[SongFeatures, DanceRequest]], progress: Progress | None
) -> list[NetworkDance]:
    if not requests:
        return []

    def report(_: str, done: int, total: int, words: str) -> None:
        if progress is not None:
            progress("generating dances", done, total, words)

    # Without restarts: the network itself is measured.
    return generate_dances(dancer, requests, progress=report, guard=False)


def _findings(health: Mapping[str, Any], dancer: Dancer) -> list[str]:
    if not health["songs"]:
        return ["no song is long enough for a dance: give songs of more than a few seconds"]
    values, reference = health["values"], dancer.reference.values
    findings = []
    if health["alive"] < 1.0:
        findings.append("some dances left all bounds: train longer, or raise training.pose_noise")
    speed = values["speed"] / max(reference["speed"], 1e-9)
    if speed < _MIN_SPEED_SHARE or values["standing"] > reference["standing"] + _TOLERANCE:
        findings.append("dances come to a halt: train longer, or gate by phases")
    if speed > _MAX_SPEED_SHARE or values["broken"] > reference["broken"] + _TOLERANCE:
        findings.append("dances shake: train longer, or raise training.pose_noise")
    return findings or ["nothing out of the ordinary in the dances"]
