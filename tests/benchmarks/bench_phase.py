"""The periodic autoencoder's training step and encoding, against the network as its authors
wrote it (Conv1d, a loop over phase heads, one gather a sample).

python -m tests.benchmarks.bench_phase [--rounds 5]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from deepphase.phase.config import NetworkConfig
from deepphase.phase.encoding import encode_windows, gather, make_autoencoder
from tests.benchmarks.rounds import medians
from tests.phase.released_form import PlainAutoencoder

JOINTS, CHANNELS, WINDOW = 24, 5, 121


def plain_batch(signals: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """Windows gathered one by one, as a data set's __getitem__ and a collate function do."""
    half = WINDOW // 2
    windows = []
    for centre in centres.tolist():
        window = signals[centre - half : centre + half + 1].T
        windows.append(window - window.mean(1, keepdim=True))
    return torch.stack(windows)


def training_step(network, optimizer, batch, *, reduced=False, captured=False):
    """A step on a batch's windows; `reduced` in bfloat16, `captured` by a CUDA graph."""
    device = next(network.parameters()).device.type

    def step() -> None:
        windows = batch()
        # A graph would keep weights that are cast once.
        with torch.autocast(device, torch.bfloat16, enabled=reduced, cache_enabled=not captured):
            loss = network.loss(windows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def bench_training(rounds: int) -> None:
    signals = torch.randn(20_000, 3 * JOINTS)
    print("training step, ms       plain      ours     ratio   ours bf16   ratio")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for batch in (32, 256):
            plain = PlainAutoencoder(3 * JOINTS, CHANNELS, WINDOW)
            rivals = {}
            centres = torch.randint(WINDOW, 20_000 - WINDOW, (batch,))
            rivals["plain"] = training_step(
                plain,
                torch.optim.AdamW(plain.parameters(), 1e-4),
                lambda centres=centres: plain_batch(signals, centres),
            )
            for name in ("ours", "bf16"):
                ours = make_autoencoder(3 * JOINTS, 60.0, NetworkConfig("paper"))
                rivals[name] = training_step(
                    ours,
                    torch.optim.AdamW(ours.parameters(), 1e-4, fused=True),
                    lambda centres=centres: gather(signals, centres, WINDOW),
                    reduced=name == "bf16",
                )
            # Steps follow each other, as in a training.
            spent = medians(rivals, rounds=rounds, calls=512 // batch)
            print(
                f"{threads} thread(s), batch {batch:3d}  {1e3 * spent['plain']:8.1f}  "
                f"{1e3 * spent['ours']:8.1f}  {spent['plain'] / spent['ours']:7.2f}x"
                f"  {1e3 * spent['bf16']:8.1f}  {spent['plain'] / spent['bf16']:7.2f}x"
            )


def bench_encoding(rounds: int) -> None:
    frames = 1024
    signals = np.random.default_rng(0).standard_normal((frames + WINDOW - 1, 3 * JOINTS))
    signals = signals.astype(np.float32)
    ours = make_autoencoder(3 * JOINTS, 60.0, NetworkConfig("paper")).eval()
    plain = PlainAutoencoder(3 * JOINTS, CHANNELS, WINDOW).eval()
    plain.take_weights(ours)
    starts = np.arange(frames)

    @torch.inference_mode()
    def windows_and_conv1d() -> torch.Tensor:
        data = torch.from_numpy(signals)
        out = []
        for batch in torch.from_numpy(starts).split(256):
            windows = gather(data, batch + WINDOW // 2, WINDOW).contiguous()
            out.append(torch.stack(plain.encode(windows)))
        return torch.cat(out, 1)

    expected = windows_and_conv1d()
    found = encode_windows(ours, signals, starts)
    error = np.abs(found.frequency - expected[1].numpy()).max()
    print(f"encoding every frame: frequencies agree to {error:.1e} Hz")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        spent = medians(
            {"conv1d": windows_and_conv1d, "ours": lambda: encode_windows(ours, signals, starts)},
            rounds=rounds,
        )
        plain_us, ours_us = (1e6 * spent[name] / frames for name in ("conv1d", "ours"))
        print(
            f"{threads} thread(s): Conv1d over windows {plain_us:.0f} us a frame, ours "
            f"{ours_us:.0f} us, {plain_us / ours_us:.2f}x"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    bench_training(rounds)
    bench_encoding(rounds)
