"""Windows of signals: gathering, the training split and order, and encoding.

Within half a window of a clip's end there is no whole window around a frame. A window that is
filled up with repeated poses describes the fill as well as the motion. So such frames have the
sinusoids of the nearest window inside the clip, advanced to them (phase += frequency * dt).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array, wrapped
from deepphase.errors import ParameterError
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.training.optimizer import FastestThreads, threads_after


def interior_frames(frames: int, window: int) -> Array:
    """(frames,) bool: the whole window around the frame lies inside the clip."""
    index = np.arange(frames)
    half = window // 2
    return (index >= half) & (index < frames - half)


def gather(signals: Tensor, centres: Tensor, window: int) -> Tensor:
    """Windows around frames, their mean over time taken off.

    `signals` (frames, channels). `centres` (batch,) frames at least window // 2 away from either
    end. Returns (batch, channels, window), laid out in memory as (window, batch, channels): see
    `networks.autoencoder`.
    """
    steps = torch.arange(window, device=centres.device) - window // 2
    frames = (steps[:, None] + centres).reshape(-1)
    windows = signals.index_select(0, frames).view(window, len(centres), -1)
    windows -= windows.mean(0)
    return windows.permute(1, 2, 0)


def gather_at_rates(velocities: Tensor, centres: Tensor, window: int, rates: Tensor) -> Tensor:
    """As `gather`, of motion at other speeds; between two frames, velocities are interpolated.

    `centres` (batch,) frames at least `|rates| * (window // 2)` away from either end. `rates`
    (batch,) factors on the speed; below 0, the motion is played backwards.
    """
    steps = torch.arange(window, device=centres.device) - window // 2
    times = steps[:, None] * rates
    below = torch.floor(times)
    share = (times - below).unsqueeze(-1)
    lower = (below.long() + centres).reshape(-1)
    # Where a window ends on the last frame, the one behind it has no weight.
    upper = (lower + 1).clamp(max=len(velocities) - 1)
    before, after = (
        velocities.index_select(0, frames).view(window, len(centres), -1)
        for frames in (lower, upper)
    )
    # In place: fresh memory of this size costs as much as a pass over it.
    windows = before.lerp_(after, share).mul_(rates[:, None])
    windows -= windows.mean(0)
    return windows.permute(1, 2, 0)


def padded(signals: Array, window: int, how: str = "constant") -> Array:
    """(frames + window - 1, channels): signals that go on for half a window on either side.

    `how`: "constant": velocities of a clip whose edge poses are repeated; a repeated pose has no
    velocity, so the padding is zeros. "edge": the first and last frame are repeated.
    """
    half = window // 2
    return np.pad(signals, ((half, half), (0, 0)), mode=how)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False)
class Centres:
    """Middle frames of all windows in some stretches of frames, computed when they are indexed.

    `ranges` (ranges, 2) frames start to stop - 1 of each stretch, of a window or more.
    """

    ranges: Array
    window: int

    def __len__(self) -> int:
        return int(self._stops[-1]) if len(self._stops) else 0

    def __getitem__(self, rows: Array | slice) -> Array:
        """(rows,) indices of frames in the corpus."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        starts = np.append(0, self._stops)[:-1]
        shifts = self.ranges[:, 0] + self.window // 2 - starts
        return rows + shifts[np.searchsorted(self._stops, rows, side="right")]

    @cached_property
    def _stops(self) -> Array:
        return np.cumsum(self.ranges[:, 1] - self.ranges[:, 0] - self.window // 2 * 2)


@dataclass(frozen=True, eq=False)
class Split:
    """Frames that windows may be centred on, for training and for measuring."""

    train_windows: Centres
    held_out_windows: Centres
    too_short: int

    @property
    def train(self) -> Array:
        """(windows,) indices of frames in the corpus: eight bytes each."""
        return self.train_windows[:]

    @property
    def held_out(self) -> Array:
        """(windows,) indices of frames in the corpus."""
        return self.held_out_windows[:]

    @property
    def held_out_ranges(self) -> Array:
        """(ranges, 2) frames start to stop - 1 of each held-out stretch of a clip."""
        return self.held_out_windows.ranges


def split_by_source(
    starts: Array,
    stops: Array,
    sources: list[str],
    window: int,
    held_out: float,
    seed: int,
    kinds: Callable[[str], Array] | None = None,
) -> Split:
    """Hold out about a share `held_out` of the frames, by source file.

    A clip, its mirror image and other pieces of the same file stay on one side. Where there is
    only one source, the last part of each of its clips is held out. With `kinds`, the training
    keeps clips of all kinds of moments that are held out, see :func:`held_out_sources`.
    """
    every = list(zip(np.asarray(starts).tolist(), np.asarray(stops).tolist(), sources, strict=True))
    usable = [clip for clip in every if clip[1] - clip[0] >= window]
    if not usable:
        longest = max((stop - start for start, stop, _ in every), default=0)
        raise ParameterError(
            f"no clip is as long as a window: the longest has {longest} frames of {window}",
            hint="choose a smaller network.window_s, or longer clips",
        )
    frames = Counter[str]()
    for start, stop, source in usable:
        frames[source] += stop - start
    if len(frames) > 1:
        kept = held_out_sources(frames, held_out, seed, kinds)
        ranges = [(start, stop, source in kept) for start, stop, source in usable]
    else:
        ranges = []
        for start, stop, _ in usable:
            tail = max(int(held_out * (stop - start)), window)
            if stop - start - tail >= window:
                ranges += [(start, stop - tail, False), (stop - tail, stop, True)]
            else:
                ranges.append((start, stop, False))
        if not any(held for *_, held in ranges):
            # Nothing can be spared: measures are then those of the training itself.
            ranges += [(start, stop, True) for start, stop, _ in ranges]
    train, held_out_windows = (
        Centres(
            np.array([(a, b) for a, b, held in ranges if held == side], np.int64).reshape(-1, 2),
            window,
        )
        for side in (False, True)
    )
    return Split(train, held_out_windows, len(every) - len(usable))


# Largest share of one held-out file, in shares that are to be held out.
_MAX_EXCESS = 3.0
# A kind of moments belongs to a file from this share of its frames on, and training keeps at least
# this many times as many frames of it as are held out.
_KIND_SHARE, _KIND_TIMES = 0.1, 2


def held_out_sources(
    frames: Mapping[str, int],
    held_out: float,
    seed: int,
    kinds: Callable[[str], Array] | None = None,
) -> set[str]:
    """Files that hold about a share `held_out` of all frames: at least one, and not all.

    A file with more than three times that share is left to the training if there are shorter ones.
    So is a file with a kind of moments of which the training would keep less than two frames for
    each that is held out: errors on motion that a training lacks say nothing of the training.

    `kinds`: function of a file: its frames of each kind, as by
    :func:`deepphase.features.moment_kinds.source_kinds`.
    """
    names = sorted(frames)
    kept: set[str] = set()
    kept_frames = 0
    wanted = held_out * sum(frames.values())
    longest = max(_MAX_EXCESS * wanted, min(frames.values()))
    order = [names[index] for index in np.random.default_rng(seed).permutation(len(names))]
    fitting = [name for name in order if frames[name] <= longest]
    # Frames of each kind that the training needs, and those in files of it that were looked at:
    # the last ones first, since few of all files are enough for most kinds.
    needed, found = np.zeros(1, np.int64), np.zeros(1, np.int64)
    last, looked_at = reversed(order), set[str]()
    for name in fitting:
        if (kept and kept_frames >= wanted) or len(kept) == len(names) - 1:
            break
        if kinds is not None:
            own = kinds(name)
            more = needed + _KIND_TIMES * np.where(own >= _KIND_SHARE * own.sum(), own, 0)
            while (found - own * (name in looked_at) < more).any():
                if (other := next(last, None)) is None:
                    break
                if other not in kept:
                    found = found + kinds(other)
                    looked_at.add(other)
            rest = found - own * (name in looked_at)
            if (rest < more).any():
                continue
            needed, found = more, rest
            looked_at.discard(name)
        kept.add(name)
        kept_frames += frames[name]
    # No file's kinds are in others: as if they were unknown.
    return kept or set(fitting[:1])


# Windows encoded at once: on a CPU large enough for the matrix products and small enough for the
# cache; elsewhere more, since each batch waits for its results.
_BATCH, _BATCH_ELSEWHERE = 256, 8192
# Of all encodings of a process.
encoding_threads = FastestThreads("encoding")


def encode_frames(network: PeriodicAutoencoder, signals: Array, fps: float) -> PhaseParameters:
    """Phase parameters (frames, channels) of every frame of signals (frames, signals)."""
    frames, window = len(signals), network.window
    if frames >= window:
        whole = encode_windows(network, signals, np.arange(frames - window + 1))
        return advanced_to_ends(whole, frames, window // 2, fps)
    return advanced_to_ends(encode_part(network, signals), frames, (frames - 1) // 2, fps)


@torch.inference_mode()
def encode_windows(
    network: PeriodicAutoencoder, signals: Array | torch.Tensor, starts: Array
) -> PhaseParameters:
    """Phase parameters (windows, channels) of the middle frames of windows from `starts` on."""
    device = next(network.parameters()).device
    data = torch.as_tensor(signals, device=device)
    centres = torch.as_tensor(starts, device=device) + network.window // 2
    on_cpu, parts = device.type == "cpu", []
    with threads_after() as most:
        for batch in centres.split(_BATCH if on_cpu else _BATCH_ELSEWHERE):
            with encoding_threads.step(most) if on_cpu and len(batch) == _BATCH else nullcontext():
                encoding = network.encode(gather(data, batch, network.window))
            parts.append(_parameters(encoding))
    return PhaseParameters.joined(parts)


def _parameters(encoding: Encoding) -> PhaseParameters:
    phase, *others = (value.float().cpu().numpy() for value in encoding[:4])
    return PhaseParameters(wrapped(phase), *others)


@torch.inference_mode()
def encode_part(network: PeriodicAutoencoder, signals: Array) -> PhaseParameters:
    """Phase parameters (1, channels) of the middle of a clip that is shorter than a window."""
    frames = len(signals) - 1 + len(signals) % 2
    data = torch.as_tensor(signals[:frames], device=next(network.parameters()).device)
    return _parameters(network.encode_part(data.T[None]))


def advanced_to_ends(
    whole: PhaseParameters, frames: int, first: int, fps: float
) -> PhaseParameters:
    """Phase parameters (frames, channels) of every frame, of those that have a whole window.

    `whole` (windows, channels) of the frames `first`, `first` + 1, ...; at least one. Before and
    after them its first or last sinusoids are advanced: frequency, amplitude and offset are theirs,
    so that none exceeds the clip's own.
    """
    index = np.arange(frames)
    nearest = np.clip(index - first, 0, len(whole.phase) - 1)
    away = index - first - nearest
    every = whole[nearest]
    # Frames that have a window keep its phase bit for bit.
    outside = away != 0
    if outside.any():
        seconds = (away[outside] / fps)[:, None]
        every.phase[outside] = every[outside].advanced(seconds).phase
    return every
