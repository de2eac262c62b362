"""Chromium, driven by playwright; tests are skipped where either is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from tests.browser.dashboard_pages import PATIENCE_S, WITHOUT_WEBGL, started

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# What Chromium says of its own accord: of attributes that Streamlit's iframes have, of plotly's
# canvases, and of WebGL without a graphics card.
_CHATTER = (
    "Unrecognized feature",
    "allow-scripts and allow-same-origin",
    "willReadFrequently",
    "GPU stall",
    "GL Driver",
)

# Two pictures a second, and none of what only turns or blinks, nor surfaces of bodies: drawn by
# software, they would take the processor from the server.
_FEWER_PICTURES = """(() => {
    const still = new CSSStyleSheet();
    still.replaceSync("*, ::before, ::after { animation: none !important }");
    document.adoptedStyleSheets = [still];
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (draw) => setTimeout(() => ask(draw), 500);
    window.cancelAnimationFrame = clearTimeout;
})();"""


@contextmanager
def chromium() -> Iterator:
    """Chromium of this machine; a test is skipped where it or playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, _PROGRAMS)), "")
    if not program:
        pytest.skip("no Chromium on this machine (install it, or set BROWSER_PATH)")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program,
            # A page may play at once, as one does that was clicked.
            args=[
                *("--headless=new", "--no-sandbox", "--disable-gpu-compositing"),
                *("--autoplay-policy=no-user-gesture-required", "--process-per-site"),
            ],
        )
        yield launched
        launched.close()


# Not of the session: playwright keeps an event loop running, which others could not start then.
@pytest.fixture(scope="package")
def browser() -> Iterator:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="package")
def served(browser, address):
    """The context of all pages of the dashboard: as long as one is open, their process stays.

    It has compiled the scripts of Streamlit, which takes half of the time until a page is drawn.
    """
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_FEWER_PICTURES + WITHOUT_WEBGL)
    context.new_page().goto(f"{address}/_stcore/health")
    yield context
    context.close()


@pytest.fixture
def watched(browser, request) -> Iterator[Callable]:
    """A function that opens a URL; whatever goes wrong in the page fails the test.

    It asks for nothing that is elsewhere.
    """
    problems: list[str] = []
    opened_here = []
    # Options -> the context of the test's files with them, whose pages share a process.
    contexts: dict[str, Any] = {}

    def opened(url: str, **options):
        if url.startswith("http"):
            place = url[: url.index("/", 7)]
            page = request.getfixturevalue("served").new_page()
            opened_here.append(page)
        else:
            place, kind = "file:", repr(options)
            if kind not in contexts:
                opened_here.append(browser.new_context(**options))
                contexts[kind] = opened_here[-1]
            page = contexts[kind].new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        own = (place, place.replace("http", "ws"), "data:", "blob:", "about:")
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: note(message.type, message.text))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: foreign(request.url, own))
        page.goto(url)
        return page

    def note(kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in _CHATTER):
            problems.append(text)

    def foreign(url: str, own: tuple[str, ...]) -> None:
        if not url.startswith(own):
            problems.append(f"requested {url}")

    yield opened
    for page_or_context in opened_here:
        page_or_context.close()
    assert problems == []


@pytest.fixture
def open_page(watched, tmp_path) -> Callable:
    """A function that opens HTML as a file."""
    paths = (tmp_path / f"page-{number}.html" for number in count())

    def opened(content: str, **options):
        path = next(paths)
        path.write_text(content, encoding="utf-8")
        options = {"viewport": {"width": 1280, "height": 800}, "offline": True} | options
        return watched(path.as_uri(), **options)

    return opened


@pytest.fixture(scope="package")
def address():
    """The dashboard on the demo, one for all tests."""
    with started() as place:
        yield place


@pytest.fixture
def visit(watched, address) -> Callable:
    """A function that opens a page of the dashboard."""

    def opened(page_name: str):
        page = watched(f"{address}/{page_name}")
        page.wait_for_selector("h1")
        return page

    return opened
