"""The dashboard as a web application, for the server that `deepphase app` starts."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from deepphase.apps.hosts import (
    HOST_NAMES_VARIABLE,
    HostMiddleware,
    Message,
    Send,
    host_names,
)

# At /manifold, Streamlit's page first looks for its server below that address, which fills the
# browser's console with errors: the variable gives it the address. Streamlit adds an entry to the
# history for every change of the address that a page makes itself. Here those replace the last
# one, so that Back leads to the page before.
_SCRIPT = b"""<script>
window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" };
const push = history.pushState;
history.pushState = function (state, unused, to) {
  const same = new URL(to ?? "", location.href).pathname === location.pathname;
  (same ? history.replaceState : push).call(history, state, unused, to);
};
</script>"""
_BEFORE = b"<head>"


class PageScriptMiddleware:
    """Middleware that writes a script into Streamlit's HTML page."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Callable, send: Send) -> None:
        """Forward all messages; HTML pages, which are short, are collected and changed first."""
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
            return
        # Compressed or cached answers could not be changed.
        removed = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        is_page = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        if is_page:
            headers = [(name, value) for name, value in scope["headers"] if name not in removed]
            scope = {**scope, "headers": headers}
        start: Message | None = None
        content = b""

        async def forward(message: Message) -> None:
            nonlocal start, content
            if message["type"] == "http.response.start" and is_page:
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                if kinds and kinds[0].startswith(b"text/html"):
                    start = message
                    return
            if start is None:
                await send(message)
                return
            content += message.get("body", b"")
            if message.get("more_body"):
                return
            page = content.replace(_BEFORE, _BEFORE + _SCRIPT, 1)
            headers = [(n, v) for n, v in start["headers"] if n != b"content-length"]
            headers.append((b"content-length", str(len(page)).encode()))
            await send({**start, "headers": headers})
            await send({**message, "body": page})

        await self._app(scope, receive, forward)


app = st.App(
    Path(__file__).parent / "run.py",
    middleware=[
        Middleware(HostMiddleware, names=host_names(os.environ.get(HOST_NAMES_VARIABLE, ""))),
        Middleware(PageScriptMiddleware),
    ],
)
