"""Settings of all tests."""

import gc
import os
import shutil
from collections.abc import Generator
from pathlib import Path

# Numba's cache is not safe for processes that compile at the same time: each worker of
# pytest-xdist has its own. Runs without workers use that of the first one, so that the tests of the
# browser find what the others compiled. Set before anything imports numba.
os.environ["NUMBA_CACHE_DIR"] = str(
    Path(__file__).parents[1] / ".pytest_cache/numba" / os.environ.get("PYTEST_XDIST_WORKER", "gw0")
)
# Two threads on a busy machine wait for each other longer than one computes, in programs that tests
# start as well; and sums come out the same whatever the number of cores.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import pytest
import torch
from hypothesis import HealthCheck, settings

# A busy machine is not a failure: examples have no deadline, and slow ones are not findings.
settings.register_profile("deepphase", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("deepphase")

# Tests leave nothing in the user's cache; those of the cache set a folder of their own.
os.environ["DEEPPHASE_CACHE"] = ""

_TESTS = Path(__file__).parent
# Whole folders: the first drives a browser, the second runs pages of the dashboard.
_MARKS = {_TESTS / "browser": pytest.mark.browser, _TESTS / "dashboard": pytest.mark.slow}
# Files that take longest, which begin; those of the browser, which wait, between others.
_FIRST = """
browser/test_dashboard phase/test_processes apps/test_demo dashboard/test_dance
hostile/test_kills dashboard/test_train browser/test_journeys matching/test_learned
edit/test_commands browser/test_player export/test_onnx_file dashboard/test_control
controllers/test_training browser/test_live apps/test_dance phase/test_training
controllers/dance/test_dancer browser/test_firefox
"""
_RANKS = {_TESTS / f"{name}.py": rank for rank, name in enumerate(_FIRST.split())}


def pytest_configure() -> None:
    """Let a new worker begin with what the first one compiled in an earlier run."""
    own = Path(os.environ["NUMBA_CACHE_DIR"])
    first = own.with_name("gw0")
    if first.is_dir() and not own.exists():
        shutil.copytree(first, own)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what stays for the whole run, such as modules, out of the garbage collector's rounds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark folders that are slow as a whole, skip tests of a GPU without one, long files first."""
    items.sort(key=lambda item: _RANKS.get(item.path, len(_RANKS)))
    without_gpu = pytest.mark.skipif(
        not torch.cuda.is_available(), reason="PyTorch finds no CUDA device"
    )
    for item in items:
        if mark := _MARKS.get(item.path.parent):
            item.add_marker(mark)
        if item.get_closest_marker("gpu"):
            item.add_marker(without_gpu)
