"""Health of a phase model: measures on held-out clips, and findings in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from deepphase.arrays import Array, counted, release_pages, short_repr, wrapped
from deepphase.phase.encoding import encode_windows, encoding_threads, gather
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.training.steps import threads_after

# A channel whose mean amplitude is below this share of the strongest one's is not in use.
_IN_USE = 0.1
# Channels within this share of a frequency have the same one; a channel whose phase is farther than
# this share off its frequency is ragged.
_SAME, _RAGGED = 0.05, 0.15
# A joint with less than this share of the fastest joint's squared speed stands still.
_STILL = 1e-8


@dataclass(frozen=True)
class ChannelHealth:
    """One phase channel: its 5th, 50th and 95th percentile of frequency (Hz) and amplitude."""

    frequency: tuple[float, float, float]
    amplitude: tuple[float, float, float]
    in_use: bool


@dataclass(frozen=True)
class Health:
    """Measures of a phase model on interior frames of held-out clips.

    Parameters
    ----------
    frames
        Number of measured frames.
    explained_variance
        1 - the reconstruction's squared error over the signals' squared deviation from their
        window means; None where nothing is reconstructed.
    explained_by_joint
        The same per joint, or per feature of a song; empty where nothing is reconstructed.
    forward_share
        Share of the frames' steps, weighted by amplitude, in which phase grows.
    forward_strongest
        The same of the strongest channel of each frame, unweighted.
    speed_error
        Median of abs(phase step - frequency * dt) / (frequency * dt), weighted by amplitude; None
        where there are no frequencies.
    frequency_roughness
        1/s: median over steps of abs(frequency step) per second / frequency, weighted by
        amplitude.
    channels
        Each channel's bands.
    findings
        What is unusual and what to try, in words; empty if nothing is unusual.
    """

    frames: int
    explained_variance: float | None
    explained_by_joint: dict[str, float]
    forward_share: float
    forward_strongest: float
    speed_error: float | None
    frequency_roughness: float
    channels: tuple[ChannelHealth, ...]
    findings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        used = sum(channel.in_use for channel in self.channels)
        return short_repr(
            self,
            counted(self.frames, "held-out frame"),
            "" if self.explained_variance is None else f"explained {self.explained_variance:.3f}",
            f"forward {self.forward_strongest:.1%}",
            f"{used} of {len(self.channels)} channels in use",
        )

    def as_mapping(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, as a model file's header keeps them."""
        return asdict(self)

    def words(self) -> list[str]:
        """The measures as lines of plain words."""
        used = [index for index, channel in enumerate(self.channels) if channel.in_use]
        frames = f"{self.frames} held-out frames"
        if self.explained_variance is None:
            first = f"measured on {frames}; nothing is reconstructed"
        else:
            first = f"explained variance {self.explained_variance:.3f} on {frames}"
        if self.speed_error is None:
            speed = "it has no frequency, so the speed of its phase cannot be predicted"
        else:
            speed = f"its speed differs from the frequency by {self.speed_error:.1%} (median)"
        return [
            first,
            f"phase goes forward in {self.forward_strongest:.1%} of them (strongest channel), "
            f"{self.forward_share:.1%} over all channels by amplitude",
            speed,
            f"{len(used)} of {len(self.channels)} channels in use: "
            + ", ".join(f"{index} at {self.channels[index].frequency[1]:.2f} Hz" for index in used),
            *self.findings,
        ]


@dataclass(frozen=True)
class TrainedSkeleton:
    """A skeleton that a model for any skeleton was trained on."""

    name: str
    kind: str
    joints: int
    health: Health

    def words(self) -> str:
        """Its joints and its measures as one line."""
        error = self.health.speed_error
        speed = "" if error is None else f", phase-speed error {error:.1%}"
        first = f"{self.name} ({self.kind}, {self.joints} joints): {self.health.words()[0]}"
        return f"{first}{speed}"


