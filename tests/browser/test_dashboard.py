"""The dashboard in Chromium: it opens at once, draws, plays, selects, takes files and refuses."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

from deepphase.formats.bvh_writer import save_bvh
from deepphase.synthetic.locomotion import locomotion

_START_S, _END_S = 120, 60
# What Chromium says of its own accord: of attributes that Streamlit's iframes have, of plotly's
# canvases, and of WebGL without a graphics card.
_CHATTER = (
    "Unrecognized feature",
    "allow-scripts and allow-same-origin",
    "willReadFrequently",
    "GPU stall",
    "GL Driver",
)


@contextmanager
def started(*, ends: signal.Signals = signal.SIGINT, **variables: str):
    """The address of a dashboard, started as a user does, on the demo; it ends without a word."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "apps.cli", "app", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
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
    assert server.returncode == 0


@pytest.fixture(scope="module")
def address():
    """The dashboard on the demo, one for all tests of a module."""
    with started() as place:
        yield place


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(url, timeout=1).status == 200
    except OSError:
        return False


def until(holds, seconds: float = 15.0):
    limit = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < limit, "it did not come in time"
        time.sleep(0.05)
    return value


@pytest.fixture
def visit(browser, address):
    """A function that opens a page of the dashboard; whatever goes wrong in it fails the test."""
    problems: list[str] = []
    contexts = []

    def opened(page_name: str, **options):
        context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: note(told.type, told.text))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: foreign(asked.url))
        page.goto(f"{address}/{page_name}")
        page.wait_for_selector("h1", timeout=30_000)
        return page

    def note(kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in _CHATTER):
            problems.append(text)

    def foreign(url: str) -> None:
        if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:", "about:")):
            problems.append(f"asked for {url}")

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def player(page):
    """The frame of the page's player, once it has drawn."""

    def ready():
        frames = [each for each in page.frames if each != page.main_frame]
        for frame in reversed(frames):
            try:
                if frame.evaluate("window.deepphasePlayer?.stats().drawn.length > 0"):
                    return frame
            except Exception:
                # A frame that is on its way out.
                page.wait_for_timeout(30)
        page.wait_for_timeout(30)
        return None

    return until(ready, 30)


def state(frame):
    return frame.evaluate("deepphasePlayer.state()")


def colours(locator) -> int:
    """Different colours in a picture of a part of the page."""
    image = pytest.importorskip("PIL.Image")
    pixels = np.asarray(image.open(io.BytesIO(locator.screenshot())).convert("RGB"))
    return len(np.unique(pixels.reshape(-1, 3) // 32, axis=0))


def chart(page):
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
    return page.locator(".js-plotly-plot").first


def chosen(page) -> list[str]:
    """What the sidebar's choosers show."""
    return page.evaluate(
        "[...document.querySelectorAll('[data-testid=stSidebar] input')].map(each => each.value)"
    )


def test_the_first_picture_is_there_at_once(visit, address):
    visit("data")  # Chromium and the server have warmed up.
    began = time.monotonic()
    page = visit("")
    player(page)
    spent = time.monotonic() - began
    assert page.url == f"{address}/data"
    # The promise is 3 s; machines that run tests do other things, too.
    assert spent < 8, f"the first picture took {spent:.1f} s"


def test_every_page_has_an_address_and_a_link(visit, address):
    page = visit("data")
    links = page.locator('[data-testid="stSidebarNavLink"]').all_inner_texts()
    # Icons are letters of a font of their own.
    for name in [text.split("\n")[-1] for text in links]:
        page.locator('[data-testid="stSidebarNavLink"]', has_text=name).click()
        page.wait_for_function("to => location.href === to", arg=f"{address}/{name.lower()}")
        page.wait_for_function("name => document.querySelector('h1')?.innerText === name", arg=name)
        # A link that is clicked while its page is drawn anew is not the link any more.
        page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=60_000)


def test_a_row_is_chosen_and_plays_by_the_keyboard(visit):
    page = visit("data")
    frame = player(page)
    assert frame.locator("h1").inner_text() == "walk"
    table = page.locator('[data-testid="stDataFrame"]').first
    box = table.bounding_box()
    # The mark of the fourth row.
    page.mouse.click(box["x"] + 16, box["y"] + 33 * 4 + 16)
    frame = until(lambda: f if (f := player(page)).locator("h1").inner_text() == "run" else None)
    before = frame.evaluate("deepphasePlayer.joint(0, 0).world")
    frame.locator("#stage").click()
    page.keyboard.press("Space")
    until(lambda: state(frame)["playing"] and state(frame)["time"] > 0.3)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 0).world"), before)
    assert np.linalg.norm(moved) > 0.3, "a runner has gone on"


