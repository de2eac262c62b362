"""Programs of gaits, one after the other, and what they are as curves over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import Body
from deepphase.synthetic.gait import (
    FREEDOMS,
    Gait,
    Style,
    gait_named,
    integrated,
    on_ground,
    smooth_step,
)

PROFILES = ("constant", "drift", "ramp")
# Hz a second at which a ramp changes.
_RAMP_RATE = 0.5
_SHORTEST_SEGMENT = 0.5
# Changes take this long, and so much longer for every m/s of change; starts and stops more.
_TRANSITION_S, _TRANSITION_S_PER_SPEED = 1.1, 0.3
_START_S, _START_S_PER_SPEED = 1.4, 0.25
# A stop ends, and a stand begins, this many cycles after a touch-down: no foot is in the air.
_REST_PHASE = 0.13
# In a start the feet go first, in a stop the body rests first: else legs would be overstretched.
_HEAD_START = 0.35
# Simulated before and after what is wanted, so that a clip begins and ends in full motion.
_MARGIN_S = 3.0
# Times a gait's own speed.
_FASTEST = 1.8


def segment_lengths(
    generator: np.random.Generator, seconds: float, shortest: float, longest: float
) -> Iterator[float]:
    """Lengths of segments that fill so many seconds; the last takes a rest that is too short."""
    left = seconds
    while left > 0:
        length = float(generator.uniform(shortest, longest))
        length = left if left - length < shortest else length
        left -= length
        yield length


@dataclass(frozen=True)
class Tempo:
    """How stride frequency changes within a segment; speed changes with it, stride length not.

    A drift goes to and fro as a sinusoid, a ramp at a constant rate.
    """

    profile: str = "constant"
    extent: float = 0.15  # largest change as a share of the segment's frequency
    seconds: float = 8.0  # period of a drift

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ParameterError(
                f"there is no frequency profile {self.profile!r}",
                hint=f"profiles: {', '.join(PROFILES)}",
            )

    def factor(self, seconds: Array, frequency: float) -> Array:
        """(frames,) factor on a frequency in Hz, `seconds` (frames,) after the start."""
        if self.profile == "constant" or frequency == 0:
            return np.ones_like(seconds)
        if self.profile == "drift":
            return 1.0 + self.extent * np.sin(2 * np.pi * seconds / self.seconds)
        period = 4.0 * self.extent * frequency / _RAMP_RATE
        return 1.0 + self.extent * 2 / np.pi * np.arcsin(np.sin(2 * np.pi * seconds / period))


@dataclass(frozen=True)
class Segment:
    """One thing to do for a while."""

    gait: str | Gait
    seconds: float  # with the transition from the segment before, which it must have time for
    speed: float | None = None  # m/s along the gait's heading, or against it; None: the gait's own
    turn_rate: float = 0.0
    tempo: Tempo = Tempo()
    change_s: float | None = None  # of the transition from the segment before; None: the usual
    # Name -> Hz of what swings at a frequency of its own: "LeftArm" and "RightArm" wave, a
    # quadruped's "Tail" wags (at its style's frequency by default; 0 Hz: not at all)
    oscillators: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        frequencies = list(self.oscillators.values())
        change_s = 1.0 if self.change_s is None else self.change_s
        numbers = [self.seconds, self.speed or 0.0, self.turn_rate, change_s, *frequencies]
        if not (np.isfinite(numbers).all() and min(frequencies, default=0.0) >= 0 < change_s):
            raise ParameterError(
                "this segment has a number that is not finite, a frequency below 0, or a "
                "change in no time",
                hint="give finite numbers, 0 Hz or more, and a change_s above 0",
            )
        if self.seconds < _SHORTEST_SEGMENT:
            raise ParameterError(
                f"a segment of {self.seconds:g} s is not possible",
                hint=f"a segment takes at least {_SHORTEST_SEGMENT} s",
            )


Program = Sequence[Segment]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Curves of a program, with margins at both ends."""

    seconds: Array  # (frames,) 0 at the first frame of the clip
    clip_frames: slice  # the others are margin
    cycles: Array  # (frames,) of the stride since its start, not wrapped
    limb_cycles: Array  # (frames, limbs) a limb touches down at whole numbers
    limb_frequency: Array  # (frames, limbs) Hz
    oscillator_cycles: Array  # (frames, oscillators)
    oscillator_frequency: Array
    oscillator_amplitude: Array  # from 0 (still) to 1
    path: Array  # (frames, 2) metres, x and z of the body on the ground
    heading: Array  # (frames,) radians: 0 is +Z, positive to +X
    turn_rate: Array  # (frames,) rad/s
    speed: Array  # (frames,) m/s forward
    tracks: dict[str, Array]  # (frames, ...) every parameter of the gaits, blended
    waves: Array  # (frames, freedoms, 5) coefficients of the body's waves
    gait_names: tuple[str, ...]  # of the segments
    gait: Array  # (frames,) the segment of each frame


