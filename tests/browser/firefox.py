"""Firefox on a screen in memory, driven by its own protocol, Marionette, over a local socket."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_START_S, _ANSWER_S, _PAUSE_S = 60.0, 60.0, 0.05
# No connection leaves the machine: a proxy that does not exist, and no services of the browser.
_PREFERENCES = {
    "marionette.port": 0,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage": "about:blank",
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.w3c_touch_events.enabled": 1,
    "extensions.update.enabled": False,
    "toolkit.telemetry.enabled": False,
    # WebGL without a graphics card.
    "webgl.force-enabled": True,
}


class FirefoxError(Exception):
    """An error that the browser answered with."""


class Firefox:
    """One window of a running Firefox; messages are their length in bytes, a colon, and JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self._sent = 0
        self._read()
        capabilities = {"alwaysMatch": {"acceptInsecureCerts": False}}
        self.ask("WebDriver:NewSession", capabilities=capabilities)

    def ask(self, command: str, **parameters: Any) -> Any:
        """The answer to a command. FirefoxError if it failed."""
        self._sent += 1
        text = json.dumps([0, self._sent, command, parameters]).encode()
        self._connection.sendall(b"%d:" % len(text) + text)
        _, _, error, answer = self._read()
        if error is not None:
            raise FirefoxError(f"{error['error']}: {error['message']}")
        return answer

    def _read(self) -> Any:
        while b":" not in self._buffer:
            self._receive()
        size, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(size):
            self._receive()
        text, self._buffer = self._buffer[: int(size)], self._buffer[int(size) :]
        return json.loads(text)

    def _receive(self) -> None:
        received = self._connection.recv(1 << 16)
        if not received:
            raise FirefoxError("the browser has ended")
        self._buffer += received

    def goto(self, address: str) -> None:
        """Open an address and wait until it has loaded."""
        self.ask("WebDriver:Navigate", url=address)

    def resize(self, width: int, height: int) -> None:
        """Give the page's picture a size in CSS pixels."""
        for _ in range(2):
            inner = self.evaluate("[innerWidth, innerHeight]")
            outer = self.ask("WebDriver:GetWindowRect")
            self.ask(
                "WebDriver:SetWindowRect",
                width=outer["width"] + width - inner[0],
                height=outer["height"] + height - inner[1],
            )

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression in the page."""
        return self._script(f"return ({expression});")

    def errors(self) -> list[str]:
        """Errors and warnings of scripts of pages since the browser began."""
        self.ask("Marionette:SetContext", value="chrome")
        try:
            return self._script(
                "return Services.console.getMessageArray()"
                ".filter((each) => each instanceof Ci.nsIScriptError)"
                ".filter((each) => /^(file|http)/.test(each.sourceName))"
                ".map((each) => `${each.sourceName.slice(-40)}:${each.lineNumber} "
                "${each.errorMessage}`);"
            )
        finally:
            self.ask("Marionette:SetContext", value="content")

    def _script(self, script: str) -> Any:
        answer = self.ask("WebDriver:ExecuteScript", script=script, args=[], sandbox=None)
        return answer["value"]

    def keys(self, *steps: tuple[str, str]) -> None:
        """Press and release keys: ("down", "w"), ("up", "w")."""
        actions = [{"type": f"key{way.capitalize()}", "value": key} for way, key in steps]
        self.ask(
            "WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}]
        )

    def pointer(self, *steps: tuple[Any, ...], kind: str = "mouse") -> None:
        """Move, press and release a pointer: ("move", x, y), ("down",), ("up",)."""
        actions: list[dict[str, Any]] = []
        for way, *rest in steps:
            if way == "move":
                x, y = (round(each) for each in rest)
                actions.append(
                    {"type": "pointerMove", "x": x, "y": y, "duration": 0, "origin": "viewport"}
                )
            else:
                actions.append({"type": f"pointer{way.capitalize()}", "button": 0})
        pointer = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}}
        self.ask("WebDriver:PerformActions", actions=[{**pointer, "actions": actions}])

    def screenshot(self) -> bytes:
        """PNG of the page's visible part."""
        return base64.b64decode(self.ask("WebDriver:TakeScreenshot", full=False)["value"])


@contextmanager
def firefox(folder: Path, program: str, screen: str) -> Iterator[Firefox]:
    """Start a browser with a profile in an empty folder on an Xvfb, and end it.

    Without a window, Firefox has no WebGL.
    """
    lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in _PREFERENCES.items()]
    (folder / "user.js").write_text("\n".join(lines), encoding="utf-8")
    with ExitStack() as stack:
        read, write = os.pipe()
        size = "1600x1200x24"
        command = [screen, "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"]
        stack.enter_context(_running(command, pass_fds=(write,)))
        os.close(write)
        with os.fdopen(read) as number:
            display = f":{number.readline().strip()}"
        command = [program, "--no-remote", "--profile", str(folder), "--marionette"]
        process = stack.enter_context(
            _running(
                [*command, "--remote-allow-system-access"],
                env={**os.environ, "DISPLAY": display, "HOME": str(folder)},
            )
        )
        place = folder / "MarionetteActivePort"
        deadline = time.monotonic() + _START_S
        while not (place.exists() and place.read_text().strip()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise FirefoxError("the browser does not start")
            time.sleep(_PAUSE_S)
        address = ("127.0.0.1", int(place.read_text()))
        yield Firefox(stack.enter_context(socket.create_connection(address, timeout=_ANSWER_S)))


@contextmanager
def _running(command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    """A process in a group of its own, ended with all that it started."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **silent, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
