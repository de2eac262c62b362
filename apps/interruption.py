"""Ctrl-C, SIGTERM and SIGHUP: they end the program within two seconds, with all that it started."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED, MESSAGE, WATCH = 130, "deepphase: interrupted", "end in time"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_TRACKERS = (
    "multiprocessing.resource_tracker",
    "joblib.externals.loky.backend.resource_tracker",
)
# Signals that interrupt, and their handlers where nobody has set others (as `nohup` does).
_DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
if hasattr(signal, "SIGHUP"):
    _DEFAULTS[signal.SIGHUP] = signal.SIG_DFL
# Seconds after such a signal at which the process ends, whatever it does.
_PATIENCE_S = 1.3


@contextmanager
def interrupts_outside_imports() -> Iterator[None]:
    """Context in which such signals raise KeyboardInterrupt, or end an import at once.

    KeyboardInterrupt inside the import of a C++ extension (PyTorch's have hundreds of such places)
    can abort the process, since the extension does not expect an exception there. Where another
    handler of a signal is set, or outside the main thread, nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {each: own for each, own in _DEFAULTS.items() if signal.getsignal(each) is own}
    for number in before:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) in (_interrupt, signal.SIG_IGN):
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT_SYSTEM:
            _end()
        frame = frame.f_back
    # torchrun's agent sends both, one after the other.
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def watch_signals() -> None:
    """Let a thread end the process soon after a signal: libraries may compute on, or wait."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def end_in_time() -> None:
        while os.read(reader, 1)[0] not in _DEFAULTS:
            pass
        time.sleep(_PATIENCE_S)
        _end()

    threading.Thread(target=end_in_time, daemon=True, name=WATCH).start()


def _end() -> NoReturn:
    """End the process and those that it started, and remove its temporary files."""
    with suppress(OSError):
        os.write(2, f"{MESSAGE}\n".encode())
    # These end by themselves, after they have removed what they track.
    trackers = {
        getattr(getattr(sys.modules.get(name), "_resource_tracker", None), "_pid", None)
        for name in _TRACKERS
    }
    files = sys.modules.get("deepphase.files")
    remove_files = getattr(files, "remove_live", lambda: None)
    # Twice: others may be starting.
    for _ in range(2):
        for pid in [each for each in _started(os.getpid()) if each not in trackers]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        remove_files()
    os._exit(INTERRUPTED)


def _started(parent: int) -> Iterator[int]:
    """The processes that a process started, directly or not; none where there is no /proc."""
    for listed in Path("/proc").glob(f"{parent}/task/*/children"):
        with suppress(OSError):
            for pid in map(int, listed.read_text().split()):
                yield pid
                yield from _started(pid)
