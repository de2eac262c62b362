"""Training, encoding and frames on one GPU, beside the CPU of the same machine.

python -m tests.benchmarks.bench_gpu [--minutes 8] [--output gpu] [--parts pae,phase]

It makes its own clips, as many minutes as Bandai's locomotion and actions have. Each part is a
process with a time limit of its own, so that one that fails or hangs leaves the others. Parts read
their data at the same time and take turns on the GPU; beside it the CPU has a tenth of each
training. Every row is printed as it is measured; --output writes OUTPUT.md and OUTPUT.jsonl, again
after each part. Without a GPU everything is done on the CPU at a hundredth of the size (--scale).
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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.profiler import ProfilerActivity, profile

import deepphase as dp

ROOT = Path(__file__).parents[2]
# Bandai's 931 clips: 80 minutes, 5 seconds each.
MINUTES, CLIP_S = 80.0, 5.0
CPU_SHARE, SMALL = 0.1, 0.01
CLIPS, MODEL, ROWS = "clips.pickle", "phases.model", "rows.jsonl"
# Seconds of a clip that is encoded, and hours of such clips.
ENCODED_S, ENCODED_HOURS = 180.0, 10.0
CROWDS = (1, 100, 1_000, 10_000)
SIGNALS, CHANNELS, WINDOW = 72, 5, 121
# Steps before those that are counted, and number of these.
WARM_UP, COUNTED = 10, 10
COUNTS = {
    "operators": "aten::",
    "launches": "cudaLaunchKernel",
    "copies": "cudaMemcpyAsync",
    "waits": "cudaStreamSynchronize",
}


class EnoughError(Exception):
    """Ends a training when all that is measured has been measured."""


@dataclass(frozen=True)
class Bench:
    """A part's name, its device ("cuda" or "cpu"), its share of the full size, the folder of clips,
    phase model and rows, and the seconds that it may measure."""

    part: str
    device: str
    scale: float
    folder: Path
    limit_s: float

    def row(self, what: str, value: str, note: str = "") -> None:
        """Write a row of the table."""
        row = {"part": self.part, "device": self.device, "what": what, "value": value, "note": note}
        print(f"{self.part:15s} {self.device:5s} {what:36s} {value:>14s}  {note}", flush=True)
        with (self.folder / ROWS).open("a") as file:
            file.write(json.dumps(row) + "\n")

    def store(self, clips: int | None = None) -> dp.ClipStore:
        """The clips, or so many of them."""
        with (self.folder / CLIPS).open("rb") as file:
            return dp.ClipStore.from_clips(pickle.load(file)[:clips])

    def model(self) -> Any:
        """The phase model that `prepare` has trained a little."""
        return dp.load_model(self.folder / MODEL)

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

    def now(self) -> float:
        """Seconds, when the device has done all that it was given."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def memory(self) -> str:
        """Peak memory of this process on the device."""
        if self.device == "cuda":
            return f"{torch.cuda.max_memory_allocated() / 1e6:,.0f} MB on the GPU"
        return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB"

    def milliseconds(self, run: Callable[[], object]) -> float:
        """Least mean milliseconds of a call, over three rounds of half a second."""
        for _ in range(5):
            began = self.now()
            run()
        calls = max(round(0.5 * min(10 * self.scale, 1) / (self.now() - began)), 1)
        spent = []
        for _ in range(3):
            began = self.now()
            for _ in range(calls):
                run()
            spent.append((self.now() - began) / calls)
        return 1e3 * min(spent)


def prepare(bench: Bench) -> None:
    """Make the clips, and a phase model for controllers by a short training."""
    from joblib import Parallel, delayed

    minutes = max(MINUTES * bench.scale, 2.0)
    makers = 8 if bench.scale == 1 else 1
    began = time.perf_counter()
    made = Parallel(n_jobs=makers)(delayed(_made)(seed, minutes / makers) for seed in range(makers))
    clips = [clip for one in made for clip in one]
    with (bench.folder / CLIPS).open("wb") as file:
        pickle.dump(clips, file)
    bench.row("clips", f"{time.perf_counter() - began:.1f} s", f"{len(clips)} of {minutes:.0f} min")
    config = _phase_config(0.05 * bench.scale, **{"network.channels": CHANNELS})
    folder = bench.folder / "prepared"
    model = dp.train_phase(bench.store(100), config, folder=folder, accelerator="cpu")
    assert model is not None
    model.save(bench.folder / MODEL)


