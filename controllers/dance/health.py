"""Health of a dancer: measures of dances to held-out songs, against its training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.evaluation.dance_measures import DanceMeasures
from deepphase.evaluation.song_response import (
    FOLLOWS,
    STRETCH_FACTORS,
    recorded_directions,
    song_response,
)
from deepphase.motion.clip import Clip
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress

_SONGS, _SECONDS, _SHORTEST_S = 6, 30.0, 3.0
# Number of songs for trials with silence and other tempi, and of seeds at each other tempo.
_TRIAL_SONGS, _STRETCHED_SEEDS = 4, 1
# Mean speed, as a share of the recorded dances', below and above which training went wrong.
_MIN_SPEED_SHARE, _MAX_SPEED_SHARE = 0.6, 1.6
# Mean speed that is not remarkable.
_USUAL_SPEED_SHARES = (0.85, 1.15)
# Share of standing or broken windows of a second that a good dance may have beyond the recordings,
# and restarts in a minute.
_TOLERANCE, _RESTARTS = 0.1, 0.2
# Place in the bar as a share of the recorded dances'; what the bar explains of dances to silence;
# share of songs at other tempi that are followed.
_MIN_PLACE_SHARE, _MAX_DEAF, _MIN_FOLLOWED = 0.75, 0.15, 0.9
_ADVICE = "if dances do not follow their songs: train longer, or on songs of more tempi"
# Repetition, turning and travel beside the recorded dances'.
_MIN_REPEAT_SHARE, _MAX_MOVED_SHARE = 0.75, 2.0

Recorded = Sequence[tuple[DanceMeasures, int, Array]]
"""Recorded dances, see `deepphase.evaluation.song_response.recorded_directions`."""


def dance_health(
    dancer: Dancer,
    songs: Sequence[SongFeatures],
    recorded: Recorded = (),
    seeds: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measures of generated dances, as plain numbers and words.

    Songs that were held out of the training are best. Without seeds, or if recorded dances do not
    show the bars of any of the songs, each song is danced to once, without restarts.

    ==========  ===========================================================================
    songs       number of songs
    seeds       number of dances to each song
    seconds     maximum length of each dance
    values      measure -> mean over the dances, with the names of `DanceReference.dance_values`
    recorded    the same values of the recorded dances in the metres of the songs, which dances of
                other metres differ from; empty without trials
    response    means of `SongResponse`; empty without trials
    alive       share of the frames in which the pose stayed within bounds
    restarts    number a minute; None without trials
    unheard     whether the songs were held out (added by `train_dance`)
    findings    what is out of the ordinary, and what to try
    ==========  ===========================================================================
    """
    # Recorded and in metres that they show, the songs with the surest bars first.
    clear = sorted(
        (song for song in songs if song.beats_per_bar in recorded_directions(recorded)),
        key=lambda song: -song.bar_confidence,
    )
    trials = _Trials(dancer, progress)
    response = None
    if seeds and clear:
        response = song_response(
            trials,
            clear[:_TRIAL_SONGS],
            recorded,
            seeds=seeds,
            stretched_seeds=_STRETCHED_SEEDS,
            seconds=_SECONDS,
        )
    reference = dancer.reference
    rows, alike = [], []
    if response is not None:
        count = len(response.songs)
        rows = [reference.dance_values(dance, None) for dance in response.dances]
        metres = {song.beats_per_bar for song in clear[:_TRIAL_SONGS]}
        alike = [
            reference.dance_values(dance, None) for dance, metre, _ in recorded if metre in metres
        ]
    else:
        # The first seconds of a song are skipped: they may be silent.
        requests = [
            (song, DanceRequest(min(2.0, 0.25 * song.duration_s), _SECONDS))
            for song in songs
            if song.duration_s > _SHORTEST_S
        ][:_SONGS]
        count, trials = len(requests), _Trials(dancer, progress, guard=False)
        for clip, (song, request) in zip(trials(requests), requests, strict=True):
            rows.append(reference.measured(clip, song, request.start_s))
    health: dict[str, Any] = {
        "songs": count,
        "seeds": seeds if response is not None else 1,
        "seconds": _SECONDS,
        "values": _means(rows),
        "recorded": _means(alike),
        "response": {} if response is None else response.values(),
        "alive": trials.alive,
        "restarts": None if response is None else trials.restarts,
    }
    return health | {"findings": _findings(health, dancer)}


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}


class _Trials:
    """Makes dances, and counts the frames within bounds and the restarts of all of them."""

    def __init__(self, dancer: Dancer, progress: Progress | None, *, guard: bool = True) -> None:
        self._dancer, self._progress, self._guard = dancer, progress, guard
        self._alive: list[Array] = []
        self._restarts, self._seconds = 0, 0.0

    def __call__(self, requests: Sequence[tuple[SongFeatures, DanceRequest]]) -> list[Clip]:
        if not requests:
            return []
        made = generate_dances(
            self._dancer,
            requests,
            settings=CharacterSettings(*BLENDS["natural"], gating=False),
            progress=self._report,
            guard=self._guard,
        )
        self._alive += [dance.alive for dance in made]
        self._restarts += sum(len(dance.restarts_s) for dance in made)
        self._seconds += sum(dance.frames for dance in made) / self._dancer.controller.fps
        return [dance.clip(song.name) for dance, (song, _) in zip(made, requests, strict=True)]

    def _report(self, _: str, done: int, total: int, words: str) -> None:
        if self._progress is not None:
            self._progress("generating dances", done, total, words)

    @property
    def alive(self) -> float:
        """Share of the frames within bounds."""
        return float(np.concatenate(self._alive).mean()) if self._alive else 0.0

    @property
    def restarts(self) -> float:
        """Restarts a minute."""
        return 60.0 * self._restarts / max(self._seconds, 1e-9)


