"""Changed files of every kind, by the thousand: each is read or refused, nothing else.

``python -m tests.hostile.fuzz --count 1000`` reads as many of every kind; input `i` is made from
the number `seed + i` alone, so a long run can be cut into ranges and a crash made again. It ends
with status 1 where anything but a DeepPhaseError came out, a warning included, or an input took
too long or too much memory, or was read as an object with numbers that are not finite; those files
are kept, with what happened in a text beside them.
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import DeepPhaseError
from deepphase.motion.clip import Clip
from tests.hostile.kinds import KINDS, Kind
from tests.hostile.mutations import mutated

# What reading may cost: 20 times the file, or what a small file costs anyway.
_LARGEST_RATIO = 20
_ALWAYS_ALLOWED_BYTES = 48 << 20
# Every so many inputs memory is counted, which is slow; a hard limit holds for all.
_MEMORY_EVERY = 25
_HARD_LIMIT_BYTES = 2 << 30
# Of the processor: a busy machine is not a finding.
_SECONDS_PER_INPUT = 5.0
_KEPT_IN = Path(tempfile.gettempdir()) / "deepphase-fuzz"
OUTCOMES = ("read", "refused", "crashed", "too slow", "too big", "unsound")


class _TooSlowError(BaseException):
    """Not an Exception, so that no reader catches it."""


@dataclass
class Tally:
    """What became of the inputs of a kind: how many of each outcome, and the bad ones."""

    counts: Counter[str] = field(default_factory=Counter)
    kept: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        return ", ".join(f"{self.counts[outcome]:,} {outcome}" for outcome in OUTCOMES)


def fuzz(kind: Kind, count: int, seed: int, output: Path) -> Tally:
    """Read `count` changed files, from number `seed` on; keep in `output` what goes wrong."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        examples = kind.examples(folder)
        path = folder / f"input{kind.suffix}"
        for content in examples:
            path.write_bytes(content)
            # What is imported and cached on the way is not the input's.
            kind.read(path)
        with _limits():
            for number in range(seed, seed + count):
                generator = random.Random(number)
                content = generator.choice(examples)
                changed = mutated(generator, content, kind.changes, examples)
                path.write_bytes(changed)
                outcome, what = _outcome(kind, path, number % _MEMORY_EVERY == 0)
                tally.counts[outcome] += 1
                if outcome not in ("read", "refused"):
                    output.mkdir(parents=True, exist_ok=True)
                    kept = output / f"{number}_{outcome.replace(' ', '_')}{kind.suffix}"
                    kept.write_bytes(changed)
                    kept.with_suffix(".txt").write_text(what)
                    tally.kept.append(kept)
    return tally


def _outcome(kind: Kind, path: Path, count_memory: bool) -> tuple[str, str]:
    """What became of reading a file, and the traceback or number that says more."""
    size = path.stat().st_size
    if count_memory:
        tracemalloc.start()
    try:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS_PER_INPUT)
        try:
            wrong = _unsound(kind.read(path))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        outcome, what = ("unsound", wrong) if wrong else ("read", "")
    except DeepPhaseError as error:
        # The text is what a user sees; making it must not fail either.
        outcome, what = "refused", str(error)
    except MemoryError:
        outcome, what = "too big", traceback.format_exc(-20)
    except _TooSlowError:
        outcome, what = "too slow", traceback.format_exc(-20)
    except Exception:
        outcome, what = "crashed", traceback.format_exc(-20)
    finally:
        peak = tracemalloc.get_traced_memory()[1] if count_memory else 0
        tracemalloc.stop()
    if peak > max(_LARGEST_RATIO * size, _ALWAYS_ALLOWED_BYTES):
        return "too big", f"{peak:,} bytes for a file of {size:,}\n{what}"
    return outcome, what


def _unsound(read: Any) -> str:
    """What is wrong with an object that was read; empty if nothing is."""
    if isinstance(read, tuple):
        return next(filter(None, map(_unsound, read)), "")
    for name, value in getattr(read, "__dict__", {}).items():
        is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if is_float and not np.isfinite(value).all():
            return f"{type(read).__name__}.{name} has numbers that are not finite"
    if isinstance(read, Clip):
        lengths = np.linalg.norm(read.rotations, axis=-1)
        if not np.allclose(lengths, 1.0, atol=1e-3):
            return f"a clip has rotations of length {lengths.min():g} to {lengths.max():g}"
    return ""


def _out_of_time(*_: Any) -> None:
    raise _TooSlowError


@contextmanager
def _limits() -> Iterator[None]:
    """Warnings are errors, time runs out, and memory has an end."""
    earlier = signal.signal(signal.SIGPROF, _out_of_time)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + _HARD_LIMIT_BYTES, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, earlier)


def main(arguments: list[str] | None = None) -> int:
    """Run from a terminal; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many inputs of each kind")
    parser.add_argument("--seed", type=int, default=0, help="number of the first input")
    parser.add_argument("--output", type=Path, default=_KEPT_IN, help="for bad inputs")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    given = parser.parse_args(arguments)
    kept: list[Path] = []
    for name in given.kinds:
        started = time.monotonic()
        tally = fuzz(KINDS[name], given.count, given.seed, given.output / name.replace(" ", "_"))
        print(f"{name}: {tally} in {time.monotonic() - started:.0f} s", flush=True)
        kept += tally.kept
    for path in kept[:20]:
        print(path)
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())