def timeline(
    program: Program, body: Body, style: Style, generator: np.random.Generator, fps: float
) -> Timeline:
    """The curves of a program."""
    if not program:
        raise ParameterError("this program has no segments", hint="give at least one")
    gaits = [gait_named(segment.gait, body.kind) for segment in program]
    speeds = np.array(list(map(_speed, program, gaits)))
    # Hz of the stride without its profile: 0 stands.
    at_speeds = list(zip(gaits, speeds, strict=True))
    base = np.array([gait.stride_frequency(speed, style) for gait, speed in at_speeds])
    # A margin holds a whole stride, even the slowest.
    slowest = base[base > 0].min(initial=np.inf)
    margin = int(np.ceil(max(_MARGIN_S, 0.0 if np.isinf(slowest) else 1.5 / slowest) * fps))
    lengths = np.array([segment.seconds for segment in program])
    count = max(round(sum(lengths.tolist()) * fps), 1)
    seconds, step = (np.arange(count + 2 * margin) - margin) / fps, 1.0 / fps
    starts = np.cumsum(lengths) - lengths
    tempo = np.stack(
        [
            segment.tempo.factor(seconds - start, frequency)
            for segment, start, frequency in zip(program, starts, base, strict=True)
        ],
        axis=1,
    )
    first_cycle = _REST_PHASE if base[0] == 0 else generator.uniform(0.0, 1.0)
    velocities = speeds[:, None] * np.array([gait.heading for gait in gaits])
    frequency, weights, body_weights = _blends(
        seconds, step, program, base, base * tempo, velocities, first_cycle
    )
    lags = _lags(gaits)
    limb_frequency = frequency[:, None] - np.gradient(body_weights @ lags, step, axis=0)
    velocity = (body_weights * tempo) @ velocities
    turns = [segment.turn_rate * gait.moves for segment, gait in zip(program, gaits, strict=True)]
    turn_rate = body_weights @ np.array(turns)
    heading = integrated(turn_rate, step)
    heading -= heading[margin]
    path = integrated(on_ground(heading, *velocity.T), step)
    freedoms = FREEDOMS[body.kind]
    waves = [gait.coefficients(freedoms, speed, style) for gait, speed in at_speeds]
    oscillator_frequency, oscillator_amplitude = _oscillators(program, body, style, weights)
    first_oscillations = generator.uniform(0, 1, len(body.oscillators))
    return Timeline(
        seconds,
        slice(margin, margin + count),
        first_cycle + integrated(frequency, step),
        first_cycle - (body_weights @ lags)[0] + integrated(limb_frequency, step),
        limb_frequency,
        first_oscillations + integrated(oscillator_frequency, step),
        oscillator_frequency,
        oscillator_amplitude,
        path - path[margin],
        heading,
        turn_rate,
        velocity[:, 1],
        _tracks(gaits, speeds, body, style, weights),
        np.tensordot(weights, np.stack(waves), axes=1),
        tuple(gait.name for gait in gaits),
        weights.argmax(axis=1),
    )


def _blends(
    seconds: Array,
    step: float,
    program: Program,
    base: Array,
    frequencies: Array,
    velocities: Array,
    first_cycle: float,
) -> tuple[Array, Array, Array]:
    """(frames,) Hz of the stride, and (frames, segments) weights of pose and of travel."""
    lengths = np.array([segment.seconds for segment in program])
    starts = np.cumsum(lengths) - lengths
    frequency = frequencies[:, 0].copy()
    weights = np.zeros((len(seconds), len(base)))
    weights[:, 0] = 1.0
    body_weights = weights.copy()
    for index in range(1, len(base)):
        since = seconds - starts[index]
        stops = base[index] == 0 and base[index - 1] > 0
        begins = base[index] > 0 and base[index - 1] == 0
        change = float(np.linalg.norm(velocities[index] - velocities[index - 1]))
        duration = _TRANSITION_S + _TRANSITION_S_PER_SPEED * change
        if begins or stops:
            duration = _START_S + _START_S_PER_SPEED * change
        duration = program[index].change_s or duration
        if duration > lengths[index]:
            raise ParameterError(
                f"segment {index + 1} of {lengths[index]:g} s: the change to it takes "
                f"{duration:.1f} s",
                hint="give it more time, or a speed closer to that of the segment before it",
            )
        if stops:
            reached = first_cycle + integrated(frequency, step)
            duration = _stop_duration(since, step, frequency, reached, duration, lengths[index])
        share = since / duration
        pose = travel = smooth_step(share)
        if begins:
            travel = smooth_step((share - _HEAD_START) / (1 - _HEAD_START))
        elif stops:
            travel = smooth_step(share / (1 - _HEAD_START))
        frequency = (1 - pose) * frequency + pose * frequencies[:, index]
        for table, weight in ((weights, pose), (body_weights, travel)):
            table *= 1 - weight[:, None]
            table[:, index] = weight
    return frequency, weights, body_weights