def test_the_manifold_is_drawn_in_the_plane_and_in_space(visit):
    page = visit("manifold")
    assert colours(chart(page)) > 12
    page.get_by_text("Space", exact=True).click()
    page.wait_for_selector(".js-plotly-plot .gl-container canvas, .js-plotly-plot #scene canvas")
    page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullLayout?.scene")
    page.wait_for_timeout(1500)
    drawn = chart(page)
    assert colours(drawn) > 12
    points = page.evaluate(
        "document.querySelector('.js-plotly-plot')._fullData.reduce((n, t) => n + t._length, 0)"
    )
    assert 1_000 < points <= 5_000


def test_a_lasso_selects_and_the_skeleton_plays_it(visit):
    page = visit("manifold")
    area = chart(page).locator(".nsewdrag").first
    player(page)
    box = area.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    radius = 0.2 * box["width"]
    # A loop right of the middle, over the inner rings.
    turns = np.linspace(0, 2 * np.pi, 24)
    path = [
        (middle[0] + radius * (1.2 + 0.8 * np.cos(turn)), middle[1] + radius * np.sin(turn))
        for turn in turns
    ]
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    page.wait_for_selector("text=points selected", timeout=20_000)
    frame = until(
        lambda: f if (f := player(page)).locator("h1").inner_text() == "Selected frames" else None
    )
    frame.locator("#stage").click()
    page.keyboard.press("Space")
    until(lambda: state(frame)["time"] > 0.2)
    # The selected frames lie inside the loop, and so does the point that moves.
    told = page.locator("text=points selected").inner_text()
    assert int(told.split(" points")[0].split()[-1].replace(",", "")) > 20


def test_a_clip_plays_and_the_point_moves(visit):
    page = visit("manifold")
    frame = player(page)
    picture = frame.locator("#manifold")
    picture.scroll_into_view_if_needed()
    still = picture.screenshot()
    assert picture.screenshot() == still
    before = frame.evaluate("deepphasePlayer.joint(0, 5).world")
    frame.evaluate("deepphasePlayer.seek(1.25)")
    until(lambda: picture.screenshot() != still)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 5).world"), before)
    assert np.linalg.norm(moved) > 0.5


def test_an_upload_plays_and_a_hostile_one_is_refused(visit, tmp_path):
    save_bvh(locomotion(4, 2.0, gait="jog").clip, tmp_path / "mine.bvh")
    page = visit("data")
    player(page)
    chooser = page.locator('[data-testid="stFileUploader"] input[type=file]')
    chooser.set_input_files(
        {
            "name": "<img src=x onerror=alert(1)>.bvh",
            "mimeType": "text/plain",
            "buffer": b"HIERARCHY\nROOT <script>alert(1)</script>\n{",
        }
    )
    page.wait_for_selector("text=Refused", timeout=20_000)
    assert "Traceback" not in page.inner_text("body")
    chooser.set_input_files(tmp_path / "mine.bvh")
    frame = until(lambda: f if (f := player(page)).locator("h1").inner_text() == "mine" else None)
    assert state(frame)["duration"] == pytest.approx(2.0, abs=0.1)
    assert chosen(page)[0].startswith("Your files")
    # Nobody else sees it.
    other = visit("data")
    player(other)
    assert chosen(other)[0] == "Made motion (demo)"
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Manifold").click()
    chart(page)
    assert colours(chart(page)) > 3


def test_dark_follows_the_reader(visit):
    page = visit("manifold", color_scheme="dark")
    assert state(player(page))["dark"]
    background = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert background == "rgb(21, 24, 28)"
    paper = chart(page).evaluate("plot => plot._fullLayout.paper_bgcolor")
    assert paper.upper() == "#15181C"


def test_nothing_is_wider_than_a_narrow_window(visit):
    for name in ("data", "manifold"):
        page = visit(name, viewport={"width": 480, "height": 900})
        player(page)
        wide = page.evaluate(
            "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
        )
        assert wide <= 0
