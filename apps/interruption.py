"""Ctrl-C and SIGTERM both end the program in order.

KeyboardInterrupt inside the import of a C++ extension (PyTorch's have hundreds of such places) can
abort the process, since the extension does not expect an exception there. During an import, where
nothing is half done, they end the process at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
MESSAGE = "deepphase: interrupted"
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"


@contextmanager
def interrupts_outside_imports() -> Iterator[None]:
    """Context in which Ctrl-C and SIGTERM raise KeyboardInterrupt, or end an import at once.

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
        for number, handler in before.items():
            if signal.getsignal(number) in (_interrupt, signal.SIG_IGN):
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT_SYSTEM:
            os.write(2, f"{MESSAGE}\n".encode())
            os._exit(INTERRUPTED)
        frame = frame.f_back
    # torchrun's agent sends both, one after the other.
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
