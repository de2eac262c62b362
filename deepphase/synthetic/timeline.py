"""A program as curves over time: phases, frequencies, the body's path, and every gait parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import Body
from deepphase.synthetic.gait import FREEDOMS, Gait, Style
from deepphase.synthetic.program import Program, Segment, gait_named
from deepphase.synthetic.waves import integrated, smooth_step

# Changes take this long, and so much longer for every m/s of change; starts and stops more.
_TRANSITION_S, _TRANSITION_S_PER_SPEED = 1.1, 0.3
_START_S, _START_S_PER_SPEED = 1.4, 0.25
# A stop ends, and a stand begins, this many cycles after a touch-down: no foot is in the air.
REST_PHASE = 0.13
# In a start the feet go first, in a stop the body rests first: else legs would be overstretched.
_HEAD_START = 0.35


def blends(
    seconds: Array,
    step: float,
    lengths: Array,
    base: Array,
    frequencies: Array,
    velocities: Array,
    first_cycle: float,
) -> tuple[Array, Array, Array]:
    """How segments follow each other.

    Parameters
    ----------
    seconds : (frames,)
        Time; the first segment starts at 0. `step` is the time between two frames.
    lengths, base : (segments,)
        Seconds, and Hz of the stride without its profile: 0 stands.
    frequencies : (frames, segments)
        Hz of the stride with its profile.
    velocities : (segments, 2)
        m/s to the side and forward.
    first_cycle
        Cycles of the stride at the first frame.

    Returns
    -------
    frequency : (frames,)
        Hz of the stride.
    weights, body_weights : (frames, segments)
        Of each segment in the pose and, a little before or after it, in the body's travel.
    """
    starts = np.cumsum(lengths) - lengths
    frequency = frequencies[:, 0].copy()
    weights = np.zeros((len(seconds), len(base)))
    body_weights = weights.copy()
    weights[:, 0] = body_weights[:, 0] = 1.0
    for index in range(1, len(base)):
        since = seconds - starts[index]
        stops = base[index] == 0 and base[index - 1] > 0
        begins = base[index] > 0 and base[index - 1] == 0
        change = float(np.linalg.norm(velocities[index] - velocities[index - 1]))
        duration = _TRANSITION_S + _TRANSITION_S_PER_SPEED * change
        if begins or stops:
            duration = _START_S + _START_S_PER_SPEED * change
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
        pose = smooth_step(share)
        travel = pose
        if begins:
            travel = smooth_step((share - _HEAD_START) / (1 - _HEAD_START))
        elif stops:
            travel = smooth_step(share / (1 - _HEAD_START))
        frequency = (1 - pose) * frequency + pose * frequencies[:, index]
        weights *= 1 - pose[:, None]
        weights[:, index] = pose
        body_weights *= 1 - travel[:, None]
        body_weights[:, index] = travel
    return frequency, weights, body_weights


def _stop_duration(
    since: Array,
    step: float,
    frequency: Array,
    reached: Array,
    usual: float,
    longest: float,
) -> float:
    """Seconds of a stop after which the stride rests where every foot is on the ground."""
    durations = np.linspace(0.6 * usual, min(1.6 * usual, longest), 101)
    window = (since >= 0) & (since <= durations[-1])
    fading = 1.0 - smooth_step(since[window] / durations[:, None])
    last = reached[window][0] + step * (fading * frequency[window]).sum(axis=1)
    # Rest phases come twice a cycle, after either (hind) foot.
    misses = np.abs(np.mod(2 * (last - REST_PHASE) + 0.5, 1.0) - 0.5)
    return float(durations[np.argmin(misses + 0.1 * np.abs(durations - usual))])


def stride_lags(gaits: list[Gait]) -> Array:
    """(segments, limbs) lags; a stand keeps those of the gait before it, the first of the next."""
    lags = [gait.lags if gait.moves else None for gait in gaits]
    known = [lag for lag in lags if lag is not None]
    current = known[0] if known else gaits[0].lags
    rows = []
    for lag in lags:
        current = current if lag is None else lag
        rows.append(current)
    return np.array(rows, np.float64)


def unwrapped_lags(lags: Array) -> Array:
    """(segments, limbs) lags with whole cycles added such that changes are small.

    A limb rather catches up by 0.7 cycles than waits for 0.3: waiting, its phase would stand.
    """
    changes = np.diff(lags, axis=0)
    changes = np.mod(changes + 0.7, 1.0) - 0.7
    return np.concatenate([lags[:1], lags[:1] + np.cumsum(changes, axis=0)])


# Simulated before and after what is wanted, so that a clip begins and ends in full motion.
_MARGIN_S = 3.0
# Times a gait's own speed.
_FASTEST = 1.8


@dataclass(frozen=True, eq=False)
class Timeline:
    """Curves of a program, with margins at both ends.

    Parameters
    ----------
    clip_frames
        The frames asked for; the others are margin.
    cycles, frequency
        (frames,) of the stride: cycles since its start (not wrapped) and Hz.
    limb_cycles, limb_frequency
        (frames, limbs) the same of each limb; a limb touches down at whole numbers.
    oscillator_cycles, oscillator_frequency, oscillator_amplitude
        (frames, oscillators); amplitude from 0 (still) to 1.
    path
        (frames, 2) metres, x and z of the body on the ground.
    heading, turn_rate, speed
        (frames,) radians (0 is +Z, positive to +X), rad/s, and m/s forward.
    tracks
        Name -> (frames, ...) every parameter of the gaits, blended.
    waves
        (frames, freedoms, 5) coefficients of the body's waves.
    gait_names, gait
        The segments' gaits, and (frames,) which of them a frame belongs to.
    """

    fps: float
    clip_frames: slice
    cycles: Array
    frequency: Array
    limb_cycles: Array
    limb_frequency: Array
    oscillator_cycles: Array
    oscillator_frequency: Array
    oscillator_amplitude: Array
    path: Array
    heading: Array
    turn_rate: Array
    speed: Array
    tracks: dict[str, Array]
    waves: Array
    gait_names: tuple[str, ...]
    gait: Array

    @property
    def seconds(self) -> Array:
        """(frames,) time; 0 at the first frame wanted."""
        return (np.arange(len(self.cycles)) - self.clip_frames.start) / self.fps


def timeline(
    program: Program, body: Body, style: Style, generator: np.random.Generator, fps: float
) -> Timeline:
    """The curves of a program."""
    if not program:
        raise ParameterError("this program has no segments", hint="give at least one")
    if not (np.isfinite(fps) and fps >= 10):
        raise ParameterError(
            f"a rate of {fps} frames a second is not possible",
            hint="synthetic motion needs at least 10",
        )
    gaits = [gait_named(segment.gait, body.kind) for segment in program]
    speeds = [_speed(segment, gait) for segment, gait in zip(program, gaits, strict=True)]
    base = np.array(
        [
            gait.stride_frequency(speed, style) if segment.frequency is None else segment.frequency
            for segment, gait, speed in zip(program, gaits, speeds, strict=True)
        ]
    )
    base = np.where([gait.moves for gait in gaits], base, 0.0)
    # A whole stride, even the slowest.
    slowest = min((frequency for frequency in base if frequency > 0), default=1.0)
    margin = int(np.ceil(max(_MARGIN_S, 1.5 / slowest) * fps))
    count = max(round(sum(segment.seconds for segment in program) * fps), 1)
    seconds = (np.arange(count + 2 * margin) - margin) / fps
    step = 1.0 / fps
    lengths = np.array([segment.seconds for segment in program])
    starts = np.cumsum(lengths) - lengths
    tempo = np.stack(
        [
            segment.tempo.factor(seconds - start, frequency)
            for segment, start, frequency in zip(program, starts, base, strict=True)
        ],
        axis=1,
    )
    first_cycle = REST_PHASE if base[0] == 0 else generator.uniform(0.0, 1.0)
    velocities = np.array(speeds)[:, None] * np.array([gait.heading for gait in gaits])
    frequency, weights, body_weights = blends(
        seconds, step, lengths, base, base * tempo, velocities, first_cycle
    )
    cycles = first_cycle + integrated(frequency, step)

    lags = unwrapped_lags(stride_lags(gaits))
    limb_lags = body_weights @ lags
    limb_frequency = frequency[:, None] - np.gradient(limb_lags, step, axis=0)
    limb_cycles = first_cycle - limb_lags[0] + integrated(limb_frequency, step)

    velocity = (body_weights * tempo) @ velocities
    turn_rate = body_weights @ np.array(
        [
            segment.turn_rate if gait.moves else 0.0
            for segment, gait in zip(program, gaits, strict=True)
        ]
    )
    heading = integrated(turn_rate, step)
    heading -= heading[margin]
    sine, cosine = np.sin(heading), np.cos(heading)
    ground_velocity = np.stack(
        [
            cosine * velocity[:, 0] + sine * velocity[:, 1],
            cosine * velocity[:, 1] - sine * velocity[:, 0],
        ],
        axis=1,
    )
    path = integrated(ground_velocity, step)
    path -= path[margin]
    waves = np.stack(
        [
            gait.coefficients(FREEDOMS[body.kind], speed, style)
            for gait, speed in zip(gaits, speeds, strict=True)
        ]
    )
    oscillator_frequency, oscillator_amplitude = _oscillators(program, body, style, weights)
    return Timeline(
        fps,
        slice(margin, margin + count),
        cycles,
        frequency,
        limb_cycles,
        limb_frequency,
        generator.uniform(0, 1, len(body.oscillators)) + integrated(oscillator_frequency, step),
        oscillator_frequency,
        oscillator_amplitude,
        path,
        heading,
        turn_rate,
        velocity[:, 1],
        _tracks(gaits, speeds, body, style, weights),
        np.tensordot(weights, waves, axes=1),
        tuple(gait.name for gait in gaits),
        weights.argmax(axis=1),
    )


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
    frequency = np.zeros((len(program), len(body.oscillators)))
    for row, segment in zip(frequency, program, strict=True):
        unknown = set(segment.oscillators) - set(body.oscillators)
        if unknown:
            raise ParameterError(
                f"a {body.kind} has no oscillator {', '.join(sorted(unknown))}",
                hint=f"it has {', '.join(body.oscillators)}",
            )
        for column, name in enumerate(body.oscillators):
            usual = style.tail_frequency if name == "Tail" else 0.0
            row[column] = segment.oscillators.get(name, usual)
    amplitude = weights @ (frequency > 0)
    # Where one rests it keeps its frequency, lest it slows down while it fades.
    for oscillator in range(len(body.oscillators)):
        given = frequency[:, oscillator].copy()
        known = np.flatnonzero(given > 0)
        if known.size:
            nearest = np.abs(np.arange(len(given))[:, None] - known).argmin(axis=1)
            frequency[:, oscillator] = given[known[nearest]]
    return weights @ frequency, amplitude


def _tracks(
    gaits: list[Gait], speeds: list[float], body: Body, style: Style, weights: Array
) -> dict[str, Array]:
    limbs = len(body.limbs)
    effort = np.array([gait.effort(speed) for gait, speed in zip(gaits, speeds, strict=True)])
    scale = body.hips_height / (0.95 if body.kind == "biped" else 0.55)
    rows = {
        "duty": [gait.per_limb("duty", limbs) for gait in gaits],
        "forward": [gait.per_limb("forward", limbs) * scale for gait in gaits],
        "hop": [gait.hop for gait in gaits],
        "step_height": [gait.step_height * style.step_height * scale for gait in gaits],
        "strike": [gait.strike for gait in gaits] * effort,
        "toe_off": [gait.toe_off for gait in gaits] * effort,
        "swing_flexion": [gait.swing_flexion for gait in gaits],
        "loading": [gait.loading for gait in gaits],
        "width": [(gait.width + style.stride_width) * scale for gait in gaits],
        "stands": [float(not gait.moves) for gait in gaits],
    }
    return {name: np.tensordot(weights, np.asarray(row), axes=1) for name, row in rows.items()}