def _made(seed: int, minutes: float) -> list[dp.Clip]:
    from deepphase.synthetic.training_set import corpus

    clips = (motion.clip for motion in corpus(seed, minutes, clip_seconds=CLIP_S))
    return [replace(clip, name=f"{seed}_{clip.name}") for clip in clips]


def gpu_tests(bench: Bench) -> None:
    """The tests with the mark `gpu`."""
    import pytest

    words = "-m gpu -q -p no:cacheprovider tests/phase tests/controllers tests/training"
    with bench.alone():
        began = time.perf_counter()
        code = pytest.main(words.split())
    bench.row("tests with the mark gpu", code.name, f"{time.perf_counter() - began:.0f} s")


def pae(bench: Bench) -> None:
    """A training step of the periodic autoencoder, against the network as its authors wrote it."""
    from deepphase.phase.config import NetworkConfig
    from deepphase.phase.encoding import gather, make_autoencoder
    from tests.benchmarks.bench_phase import plain_batch
    from tests.phase.released_form import PlainAutoencoder

    device, cuda = torch.device(bench.device), bench.device == "cuda"
    on_cpu = torch.randn(20_000, SIGNALS)
    signals = on_cpu.to(device)
    sizes = [32] if bench.scale < 1 else [32, 256, 4096] if cuda else [32, 256]
    # Name, network, its windows, whether in bfloat16.
    forms = [
        ("authors' form", "plain", "one by one", False),
        ("authors' network", "plain", "ready", False),
        ("ours", "ours", "gathered", False),
        ("ours, bf16", "ours", "gathered", True),
    ]
    for size in sizes:
        centres = torch.randint(WINDOW, 20_000 - WINDOW, (size,))
        there, ready = centres.to(device), plain_batch(on_cpu, centres).to(device)
        windows: dict[str, Callable[[], torch.Tensor]] = {
            "one by one": lambda centres=centres: plain_batch(on_cpu, centres).to(device),
            "ready": lambda ready=ready: ready,
            "gathered": lambda there=there: gather(signals, there, WINDOW),
        }
        first = None
        for captured in (False, True) if cuda else (False,):
            for name, kind, how, reduced in forms[captured:]:
                what = f"step of {size}, {name}{', CUDA graph' if captured else ''}"
                network: torch.nn.Module = (
                    PlainAutoencoder(SIGNALS, CHANNELS, WINDOW)
                    if kind == "plain"
                    else make_autoencoder(SIGNALS, 60.0, NetworkConfig("paper"))
                ).to(device)
                try:
                    with bench.alone():
                        spent = bench.milliseconds(_step(network, windows[how], reduced, captured))
                except Exception as error:  # One form that fails leaves the others.
                    bench.row(what, "failed", f"{type(error).__name__}: {str(error)[:120]}")
                    continue
                first = first or spent
                ratio = f"{first / spent:.1f} times as fast as the authors' form"
                bench.row(what, f"{spent:.2f} ms", ratio)
    bench.row("peak memory", bench.memory())


def _step(
    network: torch.nn.Module, windows: Callable[[], torch.Tensor], reduced: bool, captured: bool
) -> Callable[[], object]:
    """A training step; captured as one CUDA graph, it is one launch."""
    from tests.benchmarks.bench_phase import training_step

    optimizer = torch.optim.AdamW(network.parameters(), 1e-4, fused=True, capturable=captured)
    step = training_step(network, optimizer, windows, reduced=reduced, captured=captured)
    if not captured:
        return step
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def encode(bench: Bench) -> None:
    """Ten hours of clips, and the difference between the phases of both devices."""
    from deepphase.synthetic.training_set import corpus

    seconds = max(ENCODED_S * bench.scale, 10.0)
    (motion,) = corpus(9, seconds / 60.0, clip_seconds=seconds)
    model, done = bench.model(), 0
    expected = model.encode(motion.clip).parameters.manifold()
    clips = max(round(3600.0 * ENCODED_HOURS * bench.scale / seconds), 1)
    with bench.alone():
        model.network.to(bench.device)
        difference = np.abs(model.encode(motion.clip).parameters.manifold() - expected).max()
        began = time.perf_counter()
        while done < clips and time.perf_counter() - began < bench.limit_s:
            model.encode(motion.clip)
            done += 1
        spent = time.perf_counter() - began
    bench.row("largest difference from the CPU", f"{difference:.1e}", "of the manifold; goal 1e-4")
    note = f"{_projected(done, clips, 'clips of 3 minutes')}; {bench.memory()}"
    bench.row("encode of 10 hours", f"{spent * clips / done:.1f} s", note)


