"""Journeys through the dashboard and the live page: back, reload, two sessions, keys alone."""

from __future__ import annotations

import threading

import pytest

from deepphase.apps.demo.controller import CONTROLLER
from deepphase.apps.live.server import LiveServer
from deepphase.formats.load import load
from tests.browser.dashboard_pages import (
    PATIENCE_S,
    answer_where,
    settled,
    slide_to_end,
    state,
    titled_player,
    until,
)

pytestmark = pytest.mark.browser


def bodies(page) -> list[str]:
    """Bodies that the page's player names in its list, once the page is at rest."""
    return settled(page).locator("#actors button").all_text_contents()


def begins_with(page, words: str) -> None:
    """Wait until the title of the page's player begins with these words."""
    script = "document.querySelector('h1')?.innerText ?? ''"
    answer_where(page, script, lambda title: title.startswith(words))


def test_back_leads_to_the_page_and_the_clip_before(visit):
    page = visit("matches")
    settled(page)
    page.get_by_role("combobox", name="Clip").first.click()
    page.get_by_role("option", name="run").first.click()
    begins_with(page, "run at")
    page.get_by_role("link", name="Rig").click()
    titled_player(page, "run")
    page.go_back()
    begins_with(page, "run at")
    page.go_forward()
    titled_player(page, "run")


def test_a_reload_in_the_middle_of_a_computation_ends_in_the_page(visit):
    page = visit("dance")
    settled(page)
    slide_to_end(page, "Length of the song (s)")
    page.get_by_role("button", name="Cancel").wait_for()
    page.reload()
    page.wait_for_selector("h1")
    # The page opens as it does at first, and what was begun holds up nothing.
    frame = settled(page)
    assert state(frame)["duration"] == pytest.approx(20, abs=0.2)
    assert not page.get_by_text("Traceback").count()


def test_two_sessions_make_one_dance_and_keep_their_own_choices(visit):
    pages = [visit("dance") for _ in range(2)]
    for page in pages:
        settled(page)
    # Both wait for the same dance, which is computed once.
    for page in pages:
        page.get_by_role("button", name="Dance it again").click()
    for page in pages:
        page.wait_for_function(
            "document.querySelector('input[aria-label=Seed]')?.value === '1'",
            timeout=1000 * PATIENCE_S,
        )
        settled(page)
    pages[0].get_by_role("link", name="Edit").click()
    assert "after" in bodies(pages[0])
    # The other session is where it was.
    assert settled(pages[1]).locator("h1").inner_text() == "Dance"


def test_matches_are_compared_by_keys_alone(visit):
    page = visit("matches")
    frame = settled(page)
    assert bodies(page) == ["query", *(f"phase {rank}" for rank in (1, 2, 3, 4))]
    # The first match stands forward; Enter on the third brings that forward.
    row = "[...document.querySelectorAll('#costs-rows .marked')].map(it => it.dataset.actor)"
    assert frame.evaluate(row) == ["phase 1"]
    frame.locator("#costs-rows button").nth(2).focus()
    page.keyboard.press("Enter")
    assert frame.evaluate(row) == ["phase 3"]
    # The chooser of the search is reached by Tab from the slider of the moment.
    page.get_by_role("slider", name="Moment (s)").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Phase"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(lambda: "pose 1" in bodies(page))
    assert settled(page).locator("#costs-unit").inner_text() == "cm"


def test_what_is_steered_by_keys_is_recorded_into_the_folder(browser, tmp_path):
    (tmp_path / "gaits.controller").write_bytes(CONTROLLER.read_bytes())
    sources = {"gaits.controller": tmp_path / "gaits.controller"}
    with LiveServer(0, sources, folder=tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        page = browser.new_page(viewport={"width": 480, "height": 360})
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        until(lambda: page.evaluate("(window.deepphaseLive?.pictures ?? 0) > 1"))
        page.evaluate("deepphaseLive.view.draw = () => {}")
        page.keyboard.press("v")
        page.evaluate("for (let i = 0; i < 90; i++) deepphaseLive.driver.step([0, 1.3], null)")
        page.keyboard.press("v")
        status = page.locator("#status")
        until(lambda: status.inner_text().startswith("kept"))
        assert "recordings/gaits_01.bvh" in status.inner_text()
        page.close()
        server.shutdown()
        thread.join()
    clip = load(tmp_path / "recordings" / "gaits_01.bvh")
    assert clip.duration == pytest.approx(1.5, abs=0.5)
