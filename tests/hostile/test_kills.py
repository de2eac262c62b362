"""Commands ended at random moments by SIGKILL, SIGTERM, SIGINT or SIGHUP.

Moments are random in processor time: one in each of as many equal parts of what a whole run takes.
DEEPPHASE_HOSTILE_KILLS is the number of moments of each command; without it, few of two are tried.
`-s` prints what was seen::

    DEEPPHASE_HOSTILE_KILLS=20 python -m pytest tests/hostile/test_kills.py -s -m slow
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from deepphase.apps.demo import PHASES
from deepphase.formats.array_file import read_arrays
from deepphase.formats.load import save
from deepphase.rigs.inverse import FORMAT, VERSION
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import locomotion
from deepphase.training.folder import read_metrics
from tests.hostile.test_fuzz import SEED

KILLS = int(os.environ.get("DEEPPHASE_HOSTILE_KILLS", "0"))
_CLIPS, _SECONDS = (6, 12.0) if KILLS else (3, 6.0)
_STORE, _DATABASE = "made/clips.store", "made/motion.db"
_SMALL = "--set network.hidden=16"
# Command -> its words, and those of commands that make its inputs.
COMMANDS = {
    "inspect": "inspect captures",
    "prepare": "prepare captures -o out/clips.store --workers 2",
    "encode": f"encode {PHASES} captures -o out/phases --workers 2",
    "match build": f"match build {_STORE} --model {PHASES} -o out/motion.db",
    "train phase": f"train phase {_STORE} -o out/walk.model "
    f"--set training.windows=640 --set training.batch_size=64 {_SMALL}",
    "train controller": f"train controller {_STORE} -o out/walk.controller --config no_phase "
    f"--set training.samples=6000 {_SMALL}",
    "train matching": f"train matching {_DATABASE} -o out/walk.matcher",
    "train editor": f"train editor {_STORE} -o out/walk.editor --set training.windows=500 "
    f"{_SMALL} --set network.width=16",
    "train path": f"train path {_STORE} -o out/path.editor --editor {SHIPPED['editor'].path} "
    "--windows 200",
    "train rig": "train rig captures/walk_0.bvh -o out/walk.rig --set training.frames=500 "
    "--set training.samples=5000 --set training.hidden=32",
    "train dance": "train dance dances -o out/walk.dancer --config no_phase "
    f"--set training.samples=6000 {_SMALL}",
    "demo": "demo --smallest -o out/demo",
}
# Commands that CI ends -> how often.
_IN_CI = {"prepare": 5, "train phase": 1}
_MAKING = (
    f"prepare captures -o {_STORE}",
    f"match build {_STORE} --model {PHASES} -o {_DATABASE}",
    "samples dances --of dances --seconds 8",
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
# Seconds of processor time in which a signal ends a command, and by the clock of a busy machine
# those in which what it started ends after it.
_ENDS_S, _LEAVES_S = 2.0, 20.0
_LOOKS_EVERY_S = 0.1


@dataclass
class Ending:
    """How a command ended: status, seconds of processor time, seconds after the signal, errors."""

    status: int
    cpu_s: float
    after_s: float
    errors: str
    orphans: list[int] = field(default_factory=list)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with captures, and what the commands read beside them."""
    folder = tmp_path_factory.mktemp("kills")
    for name in ("captures", "made", "out", "tmp"):
        (folder / name).mkdir()
    for seed in range(_CLIPS):
        save(locomotion(seed, _SECONDS).clip, folder / "captures" / f"walk_{seed}.bvh")
    for words in _MAKING[: None if KILLS else 1]:
        assert run(folder, words).status == 0
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time in /proc")
@pytest.mark.parametrize("name", COMMANDS if KILLS else _IN_CI)
def test_an_ended_command_leaves_nothing_half_and_the_next_run_ends_as_a_whole_one(name, folder):
    generator = random.Random(f"{SEED} {name}")
    words, out = COMMANDS[name], folder / "out"
    remove(out, everything=True)
    first = run(folder, words)
    assert first.status == 0, first.errors
    whole, seen, slowest = contents(out), Counter[str](), 0.0
    kills = KILLS or _IN_CI[name]
    for number in range(kills):
        remove(out, everything=True)
        end_with = _SIGNALS[number % len(_SIGNALS)]
        moment_s = (number + generator.random()) / kills * first.cpu_s
        ended = run(folder, words, moment_s, end_with)
        seen[f"{end_with.name} {ended.status}"] += 1
        assert not ended.orphans, f"{end_with.name}: {ended.orphans} were left"
        if end_with != signal.SIGKILL:
            slowest = max(slowest, ended.after_s)
            assert not [*folder.rglob(".deepphase-*.tmp")], end_with.name
        left = contents(out)
        if name != "demo" and not any(".unfinished" in file for file in left):
            assert left.keys() <= whole.keys(), sorted(left.keys() - whole.keys())
            halves = [file for file in left if left[file] != whole[file]]
            assert not halves or name.startswith("train"), halves
        # The next run of a command that left nothing at all is the first one once more.
        if not [*out.iterdir(), *(folder / "tmp").iterdir()]:
            continue
        # Outputs that are there are whole.
        remove(out)
        resume = " --resume" if [*out.glob("*.unfinished/resume.ckpt")] else ""
        again = run(folder, words + resume)
        assert again.status == 0, again.errors
        same = contents(out)
        assert same.keys() == whole.keys(), sorted(same.keys() ^ whole.keys())
        seen["resumed"] += bool(resume)
        # A resumed training has the bytes of an uninterrupted one.
        assert same == whole or name == "demo"
    print(f"\n{name}: {first.cpu_s:.1f} CPU s, slowest end {slowest:.2f} s, {dict(seen)}")


