"""Tasks on Ray: one Ray of this machine for all tests, kills, wrong addresses, no litter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from deepphase.corpus import ray_pool
from deepphase.corpus.motion_files import find_motion_files
from deepphase.corpus.parallel import map_in_order
from deepphase.corpus.point_sets import PointSets
from deepphase.corpus.prepare import prepare
from deepphase.corpus.ray_pool import RayPool, ray_address
from deepphase.corpus.solved_files import solve_files
from deepphase.errors import ParameterError
from deepphase.formats.points import save_points
from deepphase.temporary_files import remove_abandoned
from tests.corpus.made_clips import made_clip, write_bvh
from tests.solving.point_bodies import points_of, walker

pytest.importorskip("ray", reason="the extra ray is not installed")

ROOT = Path(__file__).parents[2]
# Prepares a folder on Ray of its own. Its workers say where they are, and the last one waits.
DRIVER = """
import os, pathlib, sys, time
from deepphase.corpus.parallel import map_in_order

folder = pathlib.Path(sys.argv[1])

def task(number):
    (folder / str(os.getpid())).touch()
    time.sleep(600 if number else 0)

for _ in map_in_order(task, [0, 1], 1, cluster="ray"):
    import ray
    print(ray._private.worker.global_worker.node.get_session_dir_path(), flush=True)
    until, listening = time.monotonic() + 60, []
    # On a busy machine a list of sockets or processes can miss some.
    while not listening and time.monotonic() < until:
        pids = os.popen(f"ps -o pid= --ppid {os.getpid()}").read().split()
        listening = [line.split()[3] for line in os.popen("ss -ltnpH").read().splitlines()
                     if any(f"pid={pid}," in line for pid in pids)]
    print(*listening, flush=True)
"""


@pytest.mark.parametrize("text", ["", "ray:", "dask", "Ray", "rays:host:1"])
def test_what_is_no_cluster(text):
    with pytest.raises(ParameterError, match="does not name a cluster"):
        ray_address(text)
    assert ray_address("ray") is None
    assert ray_address("ray:10.0.0.1:6379") == "10.0.0.1:6379"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "ray://127.0.0.1:1", "no host:1"])
def test_no_cluster_at_the_address_is_one_error(address):
    with pytest.raises(ParameterError, match=f"no Ray cluster at {address}") as said:
        next(map_in_order(abs, [1, 2], 1, cluster=f"ray:{address}"))
    assert "ray start --head" in said.value.hint


@pytest.fixture(scope="session")
def pool():
    """One Ray of one CPU: its start takes seconds."""
    started = RayPool(abs, None, 1)
    yield started
    started.close([])


@pytest.fixture
def on_pool(pool, monkeypatch):
    """Every pool is the running one."""
    monkeypatch.setattr(ray_pool.RayPool, "_start", lambda self, address, workers: None)
    monkeypatch.setattr(ray_pool.RayPool, "close", lambda self, pending: None)


def deadly(folder: Path, number: int) -> int:
    """The number; of 3 every process dies, of 5 the first."""
    first = folder / str(number)
    if number == 3 or (number == 5 and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.slow
def test_a_dead_workers_task_is_run_once_more_and_then_lost(on_pool, tmp_path):
    results = map_in_order(
        partial(deadly, tmp_path), range(8), 1, cluster="ray", lost=lambda task, error: error.fact
    )
    found = list(results)
    assert found.pop(3).startswith("the worker process died twice")
    assert found == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.slow
def test_the_error_of_a_task_is_raised_as_it_is(on_pool):
    with pytest.raises(ParameterError, match="unit") as raised:
        list(map_in_order(refuse, [1], 1, cluster="ray"))
    assert raised.type is ParameterError
    assert raised.value.hint == "metres"


def refuse(task: int) -> None:
    raise ParameterError("a unit", hint="metres")


@pytest.mark.slow
def test_the_store_is_the_same_bytes_as_without_ray(on_pool, tmp_path):
    for number in range(3):
        write_bvh(tmp_path / "captures" / f"{number}.bvh", made_clip(number))
    for name, cluster in (("one", None), ("ray", "ray")):
        prepare(tmp_path / "captures", tmp_path / name, workers=1, cluster=cluster)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "ray").read_bytes()


@pytest.mark.slow
def test_solved_clips_are_the_same_bytes_as_without_ray(on_pool, tmp_path):
    for number in range(2):
        save_points(points_of(walker(number, seconds=1.0)).track, tmp_path / f"{number}.npz")
    files = find_motion_files(tmp_path)
    for folder, cluster in (("one", None), ("ray", "ray")):
        targets = [tmp_path / folder / f"{each.name}.bvh" for each in files]
        done = solve_files(files, targets, PointSets(), workers=1, cluster=cluster)
        assert [each.error for each in done] == [None, None]
    for number in range(2):
        one, ray = (tmp_path / folder / f"{number}.bvh" for folder in ("one", "ray"))
        assert one.read_bytes() == ray.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the sockets of Linux")
def test_a_killed_driver_leaves_nothing(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-c", DRIVER, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert run.stdout is not None
    session = Path(run.stdout.readline().strip())
    listening = run.stdout.readline().split()
    assert session.is_dir()
    assert listening
    for address in listening:
        assert address.rpartition(":")[0] in ("127.0.0.1", "[::ffff:127.0.0.1]", "[::1]")
    run.kill()
    run.wait()
    (worker,) = [int(path.name) for path in tmp_path.iterdir()]
    until = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() or "gcs_server" in processes(session):
        assert time.monotonic() < until
        time.sleep(0.2)
    # The next run with Ray removes the folder of the killed one.
    remove_abandoned(session.parents[2])
    assert not session.exists()


def processes(session: Path) -> str:
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    return "\n".join(line for line in lines.splitlines() if str(session) in line)
