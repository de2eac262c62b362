"""The processes that train one model together: their ranks, shared results and common end."""

from __future__ import annotations

import _thread
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import pytorch_lightning as pl
import torch.distributed as dist
from pytorch_lightning.strategies.launchers import _SubprocessScriptLauncher

from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.training.trainer import (
    HARDWARE,
    check_trainer,
    launched,
    quiet_lightning,
    trainer_options,
)

Value = TypeVar("Value")

# Seconds between two looks at the other processes, and after which a silent one is lost.
_LOOK_S, _SILENT_S = 0.25, 20.0
# Seconds that a process has to end in order after another one has ended, before it is ended.
_GRACE_S = 5.0
# Seconds that a process waits for the others to notice its end.
_NOTICE_S = 2.0
_MISTAKE, _INTERRUPTED = 2, 130
# Errors of collective operations after the end of another process.
_CONNECTION = re.compile("clos|reset|refused|broken|timed out|gloo|nccl|peer", re.IGNORECASE)


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
    _watch: _Watch | None = None

    def together(self, call: Callable[[], Value]) -> Value:
        """Call a function in every process; if it fails in one, all end.

        The first process in which it failed raises its error, and the others SystemExit.
        """
        if self.size == 1:
            return call()
        values: list[Value] = []
        error: Exception | None = None
        try:
            values.append(call())
        except Exception as raised:
            error = raised
        failed = self.gather(error is not None)
        if not any(failed):
            return values[0]
        if self._watch is not None:
            self._watch.all_know()
        if failed.index(True) == self.rank and error is not None:
            raise error
        raise SystemExit(_MISTAKE)

    def first(self, call: Callable[[], Value]) -> Value:
        """Call a function in the first process alone; its result in all."""
        if self.size == 1:
            return call()
        value: Any = self.together(call if self.rank == 0 else _nothing)
        return self.gather(value)[0]

    def first_then_others(self, call: Callable[[], Value]) -> Value:
        """Call a function in the first process, then in the others: it may leave a cache."""
        if self.size == 1:
            return call()
        value: Any = None
        for mine in (self.rank == 0, self.rank != 0):
            result: Any = self.together(call if mine else _nothing)
            value = result if mine else value
        return value

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, by rank; waits for all of them, however long."""
        if self._watch is None:
            return [value]
        with self.ending_together():
            return self._watch.gather(value)

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """Context whose end by an error ends the other processes, as their end ends it.

        Raises
        ------
        KeyboardInterrupt
            In every process, if one was interrupted.
        CheckpointError
            In one process, if another was killed or failed.
        SystemExit
            In the remaining processes.
        """
        if self._watch is None:
            yield
            return
        try:
            yield
        except BaseException as error:
            self._watch.end(error)
            raise

    def leave(self) -> None:
        """End the connection of the processes; each of them is alone from here on."""
        if self._watch is not None:
            self.gather(None)
            self._close(ended=False)

    def _close(self, *, ended: bool) -> None:
        global _active
        _active = None
        if self._watch is None:
            return
        self._watch.close(ended=ended)
        self._watch = None
        if not ended:
            # After another process has ended, this would wait for it.
            dist.destroy_process_group()


def _nothing() -> None:
    """What the other processes do meanwhile."""


_active: World | None = None


@contextmanager
def joined(options: Mapping[str, Any]) -> Iterator[World]:
    """Context of the processes that the hardware options of a trainer ask for.

    With several devices and without torchrun or SLURM, the other processes of this node are
    started here: they run the same command.

    Parameters
    ----------
    options
        Options of `pytorch_lightning.Trainer`.

    Raises
    ------
    ParameterError
        If Lightning refuses them, or the strategy copies the running process.
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
    launcher = strategy.launcher
    if launcher is not None and not isinstance(launcher, _SubprocessScriptLauncher):
        raise ParameterError(
            f"--strategy {options.get('strategy')} copies the running process",
            hint="choose ddp or another strategy that starts processes",
        )
    started: list[subprocess.Popen] = []
    if launcher is not None and not strategy.cluster_environment.creates_processes_externally:
        # Not `launch`: it kills this process where another has ended, before it can say why.
        launcher._call_children_scripts()
        started = launcher.procs
    with _joining(started), quiet_lightning():
        strategy.setup_environment()
    world = World(probe.global_rank, probe.world_size, probe.local_rank, probe.node_rank)
    world._watch = _Watch(world.rank, world.size)
    _active = world
    try:
        with world.ending_together():
            yield world
            world.leave()
    except KeyboardInterrupt:
        if world.rank:
            # The first one says it.
            raise SystemExit(_INTERRUPTED) from None
        raise
    finally:
        world._close(ended=True)