def measure(
    clips: Iterable[PhaseParameters],
    fps: float,
    unexplained: Array | None = None,
    deviation: Array | None = None,
    groups: Sequence[str] = (),
) -> Health:
    """Health from the phases of each stretch of interior frames and the reconstruction's error.

    `unexplained`, `deviation` (signals,) squared error and squared deviation from the window mean,
    summed; None where nothing is reconstructed. `groups` (signals,) joint or feature of each.
    """
    clips = list(clips)
    steps, turned, weights, rough, forward = [], [], [], [], []
    for clip in clips:
        if len(clip.phase) < 2:
            continue
        before, after = clip[:-1], clip[1:]
        weight = np.minimum(before.amplitude, after.amplitude)
        step = wrapped(after.phase - before.phase)
        expected = 0.5 * (before.frequency + after.frequency) / fps
        steps.append(step)
        turned.append(np.abs(step - expected) / np.maximum(expected, 1e-6))
        rough.append(
            np.abs(after.frequency - before.frequency) * fps / np.maximum(before.frequency, 1e-6)
        )
        weights.append(weight)
        strongest = weight.argmax(1)[:, None]
        forward.append(np.take_along_axis(step, strongest, 1)[:, 0] > 0)
    frames = sum(len(clip.phase) for clip in clips)
    weight = np.concatenate(weights) if weights else np.zeros((0, 1))
    total = float(weight.sum())
    step = np.concatenate(steps) if steps else np.zeros((0, 1))
    explained, by_joint = None, {}
    if unexplained is not None and deviation is not None:
        explained = float(1.0 - unexplained.sum() / max(float(deviation.sum()), 1e-12))
        names = list(dict.fromkeys(groups))
        member = [names.index(group) for group in groups]
        share = np.bincount(member, deviation, len(names))
        parts = 1.0 - np.bincount(member, unexplained, len(names)) / np.maximum(share, 1e-12)
        by_joint = {
            name: float(value) if moves > _STILL * share.max() else 0.0
            for name, value, moves in zip(names, parts, share, strict=True)
        }
    has_frequency = any(clip.frequency.any() for clip in clips)
    speed_error, roughness = (
        weighted_percentile(np.concatenate(errors), weight, 0.5) if errors else 0.0
        for errors in (turned, rough)
    )
    health = Health(
        frames=frames,
        explained_variance=explained,
        explained_by_joint=by_joint,
        forward_share=float(weight[step > 0].sum() / total) if total > 0 else 0.0,
        forward_strongest=float(np.concatenate(forward).mean()) if forward else 0.0,
        speed_error=speed_error if has_frequency or not turned else None,
        frequency_roughness=roughness,
        channels=_channels(clips),
    )
    error = np.concatenate(turned) if has_frequency and turned else np.zeros_like(weight)
    ragged = [
        str(channel)
        for channel, own in enumerate(health.channels)
        if own.in_use and weighted_percentile(error[:, channel], weight[:, channel], 0.5) > _RAGGED
    ]
    return replace(health, findings=_findings(health, ragged))


def _channels(clips: list[PhaseParameters]) -> tuple[ChannelHealth, ...]:
    if not clips:
        return ()
    frequency = np.concatenate([clip.frequency for clip in clips])
    amplitude = np.concatenate([clip.amplitude for clip in clips])
    mean = amplitude.mean(0)
    bands = (np.percentile(values, (5, 50, 95), axis=0).T for values in (frequency, amplitude))
    return tuple(
        ChannelHealth(tuple(hz.tolist()), tuple(size.tolist()), bool(used))
        for hz, size, used in zip(*bands, mean > _IN_USE * mean.max(), strict=True)
    )


