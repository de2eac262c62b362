"""Durations of passages that phases decide: the time in which whole cycles lead from A to B.

Phases before a passage and after it, with their frequencies, say which durations let every phase
go on at its own pace: those in which it passes the difference and a whole number of cycles. They
are about one cycle apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from deepphase.arrays import Array
from deepphase.edit.path_motion import Footsteps
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.short_repr import short_repr

# Longest passage between clips or keys, in seconds; networks see about four seconds.
LONGEST_S = 10.0
# Shortest passage, in frames of the model.
_SHORTEST_FRAMES = 4
# Durations of which the phases agree by less than this share of the best one are none.
_AGREEMENT_SHARE = 0.5
# Phases of a part shorter than this share of a window are too uncertain: at 0.8 s of a window of
# two seconds a quarter of the passages of walks had another number of cycles, at 1.2 s one in 16.
_SHORTEST_SHARE = 0.5
# Seconds at the ends of clips over which the speed is taken, and the slowest travel in m/s.
_PACE_S, _STANDING = 0.5, 0.1


@dataclass(frozen=True, eq=False)
class PhaseTiming:
    """How long a passage takes by its phases.

    Attributes
    ----------
    seconds
        From the last frame before the passage to the first one after it.
    channel, frequencies
        The strongest channel at both ends, and its frequencies before and after, in Hz.
    cycles
        Cycles that it passes: the difference of its phases and a whole number.
    steps
        Steps of all feet at the pace of both ends; None for a body without steps there.
    agreement
        -1 to 1: mean cosine between each phase, continued from the start, and the phase at the end.
    durations
        (durations,) seconds that the phases allow, rising.
    """

    seconds: float
    channel: int
    frequencies: tuple[float, float]
    cycles: float
    steps: float | None
    agreement: float
    durations: Array
    model: PhaseModel

    def __repr__(self) -> str:
        steps = "no steps" if self.steps is None else f"{self.steps:.1f} steps"
        return short_repr(self, f"{self.seconds:.2f} s", f"{self.cycles:.2f} cycles", steps)


def phase_timing(
    first: Clip,
    second: Clip,
    model: PhaseModel,
    *,
    roles: Roles | None = None,
    seconds: float | None = None,
    steps: float | None = None,
    follow: bool = False,
) -> PhaseTiming:
    """How long the motion between two clips takes, so that the phases of both go on in it.

    Without `seconds` and `steps`, the duration is the one nearest to the time that the way between
    the clips takes at the mean speed of both ends, or nearest to one cycle if the second clip
    follows or the body stays at its place.

    Parameters
    ----------
    first, second
        Clips of half a window of the model or longer.
    model
        A phase model of the clips' joints.
    seconds, steps
        Duration, or number of steps, to which the nearest allowed one is taken.
    follow
        The second clip follows the first, wherever it is.

    Raises ParameterError if a clip is too short for phases, or `seconds` and `steps` do not fit;
    SkeletonError if a clip lacks joints of the model.
    """
    before, after = (_phases(clip, model) for clip in (first, second))
    roles = find_roles(first.skeleton, clip=first) if roles is None else roles
    cadence = _cadence([first, second], roles)
    wanted = _wanted(seconds, steps, cadence)
    if wanted is None and not follow:
        wanted = _travel_seconds(first, second, roles)
    last = (len(first) - 1) / first.fps
    return _timing(_at(before, last, model), _at(after, 0.0, model), wanted, cadence, model)


def phase_key_times(
    clip: Clip,
    keys: Sequence[int],
    model: PhaseModel,
    *,
    roles: Roles | None = None,
    times: Sequence[float] | None = None,
    steps: Sequence[float | None] | None = None,
) -> tuple[Array, list[PhaseTiming]]:
    """When the keys of a clip stand, so that its phases go on at their own pace between them.

    Parameters
    ----------
    clip
        A clip of half a window of the model or longer.
    keys
        Rising frames of the clip.
    times
        Seconds to whose differences the nearest allowed durations are taken; those of the clip by
        default.
    steps
        Steps from the key before to each key, instead of a time; the first is not read, None takes
        the time.

    Returns (keys,) seconds from the first key on, and the timing of each passage. Raises as
    `phase_timing`.
    """
    frames = np.asarray(keys, np.int64)
    if len(frames) < 2 or frames.min() < 0 or frames.max() >= len(clip):
        raise ParameterError(
            f"keys must be two or more frames of the clip, 0-{len(clip) - 1}, not {frames.tolist()}"
        )
    phases = _phases(clip, model)
    own = [_at(phases, float(frame) / clip.fps, model) for frame in frames]
    roles = find_roles(clip.skeleton, clip=clip) if roles is None else roles
    cadence = _cadence([clip], roles)
    stands = np.asarray(frames / clip.fps if times is None else times, np.float64)
    timings = []
    for index, seconds in enumerate(np.diff(stands).tolist(), start=1):
        count = None if steps is None else steps[index]
        wanted = _wanted(seconds if count is None else None, count, cadence)
        timings.append(_timing(own[index - 1], own[index], wanted, cadence, model))
    return np.cumsum([0.0, *(timing.seconds for timing in timings)]), timings


def cycles_of_frames(clip: Clip, model: PhaseModel, channel: int) -> Array:
    """(frames,) cycles of a channel at each frame of a clip, without jumps."""
    phases = _phases(clip, model).phase[:, channel].astype(np.float64)
    turns = np.unwrap(2.0 * np.pi * phases) / (2.0 * np.pi)
    frames = np.arange(len(clip)) * model.fps / clip.fps
    return np.asarray(np.interp(frames, np.arange(len(turns)), turns))


def _phases(clip: Clip, model: PhaseModel) -> PhaseParameters:
    """Phases of all frames. Raises ParameterError where the clip is too short for them."""
    shortest = _SHORTEST_SHARE * model.window / model.fps
    seconds = len(clip) / clip.fps
    if seconds < shortest:
        raise ParameterError(
            f"{clip.name}: the clip lasts {seconds:.2f} s, but phases are read from "
            f"{shortest:.1f} s of motion or more",
            hint="give clips with the motion before and after the gap, or a duration instead of "
            "phases",
        )
    return model.encode(clip).parameters


def _at(phases: PhaseParameters, seconds: float, model: PhaseModel) -> PhaseParameters:
    """Phase parameters (channels,) of a moment, advanced from the frame before it."""
    frame = min(int(seconds * model.fps + 1e-6), len(phases.phase) - 1)
    return phases[frame].advanced(seconds - frame / model.fps)


def _wanted(seconds: float | None, steps: float | None, cadence: float | None) -> float | None:
    """The duration that is asked for, if any."""
    if seconds is not None and steps is not None:
        raise ParameterError(
            "a duration and a number of steps cannot be used together", hint="give one of them"
        )
    for name, value in (("seconds", seconds), ("steps", steps)):
        if value is not None and not 0 < value < np.inf:
            raise ParameterError(f"{name} must be above 0, not {value:g}")
    if steps is None:
        return seconds
    if cadence is None:
        raise ParameterError(
            f"{steps:g} steps were requested, but the feet make no steps at the ends of the clips",
            hint="give seconds: the nearest duration that fits the phases is used",
        )
    return steps / cadence


def _timing(
    before: PhaseParameters,
    after: PhaseParameters,
    wanted: float | None,
    cadence: float | None,
    model: PhaseModel,
) -> PhaseTiming:
    """The allowed duration that is nearest to the wanted one, by default to one cycle."""
    weights = before.amplitude.astype(np.float64) * after.amplitude
    strongest = int(weights.argmax())
    # Frequencies change evenly, so that a phase passes their mean times the duration.
    frequency = 0.5 * (before.frequency.astype(np.float64) + after.frequency)
    if not weights[strongest] > 0 or not frequency[strongest] > 0:
        raise ParameterError(
            "the motion at the ends of the clips is not periodic",
            hint="give a duration without phases",
        )
    durations = np.arange(_SHORTEST_FRAMES, round(LONGEST_S * model.fps) + 1) / model.fps
    turns = after.phase - before.phase - frequency * durations[:, None]
    agreement = np.cos(2.0 * np.pi * turns) @ (weights / weights.sum())
    peaks, _ = find_peaks(agreement)
    peaks = peaks[agreement[peaks] >= _AGREEMENT_SHARE * agreement.max()]
    if not peaks.size:
        raise ParameterError(
            f"no duration up to {LONGEST_S:g} s continues the phases of both clips",
            hint="give a duration without phases",
        )
    wanted = 1.0 / frequency[strongest] if wanted is None else wanted
    chosen = peaks[np.abs(np.log(durations[peaks] / wanted)).argmin()]
    seconds = float(durations[chosen])
    apart = float(after.phase[strongest]) - float(before.phase[strongest])
    return PhaseTiming(
        seconds,
        strongest,
        (float(before.frequency[strongest]), float(after.frequency[strongest])),
        apart + max(round(frequency[strongest] * seconds - apart), 0 if apart > 0 else 1),
        None if cadence is None else cadence * seconds,
        float(agreement[chosen]),
        durations[peaks],
        model,
    )


def _cadence(clips: Sequence[Clip], roles: Roles) -> float | None:
    """Steps a second of all feet, the mean of clips; None where a clip has no whole step."""
    rates = []
    for clip in clips:
        try:
            contacts = foot_contacts(clip, roles).flags
        except SkeletonError:
            return None
        steps = Footsteps.from_contacts(contacts, clip.fps)
        moving = steps.known & (steps.rates > 0)
        if not moving.any():
            return None
        rates.append(contacts.shape[1] * float(steps.rates[moving].mean()) / (2.0 * np.pi))
    return float(np.mean(rates))


def _travel_seconds(first: Clip, second: Clip, roles: Roles) -> float | None:
    """Seconds of the way between two clips at their speed; None where the body stays."""
    roots = [root_trajectory(clip, roles) for clip in (first, second)]
    speeds = []
    for clip, root, step in zip((first, second), roots, (-1, 1), strict=True):
        # From the end of the first clip backwards, from the start of the second on.
        count = min(max(round(_PACE_S * clip.fps), 1), len(clip) - 1)
        places = root.positions[::step, ::2][: count + 1].astype(np.float64)
        way = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
        speeds.append(way * clip.fps / count)
    speed = float(np.mean(speeds))
    if speed < _STANDING:
        return None
    chord = float(np.linalg.norm((roots[1].positions[0] - roots[0].positions[-1])[::2]))
    turn = float(np.angle(np.exp(1j * (roots[1].angles[0] - roots[0].angles[-1]))))
    # The way is an arc of a circle whose direction turns by as much as the body.
    return float(chord / np.sinc(0.5 * turn / np.pi) / speed)
