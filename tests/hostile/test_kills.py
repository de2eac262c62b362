"""Commands killed at random moments, in processes of their own.

Moments are random in processor time, up to what a whole run takes. A killed command is started
again, killed again, and at last run to its end. DEEPPHASE_HOSTILE_KILLS is the number of kills of
each command, 2 by default; `-s` prints what was seen.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from deepphase.apps.demo import PHASES
from deepphase.formats.load import save
from deepphase.synthetic.gait_motion import locomotion
from tests.benchmarks.bench_scale import tree
from tests.hostile.test_fuzz import SEED

KILLS = int(os.environ.get("DEEPPHASE_HOSTILE_KILLS", "2"))
_CLIPS, _SECONDS = 6, 12.0
# Step -> words of the command.
STEPS = {
    "prepare": "prepare captures -o out/clips.store --workers 2",
    "encode": f"encode {PHASES} out/clips.store -o out/phases --workers 2",
    "build": f"match build out/clips.store --model {PHASES} -o out/motion.db",
}
_LOOKS_EVERY_S = 0.02


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time in /proc")
def test_what_killed_commands_leave_is_whole_and_the_next_run_ends_as_an_undisturbed_one(tmp_path):
    for name in ("captures", "out", "tmp"):
        (tmp_path / name).mkdir()
    for seed in range(_CLIPS):
        save(locomotion(seed, _SECONDS).clip, tmp_path / "captures" / f"walk_{seed}.bvh")
    generator = random.Random(SEED)
    for step, words in STEPS.items():
        cpu_s, whole_after = killed(tmp_path, words, generator)
        print(f"{step}: {KILLS} kills within {cpu_s:.1f} CPU s, {whole_after} after the output")


def killed(folder: Path, words: str, generator: random.Random) -> tuple[float, int]:
    """Run a command undisturbed, then again with kills; at the end its output is there, whole.

    After every kill, each output has the bytes of the undisturbed run or is missing; at the end
    there are those and no other files but temporary ones.

    Returns
    -------
    Seconds of processor time of the undisturbed run, and the kills that came after the output.
    """
    before = contents(folder / "out")
    cpu_s = run(folder, words)
    whole = contents(folder / "out")
    mine = whole.keys() - before.keys()
    whole_after = 0
    for kill_after_s in [generator.uniform(0.0, cpu_s) for _ in range(KILLS)] + [math.inf]:
        for name in mine & contents(folder / "out").keys():
            (folder / "out" / name).unlink()
        for path in sorted((folder / "out").rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        run(folder, words, kill_after_s)
        found = contents(folder / "out")
        wrong = {name for name in found.keys() & whole.keys() if found[name] != whole[name]}
        assert not wrong, f"{sorted(wrong)} differ"
        assert before.keys() <= found.keys() <= whole.keys(), sorted(found.keys() ^ whole.keys())
        whole_after += found == whole
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    # What killed programs leave goes after a day.
    files = {name for name in files if not name.startswith("captures") and ".tmp" not in name}
    assert files == {f"out/{name}" for name in whole}, sorted(files)
    return cpu_s, whole_after - 1


def contents(out: Path) -> dict[str, str]:
    """Name -> hash of all outputs, without what is being written."""
    files = [path for path in out.rglob("*") if path.is_file() and ".tmp" not in str(path)]
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def run(folder: Path, words: str, kill_after_cpu_s: float = math.inf) -> float:
    """Run a command to its end, or kill it; the seconds of processor time that it took.

    The program alone is killed: its processes have to notice, and are waited for.
    """
    command = [sys.executable, "-m", "deepphase.apps.cli", *words.split(), "--quiet"]
    own = {"TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **own}, stderr=-1)
    spent: dict[int, float] = {}
    while process.poll() is None:
        for pid in tree(process.pid):
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                spent[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if sum(spent.values()) >= kill_after_cpu_s:
            process.kill()
        time.sleep(_LOOKS_EVERY_S)
    # Ends with the last process that has the pipe.
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    assert process.returncode or not errors, errors.decode()
    return sum(spent.values())