def frames(bench: Bench) -> None:
    """A frame of many characters, by a controller of the default sizes without much training."""
    from deepphase.controllers.config import ControllerConfig
    from deepphase.controllers.data.controller_data import ControllerData
    from deepphase.controllers.runtime.characters import Characters
    from deepphase.controllers.training.train import train_controller

    short = {"samples": 512, "detail_minutes": 0, "unroll_frames": 1}
    changes = {f"training.{name}": value for name, value in short.items()}
    config = ControllerConfig.load("experts", **changes)
    data = ControllerData.read(bench.store(40), config, bench.model())
    folder = bench.folder / f"frames_{bench.device}"
    controller = train_controller(data, config, folder=folder, accelerator="cpu")
    assert controller is not None
    with bench.alone():
        controller.network.to(bench.device)
        for count in CROWDS if bench.scale == 1 else CROWDS[:2]:
            chosen = np.resize(np.arange(len(controller.starts)), count)
            characters = Characters(controller, controller.starts.select(chosen))
            spent = bench.milliseconds(characters.step)
            bench.row(f"a frame of {count:,} characters", f"{spent:.2f} ms", bench.memory())


def count(bench: Bench) -> None:
    """What a step of the default phase training, and of `experts` over its own frames, asks for."""
    for name in ("phase", "experts"):
        changes = {"training.unroll_goals": False} if name == "experts" else {}
        with suppress(EnoughError):
            TRAININGS[name](bench, 1.0, Counter(bench, name), **changes)


