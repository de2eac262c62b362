"""Compare phase networks on the same clips, windows seen and channels.

python -m tests.studies.phase_presets TRAIN.store HELD_OUT.store --channels 10 \
    --windows 153600 --runs sine_fit:1e-3 paper:1e-3 paper:1e-4 --seeds 0 1 2

A run is PRESET:LEARNING_RATE. Prints one row a run and seed; every preset keeps its own kernel,
width, optimizer, weight decay and variation (those of its recipe), and sees as many windows in
batches of as many.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from deepphase.apps.reports.evaluation_report import evaluation_report
from deepphase.corpus.store import open_store
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase

_RECIPES = {"sine_fit": "default", "sine_fit_no_fc": "default"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("held_out")
    parser.add_argument("--channels", type=int, default=10)
    parser.add_argument("--windows", type=int, default=153_600)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--runs", nargs="+", default=["sine_fit:1e-3", "paper:1e-3"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=10_000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train, held_out = open_store(options.train), open_store(options.held_out)
    for run in options.runs:
        preset, rate = run.split(":")
        for seed in options.seeds:
            recipe = PhaseConfig.load(_RECIPES.get(preset, preset))
            config = PhaseConfig(
                replace(recipe.network, preset=preset, channels=options.channels),
                replace(
                    recipe.training,
                    windows=options.windows,
                    batch_size=options.batch,
                    learning_rate=float(rate),
                    schedule="cosine",
                    warmup=0.05,
                    seed=seed,
                    # All clips of the store are for training; the other store is for measuring.
                    held_out=0.01,
                ),
            )
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                model = train_phase(train, config, folder=Path(folder) / "work")
                spent = time.perf_counter() - began
                result = evaluation_report(
                    model, held_out, Path(folder) / "report", queries=options.queries
                )
            words = ", ".join(f"{each.name} {each.value:.4g}" for each in result.measures)
            print(f"{preset} lr {rate} seed {seed}: {words}; trained in {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
