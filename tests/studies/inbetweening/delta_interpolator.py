"""A rival: the Delta-interpolator (Oreshkin et al. 2022), a transformer of differences.

    python -m tests.studies.inbetweening.delta_interpolator TRAINING_STORE -o DELTA [--minutes 10]
        [--width 128] [--layers 6] [--rate 1e-3]

It predicts what is to be added to interpolation, from the given frames relative to the last past
one. It learns from all windows of the clips and of their mirror images, as editors do. Widths are
smaller than the paper's, which were trained on a GPU; how long it trains is stated.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.rotations_6d import from_six_numbers, six_numbers
from tests.studies.inbetweening.protocol import FPS, PAST, Windows, bone_offsets, straight

_HEADS = 8
# Missing frames in training.
_SHORTEST, _LONGEST = 5, 60


class _Network(nn.Module):
    """Differences (batch, frames, joints * 6 + 3) of all frames from interpolation."""

    def __init__(self, joints: int, width: int, layers: int) -> None:
        super().__init__()
        values = 6 * joints + 3
        self.reading = nn.Linear(values + 1, width)
        # Counted from the first past frame, and from the target backwards.
        self.forth, self.back = (nn.Embedding(_LONGEST + PAST + 1, width) for _ in range(2))
        layer = nn.TransformerEncoderLayer(
            width, _HEADS, 4 * width, 0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.writing = nn.Linear(width, values)
        nn.init.zeros_(self.writing.weight)
        nn.init.zeros_(self.writing.bias)

    def forward(self, values: Tensor, missing: int) -> Tensor:
        known = torch.ones(values.shape[1], device=values.device)
        known[PAST : PAST + missing] = 0.0
        given = torch.cat([values * known[:, None], known.expand(len(values), -1)[..., None]], 2)
        index = torch.arange(values.shape[1], device=values.device)
        hidden = self.reading(given) + self.forth(index) + self.back(index.flip(0))
        return self.writing(self.layers(hidden))


class DeltaInterpolator:
    """A trained rival of one body."""

    def __init__(self, network: _Network, mean: Tensor, scale: Tensor) -> None:
        self.network, self.mean, self.scale = network.eval(), mean, scale

    def between(self, windows: Windows, missing: int) -> Windows:
        """The missing frames of windows."""
        values, base = _values(windows, missing)
        with torch.inference_mode():
            delta = self.network((values - self.mean) / self.scale, missing)
        made = (base + delta * self.scale)[:, PAST : PAST + missing].numpy().astype(np.float64)
        numbers = made[..., :-3].reshape(*made.shape[:2], -1, 6)
        places = made[..., -3:] + windows.places[:, PAST - 1 : PAST]
        return windows.with_motion(from_six_numbers(numbers), places)

    @classmethod
    def load(cls, path: str | Path) -> DeltaInterpolator:
        """Read what this module wrote."""
        state = torch.load(path, weights_only=True)
        network = _Network(state["joints"], state["width"], state["layers"])
        network.load_state_dict(state["network"])
        return cls(network, state["mean"], state["scale"])


def _numbers(windows: Windows, origin: np.ndarray) -> np.ndarray:
    """(windows, frames, values): two axes of each local rotation, and the hips' place."""
    axes = six_numbers(windows.rotations)
    return np.concatenate([axes.reshape(*axes.shape[:2], -1), windows.places - origin], axis=2)


def _values(windows: Windows, missing: int) -> tuple[Tensor, Tensor]:
    """Values of the frames up to the target, and the same with interpolation in the gap."""
    origin = windows.places[:, PAST - 1 : PAST]
    values = _numbers(windows.part(0, PAST + missing + 1), origin)
    base = values.copy()
    base[:, PAST : PAST + missing] = _numbers(straight(windows, missing), origin)
    return torch.from_numpy(values).float(), torch.from_numpy(base).float()


def _straight(values: Tensor, missing: int) -> Tensor:
    """Interpolation of axes and places in the gap; nearly that of rotations, and fast."""
    share = torch.arange(1, missing + 1) / (missing + 1)
    first, last = values[:, PAST - 1, None], values[:, PAST + missing, None]
    base = values.clone()
    base[:, PAST : PAST + missing] = first + share[:, None] * (last - first)
    return base


def _positions(values: Tensor, windows: Windows) -> Tensor:
    """(batch, frames, joints, 3) of values with two axes of each joint."""
    axes = values[..., :-3].unflatten(-1, (-1, 2, 3))
    first = nn.functional.normalize(axes[..., 0, :], dim=-1)
    second = axes[..., 1, :] - (axes[..., 1, :] * first).sum(-1, keepdim=True) * first
    second = nn.functional.normalize(second, dim=-1)
    local = torch.stack([first, second, torch.linalg.cross(first, second)], -1)
    turned, places = [local[:, :, 0]], [values[..., -3:]]
    offsets = torch.from_numpy(windows.offsets).float()
    for joint, parent in enumerate(windows.parents[1:].tolist(), start=1):
        places.append(places[parent] + turned[parent] @ offsets[joint])
        turned.append(turned[parent] @ local[:, :, joint])
    return torch.stack(places, 2)


