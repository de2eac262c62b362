"""Health of a dancer: measures of dances to held-out songs beside those of its training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.evaluation.dance import mean_values, measure_dance
from deepphase.music.features import SongFeatures
from deepphase.steering.dance import DanceRequest
from deepphase.work import Progress

# Dances by which a dancer is measured. The first seconds of a song may be silent.
MOST_SONGS, SHORTEST_S, _START_S, _SECONDS = 12, 5.0, 2.0, 30.0
# Mean speed and repetition as a share of the recorded dances', and restarts in a minute, within
# which nothing is out of the ordinary.
_SPEED_SHARES, _MIN_REPEAT_SHARE, _RESTARTS = (0.6, 1.6), 0.75, 0.2


def request_of(song: SongFeatures, seed: int) -> tuple[SongFeatures, DanceRequest]:
    """Half a minute of a song."""
    return song, DanceRequest(min(_START_S, 0.25 * song.duration_s), _SECONDS, seed)


def dance_health(
    dancer: Dancer, songs: Sequence[SongFeatures], progress: Progress | None = None
) -> dict[str, Any]:
    """Measures of dances to at most 12 songs, as plain numbers and words.

    ==========  ===========================================================================
    songs       number of songs, each danced to once
    values      measure -> mean over the dances, with the names of `DANCE_MEASURES`
    alive       share of the frames in which the pose stayed within bounds
    restarts    number a minute
    unheard     whether the songs were held out (added by `train_dance`)
    findings    what is out of the ordinary, and what to try
    ==========  ===========================================================================
    """
    requests = [request_of(song, 0) for song in songs if song.duration_s > SHORTEST_S][:MOST_SONGS]
    if not requests:
        short = "no song is long enough for a dance: give songs of more than a few seconds"
        return {"songs": 0, "values": {}, "alive": 0.0, "restarts": 0.0, "findings": [short]}
    settings = CharacterSettings(*BLENDS["natural"], gating=False)
    results = generate_dances(dancer, requests, settings=settings, progress=progress)
    minutes = sum(dance.clip.duration for dance in results) / 60.0
    health = {
        "songs": len(results),
        "values": mean_values([measure_dance(e.clip, e.song, e.start_s) for e in results]),
        "alive": float(np.concatenate([dance.alive for dance in results]).mean()),
        "restarts": sum(len(dance.restarts_s or ()) for dance in results) / minutes,
    }
    return health | {"findings": _findings(health, dancer.reference.values)}


def _findings(health: Mapping[str, Any], recorded: Mapping[str, float]) -> list[str]:
    values, findings = health["values"], []
    if health["alive"] < 1.0:
        findings.append(
            "some dances left all bounds; try a longer training, or more training.pose_noise"
        )
    speed = values["speed"] / max(recorded["speed"], 1e-9)
    if speed < _SPEED_SHARES[0] or health["restarts"] > _RESTARTS:
        findings.append("dances come to a halt; try a longer training, or a network with phases")
    if speed > _SPEED_SHARES[1]:
        findings.append("dances shake; try a longer training, or more training.pose_noise")
    repeat, usual = values.get("repeat"), recorded.get("repeat")
    if repeat is not None and usual and repeat < _MIN_REPEAT_SHARE * usual:
        findings.append(
            f"dances repeat themselves: two seconds return to {100 * repeat:.1f} cm (recorded "
            f"dances {100 * usual:.1f} cm); try more dances, or a larger --variety"
        )
    return findings or ["nothing out of the ordinary in the dances"]


def dance_words(health: Mapping[str, Any], recorded: Mapping[str, float]) -> list[str]:
    """The measures as lines of text."""
    lines, values = [], health["values"]
    if health["songs"]:
        which = "held-out songs" if health["unheard"] else "songs of the training"
        speed = values["speed"] / max(recorded["speed"], 1e-9)
        text = f"dances to {health['songs']} {which}: {speed:.0%} of the recorded dances' speed"
        if "by_motion" in values and "by_motion" in recorded:
            text += (
                f", beat alignment {values['by_motion']:.3f} (by chance "
                f"{values['by_motion_chance']:.3f}; recorded dances {recorded['by_motion']:.3f})"
            )
        if "bar_height" in values and "bar_height" in recorded:
            text += (
                f", the bar explains {values['bar_height']:.2f} of the hips' height (bars of "
                f"another tempo {values['bar_height_shifted']:.2f}; recorded dances "
                f"{recorded['bar_height']:.2f})"
            )
        lines.append(f"{text}, {health['alive']:.0%} of the frames within bounds")
    return lines + list(health["findings"])
