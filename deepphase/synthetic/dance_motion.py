"""A dance to a song, with the true phase of beat and bar in every frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from deepphase.arrays import Array, wrapped
from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import Body, biped, table
from deepphase.synthetic.gait import (
    ARM,
    FREEDOMS,
    Style,
    Wave,
    evaluate_waves,
    on_ground,
    smooth_step,
    waves_of,
)
from deepphase.synthetic.gait_motion import SyntheticMotion, check_rate, posed, synthetic_clip
from deepphase.synthetic.posture import Footholds
from deepphase.synthetic.song import Song

_PHRASE_BARS = 4
# Beats that a foot is in the air before it lands.
_SWING_BEATS = 0.6
# Phrases danced before and after the song, so that its first and last steps are whole.
_MARGIN_PHRASES = 1
_STEP = {"step_height": 0.06, "strike": 0.0, "toe_off": 0.45, "swing_flexion": 0.25, "loading": 0.2}
_FOOT_SIDE, _FOOT_AHEAD, _TOE_OUT = 0.11, 0.07, 0.15
_STAND = -0.022


@dataclass(frozen=True)
class _Figure:
    """A pattern of steps: beat -> (foot, side, ahead, weight), and waves over the bar."""

    name: str
    beats_per_bar: int
    bars: int
    turn: float
    bounce: float
    steps: Mapping[int, tuple[int, float, float, float]]
    waves: Mapping[str, Wave]


@dataclass(frozen=True)
class _Arms:
    """What both arms do over a bar; the right one lags by so many cycles."""

    lag: float
    pump: float
    waves: Mapping[str, Wave]


@dataclass(frozen=True)
class _Phrase:
    start: float
    figure: _Figure
    arms: _Arms


@cache
def _figures() -> tuple[_Figure, ...]:
    feet = ("left", "right")
    figures = []
    for name, values in table("dance")["figures"].items():
        steps = {beat: (feet.index(foot), *place) for beat, foot, *place in values["steps"]}
        waves = waves_of(values["waves"])
        figures.append(_Figure(name, **values | {"steps": steps, "waves": waves}))
    return tuple(figures)


@cache
def _arms() -> tuple[_Arms, ...]:
    patterns = table("dance")["arms"].values()
    return tuple(_Arms(**values | {"waves": waves_of(values["waves"])}) for values in patterns)


def dance(
    song: Song, seed: int, *, fps: float = 60.0, seconds: float | None = None
) -> SyntheticMotion:
    """A dance to a song from its first sample on.

    Every four bars another figure and another pattern of the arms, which repeat from bar to bar;
    feet land, and the hips are lowest, on the beats.

    Parameters
    ----------
    seed
        Choice of figures and of the individual.
    seconds
        Length; None for the song's.

    Returns
    -------
    SyntheticMotion
        Its oscillators are "Beat" and "Bar". Limb phases are 0 on touch-downs and linear in beats
        between them, so that their frequency jumps where a foot's rhythm changes. `gait` is the
        figure.

    Raises
    ------
    ParameterError
        For a meter without figures.
    """
    check_rate(fps)
    body, per_bar = biped(), song.tempo.beats_per_bar
    generator = np.random.default_rng([seed, 0xDA])
    style = Style.random(generator)
    times = np.arange(max(round((song.duration if seconds is None else seconds) * fps), 1)) / fps
    beat = song.tempo.beat_position(times)
    beat_rate = song.tempo.tempo_bpm(times) / 60.0
    bar = beat / per_bar
    phrases = _phrases(per_bar, float(beat.max()), generator)
    holds, beats, places, headings = _plan(phrases, body)
    values = _values(phrases, beat, bar, style)
    values["heading"] = _follow(beats, headings, beat)
    still = np.zeros((len(beat), 2))
    rotations, root, contacts = posed(
        body,
        values,
        _follow(beats, places, beat),
        holds,
        np.stack([beat, beat], axis=1),
        {name: np.full(len(beat), value) for name, value in _STEP.items()},
        (still, still),
        fps,
    )
    names = tuple(dict.fromkeys(phrase.figure.name for phrase in phrases))
    starts = np.array([phrase.start for phrase in phrases])
    rows = np.array([names.index(phrase.figure.name) for phrase in phrases])
    labels = {"body": "biped", "gait": "dance", "seed": str(seed), "song": str(song.seed)}
    cycles, frequencies = [], []
    for downs in (hold.touch_downs for hold in holds):
        cycles.append(np.interp(beat, downs, np.arange(len(downs))))
        last = np.searchsorted(downs, beat, side="right") - 1
        frequencies.append(beat_rate / np.diff(downs)[last])
    return SyntheticMotion(
        synthetic_clip(body, rotations, root, fps, labels, f"dance_{seed}"),
        tuple(limb.name for limb in body.limbs),
        np.array([limb.toe for limb in body.limbs]),
        wrapped(np.stack(cycles, axis=1)),
        np.stack(frequencies, axis=1),
        contacts,
        ("Beat", "Bar"),
        wrapped(np.stack([beat, bar], axis=1)),
        np.stack([beat_rate, beat_rate / per_bar], axis=1),
        np.ones((len(beat), 2)),
        names,
        rows[np.searchsorted(starts, beat, side="right") - 1],
    )


def _phrases(beats_per_bar: int, last: float, generator: np.random.Generator) -> list[_Phrase]:
    """Phrases until the last beat; neither a figure nor a pattern of the arms follows itself."""
    figures = [figure for figure in _figures() if figure.beats_per_bar == beats_per_bar]
    if not figures:
        raise ParameterError(
            f"there is no figure in bars of {beats_per_bar} beats",
            hint="choose a song of 3 or 4 beats",
        )
    length = _PHRASE_BARS * beats_per_bar
    phrases: list[_Phrase] = []
    figure = arms = -1
    for number in range(int(np.ceil(last / length)) + 2 * _MARGIN_PHRASES + 1):
        figure = (figure + int(generator.integers(1, len(figures)))) % len(figures)
        arms = (arms + int(generator.integers(1, len(_arms())))) % len(_arms())
        start = float((number - _MARGIN_PHRASES) * length)
        phrases.append(_Phrase(start, figures[figure], _arms()[arms]))
    return phrases


def _plan(phrases: list[_Phrase], body: Body) -> tuple[list[Footholds], Array, Array, Array]:
    """Footholds of each foot; beats, and where the body then is (x, z) and which way it faces."""
    landed: tuple[list, list] = ([], [])
    feet = np.array([[_FOOT_SIDE, 0.0], [-_FOOT_SIDE, 0.0]])
    beats, places, headings = [], [], []
    heading = 0.0
    for phrase in phrases:
        figure = phrase.figure
        length = figure.bars * figure.beats_per_bar
        for at in range(_PHRASE_BARS * figure.beats_per_bar):
            heading += figure.turn / length
            weights = np.array([0.5, 0.5])
            if at % length in figure.steps:
                foot, side, ahead, weight = figure.steps[at % length]
                feet[foot] = on_ground(heading, side, ahead)
                landed[foot].append((phrase.start + at, *feet[foot], heading))
                weights = np.full(2, 1 - weight)
                weights[foot] = weight
            beats.append(phrase.start + at)
            places.append(weights @ feet)
            headings.append(heading)
    holds = []
    for limb, rows in zip(body.limbs, landed, strict=True):
        downs, x, z, yaws = np.array(rows).T
        lifts = np.append(downs[1:] - _SWING_BEATS, downs[-1] + 0.5)
        toes = np.stack([x, z], axis=1) + on_ground(yaws, 0.0, _FOOT_AHEAD)
        holds.append(Footholds(downs, lifts, toes, yaws + _TOE_OUT * np.sign(limb.standing[0])))
    return holds, np.array(beats), np.array(places), np.array(headings)


def _follow(beats: Array, targets: Array, beat: Array) -> Array:
    """From each beat's target to the next, smooth to the second derivative."""
    index = np.clip(np.searchsorted(beats, beat, side="right") - 1, 0, len(beats) - 2)
    share = smooth_step((beat - beats[index]) / (beats[index + 1] - beats[index]))
    share = share.reshape(-1, *(1,) * (targets.ndim - 1))
    return targets[index] + share * (targets[index + 1] - targets[index])


def _values(phrases: list[_Phrase], beat: Array, bar: Array, style: Style) -> dict[str, Array]:
    """Degrees of freedom of the trunk and the arms."""
    # Each phrase takes over within one beat, half before and half after its first.
    begun = smooth_step(beat[:, None] - np.array([phrase.start for phrase in phrases]) + 0.5)
    weights = begun - np.concatenate([begun[:, 1:], np.zeros_like(begun[:, :1])], axis=1)
    values = {}
    for name in set(FREEDOMS["biped"]) - set(ARM):
        rows = [phrase.figure.waves.get(name, Wave()).coefficients() for phrase in phrases]
        values[name] = evaluate_waves(weights @ np.array(rows), bar)
    for name in ARM:
        patterns = [(phrase.arms.waves[name], phrase.arms.lag) for phrase in phrases]
        sides = [
            np.array([wave.coefficients(style.arm_swing, side * lag) for wave, lag in patterns])
            for side in (0, 1)
        ]
        values[name] = np.stack([evaluate_waves(weights @ rows, bar) for rows in sides], axis=1)
    bounce = weights @ np.array([phrase.figure.bounce for phrase in phrases]) * style.bounce
    pump = weights @ np.array([phrase.arms.pump for phrase in phrases])
    pulse = np.cos(2 * np.pi * beat)
    values["up"] += _STAND - bounce * (1 + pulse)
    values["spine_tilt"] += style.lean + bounce * pulse
    values["head_tilt"] += style.head_tilt + 2.5 * bounce * np.cos(2 * np.pi * (beat - 0.1))
    values["elbow"] += (pump * pulse)[:, None]
    return values
