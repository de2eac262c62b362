"""Pool of Ray tasks, on this machine or on a running cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from deepphase.errors import ParameterError
from deepphase.extras import extra_packages
from deepphase.temporary_files import temporary_folder

# Read by Ray when it is imported or starts. It sends no usage statistics; a task that the memory
# monitor kills is run once more, as after any other death, instead of without end; its processes
# take longer to start on a busy machine than Ray waits for by default.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_task_oom_retries": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_agent_register_timeout_ms": "120000",
}
# Without this, a Ray started here listens at the machine's outer address as well. Other machines
# cannot be connected with it.
_LOOPBACK_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_CONNECT_S = 5.0


def ray_address(cluster: str) -> str | None:
    """Address of the Ray cluster in "ray:ADDRESS"; None for "ray", which is this machine.

    Raises
    ------
    ParameterError
        Where the text is neither.
    """
    kind, colon, address = cluster.partition(":")
    if kind != "ray" or (colon and not address):
        raise ParameterError(
            f"{cluster!r} does not name a cluster",
            hint="write ray for a Ray cluster on this machine, ray:HOST:PORT for a running one",
        )
    return address or None


class RayPool:
    """Ray tasks, on as many workers as the machine or the cluster has CPUs.

    Ray schedules them, runs a task again whose worker dies, and keeps results within its object
    store, which spills to disk.

    Parameters
    ----------
    function
        Function of a task, pickled once.
    address
        A running cluster; None starts Ray on this machine, for this pool only, without dashboard
        and reachable from this machine only.
    workers
        CPUs of a Ray that is started here.

    Raises
    ------
    ParameterError
        Where Ray is not installed, or no cluster answers at the address.
    """

    def __init__(self, function: Callable[[Any], Any], address: str | None, workers: int) -> None:
        for name, value in (_SETTINGS | ({} if address else _LOOPBACK_ONLY)).items():
            os.environ.setdefault(name, value)
        with extra_packages("Ray clusters"):
            import ray
        self._ray = ray
        self._open = ExitStack()
        try:
            self._start(address, workers)
        except BaseException as error:
            self._open.close()
            # Ray raises plain exceptions where a node does not start or cannot be reached.
            if not isinstance(error, Exception):
                raise
            reason = " ".join(str(error).split())[:200]
            if address is None:
                fact, hint = (
                    f"Ray does not start on this machine: {reason}",
                    "leave out --cluster and give --workers",
                )
            else:
                fact = f"there is no Ray cluster at {address}: {reason}"
                hint = "start one with `ray start --head --port=6379`, on a machine in reach"
            raise ParameterError(fact, hint=hint) from None
        self.workers = int(ray.cluster_resources().get("CPU", 1))
        # Ray takes functions only, and a partial is none.
        self._run: Any = ray.remote(max_retries=1, num_cpus=1)(lambda run, task: run(task))
        self._function = ray.put(function)

    def submit(self, task: Any) -> Any:
        """Begin a task."""
        return self._run.remote(self._function, task)

    def result(self, task: Any, submitted: Any) -> Any:
        """Result of a task. Raises BrokenProcessPool where its second process died as well."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(submitted)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.NodeDiedError,
            errors.ObjectLostError,
        ):
            raise BrokenProcessPool from None

    def close(self, pending: Iterable[Any]) -> None:
        """Drop the pending tasks, leave the cluster, and end a Ray that was started here."""
        for submitted in pending:
            self._ray.cancel(submitted)
        self._open.close()

    def _start(self, address: str | None, workers: int) -> None:
        options: dict[str, Any] = {"address": address}
        if address is None:
            # The system's own folder may have too long a path for Ray's sockets, as on macOS.
            parent = Path("/tmp") if Path("/tmp").is_dir() else None
            folder = self._open.enter_context(temporary_folder(parent, short=True))
            options = {
                "num_cpus": workers,
                "_node_ip_address": "127.0.0.1",
                "_temp_dir": str(folder),
            }
        else:
            # Ray itself tries for minutes.
            host, _, port = address.rpartition("//")[2].rpartition(":")
            socket.create_connection((host, int(port)), _CONNECT_S).close()
        self._open.callback(self._ray.shutdown)
        self._ray.init(
            include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, **options
        )
