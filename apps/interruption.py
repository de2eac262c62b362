"""Ctrl-C and SIGTERM: both end the program in order, after an import that is under way.

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
    """Context in which Ctrl-C and SIGTERM raise KeyboardInterrupt, though not within an import.

    A second one during an import ends the process at once; once interrupted, SIGTERM does nothing.
    Where another handler of a signal is set, or outside the main thread, nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        before = {each: own for each, own in defaults.items() if signal.getsignal(each) is own}
    for number in before:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        if sys.gettrace() is _step_over:
            sys.settrace(None)
        for number, handler in before.items():
            if signal.getsignal(number) in (_interrupt, signal.SIG_IGN):
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    importer = _outermost_importer(frame)
    if importer is None:
        # torchrun's agent sends both, one after the other.
        if signal.getsignal(signal.SIGTERM) is _interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
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