def dance_words(health: Mapping[str, Any], reference: Mapping[str, float]) -> list[str]:
    """The measures as lines of text."""
    lines = []
    values, reference = health["values"], {**reference, **health.get("recorded", {})}
    if health["songs"]:
        speed = values["speed"] / max(reference["speed"], 1e-9)
        which = "held-out songs" if health["unheard"] else "songs of the training"
        seeds = f", {health['seeds']} seeds" if health["seeds"] > 1 else ""
        text = (
            f"dances to {health['songs']} {which}{seeds}: {speed:.0%} of the recorded dances' speed"
        )
        if "by_motion" in values and "by_motion" in reference:
            text += (
                f", beat alignment {values['by_motion']:.3f} (by chance "
                f"{values['by_motion_chance']:.3f}; recorded dances "
                f"{reference['by_motion']:.3f})"
            )
        lines.append(f"{text}, {health['alive']:.0%} of the frames within bounds")
    response = health["response"]
    if response:
        lines.append(
            f"place in the bar {response['place']:.2f} (seeds "
            f"{response['place_lowest_seed']:.2f} to {response['place_highest_seed']:.2f}; "
            f"recorded dances {response['recorded_place']:.2f}); the bar explains "
            f"{response['bar_explained']:.2f} of the hips' height, and "
            f"{response['silence_explained']:.2f} in dances that were made to silence"
        )
    if "tempo_followed" in response:
        lines.append(
            f"songs at {STRETCH_FACTORS[0]} to {STRETCH_FACTORS[-1]} of their tempo: "
            f"{response['tempo_followed']:.0%} of the dances have the song's bar within "
            f"{FOLLOWS:.0%}"
        )
    return lines + list(health["findings"])


def _findings(health: Mapping[str, Any], dancer: Dancer) -> list[str]:
    if not health["songs"]:
        return ["no song is long enough for a dance: give songs of more than a few seconds"]
    values, reference = health["values"], {**dancer.reference.values, **health["recorded"]}
    findings = []
    if health["alive"] < 1.0:
        findings.append("some dances left all bounds: train longer, or raise training.pose_noise")
    speed = values["speed"] / max(reference["speed"], 1e-9)
    halts = speed < _MIN_SPEED_SHARE or values["standing"] > reference["standing"] + _TOLERANCE
    if halts or (health["restarts"] or 0.0) > _RESTARTS:
        findings.append("dances come to a halt: train longer, or gate by phases")
    if speed > _MAX_SPEED_SHARE or values["broken"] > reference["broken"] + _TOLERANCE:
        findings.append("dances shake: train longer, or raise training.pose_noise")
    unlike = response_findings(health["response"])
    findings += [*unlike, _ADVICE] if unlike else []
    findings += variety_findings(values, reference)
    if findings:
        return findings
    if not health["response"]:
        return [
            "nothing out of the ordinary in the dances; trials with silence and other tempi were "
            "left out"
        ]
    return ["nothing out of the ordinary in the dances"]


def response_findings(response: Mapping[str, float]) -> list[str]:
    """What the means of `SongResponse` say against dances; none if there were no trials."""
    if not response:
        return []
    findings = []
    place, recorded = response["place"], response["recorded_place"]
    if place < _MIN_PLACE_SHARE * recorded:
        findings.append(
            f"dances do not keep to the place in the bar: {place:.2f}, recorded dances "
            f"{recorded:.2f}"
        )
    if response["silence_explained"] > _MAX_DEAF:
        findings.append(
            "dances to silence keep the bars of the songs as well: part of the agreement is a "
            "tempo of their own"
        )
    if response.get("tempo_followed", 1.0) < _MIN_FOLLOWED:
        findings.append(
            f"songs that are slower or faster are followed in {response['tempo_followed']:.0%} of "
            "the dances"
        )
    return findings


def variety_findings(values: Mapping[str, float], reference: Mapping[str, float]) -> list[str]:
    """Speed, repetition, turning and travel that are not those of recorded dances."""
    findings = []
    speed = _share(values, reference, "speed")
    if not _USUAL_SPEED_SHARES[0] <= speed <= _USUAL_SPEED_SHARES[1]:
        findings.append(f"dances move at {speed:.0%} of the recorded dances' speed")
    if _share(values, reference, "repeat") < _MIN_REPEAT_SHARE:
        findings.append(
            f"dances repeat themselves: two seconds return to {100 * values['repeat']:.1f} cm "
            f"(recorded dances {100 * reference['repeat']:.1f} cm)"
        )
    for name, words, unit in (
        ("net_turning", "turn", "degrees a second"),
        ("travel", "travel", "m in ten seconds"),
    ):
        if _share(values, reference, name) > _MAX_MOVED_SHARE:
            findings.append(
                f"dances {words} by {values[name]:.1f} {unit} (recorded dances "
                f"{reference[name]:.1f})"
            )
    return findings


def _share(values: Mapping[str, float], reference: Mapping[str, float], name: str) -> float:
    if name not in values or not reference.get(name, 0.0) > 0:
        return 1.0
    return values[name] / reference[name]