class Counter(pl.Callback):
    """Counts calls of some steps of a training, then ends it."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self._name = bench, name

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, *_: Any) -> None:
        if (step := module._captured) is not None:
            step._fails = True  # Kernel by kernel
        if trainer.global_step == WARM_UP:
            cuda = [ProfilerActivity.CUDA] if self._bench.device == "cuda" else []
            self._profile = profile(activities=[ProfilerActivity.CPU, *cuda])
            self._profile.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step < WARM_UP + COUNTED:
            return
        self._profile.stop()
        calls = [(each.key, each.count / COUNTED) for each in self._profile.key_averages()]
        found = {
            kind: sum(number for key, number in calls if key.startswith(begin))
            for kind, begin in COUNTS.items()
        }
        words = [f"{number:,.0f} {kind}" for kind, number in found.items() if number]
        self._bench.row(f"a step of {self._name}", words[0], ", ".join(words[1:]))
        raise EnoughError


class Clock(pl.Callback):
    """Times a training alone on its device, until the part's limit.

    Reading of data before and measures after the training are left out. The whole training is
    projected from its steps and from what lies between them: checkpoints and validations, of which
    there are as many in a share of a training as in all of it.
    """

    def __init__(self, bench: Bench, share: float) -> None:
        self._bench, self._share, self._held = bench, share, ExitStack()
        self._in_steps = self._plain_s = 0.0
        self._shape: Any = None
        self._kept: Any = None
        self._place = self._plain = 0
        self._spent: list[float] = []

    def on_train_start(self, *_: Any) -> None:
        self._held.enter_context(self._bench.alone())
        if self._bench.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        self._began = self._bench.now()

    def on_train_epoch_start(self, *_: Any) -> None:
        self._segment_began = self._bench.now()

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Any, *_: Any) -> None:
        if (step := module._captured) is None:
            return
        if self._kept is not None:
            step._graphs, step._fails = self._kept
            self._kept = None
        shape = getattr(batch, "inputs", batch).shape
        if shape != self._shape:
            self._shape, self._place, self._spent = shape, 0, []
        # Some captured steps of each shape, then some that are launched kernel by kernel.
        if WARM_UP + COUNTED <= self._place < WARM_UP + 2 * COUNTED:
            self._kept = step._graphs, step._fails
            step._graphs, step._fails = {}, True
        self._step_began = self._bench.now() if self._place >= WARM_UP else 0.0

    def _timed(self, module: Any) -> None:
        """Time some of the steps of a shape."""
        self._place += 1
        if WARM_UP < self._place <= WARM_UP + 2 * COUNTED:
            self._spent.append(self._bench.now() - self._step_began)
        if self._place == WARM_UP + 2 * COUNTED:
            captured, plain = self._spent[:COUNTED], self._spent[COUNTED:]
            self._plain_s, self._plain = self._plain_s + sum(plain), self._plain + COUNTED
            value = f"{1e3 * np.median(captured):.2f} ms"
            made = len(self._kept[0])
            note = f"kernel by kernel {1e3 * np.median(plain):.2f} ms; {made} graphs so far"
            self._bench.row(f"a step of {'x'.join(map(str, self._shape))}", value, note)

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, *_: Any) -> None:
        if module._captured is not None:
            self._timed(module)
        late = time.perf_counter() - self._began > self._bench.limit_s
        if late or trainer.is_last_batch:
            self._in_steps += self._bench.now() - self._segment_began
        if late:
            self.on_train_end(trainer, module)
            raise EnoughError

    def on_train_end(self, trainer: pl.Trainer, module: Any) -> None:
        between = self._bench.now() - self._began - self._in_steps
        self._held.close()
        steps, bench = max(trainer.global_step - self._plain, 1), self._bench
        self._in_steps -= self._plain_s
        given = float(getattr(module, "total_steps", None) or trainer.estimated_stepping_batches)
        step, between = self._in_steps / steps, between * given / steps
        note = f"{_projected(steps, round(given / self._share), 'steps')}; {bench.memory()}"
        bench.row("whole training", f"{step * given / self._share + between:.1f} s", note)
        bench.row("a step", f"{1e3 * step:.1f} ms", f"between steps {between:.1f} s in all")
        if bench.part != "phase":
            # Only phases are measured after the training.
            raise EnoughError


def _projected(done: int, whole: int, things: str) -> str:
    if done >= whole:
        return f"all {whole:,} {things}"
    return f"projected from {done:,} of {whole:,} {things} ({done / whole:.2g})"


Training = Callable[..., None]
"""A training of a share of its length: (bench, share, callback, **changes of the config)."""


def _phase_config(share: float, **changes: Any) -> dp.PhaseConfig:
    windows = max(round(76_800 * share), 2_560)
    return dp.PhaseConfig.load("default", **{"training.windows": windows, **changes})


def _phase(bench: Bench, share: float, callback: pl.Callback, **changes: Any) -> None:
    config, began = _phase_config(share * bench.scale, **changes), time.perf_counter()
    model = dp.train_phase(bench.store(), config, **_trainer(bench, callback))
    health = model.health if model is not None else None
    assert health is not None
    words = f"explained {health.explained_variance:.3f}, speed error {health.speed_error or 0:.2%}"
    spent = time.perf_counter() - began
    bench.row(f"after {share:g} of the training", words, f"{spent:.1f} s with all else")


def _controller(name: str, samples: int) -> Training:
    def train(bench: Bench, share: float, callback: pl.Callback, **changes: Any) -> None:
        from deepphase.controllers.config import ControllerConfig
        from deepphase.controllers.data.controller_data import ControllerData
        from deepphase.controllers.training.train import train_controller

        # Without a number of samples a training is as many passes over the clips as the paper's.
        shortened = {"training.samples": _count(samples, share, bench)} if samples else {}
        config = ControllerConfig.load(name, **shortened, **changes)
        data = ControllerData.read(bench.store(), config, bench.model())
        train_controller(data, config, **_trainer(bench, callback))

    return train


def _dancer(bench: Bench, share: float, callback: pl.Callback) -> None:
    from deepphase.controllers.dance.config import DanceConfig
    from deepphase.controllers.dance.training import DanceData, train_dance
    from tests.controllers.made_dances import made_dances

    samples = _count(1_200_000, share, bench)
    config = DanceConfig.load("experts", **{"training.samples": samples})
    clips, _ = made_dances((90.0, 100.0, 110.0, 120.0), 60.0 if bench.scale == 1 else 12.0)
    data = DanceData.read(clips, config, bench.model())
    train_dance(data, config, **_trainer(bench, callback))


def _editor(bench: Bench, share: float, callback: pl.Callback) -> None:
    from deepphase.edit.config import EditorConfig
    from deepphase.edit.training import train_editor

    config = EditorConfig.load("masked", **{"training.windows": _count(80_000, share, bench)})
    train_editor(bench.store(), config, **_trainer(bench, callback))


def _count(whole: int, share: float, bench: Bench) -> int:
    return max(round(whole * share * bench.scale), 2_000)


def _trainer(bench: Bench, callback: pl.Callback) -> dict[str, Any]:
    options = {"devices": 1, "accelerator": "gpu" if bench.device == "cuda" else "cpu"}
    return {"folder": tempfile.mkdtemp(dir=bench.folder), "callbacks": [callback], **options}


TRAININGS: dict[str, Training] = {
    "phase": _phase,
    "experts": _controller("experts", 900_000),
    "dancer": _dancer,
    "experts_paper": _controller("experts_paper", 0),
    "pfnn": _controller("pfnn", 1_500_000),
    "editor": _editor,
}
OTHERS: dict[str, Callable[[Bench], None]] = {
    "tests": gpu_tests,
    "pae": pae,
    "encode": encode,
    "frames": frames,
    "count": count,
}
WITHOUT_CLIPS, ONLY_ON_GPU = ("tests",), ("tests", "count")
# First what waits for launches most; parts at the end may be cut.
ORDER = (
    *("tests", "dancer", "experts_paper", "frames", "experts", "editor", "pfnn"),
    *("count", "phase", "pae", "encode"),
)
# Frames of `experts` cost more and more in its training, so that a GPU has a share of all of its
# stages. Other trainings may be cut by their limit.
SHARES = {"experts": 0.2}
# Seconds that a part may measure.
LIMITS_S = {"tests": 60.0, "phase": 25.0, "experts": 50.0, "encode": 12.0, "experts_paper": 10.0}
LIMIT_S = 20.0


def run_part(bench: Bench) -> None:
    """Run one part in this process."""
    part, cuda = bench.part, bench.device == "cuda"
    if part == "prepare":
        prepare(bench)
    elif part in OTHERS:
        OTHERS[part](bench)
    else:
        # The share of the CPU as well, so that both models are compared.
        # Passes over the clips are not shortened.
        own = SHARES.get(part, 1.0) if cuda or part == "experts_paper" else CPU_SHARE
        for share in dict.fromkeys((own, CPU_SHARE) if part == "phase" else (own,)):
            with suppress(EnoughError):
                TRAININGS[part](bench, share, Clock(bench, share))


def run_process(bench: Bench, deadline: float, threads: int, output: Path | None) -> None:
    """Run one part in a process of its own, and write the table again."""
    log = bench.folder / f"{bench.part}_{bench.device}.log"
    words = ["--part", bench.part, "--device", bench.device, "--folder", str(bench.folder)]
    command = [sys.executable, "-m", "tests.benchmarks.bench_gpu", *words]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--scale", str(bench.scale)],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            stderr=file,
        )
        try:
            code = process.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
    if code != 0:
        lines = log.read_text(errors="replace").strip().splitlines() or [""]
        why = "stopped at the end of the run" if code is None else f"exit {code}: {lines[-1][:200]}"
        bench.row("the part", "failed", why)
        print(*lines[-20:], sep="\n", flush=True)
    if output is not None:
        write_table(bench.folder, output)


def heading() -> str:
    """The machine in one line."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    versions = f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    return f"{gpu}, {os.cpu_count()} CPU cores, {versions}"


