"""Chromium, driven by playwright; tests are skipped where either is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


# Not of the session: playwright keeps an event loop running, which others could not start then.
@pytest.fixture(scope="package")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, _PROGRAMS)), "")
    if not program:
        pytest.skip("no Chromium on this machine (install it, or set BROWSER_PATH)")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program,
            # A page may play at once, as one does that was clicked.
            args=["--headless=new", "--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
        )
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, tmp_path) -> Iterator[Callable]:
    """A function that opens HTML as a file; whatever goes wrong in the page fails the test."""
    problems: list[str] = []
    contexts = []

    def opened(content: str, **options):
        path = Path(tmp_path) / f"page-{len(contexts)}.html"
        path.write_text(content, encoding="utf-8")
        options = {"viewport": {"width": 1280, "height": 800}, "offline": True} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: message.type in ("error", "warning") and problems.append(message.text),
        )
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []
