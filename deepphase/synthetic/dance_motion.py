"""A dance to a song, with the true phase of beat and bar in every frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import Body, biped
from deepphase.synthetic.dance_figures import ARM_PATTERNS, FIGURES, ArmPattern, Figure
from deepphase.synthetic.footholds import Footholds, follow_footholds
from deepphase.synthetic.gait import BIPED_FREEDOMS, Style
from deepphase.synthetic.gait_motion import SyntheticMotion, synthetic_clip
from deepphase.synthetic.posture import plant_feet, pose_trunk
from deepphase.synthetic.song import Song
from deepphase.synthetic.waves import Wave, evaluate_waves, smooth_step

_ARMS = ("arm_swing", "arm_raise", "elbow", "arm_twist")
_PHRASE_BARS = 4
# Beats that a foot is in the air before it lands.
_SWING_BEATS = 0.6
# Phrases danced before and after the song, so that its first and last steps are whole.
_MARGIN_PHRASES = 1
_STEP = {"step_height": 0.06, "strike": 0.0, "toe_off": 0.45, "swing_flexion": 0.25, "loading": 0.2}
_FOOT_AHEAD = 0.07
_STAND = -0.022


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
    body = biped()
    if not (np.isfinite(fps) and fps >= 10):
        raise ParameterError(
            f"a rate of {fps} frames a second is not possible",
            hint="synthetic motion needs at least 10",
        )
    seconds = song.duration if seconds is None else seconds
    figures = [figure for figure in FIGURES if figure.beats_per_bar == song.tempo.beats_per_bar]
    if not figures:
        raise ParameterError(
            f"there is no figure in bars of {song.tempo.beats_per_bar} beats",
            hint="choose a song of 3 or 4 beats",
        )
    generator = np.random.default_rng([seed, 0xDA])
    style = Style.random(generator)
    times = np.arange(max(round(seconds * fps), 1)) / fps
    beat = song.tempo.beat_position(times)
    beat_rate = song.tempo.tempo_bpm(times) / 60.0
    bar = beat / song.tempo.beats_per_bar

    phrases = _phrases(figures, song, float(beat.max()), generator)
    plan = _plan(phrases, body, song.tempo.beats_per_bar)
    tracks = {name: np.full(len(beat), value) for name, value in _STEP.items()}
    feet = [
        follow_footholds(limb, holds, beat, tracks)
        for limb, holds in zip(body.limbs, plan.footholds, strict=True)
    ]
    values, heading = _values(phrases, plan, beat, bar, style)
    base = _follow(plan.beats, plan.places, beat)
    sine, cosine = np.sin(heading), np.cos(heading)
    root = np.stack(
        [
            base[:, 0] + cosine * values["side"],
            body.hips_height + values["up"],
            base[:, 1] - sine * values["side"],
        ],
        axis=1,
    )
    still = np.zeros((len(beat), 2))
    rotations, root = plant_feet(
        body, pose_trunk(body, values, (still, still)), root, heading, feet, fps
    )
    names = tuple(dict.fromkeys(figure.name for _, figure, _ in phrases))
    starts = np.array([start for start, _, _ in phrases])
    number = np.searchsorted(starts, beat, side="right") - 1
    labels = {"body": "biped", "gait": "dance", "seed": str(seed), "song": str(song.seed)}
    limb_cycles, limb_frequency = zip(
        *(_between(holds.touch_downs, beat, beat_rate) for holds in plan.footholds), strict=True
    )
    return SyntheticMotion(
        synthetic_clip(body, rotations, root, fps, labels, f"dance_{seed}"),
        body.limb_names,
        np.array([limb.toe for limb in body.limbs]),
        wrapped(np.stack(limb_cycles, axis=1)),
        np.stack(limb_frequency, axis=1),
        np.stack([foot.contact for foot in feet], axis=1),
        ("Beat", "Bar"),
        wrapped(np.stack([beat, bar], axis=1)),
        np.stack([beat_rate, beat_rate / song.tempo.beats_per_bar], axis=1),
        np.ones((len(beat), 2)),
        names,
        np.array([names.index(figure.name) for _, figure, _ in phrases])[number],
    )


Phrase = tuple[float, Figure, ArmPattern]


def _phrases(
    figures: list[Figure], song: Song, last: float, generator: np.random.Generator
) -> list[Phrase]:
    """(first beat, figure, arms) of each phrase; none follows itself."""
    length = _PHRASE_BARS * song.tempo.beats_per_bar
    count = int(np.ceil(last / length)) + 2 * _MARGIN_PHRASES + 1
    phrases: list[Phrase] = []
    figure = arms = -1
    for number in range(count):
        figure = (figure + int(generator.integers(1, len(figures)))) % len(figures)
        arms = (arms + int(generator.integers(1, len(ARM_PATTERNS)))) % len(ARM_PATTERNS)
        start = float((number - _MARGIN_PHRASES) * length)
        phrases.append((start, figures[figure], ARM_PATTERNS[arms]))
    return phrases


@dataclass(frozen=True, eq=False)
class _Plan:
    """Footholds of a dance, and by beat where the body is (x, z) and which way it faces."""

    footholds: list[Footholds]
    beats: Array
    places: Array
    headings: Array


def _plan(phrases: list[Phrase], body: Body, beats_per_bar: int) -> _Plan:
    landed: tuple[list, list] = ([], [])
    feet = np.array([[0.11, 0.0], [-0.11, 0.0]])
    beats, places, headings = [], [], []
    heading = 0.0
    for start, figure, _ in phrases:
        length = figure.bars * beats_per_bar
        for repeat in range(_PHRASE_BARS // figure.bars):
            for at in range(length):
                beat = start + repeat * length + at
                heading += figure.turn / length
                turn = np.array(
                    [[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]]
                )
                weights = np.array([0.5, 0.5])
                for step in figure.steps:
                    if step.beat == at:
                        feet[step.foot] = turn @ (step.side, step.ahead)
                        landed[step.foot].append((beat, *feet[step.foot], heading))
                        weights = np.full(2, 1 - step.weight)
                        weights[step.foot] = step.weight
                beats.append(beat)
                places.append(weights @ feet)
                headings.append(heading)
    footholds = []
    for limb, rows in zip(body.limbs, landed, strict=True):
        table = np.array(rows)
        downs, yaws = table[:, 0], table[:, 3]
        ahead = _FOOT_AHEAD * np.stack([np.sin(yaws), np.cos(yaws)], axis=1)
        lifts = np.append(downs[1:] - _SWING_BEATS, downs[-1] + 0.5)
        out = 0.15 * np.sign(limb.standing[0])
        footholds.append(Footholds(downs, lifts, table[:, 1:3] + ahead, yaws + out))
    return _Plan(footholds, np.array(beats), np.array(places), np.array(headings))


def _follow(beats: Array, targets: Array, beat: Array) -> Array:
    """From each beat's target to the next, smooth to the second derivative."""
    index = np.clip(np.searchsorted(beats, beat, side="right") - 1, 0, len(beats) - 2)
    share = smooth_step((beat - beats[index]) / (beats[index + 1] - beats[index]))
    share = share.reshape(-1, *(1,) * (targets.ndim - 1))
    return targets[index] + share * (targets[index + 1] - targets[index])


def _values(
    phrases: list[Phrase], plan: _Plan, beat: Array, bar: Array, style: Style
) -> tuple[dict[str, Array], Array]:
    """Degrees of freedom of the trunk and the arms, and the heading."""
    starts = np.array([start for start, _, _ in phrases])
    # Each phrase takes over within one beat, half before and half after its first.
    begun = smooth_step(beat[:, None] - starts + 0.5)
    weights = begun - np.concatenate([begun[:, 1:], np.zeros_like(begun[:, :1])], axis=1)
    trunk = [name for name in BIPED_FREEDOMS if name not in _ARMS]
    values = {
        name: evaluate_waves(
            weights @ np.stack([f.waves.get(name, Wave()).coefficients() for _, f, _ in phrases]),
            bar,
        )
        for name in trunk
    }
    bounce = weights @ np.array([figure.bounce for _, figure, _ in phrases]) * style.bounce
    values["up"] = values["up"] + _STAND - bounce * (1 + np.cos(2 * np.pi * beat))
    values["spine_tilt"] = values["spine_tilt"] + style.lean + bounce * np.cos(2 * np.pi * beat)
    values["head_tilt"] = (
        values["head_tilt"] + style.head_tilt + 2.5 * bounce * np.cos(2 * np.pi * (beat - 0.1))
    )
    for name in _ARMS:
        rows = np.stack([arms.waves[name].coefficients(style.arm_swing) for _, _, arms in phrases])
        sides = []
        for side in (0, 1):
            lags = np.array([arms.lag * side for _, _, arms in phrases])
            phased = np.stack(
                [
                    evaluate_waves(np.broadcast_to(row, (len(bar), len(row))), bar - lag)
                    for row, lag in zip(rows, lags, strict=True)
                ],
                axis=1,
            )
            sides.append((weights * phased).sum(axis=1))
        values[name] = np.stack(sides, axis=1)
    pump = weights @ np.array([arms.pump for _, _, arms in phrases])
    values["elbow"] = values["elbow"] + (pump * np.cos(2 * np.pi * beat))[:, None]
    heading = _follow(plan.beats, plan.headings, beat)
    values["heading"] = heading
    return values, heading


def _between(events: Array, beat: Array, beat_rate: Array) -> tuple[Array, Array]:
    """Cycles and frequency of what recurs at events (beats), linear between them."""
    index = np.clip(np.searchsorted(events, beat, side="right") - 1, 0, len(events) - 2)
    length = events[index + 1] - events[index]
    return index + (beat - events[index]) / length, beat_rate / length
