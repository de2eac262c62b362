"""Did it learn to dance? Dances to songs held out, beside the dances that it learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from controllers.dance.dancer import Dancer
from controllers.dance.dancing import NetworkDance, dances_to
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress

_SONGS, _SECONDS, _SHORTEST_S = 6, 30.0, 3.0
# Shares of the recorded dances' own speed below and above which something went wrong.
_DIES, _SHAKES = 0.6, 1.6
# Of windows of a second: as rare in a dance that lives.
_STANDS = 0.1


def dance_health(
    dancer: Dancer, songs: Sequence[SongFeatures], progress: Progress | None = None
) -> dict[str, Any]:
    """Measures of dances to songs, best such that were held out, as plain numbers and words.

    ==========  ===========================================================================
    songs       how many were danced to
    seconds     of each, at most
    values      measure -> mean over them, as `DanceReference.dance_values` names them
    alive       share of the frames in which the values stayed those of a body
    unheard     whether the songs were held out (`train_dance` puts it there)
    findings    what is out of the ordinary and what to try
    ==========  ===========================================================================
    """
    # Without the songs' first seconds, in which nothing may sound.
    requests = [
        (song, DanceRequest(min(2.0, 0.25 * song.duration_s), _SECONDS))
        for song in songs
        if song.duration_s > _SHORTEST_S
    ][:_SONGS]
    rows, alive = [], []
    for made, (song, request) in zip(_danced(dancer, requests, progress), requests, strict=True):
        rows.append(dancer.reference.measured(made.clip(song.name), song, request.start_s))
        alive.append(float(made.alive.mean()))
    names = dict.fromkeys(name for row in rows for name in row)
    values = {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}
    found: dict[str, Any] = {
        "songs": len(rows),
        "seconds": _SECONDS,
        "values": values,
        "alive": float(np.mean(alive)) if alive else 0.0,
    }
    return found | {"findings": _findings(found, dancer)}


def dance_words(health: Mapping[str, Any], reference: Mapping[str, float]) -> list[str]:
    """The measures as lines of plain words."""
    lines = []
    values = health["values"]
    if health["songs"]:
        speed = values["speed"] / max(reference["speed"], 1e-9)
        which = "held out" if health["unheard"] else "that it was trained with"
        text = f"danced to {health['songs']} songs {which}: {speed:.0%} of the dances' own speed"
        if "by_motion" in values and "by_motion" in reference:
            text += (
                f", beat alignment {values['by_motion']:.3f} (by chance "
                f"{values['by_motion_chance']:.3f}; the dances themselves "
                f"{reference['by_motion']:.3f})"
            )
        lines.append(f"{text}, {health['alive']:.0%} alive")
    return lines + list(health["findings"])


def _danced(
    dancer: Dancer, requests: Sequence[tuple[SongFeatures, DanceRequest]], progress: Progress | None
) -> list[NetworkDance]:
    if not requests:
        return []

    def given(_: str, done: int, total: int, words: str) -> None:
        if progress is not None:
            progress("dancing", done, total, words)

    # What it learnt, not what can be made of it.
    return dances_to(dancer, requests, progress=given, guard=False)


def _findings(found: Mapping[str, Any], dancer: Dancer) -> list[str]:
    if not found["songs"]:
        return ["no song is long enough to dance to: give songs of some seconds"]
    values, reference = found["values"], dancer.reference.values
    findings = []
    if found["alive"] < 1.0:
        findings.append("some dances left all bounds: train longer, or raise training.pose_noise")
    speed = values["speed"] / max(reference["speed"], 1e-9)
    if speed < _DIES or values["standing"] > reference["standing"] + _STANDS:
        findings.append("dances die out: train longer, or gate by phases")
    if speed > _SHAKES or values["broken"] > reference["broken"] + _STANDS:
        findings.append("dances shake: train longer, or raise training.pose_noise")
    return findings or ["nothing out of the ordinary in its dances"]
