"""The dashboard as a web application, for the server that `deepphase app` starts."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders, QueryParams
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send
from streamlit.file_util import get_static_dir

from deepphase.apps import hosts
from deepphase.apps.dashboard.parts import messages
from deepphase.apps.dashboard.parts.widgets import STYLE
from deepphase.apps.dashboard.script.first_player import first_player

# At /manifold, Streamlit's page first looks for its server below that address, which fills the
# browser's console with errors: the variable gives it the address. Streamlit adds an entry to the
# history for every change of the address that a page makes itself. Here those replace the last
# one, so that Back leads to the page before, as its address was when a link was clicked: the next
# page may write its own before Streamlit has left that one.
_SCRIPT = b"""<script>
window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" };
const push = history.pushState;
let left = "";
addEventListener("click", ({ target }) => {
  left = target.closest?.("a[href]") ? location.href : "";
}, true);
history.pushState = function (state, unused, to) {
  const same = new URL(to ?? "", location.href).pathname === location.pathname;
  const before = left && new URL(left);
  if (!same && before.pathname === location.pathname) {
    history.replaceState(history.state, "", before);
  }
  (same ? history.replaceState : push).call(history, state, unused, to);
  if (!same) document.querySelector("iframe.first-player")?.remove();
};
</script>"""
_FRAME = b"<script>" + Path(__file__).with_name("first_player.js").read_bytes() + b"</script>"
# Streamlit's scripts, which wait for the first picture of that player.
_SCRIPTS = re.compile(rb'<(script type="module"[^>]*></script|link rel="modulepreload"[^>]*)>')
_ROOT = b'<div id="root">'
_PLAYER = "/first-player/"


@lru_cache(maxsize=512)
def _script(path: str) -> Response | None:
    """The answer with a script of Streamlit, of which a first visit asks for a hundred."""
    file = Path(get_static_dir()) / "static" / "js" / path.rpartition("/")[2]
    if not path.startswith("/static/js/") or file not in file.parent.glob("*.js"):
        return None
    headers = {"Cache-Control": "public, immutable, max-age=31536000"}
    return Response(file.read_bytes(), media_type="text/javascript", headers=headers)


class PageScriptMiddleware(BaseHTTPMiddleware):
    """Middleware that writes a script into Streamlit's HTML page, and keeps Streamlit's scripts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a script at once; Streamlit reads each in many turns of threads."""
        answer: Response | None = None
        if scope["type"] == "http":
            # Threads give way while the browser loads the page.
            messages.page_runs()
            page = scope["path"].removeprefix(_PLAYER)
            if page != scope["path"]:
                given = dict(QueryParams(scope["query_string"]))
                dark = bool(given.pop("dark", ""))
                html = await run_in_threadpool(first_player, page, given, dark=dark)
                answer = HTMLResponse(html, headers={"Cache-Control": "no-store"})
            else:
                answer = _script(page)
        await (answer or super().__call__)(scope, receive, send)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Forward a request; the content of HTML pages, which are short, is changed."""
        headers = MutableHeaders(scope=request.scope)
        if request.method != "GET" or "text/html" not in headers.get("accept", ""):
            return await call_next(request)
        # Compressed or cached answers could not be changed.
        for name in ("accept-encoding", "if-none-match", "if-modified-since", "range"):
            del headers[name]
        answer: Any = await call_next(request)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            return answer
        content = b"".join([part async for part in answer.body_iterator])
        if _ROOT in content:
            later = b"".join(each[0] for each in _SCRIPTS.finditer(content))
            held = STYLE.encode() + b'<template id="later">' + later + b"</template>" + _FRAME
            content = _SCRIPTS.sub(b"", content).replace(_ROOT, held + _ROOT, 1)
            content = content.replace(b"<head>", b"<head>" + _SCRIPT, 1)
        page = Response(content, answer.status_code)
        length = (b"content-length", str(len(page.body)).encode())
        page.raw_headers = [own for own in answer.raw_headers if own[0] != length[0]] + [length]
        return page


hosts.close_half_requests()
app = st.App(
    Path(__file__).parent / "run.py",
    middleware=[
        Middleware(hosts.HostMiddleware),
        Middleware(PageScriptMiddleware),
    ],
)
