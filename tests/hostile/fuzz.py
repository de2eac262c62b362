"""Changed files of every format, by the thousand: each is read or refused, nothing else.

``python -m tests.hostile.fuzz --count 100000 --seed 0`` reads that many; input `i` is made from
the number `seed + i` alone, so a long run can be cut into ranges and a crash made again. It ends
with status 1 where anything but a DeepPhaseError came out, a warning included, or an input took
too long or too much memory; those files are kept, with what happened in a text beside them.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepphase.errors import DeepPhaseError
from deepphase.formats.load import (
    BLENDER_SUFFIXES,
    MOTION_FORMATS,
    WRITTEN_SUFFIXES,
    load_all,
    save,
)
from deepphase.synthetic.locomotion import locomotion
from tests.formats.bvh_text import two_joints
from tests.formats.marker_files import c3d_bytes, markers_of, motive_text, mvnx_text, trc_text
from tests.hostile.mutations import mutated
from tests.hostile.npz_cases import AMASS, JOINTS, OWN, POINTS, archive
from tests.hostile.odd_glb_cases import CURVED, MIXED

# What reading may cost: 20 times the file, or what a small file costs anyway.
_LARGEST_RATIO = 20
_ALWAYS_ALLOWED_BYTES = 48 << 20
# Every so many inputs memory is counted, which is slow; a hard limit holds for all.
_MEMORY_EVERY = 25
_HARD_LIMIT_BYTES = 2 << 30
_SECONDS_PER_INPUT = 5.0
_PROGRESS_EVERY_S = 5.0
_KEPT_IN = Path(tempfile.gettempdir()) / "deepphase-fuzz"
OUTCOMES = ("read", "refused", "crashed", "too slow", "too big")


class _TooSlowError(BaseException):
    """Not an Exception, so that no reader catches it."""


@dataclass
class Tally:
    """What became of the inputs: how many of each outcome, and the bad ones."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept: list[Path] = field(default_factory=list)

    def of(self, outcome: str) -> int:
        """Inputs of an outcome, of all formats."""
        return sum(count for (_, each), count in self.counts.items() if each == outcome)

    def __str__(self) -> str:
        return ", ".join(f"{self.of(outcome):,} {outcome}" for outcome in OUTCOMES)


def seed_files(folder: Path) -> list[tuple[str, bytes]]:
    """(suffix, content) of good files of every format that deepphase reads."""
    walk = locomotion(0, 0.5).clip
    files = [
        (".bvh", two_joints().encode()),
        (".npz", archive(AMASS)),
        (".npz", archive(AMASS, zipfile.ZIP_DEFLATED)),
        (".npz", archive(OWN)),
        (".npz", archive(JOINTS)),
        (".npz", archive(POINTS)),
        (".glb", MIXED),
        (".gltf", CURVED),
    ]
    few = walk.sliced(0, 6)
    labels, markers = few.skeleton.names, markers_of(few)
    files += [
        (".c3d", c3d_bytes(markers, labels)),
        (".c3d", c3d_bytes(markers, labels, processor=85, scale=0.1, analog=2)),
        (".trc", trc_text(markers, labels).encode()),
        (".csv", motive_text(markers / 1000.0, labels).encode()),
        (".mvnx", mvnx_text(few).encode()),
    ]
    for suffix in WRITTEN_SUFFIXES:
        path = folder / f"walk{suffix}"
        save(walk, path)
        files.append((suffix, path.read_bytes()))
    return files


def fuzz(count: int, seed: int, output: Path, report: Any = None) -> Tally:
    """Read `count` changed files, from number `seed` on; keep in `output` what goes wrong."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as temporary, _limits():
        folder = Path(temporary)
        seeds = seed_files(folder)
        contents = [content for _, content in seeds]
        suffixes = tuple(suffix for suffix in MOTION_FORMATS if suffix not in BLENDER_SUFFIXES)
        for number in range(seed, seed + count):
            generator = random.Random(number)
            # Every format as often, however many files there are of it.
            suffix = generator.choice(suffixes)
            content = generator.choice([each for kind, each in seeds if kind == suffix])
            changed = mutated(generator, content, suffix, contents)
            path = folder / f"input{suffix}"
            path.write_bytes(changed)
            outcome, what = _outcome(path, len(changed), number % _MEMORY_EVERY == 0)
            tally.counts[suffix, outcome] += 1
            if outcome not in ("read", "refused"):
                output.mkdir(parents=True, exist_ok=True)
                kept = output / f"{number}_{outcome.replace(' ', '_')}{suffix}"
                kept.write_bytes(changed)
                kept.with_suffix(".txt").write_text(what)
                tally.kept.append(kept)
            if report is not None:
                report(number - seed + 1, tally)
    return tally


def _outcome(path: Path, size: int, count_memory: bool) -> tuple[str, str]:
    """What became of reading a file, and the traceback or number that says more."""
    if count_memory:
        tracemalloc.start()
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_PER_INPUT)
    try:
        load_all(path)
        outcome, what = "read", ""
    except DeepPhaseError as error:
        # The text is what a user sees; making it must not fail either.
        outcome, what = "refused", str(error)
    except MemoryError:
        outcome, what = "too big", traceback.format_exc()
    except _TooSlowError:
        outcome, what = "too slow", traceback.format_exc()
    except Exception:
        outcome, what = "crashed", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        peak = tracemalloc.get_traced_memory()[1] if count_memory else 0
        tracemalloc.stop()
    if peak > max(_LARGEST_RATIO * size, _ALWAYS_ALLOWED_BYTES):
        return "too big", f"{peak:,} bytes for a file of {size:,}\n{what}"
    return outcome, what


def _out_of_time(*_: Any) -> None:
    raise _TooSlowError


@contextmanager
def _limits() -> Iterator[None]:
    """Warnings are errors, time runs out, and memory has an end."""
    earlier = signal.signal(signal.SIGALRM, _out_of_time)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + _HARD_LIMIT_BYTES, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, earlier)


def main(arguments: list[str] | None = None) -> int:
    """Run from a terminal; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many inputs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first input")
    parser.add_argument("--output", type=Path, default=_KEPT_IN, help="for bad inputs")
    given = parser.parse_args(arguments)
    started = shown = time.monotonic()

    def report(done: int, tally: Tally) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > _PROGRESS_EVERY_S or done == given.count:
            shown = now
            left = (now - started) / done * (given.count - done)
            print(f"{done:,} of {given.count:,}: {tally}; {left:.0f} s left", flush=True)

    tally = fuzz(given.count, given.seed, given.output, report)
    for suffix in sorted({suffix for suffix, _ in tally.counts}):
        row = ", ".join(f"{tally.counts[suffix, outcome]:,} {outcome}" for outcome in OUTCOMES)
        print(f"{suffix}: {row}")
    for path in tally.kept[:20]:
        print(path)
    return 1 if tally.kept else 0


if __name__ == "__main__":
    sys.exit(main())
