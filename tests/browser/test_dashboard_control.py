"""Page Control in Chromium: a run plays, a way is drawn, a long run is cancelled, uploads."""

from __future__ import annotations

import numpy as np
import pytest

from apps.demo.controller import CONTROLLER
from tests.browser.dashboard_pages import (
    answer_where,
    at_rest,
    chosen,
    colours,
    live_frame,
    settled,
    slide_to_end,
    state,
    until,
)


def another_duration(page, before: float) -> float:
    """The seconds of a run that takes another time than that one."""
    script = "deepphasePlayer.state().duration"
    return answer_where(page, script, lambda value: abs(value - before) > 0.05)


def test_a_run_plays_with_wheels_and_weights(visit):
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


def test_another_gait_is_another_run(visit):
    page = visit("control")
    settled(page)
    script = "(deepphasePlayer.seek(6), deepphasePlayer.joint(0, 0).world)"
    walked = answer_where(page, script, lambda value: True)
    page.get_by_role("radio", name="run", exact=True).click()
    answer_where(page, script, lambda value: np.linalg.norm(value) > 1.5 * np.linalg.norm(walked))


def test_a_way_is_drawn_by_mouse_and_by_keys(visit):
    page = visit("control")
    before = state(settled(page))["duration"]
    page.get_by_role("radio", name="Draw").click()
    before = another_duration(page, before)
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Draw a path on the map").wait_for()
    box = at_rest(page.locator(".map svg"))
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


def test_a_character_is_steered_by_hand_kept_and_measured(visit):
    page = visit("control")
    settled(page)
    page.get_by_text("Steer by hand").click()
    frame = live_frame(page)
    # Software needs most of the time for the pictures.
    frame.evaluate("deepphaseLive.view.draw = () => {}")
    frame.evaluate("for (let i = 0; i < 240; i++) deepphaseLive.driver.step([0.2, 1.3], null)")
    frame.locator("#stage").press("w")
    frame.get_by_role("button", name="Keep").click()
    page.get_by_text("is among the clips of page Data").wait_for()
    page.get_by_text("Feet slide").first.wait_for()
    page.get_by_text("All measures, with those of the data").wait_for()
    # Page Data opens on it, among the files of this session.
    page.get_by_role("link", name="Data").click()
    page.get_by_text("Remove my files").wait_for()
    answer_where(page, "document.querySelector('h1')?.innerText", lambda name: "by hand" in name)
    assert any("Your files" in each for each in chosen(page))


def test_a_point_moves_on_the_manifold_while_a_character_is_steered(visit):
    page = visit("manifold")
    settled(page)
    page.get_by_text("Steer by hand").click()
    frame = live_frame(page)
    assert colours(frame.locator("#manifold")) > 5
    frame.evaluate("deepphaseLive.view.draw = () => {}")
    frame.evaluate("for (let i = 0; i < 120; i++) deepphaseLive.driver.step([0, 2], null)")
    points = frame.evaluate("deepphaseLive.driven().slice(-60).map((each) => each.manifold)")
    assert np.ptp(np.array(points), axis=0).max() > 0.5


def test_a_long_run_is_cancelled(visit):
    page = visit("control")
    settled(page)
    slide_to_end(page, "Seconds")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    assert not [each for each in page.frames if each != page.main_frame]
    page.get_by_role("radio", name="Circle").click()
    page.get_by_text("Cancelled.").wait_for(state="hidden")


def test_an_upload_is_steered_and_a_hostile_one_refused(visit):
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
    page.get_by_text("Refused").wait_for()
    assert "Traceback" not in page.inner_text("body")
    chooser.set_input_files(
        {
            "name": "mine.controller",
            "mimeType": "application/octet-stream",
            "buffer": CONTROLLER.read_bytes(),
        }
    )
    page.get_by_text("mine can be chosen above").wait_for()
    settled(page)
    assert page.evaluate(
        "[...document.querySelectorAll('[data-testid=stMain] input')].some("
        "each => each.value === 'Controller: mine (this session)')"
    )


def test_a_run_is_a_file(visit):
    page = visit("control")
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="BVH").click()
    assert download.value.suggested_filename == "wave.bvh"
    assert download.value.path().read_text().startswith("HIERARCHY")


@pytest.mark.parametrize("width", [420, 900])
def test_it_fits_a_narrow_screen(visit, width):
    page = visit("control", viewport={"width": width, "height": 900})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert beyond <= 0
