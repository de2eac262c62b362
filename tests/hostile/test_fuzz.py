"""Changed files of every kind are read or refused, within bounds of memory and time.

Case `i` of a kind is made from the number `DEEPPHASE_HOSTILE_SEED + i` alone, so that a long run
can be cut into ranges and a case made again; DEEPPHASE_HOSTILE_CASES is their number, else 24.
Anything but an object with finite numbers or a DeepPhaseError is wrong, a warning included; such
files stay in the folder of the test.
"""

import os
import random
import resource
import signal
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from deepphase.errors import DeepPhaseError
from deepphase.files import unpacked_bytes
from deepphase.motion.clip import Clip
from tests.hostile.kinds import KINDS
from tests.hostile.mutations import changed_bytes, mutated

CASES = int(os.environ.get("DEEPPHASE_HOSTILE_CASES", "24"))
SEED = int(os.environ.get("DEEPPHASE_HOSTILE_SEED", "0"))
# Address space beyond what a file may unpack to: threads and allocators reserve it.
_RESERVED_BYTES = 256 << 20
# Of the processor: a busy machine is not a finding.
_SECONDS = 5.0


class TooSlowError(BaseException):
    """Not an Exception, so that no reader catches it."""


def _out_of_time(*_):
    raise TooSlowError


@contextmanager
def bounds(size, seconds=_SECONDS):
    """Reading a file of `size` bytes: warnings are errors, time and memory have an end."""
    earlier = signal.signal(signal.SIGPROF, _out_of_time)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + unpacked_bytes(size) + _RESERVED_BYTES, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, earlier)


def _endless():
    while True:
        pass


def test_the_bounds_hold():
    with pytest.raises(MemoryError), bounds(1000):
        bytearray(1 << 30)
    with pytest.raises(TooSlowError), bounds(1000, seconds=0.1):
        _endless()


def _check_sound(read):
    """Fail for an object with numbers that are not finite, or a clip with wrong rotations."""
    for each in read if isinstance(read, tuple) else (read,):
        for name, value in getattr(each, "__dict__", {}).items():
            is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
            assert not is_float or np.isfinite(value).all(), f"{name} is not finite"
        if isinstance(each, Clip):
            assert np.allclose(np.linalg.norm(each.rotations, axis=-1), 1.0, atol=1e-3)


def _names(hashed=False):
    return [
        pytest.param(name, marks=pytest.mark.slow) if kind.slow else name
        for name, kind in KINDS.items()
        if kind.hashed or not hashed
    ]


@pytest.mark.parametrize("name", _names())
def test_changed_files_are_read_or_refused(name, tmp_path):
    kind = KINDS[name]
    examples = kind.examples(tmp_path)
    path = tmp_path / f"input{kind.suffix}"
    for content in examples:
        path.write_bytes(content)
        # What is imported and cached on the way is not the input's.
        kind.read(path)
    refused, wrong = 0, {}
    for number in range(SEED, SEED + CASES):
        generator = random.Random(number)
        content = mutated(generator, generator.choice(examples), kind.changes, examples)
        path.write_bytes(content)
        try:
            with bounds(len(content)):
                _check_sound(kind.read(path))
        except DeepPhaseError as error:
            # The text is what a user sees; making it must not fail either.
            refused += bool(str(error))
        except (Exception, TooSlowError):
            wrong[number] = traceback.format_exc(-12)
            (tmp_path / f"wrong_{number}{kind.suffix}").write_bytes(content)
    print(f"{name}: {CASES:,} cases, {refused:,} refused, {len(wrong):,} wrong {list(wrong)[:20]}")
    assert not wrong, f"{len(wrong)} in {tmp_path}: {next(iter(wrong.items()))}"
    # Changes that break every file, or none, test little.
    assert refused > 0


@pytest.mark.parametrize("name", _names(hashed=True))
def test_a_change_of_a_hashed_file_is_refused_or_changes_nothing(name, tmp_path):
    kind = KINDS[name]
    (whole,) = kind.examples(tmp_path)
    path = tmp_path / f"input{kind.suffix}"
    path.write_bytes(whole)
    expected, refused = _content(kind.read(path)), 0
    for number in range(SEED, SEED + CASES):
        path.write_bytes(content := changed_bytes(random.Random(number), whole, whole))
        try:
            with bounds(len(content)):
                assert _content(kind.read(path)) == expected
        except DeepPhaseError:
            refused += 1
    assert refused > CASES // 2
    # All bytes of array files count; archives have some that do not.
    assert refused == CASES or kind.suffix.endswith(".npz")


def _content(value):
    """All that an object holds, as values that can be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (tuple, list)):
        return [_content(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _content(getattr(value, name)) for name in value.__dataclass_fields__}
    return repr(value)