def _findings(health: Health, ragged: list[str]) -> tuple[str, ...]:
    explained, error = health.explained_variance, health.speed_error
    used, channels = sum(channel.in_use for channel in health.channels), len(health.channels)
    # The channels of a baseline are limbs, which share the rhythm.
    same, hz = ([], 0.0) if explained is None else _same_frequency(health)
    findings = {
        f"only {health.frames} held-out frames were measured: more or longer clips would make "
        "these figures more reliable": health.frames < 200,
        "little of the motion is explained; try longer training (training.windows), more "
        "channels, or clips that are periodic": explained is not None and explained < 0.4,
        "phase often stands still or runs backwards; try clips that move, and periodically, or "
        "a longer training": health.forward_strongest < 0.9,
        "phase does not advance at its frequency; try a longer training, or a longer window if "
        "the rhythm is slow": error is not None and error > 0.15,
        f"only {used} of {channels} channels are in use: fewer would suffice "
        "(network.channels)": used < channels / 2,
        f"channels {', '.join(same)} have one frequency, {hz:.2f} Hz: fewer (network.channels, "
        f"such as {used - len(same) + 2}) give a plainer manifold, at some cost of explained "
        "variance": len(same) > max(used / 2, 2),
        f"ragged channels, whose phase does not advance at their frequency: {', '.join(ragged)}; "
        "fewer channels, or more clips, give smoother ones": bool(ragged),
    }
    return tuple(words for words, applies in findings.items() if applies)


def _same_frequency(health: Health) -> tuple[list[str], float]:
    """The most channels in use that have one frequency, and it, Hz."""
    used = {at: own.frequency[1] for at, own in enumerate(health.channels) if own.in_use}
    groups = [
        ([str(at) for at, own in used.items() if abs(own - hz) <= _SAME * hz], hz)
        for hz in used.values()
    ]
    return max(groups, key=lambda group: len(group[0]), default=([], 0.0))


def weighted_percentile(values: Array, weights: Array, share: float) -> float:
    """The value below which a share of the weight lies; 0 where there is no weight."""
    order = np.argsort(values, axis=None)
    cumulative = np.cumsum(weights.reshape(-1)[order], dtype=np.float64)
    if not cumulative.size or cumulative[-1] <= 0:
        return 0.0
    return float(values.reshape(-1)[order[np.searchsorted(cumulative, cumulative[-1] * share)]])


# Largest numbers of frames encoded and of windows reconstructed for a model's health.
_FRAMES, _WINDOWS = 60_000, 8_192
_BATCH = 256


@torch.inference_mode()
def measured_health(model: Any, values: Array, ranges: Array) -> Health:
    """Health on the interior frames of some stretches of signals.

    `values` (frames, signals) that `model.signals.read` made, clips one behind the other. `ranges`
    (stretches, 2) frames start to stop - 1 of each; those shorter than a window are left out. Of
    very many stretches, an evenly spaced subset is used.
    """
    half = model.window // 2
    fitting = [(start, stop) for start, stop in ranges if stop - start >= model.window]
    total = sum(stop - start - 2 * half for start, stop in fitting)
    every = max(-(-total // _FRAMES), 1)
    starts = [np.arange(start, stop - 2 * half) for start, stop in fitting[::every]]
    stretches = []
    for firsts in starts:
        stretches.append(encode_windows(model.network, values, firsts))
        release_pages(values)
    errors = reconstruction_errors(model.network, values, starts, _WINDOWS)
    return measure(stretches, model.fps, *errors, model.signals.groups)


@torch.inference_mode()
def reconstruction_errors(
    network: PeriodicAutoencoder, values: Array, starts: Sequence[Array], count: int
) -> tuple[Array, Array]:
    """(signals,) squared errors of `count` windows, and squared deviations from their means."""
    data = torch.from_numpy(values)
    unexplained = np.zeros(values.shape[1])
    deviation = np.zeros_like(unexplained)
    every = np.concatenate(starts) if starts else np.zeros(0, np.int64)
    chosen = np.unique(np.linspace(0, len(every) - 1, count).astype(int)) if starts else every
    with threads_after() as most:
        for first in torch.from_numpy(every[chosen]).split(_BATCH):
            windows = gather(data, first + network.window // 2, network.window)
            with encoding_threads.step(most):
                error = network(windows) - windows
            unexplained += error.square().sum((0, 2)).double().numpy()
            deviation += windows.square().sum((0, 2)).double().numpy()
            release_pages(values)
    return unexplained, deviation
