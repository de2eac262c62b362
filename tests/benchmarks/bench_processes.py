"""Training in two processes against one, and with limited memory against all signals in memory.

python -m tests.benchmarks.bench_processes [--minutes 180] [--windows 51200] [--memory 20MB]

Both have batches of 256 windows in all and one thread for each process. Processes are started as
`deepphase train phase` starts them. Memory is the highest resident set of each process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Source
from deepphase.phase.model import PhaseModel
from deepphase.training.metrics_file import read_metrics
from tests.formula_motion import swinging


def made_store(path: Path, minutes: float) -> None:
    """Swings of one minute and ten rates, again and again under other names."""
    made = [swinging(0.7 + 0.1 * each, 60.0, seed=each)[0] for each in range(10)]
    clips = []
    for number in range(round(minutes)):
        name = f"swing_{number:04d}"
        clips.append(replace(made[number % 10], name=name, source=Source(path=f"{name}.bvh")))
    ClipStore.from_clips(clips).save(path)


def highest_memory(process: subprocess.Popen) -> list[float]:
    """Waits for a process; the highest resident set, in MB, of it and of each of its children."""
    found: dict[int, float] = {}
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            ids = [process.pid, *map(int, children.read_text().split())]
            for each in ids:
                lines = Path(f"/proc/{each}/status").read_text().splitlines()
                peak = next((line for line in lines if line.startswith("VmHWM")), None)
                if peak is not None:
                    found[each] = int(peak.split()[1]) / 1e3
        except OSError:
            pass
        time.sleep(0.05)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--windows", type=int, default=51_200)
    parser.add_argument("--memory", default="20MB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "swings.store"
        made_store(store, given.minutes)
        print("processes  memory   windows/s   CPU s   MB of each process   explained variance")
        for processes in (1, 2):
            for memory in (None, given.memory):
                output = Path(folder) / f"{processes}_{memory}.model"
                command = [sys.executable, "-m", "deepphase.apps.cli", "train", "phase", store]
                command += ["-o", output, "--accelerator", "cpu", "--devices", processes]
                command += [f"--set=training.batch_size={256 // processes}"]
                command += ["--set", f"training.windows={given.windows}", "--quiet"]
                command += [] if memory is None else ["--memory", memory]
                before = os.times()
                process = subprocess.Popen(
                    [str(each) for each in command], env={**os.environ, "OMP_NUM_THREADS": "1"}
                )
                peaks = highest_memory(process)
                after = os.times()
                if process.returncode:
                    raise SystemExit(process.returncode)
                metrics = read_metrics(output.with_name(f"{output.name}.metrics.csv"))
                speed = np.nanmedian(metrics["samples_per_s"])
                health = PhaseModel.load(output).health
                print(
                    f"{processes:9d}  {memory or 'all':>6s}  {speed:10.0f}  "
                    f"{after.children_user - before.children_user:6.0f}   "
                    f"{', '.join(f'{each:.0f}' for each in peaks):>18s}   "
                    f"{health.explained_variance:18.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
