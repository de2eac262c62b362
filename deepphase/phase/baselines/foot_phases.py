"""Phases that are read off the contacts of feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from deepphase.arrays import Array, wrapped
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.baseline import Baseline, body_of, fitted_sinusoids, same_limbs
from deepphase.phase.parameters import PhaseParameters
from deepphase.work import Progress


@dataclass(eq=False, kw_only=True, repr=False)
class FootPhase(Baseline):
    """Phases of a store's body by its feet; nothing is learnt but the view of the manifold."""

    @classmethod
    def fit(
        cls,
        store: ClipStore,
        *,
        window_s: float = 2.0,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """The phases of a store's body."""
        corpus, clip, roles = body_of(store, description, progress)
        feet = foot_contacts(clip, roles).joints
        model = cls(
            signals=corpus.signals,
            limbs=cls.limbs_of(tuple(clip.skeleton.names[joint] for joint in feet)),
            window_s=window_s,
            provenance={"clips": len(store), "minutes": store.minutes},
        )
        return model.viewed(store, progress)

    @staticmethod
    def limbs_of(feet: tuple[str, ...]) -> tuple[str, ...]:
        """Which of the feet, left before right and a quadruped's hind ones first, make phases."""
        return feet


# A foot that always or never stands: the sinusoid of its contact is rounding.
_SILENCE = 0.01


@dataclass(eq=False, kw_only=True, repr=False)
class ContactPhase(FootPhase):
    """A channel a foot, or a quadruped's paw: a sinusoid fitted to its contact (1 or 0).

    Starke et al. 2020, Local Motion Phases for Learning Multi-Contact Character Movements, section
    4: a sinusoid fitted to the filtered block of contacts of each limb, window by window.
    """

    METHOD: ClassVar[str] = "contact"
    FORMAT: ClassVar[str] = "deepphase.contact_phase"
    AMPLITUDE: ClassVar[str] = "share of contact: 0 to about 0.64"
    ORIGIN: ClassVar[str] = "phase is .25 in the middle of the stance, -.25 in that of the swing"

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, feet) each, of a clip at this rate whose joints are known."""
        contacts = foot_contacts(clip, roles)
        order = same_limbs(self.limbs, clip, contacts.joints)
        block = contacts.flags[:, order].astype(np.float32)
        return fitted_sinusoids(block, self.fps, self.window, silence=_SILENCE)


@dataclass(eq=False, kw_only=True, repr=False)
class PfnnPhase(FootPhase):
    """One channel: 0 where the right foot strikes, .5 where the left does, smooth in between.

    A quadruped's is 0 where its right hind paw strikes. Amplitude is 1 where the body steps and 0
    where it stands; standing, the phase cycles on, as the paper has it.

    Holden et al. 2017, section 4.1. Its spline takes w = 4 * phase mod 1.
    """

    METHOD: ClassVar[str] = "pfnn"
    FORMAT: ClassVar[str] = "deepphase.pfnn_phase"
    AMPLITUDE: ClassVar[str] = "without unit: 1 where the body steps, 0 where it stands"
    ORIGIN: ClassVar[str] = (
        "phase is 0 where the right foot (a quadruped's right hind paw) strikes, .5 where the left"
    )
    RULE: ClassVar[Mapping[str, str]] = {"interpolation": "pchip", "standing": "steps"}

    @property
    def channels(self) -> int:
        """One, of whatever feet."""
        return 1

    @staticmethod
    def limbs_of(feet: tuple[str, ...]) -> tuple[str, ...]:
        """The first pair, of which a quadruped's right one alone."""
        left, right = feet[:2]
        return (right,) if len(feet) > 2 else (right, left)

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, 1) each, of a clip at this rate whose joints are known."""
        contacts = foot_contacts(clip, roles)
        order = same_limbs(self.limbs, clip, contacts.joints)
        found = strikes(contacts.flags[:, order], self.fps)
        cycles, frequency, steps = paced(found, len(clip), self.fps)
        columns = (wrapped(cycles), frequency, steps, np.zeros_like(cycles))
        return PhaseParameters(*(column.astype(np.float32)[:, None] for column in columns))


# Seconds: no two steps follow each other faster, and no foot strikes again sooner. What does is a
# heel that rocks, or the second foot of a landing from a jump.
_SHORTEST_STEP_S, _SHORTEST_CYCLE_S = 0.1, 0.25
# Seconds of a cycle beyond which the body is not stepping but stands.
_LONGEST_CYCLE_S = 2.4
# Pace of a body that never steps.
_IDLE_HZ = 1.0


class Strikes(NamedTuple):
    """When a foot strikes, and the phase of that foot's strike in cycles."""

    frames: Array
    phases: Array


