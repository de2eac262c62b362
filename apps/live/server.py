"""Server of live pages on this machine, for `deepphase live`, and the recordings of pages."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from deepphase.apps.hosts import FRAME_HEADERS, HOST, MAX_S, is_own_request
from deepphase.apps.live.assets import asset_of
from deepphase.apps.live.page import live_page
from deepphase.apps.terminal import printable
from deepphase.corpus.motion_files import RECORDINGS_FOLDER
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.files import atomic_write, temporary_folder, writing
from deepphase.formats.load import load
from deepphase.terrain.heightmap import Heightmap

_OPEN, _KEEP = "/open/", "/keep/"
# Bytes of a recording: a minute of a large skeleton has some 20 million.
_MAX_BYTES = 100_000_000
# Connections at a time, each in a thread.
_MAX_CONNECTIONS = 32


class LiveServer(ThreadingHTTPServer):
    """Server of the pages of several files; it closes connections that last too long."""

    daemon_threads = True

    def __init__(
        self,
        port: int,
        sources: Mapping[str, Path],
        body: Path | None = None,
        ground: str | Heightmap | None = None,
        folder: Path = Path(),
    ) -> None:
        self._sources = dict(sources)
        self._body, self._ground, self._folder = body, ground, folder
        self._pages: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()
        # Open connection -> when it began, oldest first.
        self._connections: dict[socket.socket, float] = {}
        super().__init__((HOST, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._close_connections(_MAX_CONNECTIONS - 1, MAX_S)
        self._connections[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        self._close_connections(_MAX_CONNECTIONS, MAX_S)

    def _close_connections(self, most: int, seconds: float) -> None:
        """Keep the newest connections, and of these the young; their threads end by themselves."""
        opened = list(self._connections.items())
        for number, (connection, began) in enumerate(opened):
            if number < len(opened) - most or time.monotonic() - began > seconds:
                self._connections.pop(connection, None)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that leaves or waits too long is no error.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def page(self, address: str) -> str | None:
        """The HTML at an address, that of the first file at "/"; None if there is none."""
        if urlsplit(address).path == "/":
            name: str | None = next(iter(self._sources))
        else:
            name = self._name(address, _OPEN)
        if name is None:
            return None
        path = self._sources[name]
        # A file that was written again gets a new page.
        key = (name, path.stat().st_mtime_ns)
        with self._lock:
            if key not in self._pages:
                # Pages have up to 20 MB each.
                while len(self._pages) >= 4:
                    self._pages.pop(next(iter(self._pages)))
                self._pages[key] = live_page(
                    asset_of(path),
                    name=Path(name).stem,
                    choices={each: f"{_OPEN}{quote(each)}" for each in self._sources},
                    chosen=name,
                    keeps=f"{_KEEP}{quote(name)}",
                    body=self._body,
                    ground=self._ground,
                )
            return self._pages[key]

    def keep(self, address: str, content: bytes) -> str | None:
        """Save the motion that a page sent; a sentence on it, None for an unknown address."""
        name = self._name(address, _KEEP)
        if name is None:
            return None
        path, seconds = save_recording(self._folder, Path(name).stem, content)
        where = path.relative_to(self._folder)
        return f"kept {seconds:.1f} s as {where} in {self._folder.resolve()}"

    def _name(self, address: str, begin: str) -> str | None:
        path = urlsplit(address).path
        name = unquote(path.removeprefix(begin))
        return name if path.startswith(begin) and name in self._sources else None


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer

    def do_GET(self) -> None:
        failed = HTTPStatus.INTERNAL_SERVER_ERROR
        self._respond(lambda: self.server.page(self.path), failed, "text/html")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._respond(self._keep, HTTPStatus.BAD_REQUEST)

    def _keep(self) -> str | None:
        length = self.headers.get("Content-Length", "")
        # A page of another site may send forms, but always names itself.
        if not self.headers.get("Origin") or not length.isdecimal():
            raise FormatError("this is not a motion of the live page", hint="save it there")
        if len(length) > len(str(_MAX_BYTES)) or int(length) > _MAX_BYTES:
            raise FormatError("the motion is too long", hint="record less than a minute")
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            raise FormatError("the motion ends too early", hint="save it again")
        return self.server.keep(self.path, content)

    def _respond(
        self, answer: Callable[[], str | None], failed: HTTPStatus, kind: str = "text/plain"
    ) -> None:
        """Send an answer; of errors their text, with the status `failed`."""
        hosts, origins = (self.headers.get_all(name) or [] for name in ("Host", "Origin"))
        status, text = HTTPStatus.OK, None
        if not is_own_request(hosts, origins, self.server.server_address[1]):
            status, text = HTTPStatus.FORBIDDEN, "This address is not that of deepphase live."
        elif not _is_address(self.path):
            status, text = HTTPStatus.BAD_REQUEST, "This is not an address."
        else:
            try:
                text = answer()
            except (DeepPhaseError, OSError) as error:
                status, text = failed, printable(error)
        if text is None:
            status, text = HTTPStatus.NOT_FOUND, "There is no such page."
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        shown = kind if status == HTTPStatus.OK else "text/plain"
        self.send_header("Content-Type", f"{shown}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Send the headers with those of every answer, errors of the base class included."""
        for name, value in {"X-Content-Type-Options": "nosniff", **FRAME_HEADERS}.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *args: object) -> None:
        """Requests are not printed."""


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        return bool(urlsplit(text))
    return False


def save_recording(folder: Path, name: str, content: bytes) -> tuple[Path, float]:
    """Write BVH text below a folder, as recordings/NAME_01.bvh; its file and length in seconds."""
    with temporary_folder() as place:
        (place / "recording.bvh").write_bytes(content)
        try:
            seconds = load(place / "recording.bvh").duration
        except FormatError as error:
            raise FormatError(error.fact, hint="record it again") from None
    recordings = folder / RECORDINGS_FOLDER
    stem = "".join(c if c.isalnum() or c in "-_ ." else "_" for c in name).strip(". ") or "motion"
    with writing(recordings):
        recordings.mkdir(exist_ok=True)
        number = 1
        while (path := recordings / f"{stem}_{number:02d}.bvh").exists():
            number += 1
        with atomic_write(path) as file:
            file.write(content)
    return path, seconds
