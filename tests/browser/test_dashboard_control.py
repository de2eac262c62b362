"""Page Control in Chromium: a path is drawn, and a character is steered by hand."""

from __future__ import annotations

import numpy as np

from tests.browser.dashboard_pages import (
    answer_where,
    at_rest,
    chosen,
    colours,
    live_frame,
    settled,
    state,
)


def another_duration(page, before: float) -> float:
    """The seconds of a run that takes another time than that one."""
    script = "deepphasePlayer.state().duration"
    return answer_where(page, script, lambda value: abs(value - before) > 0.05)


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