def strikes(flags: Array, fps: float) -> Strikes:
    """The strikes by (frames, feet) contacts; a second foot strikes at phase .5."""
    frames, feet = np.nonzero(flags[1:] & ~flags[:-1])
    kept: list[tuple[int, int]] = []
    last = dict.fromkeys(range(flags.shape[1]), -np.inf)
    for frame, foot in zip((frames + 1).tolist(), feet.tolist(), strict=True):
        since = (frame - max(last.values())) / fps
        if since < _SHORTEST_STEP_S or (frame - last[foot]) / fps < _SHORTEST_CYCLE_S:
            continue
        last[foot] = frame
        kept.append((frame, foot))
    every = np.array(kept, np.int64).reshape(-1, 2)
    return Strikes(every[:, 0], 0.5 * every[:, 1])


def paced(found: Strikes, frames: int, fps: float) -> tuple[Array, Array, Array]:
    """Phase of every frame, at each strike exactly that of the foot.

    Between strikes it is a monotone cubic (Fritsch and Butland 1984), whose rate is continuous;
    the paper's is linear. Beyond the first and last strike it goes on at the pace of the nearest
    step. Where no strike follows for longer than a cycle may last, the body stands, and the phase
    goes through whole cycles at the pace of the steps around it, so that it meets the next strike.

    Returns (frames,) cycles, never falling; (frames,) Hz, the cycles to the next frame; (frames,)
    whether the body steps, 1 or 0.
    """
    knots, cycles, rates, stepping = _segments(found, frames, fps)
    index = np.arange(frames + 1)
    segment = np.searchsorted(knots, index, side="right") - 1
    from scipy.interpolate import PchipInterpolator

    at = PchipInterpolator(*_cubic_knots(knots, cycles, rates, stepping, frames, fps))(index)
    return at[:-1], np.diff(at) * fps, stepping[segment[:-1]].astype(np.float64)


def _cubic_knots(
    knots: Array, cycles: Array, rates: Array, stepping: Array, frames: int, fps: float
) -> tuple[Array, Array]:
    """Frames and cycles that a cubic passes through.

    A long stand has a knot near each end, so that its pace is even in between and changes within
    one shortest cycle. The last stretch goes on beyond the clip.
    """
    ramp = _SHORTEST_CYCLE_S * fps
    stops = np.append(knots[1:], max(frames, knots[-1]) + ramp)
    inner = ~stepping & (stops - knots > 2 * ramp)
    long = np.flatnonzero(inner)
    places = np.concatenate([knots, knots[long] + ramp, stops[long] - ramp, stops[-1:]])
    of = np.concatenate([np.arange(len(knots)), long, long, [len(knots) - 1]])
    order = np.argsort(places, kind="stable")
    places, of = places[order], of[order]
    return places, cycles[of] + rates[of] * (places - knots[of]) / fps


def _segments(found: Strikes, frames: int, fps: float) -> tuple[Array, Array, Array, Array]:
    """Where each stretch of one pace begins, its cycles there, its Hz, whether the body steps."""
    if not len(found.frames):
        return np.zeros(1), np.zeros(1), np.array([_IDLE_HZ]), np.zeros(1, bool)
    seconds = np.diff(found.frames) / fps
    # From one foot to the other half a cycle, from a foot to itself a whole one.
    advance = np.where(np.diff(found.phases) == 0, 1.0, 0.5)
    stepping = seconds <= advance * _LONGEST_CYCLE_S
    rates = advance / seconds
    steps = np.flatnonzero(stepping)
    pace = (rates[steps[0]], rates[steps[-1]]) if steps.size else (0.0, 0.0)
    ends = pace if steps.size else (_IDLE_HZ, _IDLE_HZ)
    around = np.interp(np.arange(len(seconds)), steps, rates[steps]) if steps.size else _IDLE_HZ
    whole = np.rint(seconds * around - advance)
    advance = advance + np.where(stepping, 0.0, np.maximum(whole, 0.0))
    rates = advance / seconds
    knots = found.frames.astype(np.float64)
    cycles = found.phases[0] + np.concatenate([[0.0], np.cumsum(advance)])
    # The step that a clip's end cuts off.
    before, after = (
        min(0.5 / rate, _LONGEST_CYCLE_S / 2) * fps if steps.size and stepping[end] else 0.0
        for end, rate in zip((0, -1), pace, strict=True)
    )
    before = min(before, knots[0])
    first = cycles[0] - pace[0] * before / fps
    parts = [
        (0.0, first - ends[0] * (knots[0] - before) / fps, ends[0], False),
        (knots[0] - before, first, pace[0], True),
        *zip(knots[:-1], cycles[:-1], rates, stepping, strict=True),
        (knots[-1], cycles[-1], pace[1], True),
        (knots[-1] + after, cycles[-1] + pace[1] * after / fps, ends[1], False),
    ]
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    # Of stretches that begin together only the last has a length; what begins after the clip does
    # not belong to it.
    kept = (np.diff(columns[0], append=np.inf) > 0) & (columns[0] < frames)
    return columns[0][kept], columns[1][kept], columns[2][kept], columns[3][kept].astype(bool)
