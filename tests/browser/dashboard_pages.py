"""The dashboard in Chromium, for tests: started, opened, and read once it has come to rest."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.cli import MESSAGE

_START_S, _END_S = 120, 60
# The folder of an audit hook that records and refuses connections to other machines.
_LOOPBACK = Path(__file__).parent / "loopback"
# A limit and not a delay: every wait ends as soon as what it waits for is there.
PATIENCE_S = 180.0
WITHOUT_WEBGL = """{
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === "webgl2" ? null : getContext.call(this, kind, ...rest);
    };
}"""
HEAD_WITHOUT_WEBGL = f"<head><script>{WITHOUT_WEBGL}</script>"


@contextmanager
def started(folder: Path | None = None, *, ends: signal.Signals = signal.SIGINT, **variables: str):
    """The address of a dashboard, started as a user does, on the demo or a folder, without a word.

    Whatever is asked of it meanwhile, it asks nothing of other machines.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.NamedTemporaryFile(delete=False) as attempts:
        pass
    paths = filter(None, [str(_LOOPBACK), os.environ.get("PYTHONPATH")])
    variables = {
        # Where the server crashes, its output shows the line.
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "LOOPBACK_LOG": attempts.name,
        # Without a cache there are no samples, and the demo is shown.
        "XDG_CACHE_HOME": os.devnull,
        **variables,
    }
    command = [sys.executable, "-m", "deepphase.apps.cli", "app", *filter(None, [folder])]
    server = subprocess.Popen(
        [*command, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | variables,
    )
    place = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(f"{place}/_stcore/health"), _START_S)
        yield place
    finally:
        server.send_signal(ends)
        said = server.communicate(timeout=_END_S)[0].decode()
    assert "Traceback" not in said, said
    assert place in said
    # A busy machine may not end it in time: then a thread of its own does, as cleanly.
    assert server.returncode == 0 or said.endswith(f"{MESSAGE}\n"), said
    assert Path(attempts.name).read_text() == ""
    Path(attempts.name).unlink()


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(url, timeout=1).status == 200
    except OSError:
        return False


def until(holds, seconds: float = PATIENCE_S):
    limit = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < limit, f"not within {seconds:.0f} s"
        time.sleep(0.05)
    return value


# Some earlier players are kept, hidden; one that came with the page may be replaced.
_IS_SHOWN = """frame => !frame.classList.contains("first-player")
    && [undefined, null, frame].includes(window.deepphasePlayers?.shown)
    && [undefined, frame.id].includes(window.deepphasePlayers?.desired)"""


def player(page):
    """The frame of the page's player, once it has drawn; the script may still run."""

    def ready():
        frames = [each for each in page.frames if each != page.main_frame]
        for frame in reversed(frames):
            try:
                if not frame.evaluate("window.deepphasePlayer?.isDrawn()"):
                    continue
                if page.evaluate(_IS_SHOWN, frame.frame_element()):
                    return frame
            except Exception:
                # A frame that is on its way out.
                page.wait_for_timeout(30)
        page.wait_for_timeout(30)
        return None

    return until(ready)


def live_frame(page):
    """The frame of the page in which a character is steered, once it has drawn."""

    def ready():
        for frame in page.frames[1:]:
            try:
                if frame.evaluate("(window.deepphaseLive?.pictures ?? 0) > 1"):
                    return frame
            except Exception:
                # A frame that is on its way out.
                continue
        page.wait_for_timeout(30)
        return None

    return until(ready)


def settled(page):
    """The frame of the page's player, once the page's script has come to its end."""
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    return player(page)


def answer_where(page, script: str, holds):
    """What the page's player answers to a script, once that holds; players come and go."""
    from playwright.sync_api import Error

    def answer():
        try:
            value = settled(page).evaluate(script)
        except Error:
            # A player that is on its way out.
            return None
        return (value,) if holds(value) else None

    return until(answer)[0]


def titled_player(page, title: str):
    """The frame of the page's player, once the page is at rest and plays what is called so."""
    answer_where(page, "document.querySelector('h1')?.innerText", lambda value: value == title)
    return settled(page)


def at_rest(locator):
    """The box of an element, once it has stayed where it is while two frames were drawn."""
    page = locator.page
    boxes = []

    def stays():
        page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
        boxes.append(locator.bounding_box())
        return len(boxes) > 2 and boxes[-1] and boxes[-1] == boxes[-2] == boxes[-3]

    until(stays)
    return boxes[-1]


def state(frame):
    return frame.evaluate("deepphasePlayer.state()")


def drawn_state(frame):
    """The state of a player that plays, in the turn in which it draws its next picture."""
    return frame.evaluate(
        """() => new Promise((go) => {
          const native = requestAnimationFrame;
          window.requestAnimationFrame = (draw) => {
            window.requestAnimationFrame = native;
            return native((now) => { draw(now); go(deepphasePlayer.state()); });
          };
        })"""
    )


def colours(locator) -> int:
    """Different colours in a picture of a part of the page; 0 if it is drawn again meanwhile."""
    image = pytest.importorskip("PIL.Image")
    errors = pytest.importorskip("playwright.sync_api")
    try:
        picture = locator.screenshot()
    except errors.Error as error:
        if "not visible" not in str(error):
            raise
        return 0
    pixels = np.asarray(image.open(io.BytesIO(picture)).convert("RGB"))
    return len(np.unique(pixels.reshape(-1, 3) // 32, axis=0))


def cloud(page):
    """The big cloud of page Manifold, once it is drawn."""
    shown = page.locator("section.cloud").first
    shown.wait_for()
    until(lambda: colours(shown.locator(".plot")) > 8)
    return shown
