"""Blender as a process that stays: it evaluates the rig of one .blend file."""

from __future__ import annotations

import subprocess
import threading
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.blender.array_messages import receive, send, skip_to_beginning
from deepphase.formats.blender.bridge import (
    INSTALL,
    TIME_LIMIT_S,
    check_answer,
    kill,
    required_blender,
    started_blender,
)
from deepphase.temporary_files import temporary_folder

_WORKER = Path(__file__).with_name("rig_worker.py")


class BlenderSession:
    """A process of Blender that answers requests, each within a time limit.

    Leaving its `with` block, or `close`, ends the process; so does a request that is interrupted or
    fails by itself, as its answer might be taken for that of the next. Threads take turns.

    Parameters
    ----------
    path
        The .blend file, for errors.
    seconds
        Time limit of each request.

    Raises
    ------
    ParameterError
        If Blender is not installed, or cannot be started.
    """

    def __init__(self, path: Path, seconds: float = TIME_LIMIT_S) -> None:
        self.path, self.seconds = path, seconds
        self._program = required_blender(path)
        self._turn = threading.Lock()
        self._begun = False
        with ExitStack() as started:
            folder = started.enter_context(temporary_folder())
            self._process = started_blender(self._program, _WORKER, folder, subprocess.PIPE)
            started.callback(_end, self._process)
            # The process ends with its owner, or with the program.
            self._finish = weakref.finalize(self, started.pop_all().close)

    def __enter__(self) -> BlenderSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def ended(self) -> bool:
        """Whether the process was ended."""
        return not self._finish.alive

    def ask(
        self, request: dict[str, Any], arrays: dict[str, Array] | None = None
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """The answer to a request of `deepphase.formats.blender.rig_worker`, and its arrays.

        Raises
        ------
        FormatError
            If Blender cannot do it, has ended, or takes longer than the time limit.
        """
        with self._turn:
            answer, made = self._asked(request, arrays)
        check_answer(answer, self.path)
        return answer, made

    def _asked(
        self, request: dict[str, Any], arrays: dict[str, Array] | None
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            kill(process)

        limit = threading.Timer(self.seconds, stop)
        limit.daemon = True
        limit.start()
        try:
            send(process.stdin, request, arrays)
            if not self._begun:
                skip_to_beginning(process.stdout)
                self._begun = True
            return receive(process.stdout)
        except (OSError, EOFError, ValueError):
            self.close()
            if late.is_set():
                raise FormatError(
                    f"Blender did not answer within {self.seconds:g} s",
                    hint="the rig may be too large",
                    path=self.path,
                ) from None
            raise FormatError(
                f"Blender has ended while it worked on the rig (exit status {process.returncode})",
                hint="the file may be damaged, or the memory too small; "
                f"does {self._program} have bpy? {INSTALL}",
                path=self.path,
            ) from None
        except BaseException:
            kill(process)
            self.close()
            raise
        finally:
            limit.cancel()

    def close(self) -> None:
        """End the process."""
        self._finish()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        kill(process)
