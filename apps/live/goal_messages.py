"""Goals of a steered body that other programs send, as datagrams or as JSON."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Callable

import numpy as np

from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.export.osc import Message, osc_messages
from deepphase.steering.root_states import RootStates
from deepphase.steering.velocity_goals import VelocityGoals

HOST = "127.0.0.1"
MAX_BYTES = 65_536
"""Of a message."""
_GOALS = (
    "send /deepphase/velocity x z (m/s), /deepphase/facing radians, /deepphase/label name value, "
    "or /deepphase/stop"
)


class SteeredGoals(VelocityGoals):
    """Goals of one character that messages change."""

    def __init__(self, root_states: RootStates) -> None:
        super().__init__(root_states)
        self._wanted: dict[str, str] = {}

    def take(self, message: Message) -> None:
        """Follow a message: a velocity, a facing, a label, or an order to stop.

        Raises
        ------
        ParameterError
            If it is not one of them.
        """
        address, values = message
        numbers = [value for value in values if isinstance(value, int | float)]
        finite = len(numbers) == len(values) and all(map(math.isfinite, numbers))
        facings = self._facings
        match address.removeprefix("/deepphase/"), len(values):
            case "velocity", 2 if finite:
                self.set(np.array([numbers]), facings)
            case "facing", 1 if finite:
                self.set(self._desired, np.array(numbers))
            case "facing", 0:
                self.set(self._desired)
            case "stop", 0:
                self.set(np.zeros((1, 2)))
            case "label", 2 if all(isinstance(value, str) for value in values):
                name, value = map(str, values)
                self._wanted = {**self._wanted, name: value}
            case _:
                raise ParameterError(f"{address} is not a goal", hint=_GOALS)

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: those that messages set."""
        return [self._wanted]


def goals_of_json(text: str | bytes) -> list[Message]:
    """The goals of a message such as {"velocity": [0, 1.3], "facing": 0, "labels": {}}.

    Raises ParameterError if it is not JSON, or not an object of lists and numbers.
    """
    hint = 'send {"velocity": [x, z], "facing": radians or null, "labels": {"style": "proud"}}'
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ParameterError("a message that is not JSON", hint=hint) from None
    if not isinstance(content, dict) or not content.keys() <= {"velocity", "facing", "labels"}:
        raise ParameterError("a message with other keys than goals have", hint=hint)
    found: list[Message] = []
    for name, value in content.items():
        if name == "labels" and isinstance(value, dict):
            found += [("/deepphase/label", (str(key), str(each))) for key, each in value.items()]
        elif isinstance(value, list):
            found.append((f"/deepphase/{name}", tuple(value)))
        else:
            found.append((f"/deepphase/{name}", () if value is None else (value,)))
    return found


class GoalListener:
    """Goals that arrive as datagrams of Open Sound Control on a port of this machine."""

    def __init__(self, port: int, take: Callable[[Message], None]) -> None:
        self.refused = 0
        self._take = take
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((HOST, port))
        except OSError:
            self._socket.close()
            raise ParameterError(
                f"port {port} is in use", hint="give another port for goals: --goal-port N"
            ) from None
        self._socket.settimeout(0.5)
        self._open = True
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while self._open:
            try:
                datagram = self._socket.recv(MAX_BYTES)
            except TimeoutError:
                continue
            except OSError:
                return
            try:
                for message in osc_messages(datagram):
                    self._take(message)
            except DeepPhaseError:
                # A sender of other messages must not end the stream.
                self.refused += 1

    def close(self) -> None:
        """Stop listening."""
        self._open = False
        self._socket.close()
