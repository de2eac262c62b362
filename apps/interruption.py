"""Ctrl-C while modules are imported: it is held until the import has ended.

KeyboardInterrupt inside the import of a C++ extension (PyTorch's have hundreds of such places) can
abort the process: the extension does not expect an exception there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
MESSAGE = "deepphase: interrupted"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"


@contextmanager
def interrupts_after_imports() -> Iterator[None]:
    """Context in which Ctrl-C raises KeyboardInterrupt, though not within an import.

    A second Ctrl-C during an import ends the process at once. Where another handler of SIGINT is
    set, or outside the main thread, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if sys.gettrace() is _step_over:
            sys.settrace(None)
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    importer = _outermost_importer(frame)
    if importer is None:
        raise KeyboardInterrupt
    if sys.gettrace() is _step_over:
        os.write(2, f"{MESSAGE}\n".encode())
        os._exit(INTERRUPTED)
    # A trace function is called as soon as the code that imports goes on, and by no thread.
    importer.f_trace = _interrupt_after_import
    sys.settrace(_step_over)


def _step_over(frame: FrameType, event: str, argument: object) -> None:
    """Trace function of the frames within the import: none of them is traced."""


def _interrupt_after_import(frame: FrameType, event: str, argument: object) -> None:
    sys.settrace(None)
    frame.f_trace = None
    raise KeyboardInterrupt


def _outermost_importer(frame: FrameType | None) -> FrameType | None:
    """The frame whose import the others belong to; None outside of imports."""
    importer, within = None, False
    while frame is not None:
        is_import = frame.f_code.co_filename == _IMPORT_SYSTEM
        if within and not is_import:
            importer = frame
        frame, within = frame.f_back, is_import
    return importer
