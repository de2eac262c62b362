"""OpenMP's wait policy: set before torch, the user's own kept, a warning where it is too late."""

import os
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

from deepphase import threads

ROOT = Path(__file__).parents[1]


@pytest.fixture
def fresh(monkeypatch):
    """No setting, no torch, and a machine with other work."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(threads, "_torch_first", False)
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 1.0, 1.0), raising=False)
    return monkeypatch


def test_the_library_sets_it():
    code = "import os, deepphase; print(os.environ['OMP_WAIT_POLICY'])"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert ran.stdout == "PASSIVE\n"


def test_set_before_torch(fresh):
    threads.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.warn_of_spinning(8)


def test_the_users_setting_is_kept(fresh):
    fresh.setenv("OMP_WAIT_POLICY", "ACTIVE")
    fresh.setitem(sys.modules, "torch", types.ModuleType("torch"))
    threads.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.warn_of_spinning(8)


def test_too_late_beside_other_work(fresh):
    fresh.setitem(sys.modules, "torch", types.ModuleType("torch"))
    threads.wait_passively()
    assert "OMP_WAIT_POLICY" not in os.environ
    with pytest.warns(UserWarning, match="OMP_WAIT_POLICY=PASSIVE"):
        threads.warn_of_spinning(8)


@pytest.mark.parametrize(("count", "load"), [(1, 2.0), (8, 0.2)])
def test_too_late_and_nothing_lost(fresh, count, load):
    fresh.setitem(sys.modules, "torch", types.ModuleType("torch"))
    fresh.setattr(os, "getloadavg", lambda: (load, 1.0, 1.0))
    threads.wait_passively()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.warn_of_spinning(count)
