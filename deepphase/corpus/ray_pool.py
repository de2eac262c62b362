"""Pool of Ray tasks, on this machine or on a running cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from deepphase.errors import ParameterError
from deepphase.extras import extra_packages
from deepphase.temporary_files import temporary_folder

# Read by Ray when it starts. It sends no usage statistics; a task that the memory monitor kills is
# run once more, as after any other death, instead of without end.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_task_oom_retries": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # The start of its processes takes longer on a busy machine than Ray waits for by default.
    "RAY_agent_register_timeout_ms": "120000",
}
# Without this, a Ray started here listens at the machine's outer address as well. Read when Ray is
# imported; other machines cannot be connected with it.
_LOOPBACK_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_CONNECT_S = 5.0
_START = "ray start --head --port=6379"


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
        self._settings = _SETTINGS | (_LOOPBACK_ONLY if address is None else {})
        with extra_packages("Ray clusters"), _environment(self._settings):
            import ray
        self._ray = ray
        self._folder = ExitStack()
        if address is None:
            self._start(workers)
        else:
            self._connect(address)
        self.workers = int(ray.cluster_resources().get("CPU", 1))
        self._run = ray.remote(max_retries=1, num_cpus=1)(_run)
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

    def cancel(self, submitted: Any) -> None:
        """Drop a task that has not begun."""
        self._ray.cancel(submitted)

    def close(self) -> None:
        """Leave the cluster, and end a Ray that was started here."""
        self._ray.shutdown()
        self._folder.close()

    def _start(self, workers: int) -> None:
        try:
            # The system's own folder may have too long a path for Ray's sockets, as on macOS.
            parent = Path("/tmp") if Path("/tmp").is_dir() else None
            folder = self._folder.enter_context(temporary_folder(parent, short=True))
            self._init(num_cpus=workers, _node_ip_address="127.0.0.1", _temp_dir=str(folder))
        except BaseException:
            self.close()
            raise

    def _connect(self, address: str) -> None:
        host, _, port = address.rpartition("//")[2].rpartition(":")
        try:
            # Ray itself tries for minutes.
            socket.create_connection((host, int(port)), _CONNECT_S).close()
        except (OSError, ValueError) as error:
            raise _no_cluster(address, error) from None
        self._init(address=address)

    def _init(self, **options: Any) -> None:
        with _environment(self._settings):
            try:
                self._ray.init(
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **options,
                )
            # Ray raises plain exceptions where a node does not start.
            except Exception as error:
                address = options.get("address")
                if address is not None:
                    raise _no_cluster(address, error) from None
                raise ParameterError(
                    f"Ray does not start on this machine: {error}",
                    hint="leave out --cluster and give --workers",
                ) from None


def _run(function: Callable[[Any], Any], task: Any) -> Any:
    # Ray takes functions only, and a partial is none.
    return function(task)


def _no_cluster(address: str, error: Exception) -> ParameterError:
    reason = " ".join(str(error).split())[:200]
    return ParameterError(
        f"there is no Ray cluster at {address}: {reason}",
        hint=f"start one with `{_START}`, on this machine or one that it can reach",
    )


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Settings in the environment, which Ray's processes inherit, within the block."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