# It holds the interpreter's lock, as imports of large libraries do.
_HOLD = "import ctypes, os; open(str(os.getpid()), 'w'); ctypes.PyDLL(None).sleep(60)"
_HOLD_TWICE = "from deepphase.work import map_in_order; "
_HOLD_TWICE += f"list(map_in_order(exec, [{_HOLD!r}] * 2, 2))"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has to find it")
def test_busy_workers_end_with_a_killed_program(tmp_path):
    words = [sys.executable, "-c", _HOLD_TWICE]
    with subprocess.Popen(words, cwd=tmp_path, start_new_session=True) as program:
        limit = time.monotonic() + 100
        while len([*tmp_path.iterdir()]) < 2 and time.monotonic() < limit:
            time.sleep(_LOOKS_EVERY_S)
        program.kill()
    limit = time.monotonic() + _LEAVES_S
    while session(program.pid):
        assert time.monotonic() < limit
        time.sleep(_LOOKS_EVERY_S)
    assert len([*tmp_path.iterdir()]) == 2


def remove(out: Path, *, everything: bool = False) -> None:
    """Remove the outputs, but not the folders of unfinished trainings unless they are meant."""
    for path in sorted(out.rglob("*"), reverse=True):
        if not everything and ".unfinished" in str(path):
            continue
        if path.is_dir():
            with suppress(OSError):
                path.rmdir()
        else:
            path.unlink()


def contents(out: Path) -> dict[str, str]:
    """Name -> hash of all outputs, without speeds and what a killed program was writing."""
    files = [path for path in out.rglob("*") if path.is_file() and ".tmp" not in str(path)]
    return {
        str(path.relative_to(out)): hashlib.sha256(_content(path)).hexdigest() for path in files
    }


def _content(path: Path) -> bytes:
    if path.suffix == ".rig":
        # The report in its header has measured speeds, as the one beside it.
        arrays, _ = read_arrays(path, format=FORMAT, version=VERSION)
        return b"".join(values.tobytes() for values in arrays.values())
    if path.name.endswith(".rig.report.json"):
        return re.sub(rb'"fps": [^,}]+', b"", path.read_bytes())
    if not path.name.endswith(".metrics.csv"):
        return path.read_bytes()
    columns = read_metrics(path).items()
    return b"".join(values.tobytes() for key, values in columns if key != "samples_per_s")


def run(
    folder: Path,
    words: str,
    end_after_cpu_s: float = math.inf,
    end_with: signal.Signals = signal.SIGKILL,
) -> Ending:
    """Run a command to its end, or send it a signal.

    SIGINT and SIGHUP go to all of its processes, as from a terminal, the others to it alone.
    """
    command = [sys.executable, "-m", "deepphase.apps.cli", *words.split(), "--quiet"]
    own = {"TMPDIR": str(folder / "tmp")}
    with (folder / "tmp" / "errors").open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | own,
            stderr=errors,
            start_new_session=True,
            # Programs that a shell starts in the background ignore it.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        spent: dict[int, float] = {}
        sent, used = math.inf, 0.0
        while process.poll() is None:
            spent |= session(process.pid)
            if sum(spent.values()) >= end_after_cpu_s and sent == math.inf:
                of_all = end_with not in (signal.SIGKILL, signal.SIGTERM)
                (os.killpg if of_all else os.kill)(process.pid, end_with)
                sent, used = time.monotonic(), sum(spent.values())
            if time.monotonic() > sent + 10 * _ENDS_S:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(_LOOKS_EVERY_S)
    ended = time.monotonic()
    while session(process.pid) and time.monotonic() < ended + _LEAVES_S:
        time.sleep(_LOOKS_EVERY_S)
    text = (folder / "tmp" / "errors").read_text(errors="replace")
    (folder / "tmp" / "errors").unlink()
    after = ended - sent if sent < math.inf else 0.0
    if sent < math.inf and end_with != signal.SIGKILL:
        # By the clock a busy machine takes longer.
        used = sum(spent.values()) - used
        assert used < _ENDS_S, f"{end_with.name}: {used:.1f} s of processor time, {text}"
        assert after < 10 * _ENDS_S, f"{end_with.name}: {after:.1f} s, {text}"
    return Ending(process.returncode, sum(spent.values()), after, text, [*session(process.pid)])


def session(leader: int) -> dict[int, float]:
    """Seconds of processor time of each process that one started in a session of its own."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # A process may end while it is looked at.
        with suppress(OSError, ValueError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                ticks = int(fields[11]) + int(fields[12])
                found[int(path.parent.name)] = ticks / os.sysconf("SC_CLK_TCK")
    return found
