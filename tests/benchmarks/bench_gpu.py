"""Training, encoding and frames on one GPU, beside the CPU of the same machine.

python -m tests.benchmarks.bench_gpu [--minutes 8] [--output gpu] [--parts pae,phase]

It makes its own clips, as many minutes as Bandai's locomotion and actions have. Each part is a
process with a time limit of its own, so that one that fails or hangs leaves the others. Parts read
their data at the same time, and take turns on the GPU; in a second lane the CPU has a tenth of each
training. Every row is printed as it is measured; --output writes OUTPUT.md and OUTPUT.jsonl, again
after each part.

Without a GPU everything is done on the CPU at a hundredth of the size (--scale).
requirements/gpu.in lists what a bare machine with PyTorch needs.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

import deepphase as dp
from deepphase.training.captured_step import CapturedStep

ROOT = Path(__file__).parents[2]
# Bandai's 931 clips: 80 minutes, 5 seconds each.
MINUTES, CLIP_S = 80.0, 5.0
# Share of each training that the CPU has.
CPU_SHARE = 0.1
SMALL = 0.01
CLIPS, MODEL, ROWS = "clips.pickle", "phases.model", "rows.jsonl"
# Frames of a clip that is encoded, and hours of clips.
ENCODED_S, ENCODED_HOURS = 180.0, 10.0
CROWDS = (1, 100, 1_000, 10_000)
SIGNALS, CHANNELS, WINDOW = 72, 5, 121
# Steps before those that are counted by the profiler, and number of these.
WARM_UP, COUNTED = 10, 10


class EnoughError(Exception):
    """Ends a training when all that is measured has been measured."""


@dataclass(frozen=True)
class Bench:
    """What a part is given.

    Parameters
    ----------
    part
        Its name.
    device
        "cuda" or "cpu".
    scale
        Size of all data and trainings; 1 is the full size.
    folder
        Folder of the clips, of the phase model and of the rows.
    limit_s
        Seconds that it may measure.
    """

    part: str
    device: str
    scale: float
    folder: Path
    limit_s: float

    @property
    def accelerator(self) -> str:
        return "gpu" if self.device == "cuda" else "cpu"

    def row(self, what: str, value: str, note: str = "") -> None:
        """Write a row of the table."""
        row = {"part": self.part, "device": self.device, "what": what, "value": value, "note": note}
        print(f"{self.part:14s} {self.device:5s} {what:42s} {value:>14s}  {note}", flush=True)
        with (self.folder / ROWS).open("a") as file:
            file.write(json.dumps(row) + "\n")

    def clips(self, seconds: float | None = None) -> list[dp.Clip]:
        """The clips, or so many seconds of them."""
        with (self.folder / CLIPS).open("rb") as file:
            clips = pickle.load(file)
        return clips if seconds is None else clips[: max(round(seconds / CLIP_S), 12)]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the device; the process ends where it holds it for much longer than its limit."""
        import fcntl

        with (self.folder / f"{self.device}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            watchdog = threading.Timer(1.5 * self.limit_s + 20.0, os._exit, [3])
            watchdog.daemon = True
            watchdog.start()
            try:
                yield
            finally:
                watchdog.cancel()

    def synchronise(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def memory(self) -> str:
        """Peak memory of this process on the device."""
        if self.device == "cuda":
            return f"{torch.cuda.max_memory_allocated() / 1e6:,.0f} MB on the GPU"
        return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB"

    def milliseconds(self, run: Callable[[], object], seconds: float = 0.5) -> float:
        """Least mean milliseconds of a call over three rounds."""
        run()
        self.synchronise()
        began = time.perf_counter()
        run()
        self.synchronise()
        calls = max(round(seconds / max(time.perf_counter() - began, 1e-6)), 1)
        spent = []
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(calls):
                run()
            self.synchronise()
            spent.append((time.perf_counter() - began) / calls)
        return 1e3 * min(spent)


# Parts -------------------------------------------------------------------------------------------


def prepare(bench: Bench) -> None:
    """Make the clips, and a phase model for controllers by a short training."""
    minutes, makers = max(MINUTES * bench.scale, 2.0), min(os.cpu_count() or 1, 8)
    began = time.perf_counter()
    if bench.scale < 1:
        clips = _made((0, minutes))
    else:
        from joblib import Parallel, delayed

        each = [(seed, minutes / makers) for seed in range(makers)]
        made = Parallel(n_jobs=makers)(delayed(_made)(one) for one in each)
        clips = [clip for one in made for clip in one]
    with (bench.folder / CLIPS).open("wb") as file:
        pickle.dump(clips, file)
    bench.row("clips", f"{time.perf_counter() - began:.1f} s", f"{len(clips)} of {minutes:.0f} min")
    config = _phase_config(0.05 * bench.scale, **{"network.channels": CHANNELS})
    some = dp.ClipStore.from_clips(clips[:100])
    model = dp.train_phase(some, config, folder=bench.folder / "first", accelerator="cpu")
    assert model is not None
    model.save(bench.folder / MODEL)


def _made(seed_and_minutes: tuple[int, float]) -> list[dp.Clip]:
    from deepphase.synthetic.training_set import corpus

    seed, minutes = seed_and_minutes
    clips = (motion.clip for motion in corpus(seed, minutes, clip_seconds=CLIP_S))
    return [replace(clip, name=f"{seed}_{clip.name}") for clip in clips]


def gpu_tests(bench: Bench) -> None:
    """The tests with the mark `gpu`."""
    import pytest

    began = time.perf_counter()
    with bench.alone():
        code = pytest.main(
            [
                "-m",
                "gpu",
                "-q",
                "-p",
                "no:cacheprovider",
                "tests/phase",
                "tests/controllers",
                "tests/training",
            ]
        )
    bench.row("tests with the mark gpu", code.name, f"{time.perf_counter() - began:.0f} s")


def pae(bench: Bench) -> None:
    """A training step of the periodic autoencoder, against the network as its authors wrote it."""
    from deepphase.phase.config import NetworkConfig
    from deepphase.phase.networks.presets import make_autoencoder
    from deepphase.phase.windows import gather
    from tests.benchmarks.bench_phase import plain_batch
    from tests.phase.released_form import PlainAutoencoder

    device, seconds = torch.device(bench.device), 0.5 if bench.scale == 1 else 0.05
    on_cpu = torch.randn(20_000, SIGNALS)
    signals = on_cpu.to(device)
    cuda = bench.device == "cuda"
    batches = (32, 256, 4096) if cuda else (32, 256)
    for batch in batches if bench.scale == 1 else (32,):
        centres = torch.randint(WINDOW, 20_000 - WINDOW, (batch,))
        there = centres.to(device)
        ready = plain_batch(on_cpu, centres).to(device)

        def theirs(centres: torch.Tensor = centres) -> torch.Tensor:
            return plain_batch(on_cpu, centres).to(device)

        def ours(there: torch.Tensor = there) -> torch.Tensor:
            return gather(signals, there, WINDOW)

        def plain_network() -> torch.nn.Module:
            return PlainAutoencoder(SIGNALS, CHANNELS, WINDOW)

        def our_network() -> torch.nn.Module:
            return make_autoencoder(SIGNALS, 60.0, NetworkConfig("paper"))

        forms: list[tuple[str, Callable, Callable, torch.dtype, bool]] = [
            ("authors' form", plain_network, theirs, torch.float32, False),
            ("authors' form, windows ready", plain_network, lambda ready=ready: ready,
             torch.float32, False),
            ("ours", our_network, ours, torch.float32, False),
            ("ours, bf16", our_network, ours, torch.bfloat16, False),
            ("authors' form, windows ready, CUDA graph", plain_network, lambda ready=ready: ready,
             torch.float32, True),
            ("ours, CUDA graph", our_network, ours, torch.float32, True),
            ("ours, bf16, CUDA graph", our_network, ours, torch.bfloat16, True),
        ]  # fmt: skip
        first = None
        with bench.alone():
            for name, network, windows, precision, graph in forms:
                if graph and not cuda:
                    continue
                try:
                    step = _step(network().to(device), windows, precision, capturable=graph)
                    spent = bench.milliseconds(_captured(step) if graph else step, seconds)
                except Exception as error:  # One form that fails leaves the others.
                    bench.row(f"step of {batch}, {name}", "failed", _words(error))
                    continue
                first = first or spent
                ratio = f"{first / spent:.1f} times as fast as the authors' form"
                bench.row(f"step of {batch}, {name}", f"{spent:.2f} ms", ratio)
    bench.row("peak memory", bench.memory())


def _step(
    network: torch.nn.Module,
    windows: Callable[[], torch.Tensor],
    precision: torch.dtype,
    *,
    capturable: bool,
) -> Callable[[], None]:
    device = next(network.parameters()).device.type
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4, fused=True, capturable=capturable)
    reduced = precision == torch.bfloat16

    def step() -> None:
        batch = windows()
        with torch.autocast(device, torch.bfloat16, enabled=reduced, cache_enabled=not capturable):
            out = network(batch)
        loss = torch.nn.functional.mse_loss(out.float(), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _captured(step: Callable[[], None]) -> Callable[[], None]:
    """The step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def encode(bench: Bench) -> None:
    """Ten hours of clips, and the difference between the phases of both devices."""
    from deepphase.synthetic.training_set import corpus

    seconds = max(ENCODED_S * bench.scale, 10.0)
    (motion,) = corpus(9, seconds / 60.0, clip_seconds=seconds)
    model: Any = dp.load_model(bench.folder / MODEL)
    expected = model.encode(motion.clip).parameters.manifold()
    clips = max(round(3600.0 * ENCODED_HOURS * bench.scale / seconds), 1)
    with bench.alone():
        model.network.to(bench.device)
        found = model.encode(motion.clip).parameters.manifold()
        done, began = 0, time.perf_counter()
        while done < clips and time.perf_counter() - began < bench.limit_s:
            model.encode(motion.clip)
            done += 1
        spent = time.perf_counter() - began
    difference = float(np.abs(found - expected).max())
    bench.row("largest difference from the CPU", f"{difference:.1e}", "of the manifold; goal 1e-4")
    note = _projected(done, clips, "clips of 3 minutes")
    bench.row("encode of 10 hours", f"{spent * clips / done:.1f} s", f"{note}; {bench.memory()}")


def frames(bench: Bench) -> None:
    """A frame of many characters, by an untrained controller of the default sizes."""
    from deepphase.controllers.config import ControllerConfig
    from deepphase.controllers.data.controller_data import ControllerData
    from deepphase.controllers.runtime.characters import Characters
    from deepphase.controllers.training.train import train_controller

    short = {"samples": 512, "detail_minutes": 0, "unroll_frames": 1}
    config = ControllerConfig.load(
        "experts", **{f"training.{name}": value for name, value in short.items()}
    )
    store = dp.ClipStore.from_clips(bench.clips(200.0))
    data = ControllerData.read(store, config, dp.load_model(bench.folder / MODEL))
    controller = train_controller(
        data, config, folder=bench.folder / f"frames_{bench.device}", accelerator="cpu"
    )
    assert controller is not None
    with bench.alone():
        controller.network.to(bench.device)
        for count in CROWDS if bench.scale == 1 else CROWDS[:2]:
            chosen = np.resize(np.arange(len(controller.starts)), count)
            characters = Characters(controller, controller.starts.select(chosen))
            with torch.inference_mode():
                spent = bench.milliseconds(characters.step, 0.5 * min(bench.scale * 10, 1))
            bench.row(f"a frame of {count:,} characters", f"{spent:.2f} ms", bench.memory())


def count(bench: Bench) -> None:
    """Operators, launches and waits of a step of the default phase training and of `experts`."""
    for name in ("phase", "experts"):
        changes = {"training.unroll_goals": False} if name == "experts" else {}
        counter = Counter(bench, name)
        with suppress(EnoughError):
            TRAININGS[name](bench, 1.0, counter, **changes)


# Trainings ---------------------------------------------------------------------------------------


class Counter(pl.Callback):
    """Counts what some steps of a training ask of the device, then ends it."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self._name, self._held = bench, name, ExitStack()
        self._profile: Any = None

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == WARM_UP and self._profile is None:
            self._held.enter_context(self._bench.alone())
            kinds = [torch.profiler.ProfilerActivity.CPU]
            if self._bench.device == "cuda":
                kinds.append(torch.profiler.ProfilerActivity.CUDA)
            self._profile = torch.profiler.profile(activities=kinds)
            self._profile.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if self._profile is None or trainer.global_step < WARM_UP + COUNTED:
            return
        self._profile.stop()
        self._held.close()
        counts = {each.key: each.count / COUNTED for each in self._profile.key_averages()}
        kinds = {
            "operators": "aten::",
            "launches": "cudaLaunchKernel",
            "copies": "cudaMemcpyAsync",
            "waits": "cudaStreamSynchronize",
        }
        found = {
            kind: sum(n for key, n in counts.items() if key.startswith(begin))
            for kind, begin in kinds.items()
        }
        parts = ", ".join(f"{number:,.0f} {kind}" for kind, number in found.items() if number)
        self._bench.row(f"a step of {self._name}", f"{found['operators']:,.0f}", parts)
        raise EnoughError


class Clock(pl.Callback):
    """Times a training alone on its device, until the part's limit.

    Reading of data before and measures after the training are left out. The whole training is
    projected from its steps and from what lies between them: resume points and validations, of
    which there are as many in a share of a training as in all of it.
    """

    def __init__(self, bench: Bench, share: float) -> None:
        self._bench, self._share, self._held = bench, share, ExitStack()
        self._in_steps = 0.0

    def on_train_start(self, trainer: pl.Trainer, _: Any) -> None:
        self._held.enter_context(self._bench.alone())
        if self._bench.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        self._began = self._now()

    def on_train_epoch_start(self, trainer: pl.Trainer, _: Any) -> None:
        self._segment_began = self._now()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, *_: Any) -> None:
        late = time.perf_counter() - self._began > self._bench.limit_s
        if late or trainer.is_last_batch:
            self._in_steps += self._now() - self._segment_began
        if late:
            self._write(trainer, module)
            raise EnoughError

    def on_train_end(self, trainer: pl.Trainer, module: Any) -> None:
        self._write(trainer, module)
        if self._bench.part != "phase":
            # Only phases are measured after the training.
            raise EnoughError

    def _now(self) -> float:
        self._bench.synchronise()
        return time.perf_counter()

    def _write(self, trainer: pl.Trainer, module: Any) -> None:
        between = self._now() - self._began - self._in_steps
        self._held.close()
        steps, bench = max(trainer.global_step, 1), self._bench
        given = float(getattr(module, "total_steps", None) or trainer.estimated_stepping_batches)
        step, between = self._in_steps / steps, between * given / steps
        whole = step * given / self._share + between
        note = f"{_projected(steps, round(given / self._share), 'steps')}; {bench.memory()}"
        bench.row("whole training", f"{whole:.1f} s", note)
        bench.row("a step", f"{1e3 * step:.1f} ms", f"between steps {between:.1f} s in all")


def _projected(done: int, whole: int, things: str) -> str:
    if done >= whole:
        return f"all {whole:,} {things}"
    return f"projected from {done:,} of {whole:,} {things} ({done / whole:.2g})"


def _phase_config(share: float, **changes: Any) -> dp.PhaseConfig:
    windows = max(round(153_600 * share), 2_560)
    return dp.PhaseConfig.load("default", **{"training.windows": windows, **changes})


def train_phase(bench: Bench, share: float, callback: pl.Callback, **changes: Any) -> None:
    store = dp.ClipStore.from_clips(bench.clips())
    began = time.perf_counter()
    model = dp.train_phase(
        store,
        _phase_config(share * bench.scale, **changes),
        folder=bench.folder / f"{bench.part}_{bench.device}_{share}",
        accelerator=bench.accelerator,
        devices=1,
        callbacks=[callback],
    )
    spent = time.perf_counter() - began
    health = model.health if model is not None else None
    assert health is not None
    words = f"explained {health.explained_variance:.3f}, speed error {health.speed_error or 0:.2%}"
    bench.row(f"quality after {share:g} of the training", words, f"{spent:.1f} s with all else")


def train_controller(
    name: str, samples: int, bench: Bench, share: float, callback: pl.Callback, **changes: Any
) -> None:
    from deepphase.controllers.config import ControllerConfig
    from deepphase.controllers.data.controller_data import ControllerData
    from deepphase.controllers.training.train import train_controller as train

    shortened = {"training.samples": _count(samples, share, bench)} if samples else {}
    config = ControllerConfig.load(name, **shortened, **changes)
    store = dp.ClipStore.from_clips(bench.clips())
    data = ControllerData.read(store, config, dp.load_model(bench.folder / MODEL))
    train(data, config, **_trainer(bench, callback))


def train_dancer(bench: Bench, share: float, callback: pl.Callback) -> None:
    from deepphase.controllers.dance.config import DanceConfig
    from deepphase.controllers.dance.training import DanceData, train_dance
    from tests.controllers.made_dances import made_dances

    seconds = 60.0 if bench.scale == 1 else 12.0
    clips, _ = made_dances((90.0, 100.0, 110.0, 120.0), seconds)
    config = DanceConfig.load(
        "experts", **{"training.samples": _count(1_200_000, share, bench), "dance.tempo_copies": 0}
    )
    data = DanceData.read(clips, config, dp.load_model(bench.folder / MODEL))
    train_dance(data, config, **_trainer(bench, callback))


def train_editor(bench: Bench, share: float, callback: pl.Callback) -> None:
    from deepphase.edit.config import EditorConfig
    from deepphase.edit.training import train_editor as train

    config = EditorConfig.load("masked", **{"training.windows": _count(80_000, share, bench)})
    train(dp.ClipStore.from_clips(bench.clips()), config, **_trainer(bench, callback))


def train_matcher(bench: Bench, share: float, callback: pl.Callback) -> None:
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.learned.config import LearnedConfig
    from deepphase.matching.learned.training import train_matcher as train

    config = LearnedConfig.load("default", **{"training.windows": _count(600_000, share, bench)})
    store = dp.ClipStore.from_clips(bench.clips())
    database = MotionDatabase.build(store, "pose_trajectory", workers=1)
    train(database, config, **_trainer(bench, callback))


def _count(whole: int, share: float, bench: Bench) -> int:
    return max(round(whole * share * bench.scale), 2_000)


def _trainer(bench: Bench, callback: pl.Callback) -> dict[str, Any]:
    folder = bench.folder / f"{bench.part}_{bench.device}"
    return {
        "folder": folder,
        "accelerator": bench.accelerator,
        "devices": 1,
        "callbacks": [callback],
    }


def _controller(name: str, samples: int) -> Callable[..., None]:
    def train(bench: Bench, share: float, callback: pl.Callback, **changes: Any) -> None:
        train_controller(name, samples, bench, share, callback, **changes)

    return train


TRAININGS: Mapping[str, Callable[..., None]] = {
    "phase": train_phase,
    "experts": _controller("experts", 900_000),
    "pfnn": _controller("pfnn", 1_500_000),
    "editor": train_editor,
    "matcher": train_matcher,
    "dancer": train_dancer,
    "experts_paper": _controller("experts_paper", 0),
}
# Share of the training that a GPU has within the run. Frames of `experts` become more expensive
# during the training, so that its share has all of its stages; others may be cut by their limit.
SHARES = {"experts": 0.2}
PARTS: Mapping[str, Callable[[Bench], None]] = {
    "prepare": prepare,
    "tests": gpu_tests,
    "pae": pae,
    "encode": encode,
    "frames": frames,
    "count": count,
}
# Seconds that each part may measure.
LIMITS_S = {"phase": 40.0, "experts": 60.0, "encode": 20.0, "experts_paper": 12.0}
LIMIT_S = 25.0
WITHOUT_CLIPS, ONLY_ON_GPU = ("tests", "pae"), ("tests", "count")
ORDER = ("tests", "pae", "phase", "encode", "frames", "count", *list(TRAININGS)[1:])


def run_part(bench: Bench) -> None:
    """Run one part in this process."""
    if bench.part in PARTS:
        PARTS[bench.part](bench)
        return
    share = SHARES.get(bench.part, 1.0) if bench.device == "cuda" else CPU_SHARE
    shares = [share, CPU_SHARE] if bench.part == "phase" and share != CPU_SHARE else [share]
    for each in shares:
        with suppress(EnoughError):
            TRAININGS[bench.part](bench, each, Clock(bench, each))
    if bench.part == "phase" and bench.device == "cuda":
        # Each kernel by a launch of its own.
        CapturedStep.of_trainer = classmethod(lambda *_: None)  # type: ignore
        launched = replace(bench, part="phase, launched")
        with suppress(EnoughError):
            train_phase(launched, CPU_SHARE, Clock(launched, CPU_SHARE))


# Processes ---------------------------------------------------------------------------------------


def run_process(bench: Bench, deadline: float, threads: int, output: Path | None) -> None:
    """Run one part in a process of its own, and write the table again."""
    left = deadline - time.monotonic()
    words = ["--part", bench.part, "--device", bench.device, "--folder", str(bench.folder)]
    words += ["--scale", str(bench.scale)]
    log = bench.folder / f"{bench.part}_{bench.device}.log"
    ended = "not started: no time was left"
    if left > 0:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.benchmarks.bench_gpu", *words],
                cwd=ROOT,
                env=environment,
                stderr=file,
            )
            try:
                code = process.wait(left)
                ended = "" if code == 0 else f"exit {code}: {_last_line(log)}"
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                ended = "stopped at the end of the run"
    if ended:
        bench.row("the part", "failed", ended)
        with suppress(OSError):
            print(log.read_text()[-1500:], flush=True)
    if output is not None:
        write_table(bench.folder, output)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def heading() -> str:
    """The machine in one line."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    versions = f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    return f"{gpu}, {os.cpu_count()} CPU cores, {versions}"


def write_table(folder: Path, output: Path) -> None:
    """Write all rows as Markdown and as JSON lines."""
    text = (folder / ROWS).read_text()
    rows = sorted(map(json.loads, text.splitlines()), key=lambda row: _place(row["part"]))
    lines = [heading(), "", "| part | device | what | value | note |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    output.with_suffix(".md").write_text("\n".join(lines) + "\n")
    output.with_suffix(".jsonl").write_text(text)


def _place(part: str) -> int:
    return ORDER.index(part) if part in ORDER else -1


def run_all(
    folder: Path, scale: float, minutes: float, parts: tuple[str, ...], output: Path | None
) -> None:
    """Run all parts: a lane for the GPU, and one for the CPU's tenth of each training."""
    deadline = time.monotonic() + 60.0 * minutes
    cores, cuda = os.cpu_count() or 1, torch.cuda.is_available()

    def run(part: str, device: str, threads: int) -> None:
        bench = Bench(part, device, scale, folder, LIMITS_S.get(part, LIMIT_S))
        run_process(bench, deadline, threads, output)

    # While one part has the device, two others read their data.
    lanes = {"cpu": (1, 1)} if not cuda else {"cuda": (3, 2), "cpu": (2, max(3 * cores // 8, 1))}
    pools = {device: ThreadPoolExecutor(workers) for device, (workers, _) in lanes.items()}

    def submit(chosen: Iterable[str]) -> list[Future]:
        return [
            pool.submit(run, part, device, lanes[device][1])
            for part in chosen
            for device, pool in pools.items()
            if part not in ONLY_ON_GPU or device == "cuda" or (part == "count" and not cuda)
        ]

    running = submit(part for part in parts if part in WITHOUT_CLIPS)
    others = [part for part in parts if part not in WITHOUT_CLIPS]
    if others:
        run("prepare", "cpu", max(cores // 4, 1))
        running += submit(others)
    for future in running:
        future.result()
    for pool in pools.values():
        pool.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    small = 1.0 if torch.cuda.is_available() else SMALL
    parser.add_argument("--scale", type=float, default=small, help="1 is the full size")
    parser.add_argument("--minutes", type=float, default=8.0, help="of the whole run")
    parser.add_argument("--parts", default=",".join(ORDER), help="parts to run")
    parser.add_argument("--output", type=Path, help="OUTPUT.md and OUTPUT.jsonl are written")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cpu", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        limit = LIMITS_S.get(given.part, LIMIT_S) * min(given.scale * 10, 1)
        run_part(Bench(given.part, given.device, given.scale, given.folder, limit))
        return
    print(heading(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        parts = tuple(given.parts.split(","))
        run_all(Path(folder), given.scale, given.minutes, parts, given.output)


if __name__ == "__main__":
    main()
