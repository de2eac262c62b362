"""OpenMP's waiting threads, which torch computes with."""

from __future__ import annotations

import os
import sys
import warnings

# Read by OpenMP's library when torch loads it, and never again.
_POLICY = "OMP_WAIT_POLICY"
_torch_first = False


def wait_passively() -> None:
    """Let threads without work sleep instead of spin, unless OMP_WAIT_POLICY is set already.

    Beside other work on the same cores, threads that spin take the turns of threads that compute:
    a training of minutes takes an hour. This must be called before torch is imported.
    """
    global _torch_first
    if _POLICY in os.environ:
        return
    if "torch" in sys.modules:
        _torch_first = True
    else:
        os.environ[_POLICY] = "PASSIVE"


def warn_of_spinning(threads: int) -> None:
    """Warn where threads spin, because torch was imported first, and other work runs as well.

    Parameters
    ----------
    threads
        That torch computes with: a single one waits for none.
    """
    if _torch_first and threads > 1 and hasattr(os, "getloadavg") and os.getloadavg()[0] >= 1.0:
        warnings.warn(
            "other programs are running, and torch was imported before deepphase, so that its "
            "waiting threads slow down the computing ones; import deepphase first, or set "
            f"{_POLICY}=PASSIVE",
            stacklevel=2,
        )