class _Clips:
    """Frames of the clips of a store and of their mirror images, of which windows are cut."""

    def __init__(self, store: ClipStore, space: MotionSpace) -> None:
        mapping = space.mirror_map(store.clip(int(np.argmax(store.lengths))))
        numbers, places, angles = [], [], []
        for index in range(len(store)):
            clip = resample(space.on_hips(store.clip(index)), FPS)
            for each in (clip,) if mapping is None else (clip, mirrored(clip, mapping)):
                turned = each.rotations[:, space.points.joints].astype(np.float64)
                numbers.append(six_numbers(turned).reshape(len(each), -1))
                places.append(each.local_positions()[:, space.hips].astype(np.float64))
                angles.append(root_trajectory(each, space.roles_of(each)).angles)
        self.lengths = np.array([len(each) for each in angles])
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.numbers, self.places, self.angles = (
            torch.from_numpy(np.concatenate(each)).float() for each in (numbers, places, angles)
        )

    def windows(self, count: int, frames: int, generator: np.random.Generator) -> Tensor:
        """(count, frames, values) of random windows, from the last past frame and its heading."""
        room = np.maximum(self.lengths - frames + 1, 0)
        stops = np.cumsum(room)
        chosen = generator.integers(0, stops[-1], count)
        clip = np.searchsorted(stops, chosen, side="right")
        first = self.starts[clip] + chosen - (stops - room)[clip]
        index = torch.from_numpy(first[:, None] + np.arange(frames))
        last, numbers = index[:, PAST - 1], self.numbers[index]
        places = self.places[index] - self.places[last][:, None]
        vectors = torch.cat([numbers[..., :6], places], 2).unflatten(-1, (3, 3))
        sine, cosine = (each(self.angles[last])[:, None, None] for each in (torch.sin, torch.cos))
        x, y, z = vectors.unbind(-1)
        turned = torch.stack([cosine * x - sine * z, y, sine * x + cosine * z], -1).flatten(2)
        return torch.cat([turned[..., :6], numbers[..., 6:], turned[..., 6:]], 2)


def train(
    store: ClipStore,
    minutes: float,
    *,
    width: int = 128,
    layers: int = 6,
    rate: float = 1e-3,
    seed: int = 0,
) -> tuple[DeltaInterpolator, int]:
    """A rival trained on a store for some minutes of processor time, and its steps."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    space = MotionSpace.of_clip(store.clip(int(np.argmax(store.lengths))), FPS)
    clips, offsets = _Clips(store, space), bone_offsets(store, space)
    body = Windows(np.empty(0), np.empty(0), space.points.parents, offsets)
    numbers = clips.windows(4000, PAST + 30, generator)
    mean, scale = numbers.mean((0, 1)), numbers.std((0, 1)).clamp(min=1e-2)
    network = _Network(len(offsets), width, layers).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    start, steps, limit = time.process_time(), 0, 60.0 * minutes
    while (passed := time.process_time() - start) < limit:
        share = min((steps + 1) / 200, 0.5 + 0.5 * np.cos(np.pi * passed / limit))
        optimizer.param_groups[0]["lr"] = rate * max(share, 0.01)
        missing = int(generator.integers(_SHORTEST, _LONGEST + 1))
        values = clips.windows(32, PAST + missing + 1, generator)
        base = _straight(values, missing)
        made = base + network((values - mean) / scale, missing) * scale
        gap = slice(PAST, PAST + missing)
        loss = (made[:, gap] - values[:, gap]).abs().mean()
        loss = loss + (
            (_positions(made[:, gap], body) - _positions(values[:, gap], body)).abs().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        steps += 1
        if steps % 200 == 0:
            print(f"{steps} steps, {passed:.0f} s: {loss.detach():.4f}", flush=True)
    return DeltaInterpolator(network, mean, scale), steps


def main() -> None:
    """Train and write a rival."""
    parser = argparse.ArgumentParser(prog="tests.studies.inbetweening.delta_interpolator")
    parser.add_argument("training")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shape = {"width": options.width, "layers": options.layers}
    store = open_store(options.training)
    rival, steps = train(store, options.minutes, rate=options.rate, seed=options.seed, **shape)
    state = {"mean": rival.mean, "scale": rival.scale, "network": rival.network.state_dict()}
    torch.save({**state, **shape, "joints": (len(rival.mean) - 3) // 6}, options.output)
    print(f"{steps} steps in {options.minutes:g} minutes of processor time: {options.output}")


if __name__ == "__main__":
    main()
