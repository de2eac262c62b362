"""A steered body as a stream: frames to other programs, and goals from them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import numpy as np

from deepphase.apps.live.body_senders import (
    OscSender,
    Sender,
    StreamedFrame,
    StreamTarget,
    VmcSender,
    WebSocketSender,
)
from deepphase.apps.live.goal_messages import GoalListener, SteeredGoals
from deepphase.errors import ParameterError
from deepphase.export.osc import Message
from deepphase.motion.clip import Clip
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Runner, RunnerSource, rollout

# Seconds behind after which frames are left out.
_LATE_S = 0.25
_KEPT_TIMES = 36_000


@dataclass(frozen=True)
class StreamReport:
    """How evenly frames were sent.

    Parameters
    ----------
    frames, left_out
        Number of frames that were sent, and of those that were left out because the machine was
        busy.
    made_ms, off_ms
        Median and 95th percentile of the milliseconds that a frame took to make and send, and that
        it was sent beside its time.
    refused
        Number of messages that were not goals.
    """

    frames: int
    left_out: int
    made_ms: tuple[float, float]
    off_ms: tuple[float, float]
    refused: int

    def __str__(self) -> str:
        return (
            f"{self.frames} frames, {self.left_out} left out; made in {self.made_ms[0]:.1f} ms "
            f"(95 %: {self.made_ms[1]:.1f}), sent {self.off_ms[0]:.1f} ms beside their times "
            f"(95 %: {self.off_ms[1]:.1f}); {self.refused} messages were not goals"
        )


class BodyStream:
    """One steered body whose frames are sent at their times.

    Parameters
    ----------
    source
        A controller or a motion database with the options of a run.
    targets
        Where frames are sent.
    goal_port
        Port of this machine on which goals arrive; 0 for none.

    Raises
    ------
    ParameterError
        If a port is in use.
    SkeletonError
        If the body has not two legs and is sent as VMC.
    """

    def __init__(
        self, source: RunnerSource[Runner], targets: Iterable[StreamTarget], goal_port: int
    ) -> None:
        rest = RootStates.at_rest(np.zeros((1, 2)))
        self._waiting: deque[Message] = deque(maxlen=1000)
        self.goals = SteeredGoals(rest)
        sample = rollout(source.start(self.goals, rest), self.goals, 1.0).clip()
        self.goals = SteeredGoals(rest)
        self._runner = source.start(self.goals, rest)
        self.spec = self._runner.spec
        self._refused = 0
        self._open = ExitStack()
        self.senders: list[Sender] = []
        self._listener: GoalListener | None = None
        with ExitStack() as opened:
            if goal_port:
                self._listener = GoalListener(goal_port, self._waiting.append)
                opened.callback(self._listener.close)
            for target in targets:
                self.senders.append(self._sender(target, sample))
                opened.callback(self.senders[-1].close)
            self._open = opened.pop_all()

    def _sender(self, target: StreamTarget, sample: Clip) -> Sender:
        if target.kind == "vmc":
            return VmcSender(target, sample)
        if target.kind == "osc":
            return OscSender(target)
        return WebSocketSender(target, self.spec, self._waiting.append)

    def __enter__(self) -> BodyStream:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def run(
        self, seconds: float = math.inf, on_frame: Callable[[], None] = lambda: None
    ) -> StreamReport:
        """Send frames at their times, for some seconds or until interrupted.

        Parameters
        ----------
        on_frame
            Called after every frame.
        """
        made: deque[float] = deque(maxlen=_KEPT_TIMES)
        off: deque[float] = deque(maxlen=_KEPT_TIMES)
        begin, number, sent, left_out = time.perf_counter(), 0, 0, 0
        step = 1.0 / self.spec.fps
        with suppress(KeyboardInterrupt):
            while number * step < seconds:
                due = begin + number * step
                ahead = due - time.perf_counter()
                if ahead > 0:
                    time.sleep(ahead)
                elif -ahead > _LATE_S:
                    skipped = int(-ahead / step)
                    begin, left_out = begin + skipped * step, left_out + skipped
                started = time.perf_counter()
                off.append(1000.0 * abs(started - (begin + number * step)))
                self._follow()
                frame = self._frame(number, number * step)
                for sender in self.senders:
                    sender.send(frame)
                made.append(1000.0 * (time.perf_counter() - started))
                number, sent = number + 1, sent + 1
                on_frame()
        refused = self._refused + (self._listener.refused if self._listener else 0)
        return StreamReport(sent, left_out, _two(made), _two(off), refused)

    def _follow(self) -> None:
        while self._waiting:
            try:
                self.goals.take(self._waiting.popleft())
            except ParameterError:
                self._refused += 1

    def _frame(self, number: int, seconds: float) -> StreamedFrame:
        frame = self._runner.step(self.goals)
        clip = Clip(
            self.spec.skeleton,
            frame.rotations[:1],
            frame.translations[:1],
            self.spec.fps,
            self.spec.translated_joints,
        )
        return StreamedFrame(
            number, seconds, clip, np.array(frame.positions[0], float), float(frame.angles[0])
        )


def _two(values: Iterable[float]) -> tuple[float, float]:
    found = np.percentile(list(values) or [0.0], (50, 95))
    return float(found[0]), float(found[1])