def _stop_duration(
    since: Array, step: float, frequency: Array, reached: Array, usual: float, longest: float
) -> float:
    """Seconds of a stop after which the stride rests where every foot is on the ground."""
    durations = np.linspace(0.6 * usual, min(1.6 * usual, longest), 101)
    window = (since >= 0) & (since <= durations[-1])
    fading = 1.0 - smooth_step(since[window] / durations[:, None])
    last = reached[window][0] + step * (fading * frequency[window]).sum(axis=1)
    # Rest phases come twice a cycle, after either (hind) foot.
    misses = np.abs(np.mod(2 * (last - _REST_PHASE) + 0.5, 1.0) - 0.5)
    return float(durations[np.argmin(misses + 0.1 * np.abs(durations - usual))])


def _lags(gaits: list[Gait]) -> Array:
    """(segments, limbs) lags, with whole cycles added such that changes are small."""
    # A stand keeps those of the gait before it, the first of the next.
    current = next((gait for gait in gaits if gait.moves), gaits[0])
    rows = []
    for gait in gaits:
        current = gait if gait.moves else current
        rows.append(current.lags)
    lags = np.array(rows, np.float64)
    # A limb rather catches up by 0.7 cycles than waits for 0.3: waiting, its phase would stand.
    changes = np.mod(np.diff(lags, axis=0) + 0.7, 1.0) - 0.7
    return np.concatenate([lags[:1], lags[:1] + np.cumsum(changes, axis=0)])


def _speed(segment: Segment, gait: Gait) -> float:
    if not gait.moves:
        return 0.0
    speed = gait.speed if segment.speed is None else segment.speed
    if abs(speed) > _FASTEST * abs(gait.speed):
        raise ParameterError(
            f"a {gait.name} at {speed:g} m/s is not possible",
            hint=f"its legs reach {_FASTEST * gait.speed:.1f} m/s at most",
        )
    return speed


def _oscillators(program: Program, body: Body, style: Style, weights: Array) -> tuple[Array, Array]:
    """(frames, oscillators) Hz and amplitudes of what swings at a frequency of its own."""
    frequency = np.zeros((len(program), len(body.oscillators)))
    for row, segment in zip(frequency, program, strict=True):
        unknown = set(segment.oscillators) - set(body.oscillators)
        if unknown:
            raise ParameterError(
                f"a {body.kind} has no oscillator {', '.join(sorted(unknown))}",
                hint=f"it has {', '.join(body.oscillators)}",
            )
        usual = {"Tail": style.tail_frequency} | dict(segment.oscillators)
        row[:] = [usual.get(name, 0.0) for name in body.oscillators]
    amplitude = weights @ (frequency > 0)
    # Where one rests it keeps its frequency, lest it slows down while it fades.
    for column in frequency.T:
        moving = np.flatnonzero(column > 0)
        if moving.size:
            nearest = np.abs(np.arange(len(column))[:, None] - moving).argmin(axis=1)
            column[:] = column[moving[nearest]]
    return weights @ frequency, amplitude


def _tracks(
    gaits: list[Gait], speeds: Array, body: Body, style: Style, weights: Array
) -> dict[str, Array]:
    """Parameters of the gaits over time."""

    def blended(name: str, scale: float | Array = 1.0) -> Array:
        values = np.array([getattr(gait, name) for gait in gaits], np.float64)
        return np.tensordot(weights, values * scale, axes=1)

    effort = np.array([gait.effort(speed) for gait, speed in zip(gaits, speeds, strict=True)])
    return {
        "duty": blended("duty"),
        "forward": blended("forward", body.scale),
        "hop": blended("hop"),
        "step_height": blended("step_height", style.step_height * body.scale),
        "strike": blended("strike", effort),
        "toe_off": blended("toe_off", effort),
        "swing_flexion": blended("swing_flexion"),
        "loading": blended("loading"),
        "width": blended("width", body.scale) + style.stride_width * body.scale,
        "stands": weights @ np.array([not gait.moves for gait in gaits], np.float64),
    }
