"""Time and memory of every step of a corpus against its size, with a fit of both.

python -m tests.benchmarks.bench_scale [--sizes 1,2,4,8] [--steps prepare,encode] [--folder scale]

Clips are synthetic gaits, written as BVH; further ones begin a frame later each, which is a matter
of bytes, so that gigabytes are made in minutes. Runs are resumed: RESULTS in the folder has a line
for each size and step that is done. `--folder` needs about 2.5 times the largest size, which is
printed before; everything but RESULTS is removed at the end.

Time is the processor time of all processes of a step; memory is the largest sum of their own pages
(RssAnon and RssShmem in /proc), without mapped files, which the system gives back when it must.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.formats.load import save
from deepphase.synthetic.training_set import corpus

RESULTS = "results.jsonl"
_BASE_CLIPS, _CLIP_S = 48, 20.0
_SAMPLED_EVERY_S = 0.1
# The training itself has as many steps at every size: only what grows with the corpus is measured.
_WINDOWS, _SAMPLES = "4000", "4000"
_PHASE = ("train", "phase", "{store}", "-o", "{phase}", "--set", f"training.windows={_WINDOWS}")
_PREPARE = ("prepare", "{captures}", "-o", "{store}")
_ONE, _TWO = ("--workers", "1"), ("--workers", "2")
# Step -> words of the command.
STEPS: dict[str, tuple[str, ...]] = {
    "prepare": (*_PREPARE, *_ONE),
    "prepare, 2 processes": (*_PREPARE, *_TWO),
    "train phase": (*_PHASE, "--set=trainer.devices=1"),
    "encode": ("encode", "{phase}", "{store}", "-o", "{phases}", *_ONE),
    "train controller": (
        *("train", "controller", "{store}", "-o", "{controller}", "--model", "{phase}"),
        *("--config", "nn_phase", "--set", f"training.samples={_SAMPLES}"),
        "--set=trainer.devices=1",
    ),
    "match build": ("match", "build", "{store}", "-o", "{database}", "--model", "{phase}"),
}
# Kept for later steps of the same size.
_KEPT = ("captures", "store", "phase")


@dataclass(frozen=True)
class Measured:
    """One step at one size: seconds of processor and clock, megabytes of the processes' own."""

    step: str
    gigabytes: float
    cpu_s: float
    wall_s: float
    peak_mb: float


def main() -> None:
    """Run the steps that are not done yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1,2,4,8", help="gigabytes of BVH")
    parser.add_argument("--steps", default="all", help=f"some of {', '.join(STEPS)}")
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    given = parser.parse_args()
    sizes = sorted(float(each) for each in given.sizes.split(","))
    steps = list(STEPS) if given.steps == "all" else given.steps.replace(", ", "|").split(",")
    steps = [each.replace("|", ", ") for each in steps]
    unknown = set(steps) - set(STEPS)
    if unknown:
        parser.error(f"no step {', '.join(unknown)}; steps: {'; '.join(STEPS)}")
    given.folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(given.folder).free / 1e9
    print(f"needs about {2.5 * sizes[-1]:.1f} GB in {given.folder}, where {free:.1f} are free")
    done = {(each.step, each.gigabytes) for each in read(given.folder)}
    for size in sizes:
        run_size(given.folder, size, [step for step in steps if (step, size) not in done])
    shutil.rmtree(given.folder / "clips", ignore_errors=True)
    print(table(read(given.folder)))


def run_size(folder: Path, size: float, steps: list[str]) -> None:
    """Run steps on a corpus of one size, and what they need that is not there."""
    if not steps:
        return
    work = folder / f"{size:g}"
    captures = work / "captures"
    names = ("store", "phase", "phases", "controller", "database")
    paths = {"captures": captures, **{name: work / name for name in names}}
    if not captures.exists():
        link_corpus(folder / "clips", captures, size)
    for step in steps:
        for name, maker in (("store", "prepare"), ("phase", "train phase")):
            needed = f"{{{name}}}" in STEPS[step] and not step.startswith(maker)
            if needed and not paths[name].exists():
                run(STEPS[maker], paths)
        measured = run(STEPS[step], paths)
        print(f"{step}, {size:g} GB: {measured}", flush=True)
        line = {"step": step, "gigabytes": size, **measured}
        with (folder / RESULTS).open("a") as file:
            file.write(json.dumps(line) + "\n")
        for path in work.iterdir():
            if path.name not in _KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(work)


def run(words: tuple[str, ...], paths: dict[str, Path]) -> dict[str, float]:
    """Run one command of the program, and measure all of its processes."""
    command = [sys.executable, "-m", "deepphase.apps.cli", *words, "--quiet"]
    command = [each.format(**paths) for each in command]
    began = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    peak = {"own": 0.0, "cpu": 0.0}
    ended = threading.Event()
    sampler = threading.Thread(target=sample, args=(process.pid, peak, ended))
    sampler.start()
    status = process.wait()
    wall = time.perf_counter() - began
    ended.set()
    sampler.join()
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    return {
        "cpu_s": round(peak["cpu"], 1),
        "wall_s": round(wall, 1),
        "peak_mb": round(peak["own"] / 1e6),
    }


def sample(root: int, peak: dict[str, float], ended: threading.Event) -> None:
    """Raise the peaks while the processes live; processor time is that of each when last seen."""
    spent: dict[int, float] = {}
    while not ended.wait(_SAMPLED_EVERY_S):
        own = 0.0
        for pid in tree(root):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            sizes = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            kilobytes = (sizes.get(name, "0 kB").split()[0] for name in ("RssAnon", "RssShmem"))
            own += 1024 * sum(map(int, kilobytes))
            spent[pid] = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        peak["own"] = max(peak["own"], own)
        peak["cpu"] = sum(spent.values())


def tree(root: int) -> Iterator[int]:
    """A process and all that it started, directly or not."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        # A process or a thread may end while it is looked at.
        with suppress(OSError):
            for task in Path("/proc").glob(f"{pid}/task/*/children"):
                with suppress(OSError):
                    waiting += map(int, task.read_text().split())


