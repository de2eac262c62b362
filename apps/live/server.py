"""Server of live pages on this machine, for `deepphase live`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from deepphase.apps.hosts import is_own_request
from deepphase.apps.live.page import live_page
from deepphase.apps.live.sources import asset_of
from deepphase.apps.printable import printable
from deepphase.apps.reports.page import Link, Page
from deepphase.errors import DeepPhaseError
from deepphase.terrain.heightmap import Heightmap

HOST = "127.0.0.1"
_OPEN = "/open/"
# Pages that are kept in memory, of up to 20 MB each.
_MAX_PAGES = 4


class LiveServer(ThreadingHTTPServer):
    """Server of the pages of one or several files, each of which leads to the others.

    It listens on 127.0.0.1 and answers requests whose Host header names this machine.

    Parameters
    ----------
    port
        Port to listen on.
    sources
        Name -> controller or motion database.
    listed
        Have a page with links to all files at "/". The page of the first file is there otherwise.
    body
        glb file with a skinned mesh to show in place of the mannequin.
    ground
        Ground that pages begin on; see `live_page`.
    """

    daemon_threads = True

    def __init__(
        self,
        port: int,
        sources: Mapping[str, Path],
        listed: bool = False,
        body: Path | None = None,
        ground: str | Heightmap | None = None,
    ) -> None:
        self._sources, self._listed = dict(sources), listed
        self._body, self._ground = body, ground
        self._pages: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    def page(self, address: str) -> str | None:
        """The HTML at an address; None if there is none.

        Raises
        ------
        DeepPhaseError
            If the file cannot be read.
        """
        path = urlsplit(address).path
        if path == "/":
            return self._list() if self._listed else self._live_page(next(iter(self._sources)))
        name = unquote(path.removeprefix(_OPEN))
        if not path.startswith(_OPEN) or name not in self._sources:
            return None
        return self._live_page(name)

    def _list(self) -> str:
        page = Page("Characters", "Choose the file that moves the character.")
        rows = [
            (Link(f"{_OPEN[1:]}{name}", name), f"{path.stat().st_size / 1e6:.1f} MB")
            for name, path in self._sources.items()
        ]
        return page.add_table(("file", "size"), rows).html()

    def _live_page(self, name: str) -> str:
        path = self._sources[name]
        # A file that was written again gets a new page.
        key = (name, path.stat().st_mtime_ns)
        with self._lock:
            if key not in self._pages:
                while len(self._pages) >= _MAX_PAGES:
                    self._pages.pop(next(iter(self._pages)))
                choices = {each: f"{_OPEN}{quote(each)}" for each in self._sources}
                self._pages[key] = live_page(
                    asset_of(path),
                    name=Path(name).stem,
                    choices=({"all files": "/"} if self._listed else {}) | choices,
                    chosen=name,
                    body=self._body,
                    ground=self._ground,
                )
            return self._pages[key]


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer

    def do_GET(self) -> None:
        hosts = self.headers.get_all("Host") or []
        origins = self.headers.get_all("Origin") or []
        if not is_own_request(hosts, origins, self.server.server_address[1]):
            self._answer(HTTPStatus.FORBIDDEN, "This address is not that of deepphase live.")
            return
        try:
            content = self.server.page(self.path)
        except (DeepPhaseError, OSError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, printable(error))
            return
        if content is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")
        else:
            self._answer(HTTPStatus.OK, content, "text/html")

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Requests are not printed."""