def write_table(folder: Path, output: Path) -> None:
    """Write all rows as Markdown and as JSON lines."""
    text = (folder / ROWS).read_text()
    rows = sorted(map(json.loads, text.splitlines()), key=lambda row: row["part"])
    lines = [heading(), "", "| part | device | what | value | note |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    output.with_suffix(".md").write_text("\n".join(lines) + "\n")
    output.with_suffix(".jsonl").write_text(text)


def run_all(
    folder: Path, scale: float, minutes: float, parts: Iterable[str], output: Path | None
) -> None:
    """Run all parts: a lane for the GPU, and one for the CPU's share of each training."""
    deadline = time.monotonic() + 60.0 * minutes
    cores, cuda = os.cpu_count() or 1, torch.cuda.is_available()
    # Processes of a lane, and threads of each: while one has the device, others read their data.
    lanes = {"cuda": (3, 2), "cpu": (2, max(3 * cores // 8, 1))} if cuda else {"cpu": (1, 1)}
    pools = {device: ThreadPoolExecutor(workers) for device, (workers, _) in lanes.items()}

    def run(part: str, device: str, threads: int) -> None:
        limit = LIMITS_S.get(part, LIMIT_S)
        run_process(Bench(part, device, scale, folder, limit), deadline, threads, output)

    def submit(chosen: list[str]) -> list[Future[None]]:
        return [
            pool.submit(run, part, device, lanes[device][1])
            for part in chosen
            for device, pool in pools.items()
            if device == "cuda" or part not in ONLY_ON_GPU or (part == "count" and not cuda)
        ]

    running = submit([part for part in parts if part in WITHOUT_CLIPS])
    if others := [part for part in parts if part not in WITHOUT_CLIPS]:
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
        parts = given.parts.split(",")
        run_all(Path(folder), given.scale, given.minutes, parts, given.output)


if __name__ == "__main__":
    main()