@contextmanager
def _joining(started: list[subprocess.Popen]) -> Iterator[None]:
    """Context of the connection; the process ends if one that it needs has ended before.

    Connecting takes no notice of signals and waits for half an hour.
    """
    parent, done = os.getppid(), threading.Event()
    is_started = launched() is None and os.environ.get("LOCAL_RANK", "0") != "0"

    def watch() -> None:
        while not done.wait(_LOOK_S):
            ended = [each.args for each in started if each.poll() is not None]
            if ended:
                print(
                    "deepphase: error: a process that trains on another device has ended",
                    file=sys.stderr,
                )
            if ended or (is_started and os.getppid() != parent):
                for each in started:
                    each.kill()
                os._exit(_MISTAKE)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class _Watch:
    """Thread that publishes the end of this process, and ends it after that of another."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size
        self._others = [other for other in range(size) if other != rank]
        store: Any = dist.distributed_c10d._get_default_store()
        # A connection for each thread: one that waits blocks its connection.
        self._store, self._threads_store = store.clone(), store.clone()
        self._gathered = 0
        self._reason: dict[str, Any] | None = None
        self._own: dict[str, Any] | None = None
        self._ended = False
        self._closing, self._published = threading.Event(), threading.Event()
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._handlers[number] = signal.signal(number, self._interrupted)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        self._gathered += 1
        keys = [_key(f"gathered/{self._gathered}", rank) for rank in range(self._size)]
        self._store.set(keys[self._rank], pickle.dumps(value))
        # Not `wait`: it takes no notice of signals.
        while not self._store.check(keys):
            time.sleep(_LOOK_S / 10)
        return [pickle.loads(self._store.get(key)) for key in keys]

    def all_know(self) -> None:
        """An error of this process is known to the others, which end by themselves."""
        self._ended = True

    def end(self, error: BaseException) -> None:
        """Publish an error, or raise what their end means for this process."""
        if self._ended:
            return
        self._ended = True
        if self._reason is None and isinstance(error, RuntimeError):
            # The connection broke; the reason follows, if there was time to give one.
            broken = _CONNECTION.search(str(error))
            deadline = time.monotonic() + (_NOTICE_S if broken else 0.0)
            while self._reason is None and time.monotonic() < deadline:
                time.sleep(_LOOK_S / 5)
            if self._reason is None and broken:
                self._reason = {"what": "lost", "rank": None}
        if self._reason is not None:
            raise self._meaning(self._reason) from None
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        self._own = {"what": what, "rank": self._rank}
        self._published.wait(_NOTICE_S + 1.0)

    def close(self, *, ended: bool) -> None:
        """Stop watching; after a training that has not `ended`, once the others do."""
        self._closing.set()
        self._thread.join(_NOTICE_S)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if not ended:
            with suppress(RuntimeError):
                self._store.set(_key("left", self._rank), b"")
                self._wait_for("left", self._store)

    def _meaning(self, reason: dict[str, Any]) -> BaseException:
        """What the end of another process raises in this one."""
        if reason["what"] == "interrupted":
            return KeyboardInterrupt()
        other = reason["rank"]
        # One error for all of them: where the failed process has printed its own, none.
        if reason["what"] == "failed" or self._rank != min({*range(self._size)} - {other}):
            return SystemExit(_MISTAKE)
        who = "another process" if other is None else f"process {other}"
        return CheckpointError(
            f"{who} of the {self._size} that train together has ended",
            hint="--resume continues the training from its last resume point, if it has one",
        )

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if not self._ended:
            # The program's own handler of Ctrl-C, which knows where it may not interrupt.
            handler = self._handlers.get(signal.SIGINT)
            (handler if callable(handler) else signal.default_int_handler)(number, frame)

    def _run(self) -> None:
        """Look after the others until `close`."""
        store = self._threads_store
        seen = {rank: (b"", time.monotonic()) for rank in self._others}
        beat = 0
        while not self._closing.wait(_LOOK_S / 2 if self._own is None else 0.0):
            try:
                if self._own is not None:
                    self._publish(self._own)
                    return
                beat += 1
                store.set(_key("beat", self._rank), str(beat))
                if store.check(["deepphase/end"]):
                    store.set(_key("noticed", self._rank), b"")
                    self._stop(json.loads(store.get("deepphase/end")))
                    return
                for rank, (last, moment) in seen.items():
                    key = _key("beat", rank)
                    now = store.get(key) if store.check([key]) else last
                    if now != last:
                        seen[rank] = now, time.monotonic()
                    elif time.monotonic() - moment > _SILENT_S:
                        self._stop({"what": "lost", "rank": rank})
                        return
            except RuntimeError:
                # The process that holds the store has ended: the first one, or torchrun's.
                self._published.set()
                if self._own is None and not self._closing.is_set():
                    self._stop({"what": "lost", "rank": 0})
                return

    def _publish(self, reason: dict[str, Any]) -> None:
        store = self._threads_store
        if not store.check(["deepphase/end"]):
            store.set("deepphase/end", json.dumps(reason))
        store.set(_key("noticed", self._rank), b"")
        self._wait_for("noticed", store)
        self._published.set()

    def _wait_for(self, name: str, store: Any) -> None:
        """Wait for a key of all others: the store may end with this process."""
        deadline = time.monotonic() + _NOTICE_S
        keys = [_key(name, rank) for rank in self._others]
        while time.monotonic() < deadline and not store.check(keys):
            time.sleep(_LOOK_S / 10)

    def _stop(self, reason: dict[str, Any]) -> None:
        """End this process: in order if it can, else at once."""
        self._reason = reason
        if not self._ended:
            _thread.interrupt_main(signal.SIGINT)
        if self._closing.wait(_GRACE_S):
            return
        error = self._meaning(reason)
        if isinstance(error, DeepPhaseError):
            print(f"deepphase: error: {error}", file=sys.stderr, flush=True)
        os._exit(_INTERRUPTED if isinstance(error, KeyboardInterrupt) else _MISTAKE)


def _key(name: str, rank: int) -> str:
    return f"deepphase/{name}/{rank}"
