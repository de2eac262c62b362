"""The dashboard as a web application, for the server that `deepphase app` starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# Opened at /manifold, Streamlit's page looks for its server below that address first, in vain, and
# the browser's console fills with errors. Told where the server is, it does not look.
_SENDS_SERVER_URL = (
    b'<script>window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" }</script>'
)
_BEFORE = b"<head>"


class ServerUrlMiddleware:
    """Middleware that tells Streamlit's own page where its server is."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Callable, send: Send) -> None:
        """Pass everything on; of a page in HTML, which is short, only when it is whole."""
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
            return
        # Not compressed, and not "you have it already": there is a word to put in.
        passed = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        is_page = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        if is_page:
            kept = [(name, value) for name, value in scope["headers"] if name not in passed]
            scope = {**scope, "headers": kept}
        begun: Message | None = None
        content = b""

        async def passed_on(message: Message) -> None:
            nonlocal begun, content
            if message["type"] == "http.response.start" and is_page:
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                if kinds and kinds[0].startswith(b"text/html"):
                    begun = message
                    return
            if begun is None:
                await send(message)
                return
            content += message.get("body", b"")
            if message.get("more_body"):
                return
            given = content.replace(_BEFORE, _BEFORE + _SENDS_SERVER_URL, 1)
            headers = [(n, v) for n, v in begun["headers"] if n != b"content-length"]
            headers.append((b"content-length", str(len(given)).encode()))
            await send({**begun, "headers": headers})
            await send({**message, "body": given})

        await self._app(scope, receive, passed_on)


app = st.App(Path(__file__).parent / "run.py", middleware=[Middleware(ServerUrlMiddleware)])
