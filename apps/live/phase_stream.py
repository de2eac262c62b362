"""Phases of joint positions that arrive as messages: lines of a pipe, or of a WebSocket.

The first message names the joints, ``{"joints": ["Hips", ...]}``; it may come again, and the
stream then starts over. Every other message is one frame, a list of [x, y, z] in metres, Y up, at
the model's rate. An answer is one line of JSON with the phases, or with an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from deepphase.apps.hosts import is_own_request
from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.phase.model import PhaseModel
from deepphase.phase.streaming import StreamingEncoder

HOST = "127.0.0.1"
_FORM = 'the first message is {"joints": ["Hips", ...]}, the others are [[x, y, z], ...]'
# Bytes of a message at most: some 10,000 joints.
_MAX_BYTES = 1_000_000
_DIGITS = 6


class PhaseStream:
    """Answers to the messages of one stream.

    Parameters
    ----------
    model
        See `StreamingEncoder`, which raises errors for other models when the joints are named.
    lag_s
        Seconds that the phases are behind.
    """

    def __init__(self, model: PhaseModel, lag_s: float = 0.0) -> None:
        self._model, self._lag_s = model, lag_s
        self._encoder: StreamingEncoder | None = None
        self._frame = 0

    def begin(self, names: Sequence[str]) -> None:
        """Name the joints, and start over."""
        self._encoder = StreamingEncoder(self._model, names, lag_s=self._lag_s)
        self._frame = 0

    def frame(self, positions: Array) -> dict[str, Any] | None:
        """Number and phases of the next frame; None until a window has arrived.

        Raises
        ------
        ParameterError
            If the joints were not named, or as `StreamingEncoder.push`.
        """
        if self._encoder is None:
            raise ParameterError("a frame before the joints are named", hint=_FORM)
        found = self._encoder.push(positions)
        self._frame += 1
        if found is None:
            return None
        values = {"phase": found.phase, "frequency": found.frequency}
        values |= {"amplitude": found.amplitude, "offset": found.offset}
        numbers = {name: np.round(each.astype(float), _DIGITS) for name, each in values.items()}
        return {"frame": self._frame - 1} | {name: each.tolist() for name, each in numbers.items()}

    def answer(self, message: str | bytes) -> dict[str, Any] | None:
        """What is answered to a message; None to one that needs no answer.

        Raises
        ------
        DeepPhaseError
            If the message is neither joints nor a frame.
        """
        try:
            content = json.loads(message)
        except (ValueError, RecursionError):
            raise ParameterError("a message that is not JSON", hint=_FORM) from None
        if isinstance(content, dict):
            names = content.get("joints")
            if not (isinstance(names, list) and all(isinstance(each, str) for each in names)):
                raise ParameterError("this is a message without a list of joints", hint=_FORM)
            self.begin(names)
            return None
        try:
            positions = np.array(content, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError("a frame that is not a list of [x, y, z]", hint=_FORM) from None
        return self.frame(positions)


def stream_server(model: PhaseModel, port: int, lag_s: float, ready: Callable[[str], None]) -> None:
    """Serve a WebSocket of phases on 127.0.0.1 until interrupted; each connection has its stream.

    Parameters
    ----------
    ready
        Called with the address when connections are accepted.

    Raises
    ------
    ParameterError
        If the port is in use.
    """

    def checked(connection: ServerConnection, request: Request) -> Response | None:
        # Pages of other sites must not reach a server of this machine.
        headers = request.headers
        if is_own_request(headers.get_all("Host"), headers.get_all("Origin"), port):
            return None
        return connection.respond(HTTPStatus.FORBIDDEN, "This address is not deepphase stream's.")

    async def answered(connection: ServerConnection) -> None:
        stream = PhaseStream(model, lag_s)
        async for message in connection:
            try:
                answer = stream.answer(message)
            except DeepPhaseError as error:
                answer = {"error": error.fact, "hint": error.hint}
            if answer is not None:
                await connection.send(json.dumps(answer))

    async def forever() -> None:
        try:
            server = serve(
                answered, HOST, port, process_request=checked, max_size=_MAX_BYTES, compression=None
            )
            async with server:
                ready(f"ws://{HOST}:{port}")
                await asyncio.get_running_loop().create_future()
        except OSError:
            raise ParameterError(
                f"port {port} is in use", hint="choose another: --port N"
            ) from None

    with suppress(KeyboardInterrupt):
        asyncio.run(forever())
