"""Values that are missing from rows: how they are filled in, and made damage for training."""

from __future__ import annotations

import math

import torch
from torch import Tensor

NOISY = 0.5
"""What `known` is where a value is given but noisy."""

# Standard deviation of made noise in metres: log-uniform between these.
_NOISE_M = (0.004, 0.08)
# Seconds of stretches and gaps, and between keys.
_STRETCH_S, _GAP_S, _KEYS_S = (0.1, 2.0), (0.1, 1.6), (0.15, 0.7)
# Seconds of gaps before a target pose, and of motion before the longest of them.
_TARGET_S, _PAST_S = (0.1, 2.0), 0.3


def filled(rows: Tensor, known: Tensor) -> Tensor:
    """Rows (batch, values, frames) with linear values between known ones; 0 without any."""
    frames = rows.shape[-1]
    index = torch.arange(frames, device=rows.device).expand_as(rows)
    # Slot n has the place of the n-th known frame; ONNX has no running maximum.
    count = known.long().cumsum(-1)
    slots = index.new_zeros(*rows.shape[:-1], frames + 2)
    slots = slots.scatter_add(-1, count, index * known)
    before, after = slots.gather(-1, count), slots.gather(-1, count + 1)
    start = torch.where(count > 0, before, after)
    stop = torch.where(count < count[..., -1:], after, before)
    first, last = rows.gather(-1, start), rows.gather(-1, stop)
    share = (index - start).to(rows) / (stop - start).clamp(min=1)
    between = first + (last - first) * share
    anything = known.any(-1, keepdim=True)
    return torch.where(known, rows, torch.where(anything, between, torch.zeros_like(rows)))


def run_means(rows: Tensor, known: Tensor) -> Tensor:
    """Rows whose unknown stretches have their mean: root velocities of a straight path."""
    # The stretch of each frame: stretches are counted by the known frames that end them.
    run = known.long().cumsum(-1)
    gap = (~known).to(rows)
    empty = rows.new_zeros(*rows.shape[:-1], rows.shape[-1] + 1)
    count = empty.scatter_add(-1, run, gap)
    total = empty.scatter_add(-1, run, rows * gap)
    mean = (total / count.clamp(min=1)).gather(-1, run)
    return torch.where(known, rows, mean)


def straight_path(velocities: Tensor, lost: Tensor, fps: float) -> Tensor:
    """Root velocities (batch, 3, frames), straight and steady where `lost` (batch, frames)."""
    gap = lost.to(velocities)
    x, z, turn = (velocities / fps * gap[:, None]).unbind(1)
    steps = gap.sum(-1, keepdim=True).clamp(min=1)
    angle, way = turn.cumsum(-1) - turn, turn.sum(-1, keepdim=True)
    sine, cosine = angle.sin(), angle.cos()
    along = (cosine * x + sine * z).sum(-1, keepdim=True)
    across = (cosine * z - sine * x).sum(-1, keepdim=True)
    steady = way * (gap.cumsum(-1) - gap) / steps
    sine, cosine = steady.sin(), steady.cos()
    straight = (cosine * along - sine * across, sine * along + cosine * across, way.expand_as(gap))
    straight_velocities = torch.stack(straight, 1) * (fps / steps)[:, None]
    return torch.where(lost[:, None], straight_velocities, velocities)


def made_damage(
    batch: int, frames: int, depends: Tensor, fps: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Random damage of windows: (batch, groups, frames) known, and deviation of noise in metres."""
    groups, device = len(depends), depends.device
    index = torch.arange(frames, device=device)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, device=device)

    def drawn(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape, generator=generator, device=device)

    def stretch(count: int, seconds: tuple[float, float]) -> Tensor:
        """(batch, count, frames) bool: one stretch each, at a random place."""
        low, high = (math.log(max(value * fps, 2.0)) for value in seconds)
        length = (low + uniform(batch, count, 1) * (high - low)).exp()
        # A gap may begin before the window or end after it, but never fills all of it.
        length = length.clamp(max=0.75 * frames)
        start = uniform(batch, count, 1) * (frames + 0.5 * length) - 0.5 * length
        return (index >= start) & (index < start + length)

    kind = drawn(0, 8, batch, 1, 1)
    single = uniform(batch, groups, frames) < 0.1 + 0.6 * uniform(batch, 1, 1)
    share = uniform(batch, 1, 1) ** 2
    chosen = uniform(batch, groups, 1) < 0.05 + 0.7 * share
    stretches = chosen & (stretch(groups, _STRETCH_S) | stretch(groups, _STRETCH_S))
    limb = depends[:, drawn(1, groups, batch)].T.clone()
    limb[:, 0] = False
    always = uniform(batch, 1, 1) < 0.5
    limbs = limb[..., None] & (always | stretch(1, _STRETCH_S))
    gap = stretch(1, _GAP_S).expand(-1, groups, -1)
    low, high = (value * fps for value in _KEYS_S)
    every = (low + uniform(batch, 1, 1) * (high - low)).round().clamp(min=2)
    offset = (uniform(batch, 1, 1) * every).floor()
    keys = ((index + offset) % every != 0).expand(-1, groups, -1)
    damaged = torch.zeros(batch, groups, frames, dtype=torch.bool, device=device)
    for value, mask in enumerate((single, stretches, stretches, limbs, gap, gap, keys)):
        damaged |= (kind == value) & mask
    # Whether the root is known while the pose is not: a character's path is often given.
    damaged[:, :1] &= uniform(batch, 1, 1) < 0.6
    noisy = (kind == 7) & (always | stretch(groups, _STRETCH_S)) & (chosen | always)
    noisy[:, 0] = False
    quiet, loud = _NOISE_M
    deviation = quiet * (loud / quiet) ** uniform(batch, 1, 1)
    lost, moved = (
        torch.einsum("ab,nbt->nat", depends.float(), mask.float()) > 0 for mask in (damaged, noisy)
    )
    # Without numbers to choose from, which would be copied to the device.
    return (1.0 - (1.0 - NOISY) * moved) * ~lost, noisy * deviation


def target_gap(
    batch: int, frames: int, groups: int, fps: float, generator: torch.Generator | None
) -> Tensor:
    """(batch, groups, frames to a target pose) known: 0 in gaps before it, else 1."""
    shortest, longest = (max(round(seconds * fps), 2) for seconds in _TARGET_S)
    past = max(round(_PAST_S * fps), 2)
    longest = max(min(longest, frames - past - 1), shortest)
    first, last = torch.tensor([float(shortest), float(longest)]).log()
    lengths = (first + (last - first) * torch.rand(batch, generator=generator)).exp().round()
    most = int(lengths.max())
    stop = min(past + most, frames - 1)
    stop += int(torch.randint(0, frames - stop, (1,), generator=generator))
    index = torch.arange(stop + 1)
    missing = (index < stop) & (index >= (stop - lengths.clamp(max=stop - 1)[:, None]))
    known = (~missing).to(torch.float32)[:, None].repeat(1, groups, 1)
    # The root's velocity at a frame leads to the next one; the target's is that before it.
    known[:, 0, :-1] = torch.minimum(known[:, 0, :-1], known[:, 0, 1:])
    known[:, 0, -1] = known[:, 0, -2]
    return known
