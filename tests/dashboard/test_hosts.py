"""Requests that the dashboard answers, by their Host and Origin headers."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from deepphase.apps.hosts import HostMiddleware, close_half_requests

PORT = 8501


def answer(kind, *headers, port=PORT):
    """What a request with these headers gets: "app", or the messages of the refusal."""
    sent = []

    async def app(scope, receive, send):
        sent.append("app")

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": kind,
        "server": ("127.0.0.1", port),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    asyncio.run(HostMiddleware(app)(scope, receive, send))
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8501",
        "localhost:8501",
        "LOCALHOST:8501",
        "[::1]:8501",
    ],
)
def test_own_names_are_answered(kind, host):
    assert answer(kind, ("host", host)) == ["app"]
    assert answer(kind, ("host", host), ("origin", f"http://{host}")) == ["app"]
    assert answer(kind, ("host", host), ("origin", f"https://{host}")) == ["app"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "")],
        [("host", "evil.example:8501")],
        [("host", "evil.example:8501"), ("origin", "http://evil.example:8501")],
        [("host", "127.0.0.1")],
        [("host", "127.0.0.1:8502")],
        [("host", "127.0.0.1:8501.evil.example")],
        [("host", "127.0.0.1.evil.example:8501")],
        [("host", "user@127.0.0.1:8501")],
        [("host", "[::1]:8501@evil.example")],
        [("host", "0.0.0.0:8501")],
        [("host", "tunnel:8501")],
        [("host", "localhost")],
        [("host", "localhost:")],
        [("host", "localhost:8501:8501")],
        [("host", "l\xf6calhost:8501")],
        [("host", "127.0.0.1:8501"), ("host", "evil.example")],
        [("host", "127.0.0.1:8501"), ("origin", "http://evil.example")],
        [("host", "127.0.0.1:8501"), ("origin", "http://localhost:8501")],
        [("host", "127.0.0.1:8501"), ("origin", "http://127.0.0.1:8000")],
        [("host", "127.0.0.1:8501"), ("origin", "null")],
        [("host", "127.0.0.1:8501"), ("origin", "")],
        [("host", "127.0.0.1:8501"), ("origin", "ftp://127.0.0.1:8501")],
        [
            ("host", "127.0.0.1:8501"),
            ("origin", "http://127.0.0.1:8501"),
            ("origin", "http://evil.example"),
        ],
    ],
)
def test_other_names_and_pages_are_refused(kind, headers):
    sent = answer(kind, *headers)
    if kind == "websocket":
        assert sent == [{"type": "websocket.close", "code": 1008}]
    else:
        assert sent[0]["status"] == 403
        assert b"not one of the dashboard's" in sent[1]["body"]
        assert (b"x-frame-options", b"SAMEORIGIN") in sent[0]["headers"]


def test_the_standard_port_may_be_left_out_and_the_servers_own_messages_pass():
    assert answer("http", ("host", "localhost"), port=80) == answer("lifespan") == ["app"]


def test_half_requests_are_closed(monkeypatch):
    monkeypatch.setattr(AutoHTTPProtocol, "connection_made", AutoHTTPProtocol.connection_made)
    close_half_requests(0.2)

    async def app(scope, receive, send):
        # Longer than a connection may be without a request.
        await asyncio.sleep(0.5)
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def answers():
        server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_level="error"))
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        address = server.servers[0].sockets[0].getsockname()
        found = []
        whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        for sent in (b"", b"GET / HT", whole, whole + whole[:9]):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(sent)
            found.append(await asyncio.wait_for(reader.read(), 30))
            writer.close()
        server.should_exit = True
        await task
        return found

    *none, once, again = asyncio.run(answers())
    assert none == [b"", b""]
    assert once.startswith(b"HTTP/1.1 204")
    assert again.startswith(b"HTTP/1.1 204")