def link_corpus(clips: Path, captures: Path, gigabytes: float) -> None:
    """A folder of so many gigabytes of links to clips; clips that are missing are written."""
    captures.mkdir(parents=True)
    wanted, total, variant = gigabytes * 1e9, 0, 0
    while total < wanted:
        folder = clips / f"{variant:04d}"
        if not (folder / "done").exists():
            write_variant(clips, folder, variant)
        for path in sorted(folder.glob("*.bvh")):
            if total >= wanted:
                break
            target = captures / folder.name
            target.mkdir(exist_ok=True)
            os.link(path, target / path.name)
            total += path.stat().st_size
        variant += 1


def write_variant(clips: Path, folder: Path, variant: int) -> None:
    """The base clips without their first `variant` frames; variant 0 is the base itself."""
    folder.mkdir(parents=True, exist_ok=True)
    if variant == 0:
        minutes = _BASE_CLIPS * _CLIP_S / 60.0
        for number, motion in enumerate(corpus(0, minutes, clip_seconds=_CLIP_S)):
            save(motion.clip, folder / f"clip_{number:03d}.bvh")
    else:
        for path in sorted((clips / "0000").glob("*.bvh")):
            (folder / path.name).write_bytes(shortened(path.read_bytes(), variant))
    (folder / "done").touch()


def shortened(content: bytes, frames: int) -> bytes:
    """A BVH file without its first frames."""
    head, motion = content.split(b"Frames:", 1)
    count, rate, rest = motion.split(b"\n", 2)
    for _ in range(frames):
        rest = rest[rest.index(b"\n") + 1 :]
    return b"%bFrames: %d\n%b\n%b" % (head, int(count) - frames, rate, rest)


def read(folder: Path) -> list[Measured]:
    """What is measured so far."""
    path = folder / RESULTS
    lines = path.read_text().splitlines() if path.exists() else []
    return [Measured(**json.loads(line)) for line in lines]


def table(measured: list[Measured]) -> str:
    """Markdown: a row for each step, with the exponent of time and the slope of memory."""
    sizes = sorted({each.gigabytes for each in measured})
    columns = ["step", *(f"{size:g} GB" for size in sizes), "s/GB", "time ~ size^", "MB/GB"]
    lines = [f"| {' | '.join(columns)} |", "|".join(["", *["---"] * len(columns), ""])]
    for step in dict.fromkeys(each.step for each in measured):
        rows = {each.gigabytes: each for each in measured if each.step == step}
        cells = [
            f"{rows[size].cpu_s:,.0f} s, {rows[size].peak_mb:,.0f} MB" if size in rows else ""
            for size in sizes
        ]
        lines.append(f"| {' | '.join([step, *cells, *fits(list(rows.values()))])} |")
    return "\n".join(lines)


def fits(rows: list[Measured]) -> tuple[str, str, str]:
    """Seconds per gigabyte, exponent of time, megabytes per gigabyte; by least squares."""
    if len(rows) < 2:
        return "", "", ""
    size = np.array([each.gigabytes for each in rows])
    cpu = np.array([each.cpu_s for each in rows])
    slope = np.polyfit(size, cpu, 1)[0]
    # Of sizes below a gigabyte the start of the program, the same for all, hides the exponent.
    exponent = np.polyfit(np.log(size), np.log(cpu), 1)[0]
    memory = np.polyfit(size, [each.peak_mb for each in rows], 1)[0]
    return f"{slope:.1f}", f"{exponent:.2f}", f"{memory:.0f}"


if __name__ == "__main__":
    main()
