"""Page Control in Chromium: a run plays, a way is drawn, a long run is cancelled, uploads."""

from __future__ import annotations

import re

import numpy as np
import pytest

from apps.demo_controller import CONTROLLER
from tests.browser.test_dashboard import (  # noqa: F401
    address,
    colours,
    player,
    state,
    until,
    visit,
)

_RUN_MS = 180_000


def settled(page):
    """The page's player, once the page has been drawn to its end."""
    page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=_RUN_MS)
    return player(page)


def asked(page, script: str, holds):
    """What the page's player answers to a script, once it is as wished; players come and go."""
    from playwright.sync_api import Error

    def answer():
        try:
            told = settled(page).evaluate(script)
        except Error:
            # A player that is on its way out.
            return None
        return (told,) if holds(told) else None

    return until(answer, _RUN_MS / 1000)[0]


def another_duration(page, before: float) -> float:
    """The seconds of a run that takes another time than that one."""
    script = "deepphasePlayer.state().duration"
    return asked(page, script, lambda told: abs(told - before) > 0.05)


def slide_to_end(page, label: str) -> None:
    slider = page.get_by_role("slider", name=re.compile(f"^{label}")).first
    slider.focus()
    page.keyboard.press("End")


def test_a_run_plays_with_wheels_and_weights(visit):  # noqa: F811
    page = visit("control")
    frame = settled(page)
    before = frame.evaluate("deepphasePlayer.joint(0, 0).world")
    frame.get_by_role("button", name="Play").first.click()
    until(lambda: state(frame)["time"] > 1.0)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 0).world"), before)
    assert np.hypot(moved[0], moved[2]) > 0.5, "it went somewhere"
    for id in ("wheels", "gating"):
        canvas = frame.locator(f"#{id}")
        assert canvas.is_visible()
        assert colours(canvas) > 5, id
    # The cursor went with it.
    place = frame.locator("#cursor").evaluate("each => each.style.transform")
    frame.evaluate("deepphasePlayer.seek(8)")
    until(lambda: frame.locator("#cursor").evaluate("each => each.style.transform") != place)


def test_another_gait_is_another_run(visit):  # noqa: F811
    page = visit("control")
    settled(page)
    script = "(deepphasePlayer.seek(6), deepphasePlayer.joint(0, 0).world)"
    walked = asked(page, script, lambda told: True)
    page.get_by_role("radio", name="run", exact=True).click()
    asked(page, script, lambda told: np.linalg.norm(told) > 1.5 * np.linalg.norm(walked))


def test_a_way_is_drawn_by_mouse_and_by_keys(visit):  # noqa: F811
    page = visit("control")
    before = state(settled(page))["duration"]
    page.get_by_role("radio", name="Draw").click()
    before = another_duration(page, before)
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Draw a way on the map").wait_for()
    box = page.locator(".map svg").bounding_box()
    start = (box["x"] + box["width"] / 2, box["y"] + 0.85 * box["height"])
    page.mouse.move(*start)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(start[0] + 6 * step, start[1] - 16 * step)
    page.mouse.up()
    before = another_duration(page, before)
    assert 1 <= before < 10
    page.locator(".map svg").focus()
    for _ in range(6):
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    assert another_duration(page, before) > before


def test_a_long_run_is_cancelled(visit):  # noqa: F811
    page = visit("control")
    settled(page)
    slide_to_end(page, "Seconds")
    page.get_by_role("button", name="Cancel").click(timeout=_RUN_MS)
    page.get_by_text("Cancelled.").wait_for(timeout=_RUN_MS)
    assert not [each for each in page.frames if each != page.main_frame]
    page.get_by_role("radio", name="Circle").click()
    page.get_by_text("Cancelled.").wait_for(state="hidden", timeout=_RUN_MS)


def test_an_upload_is_steered_and_a_hostile_one_refused(visit):  # noqa: F811
    page = visit("control")
    settled(page)
    page.get_by_text("Open a controller").click()
    chooser = page.locator('[data-testid="stFileUploader"] input[type=file]').last
    chooser.set_input_files(
        {
            "name": "<img src=x onerror=alert(1)>.controller",
            "mimeType": "application/octet-stream",
            "buffer": b"\x80\x04\x95" + bytes(2000),
        }
    )
    page.get_by_text("Refused").wait_for(timeout=_RUN_MS)
    assert "Traceback" not in page.inner_text("body")
    chooser.set_input_files(
        {
            "name": "mine.controller",
            "mimeType": "application/octet-stream",
            "buffer": CONTROLLER.read_bytes(),
        }
    )
    page.get_by_text("mine can be chosen above").wait_for(timeout=_RUN_MS)
    settled(page)
    assert page.evaluate(
        "[...document.querySelectorAll('[data-testid=stMain] input')].some("
        "each => each.value === 'Controller: mine (this session)')"
    )


def test_a_run_is_a_file(visit):  # noqa: F811
    page = visit("control")
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="BVH").click()
    assert download.value.suggested_filename == "wave.bvh"
    assert download.value.path().read_text().startswith("HIERARCHY")


@pytest.mark.parametrize("width", [420, 900])
def test_it_fits_a_narrow_screen(visit, width):  # noqa: F811
    page = visit("control", viewport={"width": width, "height": 900})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert beyond <= 0
