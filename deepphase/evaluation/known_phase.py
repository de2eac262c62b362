"""Error of learnt phases against known phases, up to a constant shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError

# Motion that repeats twice in a limb's cycle, such as the body's bounce, has twice its frequency.
MULTIPLES = (1, 2)


@dataclass(frozen=True)
class PhaseKey:
    """Relation of a learnt phase to a limb's: phase[channel] = multiple * limb phase + shift.

    Parameters
    ----------
    channel
        The phase channel.
    multiple
        Cycles of the channel per cycle of the limb.
    shift
        Cycles in [-0.5, 0.5). The start of a cycle is arbitrary, so the shift is fitted.
    """

    channel: int
    multiple: int
    shift: float


@dataclass(frozen=True, eq=False)
class KnownClip:
    """Learnt and true phases of a clip, at frames with whole windows.

    Parameters
    ----------
    name
        Name of the clip.
    group
        Group of the clip, such as a gait; clips of a group share their keys.
    phase
        (frames, channels) learnt, cycles.
    truth, frequency
        (frames, limbs) true phase in cycles, and its rate in Hz.
    """

    name: str
    group: str
    phase: Array
    truth: Array
    frequency: Array


@dataclass(frozen=True)
class KnownPhaseError:
    """Phase errors of one clip, one value for each limb.

    Parameters
    ----------
    clip, group
        As in `KnownClip`.
    frames
        Number of compared frames.
    stride_hz
        Frequency of each limb, median over frames.
    keys
        Keys, chosen on training clips of the group.
    cycles
        Median error in cycles of the channel.
    seconds
        Median error as time.
    """

    clip: str
    group: str
    frames: int
    stride_hz: tuple[float, ...]
    keys: tuple[PhaseKey, ...]
    cycles: tuple[float, ...]
    seconds: tuple[float, ...]


def known_phase_errors(
    training: Sequence[KnownClip],
    held_out: Sequence[KnownClip],
    *,
    multiples: Sequence[int] = MULTIPLES,
) -> list[KnownPhaseError]:
    """Choose keys on training clips, for each group and limb; measure each held-out clip by them.

    Parameters
    ----------
    multiples
        As in `choose_key`.

    Raises
    ------
    ParameterError
        If a held-out clip has no training clip of its group, or one of its limbs stands still.
    """
    keys: dict[str, tuple[PhaseKey, ...]] = {}
    for group in dict.fromkeys(clip.group for clip in held_out):
        same = [clip for clip in training if clip.group == group]
        if not same:
            raise ParameterError(
                f"no training clip is of the group {group!r}",
                hint="add training clips of this group",
            )
        keys[group] = tuple(
            choose_key(
                [clip.phase for clip in same],
                [clip.truth[:, limb] for clip in same],
                multiples=multiples,
            )
            for limb in range(same[0].truth.shape[1])
        )
    return [_known_phase_error(clip, keys[clip.group]) for clip in held_out]


def _known_phase_error(clip: KnownClip, keys: tuple[PhaseKey, ...]) -> KnownPhaseError:
    if not (len(clip.truth) and clip.frequency.min() > 0):
        raise ParameterError(
            f"{clip.name}: the clip must have frames, and each of its limbs must move"
        )
    errors = [phase_errors(key, clip.phase, clip.truth[:, n]) for n, key in enumerate(keys)]
    return KnownPhaseError(
        clip.name,
        clip.group,
        len(clip.truth),
        tuple(float(value) for value in np.median(clip.frequency, axis=0)),
        keys,
        tuple(float(np.median(error)) for error in errors),
        tuple(
            float(np.median(error / (key.multiple * clip.frequency[:, n])))
            for n, (key, error) in enumerate(zip(keys, errors, strict=True))
        ),
    )


def choose_key(
    phases: Sequence[Array], truths: Sequence[Array], *, multiples: Sequence[int] = MULTIPLES
) -> PhaseKey:
    """The channel, multiple and shift whose median error over all frames is the smallest.

    The shift is the circular median, which is robust against outliers.

    Parameters
    ----------
    phases
        (frames, channels) cycles, of each clip.
    truths
        (frames,) cycles, the limb's phase in each clip.
    multiples
        Candidate multiples of the limb's phase.

    Raises
    ------
    ParameterError
        If the shapes do not fit, there are no frames, or a value is not finite.
    """
    if len(phases) != len(truths) or not len(phases):
        raise ParameterError(
            "there must be one clip or more, and a true phase for each; there are "
            f"{len(phases)} clips and {len(truths)} true phases"
        )
    for phase, truth in zip(phases, truths, strict=True):
        _check(phase, truth)
        if phase.shape[1] != phases[0].shape[1]:
            raise ParameterError("all clips must have the same number of phase channels")
    learnt, true = np.concatenate(phases), np.concatenate(truths)
    if not learnt.size:
        raise ParameterError("the clips must have at least one frame")
    best, smallest = None, np.inf
    for channel in range(learnt.shape[1]):
        for multiple in multiples:
            shifts = learnt[:, channel] - multiple * true.astype(np.float64)
            key = PhaseKey(channel, multiple, circular_median(shifts))
            error = float(np.median(phase_errors(key, learnt, true)))
            if error < smallest:
                best, smallest = key, error
    assert best is not None
    return best


def phase_errors(key: PhaseKey, phase: Array, truth: Array) -> Array:
    """(frames,) error of the learnt phase in cycles of its channel, 0 to 0.5.

    Parameters
    ----------
    phase
        (frames, channels) cycles.
    truth
        (frames,) cycles of the limb.

    Raises
    ------
    ParameterError
        If the shapes do not fit, or a value is not finite.
    """
    _check(phase, truth)
    expected = key.multiple * truth.astype(np.float64) + key.shift
    return np.abs(wrapped(phase[:, key.channel] - expected))


def circular_median(cycles: Array) -> float:
    """The angle whose mean distance along the circle to all others is the smallest.

    Parameters
    ----------
    cycles
        (values,) angles in cycles, at least one.

    Returns
    -------
    Cycles in [-0.5, 0.5).

    References
    ----------
    Fisher 1993, Statistical Analysis of Circular Data, 2.3.2.
    """
    values = np.sort(np.mod(np.asarray(cycles, np.float64), 1.0))
    count = len(values)
    # The minimum lies at one of the angles. In the sequence repeated twice, the angles up to half a
    # turn ahead of each form a range, and the others of its turn follow.
    around = np.concatenate([values, values + 1.0])
    sums = np.concatenate([[0.0], np.cumsum(around)])
    first = np.arange(count)
    half = np.searchsorted(around, values + 0.5, side="right")
    ahead = sums[half] - sums[first] - (half - first) * values
    behind = (first + count - half) * (values + 1.0) - (sums[first + count] - sums[half])
    centre = values[np.argmin(ahead + behind)]
    # For an even number, the midpoint of the two middle angles.
    return float(wrapped(centre + np.median(wrapped(values - centre))))


def _check(phase: Array, truth: Array) -> None:
    if phase.ndim != 2 or truth.shape != phase.shape[:1]:
        raise ParameterError(
            "phases must have shape (frames, channels) and true phases (frames,), not "
            f"{phase.shape} and {truth.shape}"
        )
    if not (np.isfinite(phase).all() and np.isfinite(truth).all()):
        raise ParameterError("phases and true phases must be finite")
