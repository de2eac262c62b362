"""Ctrl-C during imports, in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# An extension that aborts where an exception reaches it, as C++ does, and what follows it.
EXTENSION = """
import os, signal, time
try:
    for _ in range({times}):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
    print("imported", flush=True)
except BaseException:
    os.abort()
"""
COMMAND = """
def command() -> None:
    \"\"\"Import an extension, and work.\"\"\"
    try:
        import torch
        print("worked", flush=True)
    finally:
        print("cleaned up", flush=True)
"""
# Programs that a shell starts in the background ignore Ctrl-C.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from deepphase.apps import cli
sys.modules["deepphase.apps.commands.fake"] = __import__("fake_command")
cli.COMMANDS["fake"] = ""
sys.exit(cli.main(["fake"]))
"""


def run(folder, times):
    (folder / "torch.py").write_text(EXTENSION.format(times=times))
    (folder / "fake_command.py").write_text(COMMAND)
    script = f"import sys; sys.path.insert(0, {str(folder)!r}){PROGRAM}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_during_an_import_it_ends_the_process_at_once(tmp_path):
    done = run(tmp_path, times=1)
    assert (done.returncode, done.stderr) == (130, "deepphase: interrupted\n")
    assert done.stdout == ""


def test_outside_of_imports_nothing_changes():
    from deepphase.apps.cli import interrupts_outside_imports

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_outside_imports():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
