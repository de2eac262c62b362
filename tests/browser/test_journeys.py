"""Journeys: a reload in the middle of a computation, and a recording by keys."""

from __future__ import annotations

import threading

import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.server import LiveServer
from deepphase.formats.load import load
from tests.browser.dashboard_pages import PATIENCE_S, settled, state, until

pytestmark = pytest.mark.browser


def test_a_dance_is_cancelled_and_a_reload_in_the_middle_ends_in_the_page(visit):
    page = visit("dance")
    settled(page)
    page.get_by_role("slider", name="Length of the song (s)").first.focus()
    page.keyboard.press("End")
    # The bar is drawn anew while it moves, so the button is never still on a busy machine.
    page.get_by_role("button", name="Cancel").dispatch_event("click")
    page.get_by_text("Cancelled.").wait_for()
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("button", name="Cancel").wait_for()
    page.reload()
    page.wait_for_selector("h1")
    # The page opens as it does at first, and what was begun holds up nothing.
    frame = settled(page)
    assert state(frame)["duration"] == pytest.approx(20, abs=0.2)
    assert not page.get_by_text("Traceback").count()


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
        # The page by itself makes no frames, of which a slow machine has others than a fast one.
        page.keyboard.press("Space")
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
