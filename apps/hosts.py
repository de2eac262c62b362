"""Check of the names under which a browser reaches the servers, and headers of their answers.

A page of another site can point its own name at 127.0.0.1 (DNS rebinding). Its requests are then
of the same origin for the browser; only the Host header differs from that of the user.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from deepphase.errors import ParameterError

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

HOST = "127.0.0.1"
# Pages of other sites cannot show ours in a frame, above which they catch clicks.
FRAME_HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'",
}
# Seconds that a connection may last without a whole request; of `deepphase live`, at all.
MAX_S = 30.0
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_REFUSED = b"This address is not one of the dashboard's. Open the one that it printed."


class HostMiddleware:
    """Middleware that answers requests to the server's own names, from its own pages, only."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Callable, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(key.lower().encode(), text.encode()) for key, text in FRAME_HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        if scope["type"] not in ("http", "websocket") or self._is_own(scope):
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            from starlette.responses import PlainTextResponse

            await PlainTextResponse(_REFUSED, 403)(scope, receive, send_with_headers)

    def _is_own(self, scope: Message) -> bool:
        hosts, origins = (
            [value.decode("latin-1") for key, value in scope["headers"] if key == name]
            for name in (b"host", b"origin")
        )
        return is_own_request(hosts, origins, scope["server"][1])


def is_own_request(hosts: Sequence[str], origins: Sequence[str], port: int) -> bool:
    """Whether a request was sent to a server's own name and port, from its own pages."""
    if len(hosts) != 1 or len(origins) > 1:
        return False
    (host,) = hosts
    # Browsers write both in lower case. Streamlit looks up the addresses of this machine, by a
    # request to another one, for an origin whose host differs from the Host header.
    if any(origin not in (f"http://{host}", f"https://{host}") for origin in origins):
        return False
    # A browser leaves out the standard port.
    return host.lower() in {f"{name}:{port}" for name in _LOOPBACK} | set(
        _LOOPBACK if port == 80 else ()
    )


def close_half_requests(seconds: float = MAX_S) -> None:
    """Let uvicorn close connections on which no whole request comes for so long."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol
    begin = protocol.connection_made

    def connection_made(own: Any, transport: Any) -> None:
        begin(own, transport)
        own.loop.call_later(seconds, look, own, transport, None)

    def look(own: Any, transport: Any, before: Any) -> None:
        # A websocket takes the connection over.
        if transport.is_closing() or transport.get_protocol() is not own:
            return
        if own.cycle is before and (before is None or before.response_complete):
            transport.close()
        else:
            own.loop.call_later(seconds, look, own, transport, own.cycle)

    protocol.connection_made = connection_made


def free_port(requested: int | None, first: int) -> int:
    """The requested port if it is free, by default the first free one from a number on."""
    if requested is not None and not 1 <= requested <= 65_535:
        raise ParameterError(f"--port must lie in 1 to 65535, not {requested}")
    for port in [requested] if requested is not None else range(first, first + 50):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # Set as by the servers: a port that was just released counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError, OverflowError):
                probe.bind((HOST, port))
                return port
    fact = f"port {requested} is in use" if requested else f"no free port from {first}"
    raise ParameterError(fact, hint="choose another: --port N")
