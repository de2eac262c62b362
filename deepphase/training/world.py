"""The processes that train one model together: what torchrun's agent and Lightning leave to do."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

import pytorch_lightning as pl
import torch.distributed as dist
from joblib import cpu_count
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from deepphase.errors import CheckpointError, ParameterError
from deepphase.training.trainer import (
    HARDWARE,
    check_trainer,
    quiet_lightning,
    restarted,
    trainer_options,
)

Value = TypeVar("Value")

# Seconds in which the agent of the processes ends them all after one has ended.
_NOTICE_S = 3.0
_MISTAKE, _INTERRUPTED = 2, 130
# Errors of collective operations after the end of another process.
_CONNECTION = re.compile("clos|reset|refused|broken|timed out|gloo|nccl|peer", re.IGNORECASE)
# Name of the processes that are started here, not by a torchrun of the user.
_RUN = "deepphase"


@dataclass
class World:
    """The processes of one training, as each of them sees them.

    Parameters
    ----------
    rank, size
        Index of this process among all, and their number.
    local_rank, node
        Index among the processes of its node, and index of the node.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    node: int = 0
    _group: Any = None

    def together(self, call: Callable[[], Value]) -> Value:
        """Call a function in every process; if it fails in one, all end.

        The first process in which it failed raises its error, and the others SystemExit.
        """
        values: list[Value] = []
        error: Exception | None = None
        try:
            values.append(call())
        except Exception as raised:
            error = raised
        failed = self.gather(error is not None)
        if not any(failed):
            return values[0]
        if failed.index(True) == self.rank and error is not None:
            raise error
        raise SystemExit(_MISTAKE)

    def first(self, call: Callable[[], Value]) -> Value:
        """Call a function in the first process alone; its result in all."""
        value: Any = self.together(call if self.rank == 0 else _nothing)
        return self.gather(value)[0]

    def first_then_others(self, call: Callable[[], Value]) -> Value:
        """Call a function in the first process, then in the others: it may leave a cache."""
        value: Any = self.together(call if self.rank == 0 else _nothing)
        others: Any = self.together(call if self.rank else _nothing)
        return others if self.rank else value

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, by rank; waits for all of them, however long."""
        if self._group is None:
            return [value]
        with self.ending_together():
            # A collective operation takes no notice of signals until it ends.
            waiting = dist.barrier(self._group, async_op=True)
            while not waiting.is_completed():
                time.sleep(0.02)
            waiting.wait()
            values: list[Any] = [None] * self.size
            dist.all_gather_object(values, value, group=self._group)
        return values

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """Context in which the end of another process ends this one in order.

        Raises
        ------
        KeyboardInterrupt
            If the agent of the processes ends this one, as torchrun does.
        CheckpointError
            In the first process of a node without an agent; SystemExit in its others.
        """
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not _CONNECTION.search(str(error)):
                raise
            time.sleep(_NOTICE_S)
            if self.local_rank:
                raise SystemExit(_MISTAKE) from None
            raise _lost("another process", self.size) from None

    def leave(self) -> None:
        """End the connection of the processes; each of them is alone from here on."""
        global _active
        if self._group is not None:
            self.gather(None)
            dist.destroy_process_group()
        self._group = _active = None


def _nothing() -> None:
    """What the other processes do meanwhile."""


_active: World | None = None


@contextmanager
def joined(options: Mapping[str, Any]) -> Iterator[World]:
    """Context of the processes that the hardware options of a trainer ask for.

    With several devices and without torchrun or SLURM, this process becomes torchrun's agent: it
    runs its own command once for each device, and ends as these end.

    Parameters
    ----------
    options
        Options of `pytorch_lightning.Trainer`.

    Raises
    ------
    ParameterError
        If Lightning refuses them, the strategy copies the running process, or other machines are
        asked for without a launcher.
    """
    global _active
    if _active is not None:
        yield _active
        return
    check_trainer(options)
    hardware = {name: value for name, value in options.items() if name in HARDWARE}
    with quiet_lightning():
        probe = pl.Trainer(**trainer_options(hardware, logger=False))
    if probe.world_size == 1:
        yield World()
        return
    strategy: Any = probe.strategy
    if getattr(strategy, "_start_method", "popen") != "popen":
        raise ParameterError(
            f"--strategy {options.get('strategy')} cannot be used: it copies the running process",
            hint="choose ddp or another strategy that starts processes",
        )
    if not strategy.cluster_environment.creates_processes_externally:
        if probe.num_nodes > 1:
            raise ParameterError(
                f"{probe.num_nodes} nodes are asked for, and only this one can be started here",
                hint="start the command on each node with torchrun or SLURM",
            )
        _run_all(probe.num_devices)
    own = os.environ.get("TORCHELASTIC_RUN_ID") == _RUN
    try:
        if restarted():
            _connect_again(strategy.root_device.type)
        with quiet_lightning():
            strategy.setup_environment()
        # On CPUs, and without the half an hour after which others give up waiting.
        group = dist.new_group(backend="gloo", timeout=timedelta(days=30))
        rank, size = probe.global_rank, probe.world_size
        _active = world = World(rank, size, probe.local_rank, probe.node_rank, group)
        yield world
        world.leave()
    except KeyboardInterrupt:
        # At its end the interpreter would wait for an operation that waits for other processes.
        if dist.group.WORLD is not None:
            dist.group.WORLD.abort()
        if own or probe.global_rank:
            # The agent, or the first process, says it.
            raise SystemExit(_INTERRUPTED) from None
        raise
    finally:
        _active = None


def _connect_again(device: str) -> None:
    """Connect processes that torchrun has started again.

    Its store still holds the addresses of those that have ended, which others may read in vain.
    """
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    dist.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        store=dist.PrefixStore(f"attempt {attempt}", dist.TCPStore(*address, is_master=False)),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )


def _run_all(devices: int) -> NoReturn:
    """Run this command as several processes, and end with the meaning of their end.

    Raises
    ------
    SystemExit
        With their status, 0 if they have trained; a process that failed has printed its error.
    KeyboardInterrupt
        If this process or one of them was interrupted.
    CheckpointError
        If one of them was killed.
    """
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(cpu_count() // devices, 1)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=devices,
        run_id=_RUN,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)(*sys.orig_argv[1:])
    except SignalException:
        raise KeyboardInterrupt from None
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode in (_INTERRUPTED, -signal.SIGTERM, -signal.SIGINT):
            raise KeyboardInterrupt from None
        if failure.exitcode < 0:
            raise _lost(f"process {rank}", devices) from None
        raise SystemExit(failure.exitcode) from None
    raise SystemExit(0)


def _lost(who: str, size: int) -> CheckpointError:
    return CheckpointError(
        f"{who} of the {size} that train together has ended",
        hint="--resume continues the training from its last resume point, if it has one",
    )
