"""Journeys with a server of their own, a reload in the middle, and a recording by keys."""

from __future__ import annotations

import signal
import threading

import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.server import LiveServer
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.load import load
from deepphase.synthetic.gait_motion import locomotion
from tests.browser.dashboard_pages import PATIENCE_S, answer_where, cloud, settled, started, until

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
    answer_where(page, "deepphasePlayer.state().duration", lambda s: abs(s - 20) < 0.2)
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


def test_a_folder_with_a_broken_file_is_reloaded_and_back_leads_to_what_was_chosen(
    watched, tmp_path
):
    folder, place = tmp_path / "takes", tmp_path / "temporary"
    place.mkdir()
    for seed in range(12):
        save_bvh(locomotion(seed, 6.0, gait="jog").clip, folder / f"take {seed:02}.bvh")
    save_bvh(locomotion(1, 6.0, body="quadruped", gait="trot").clip, folder / "trot.bvh")
    (folder / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n", encoding="utf-8")
    save_bvh(locomotion(4, 2.0, gait="jog").clip, tmp_path / "mine.bvh")

    def choose(label: str, nth: int) -> str:
        box = page.get_by_test_id("stSidebar").get_by_label(label, exact=True).first
        before = page.url
        box.click()
        name = page.get_by_role("option").nth(nth).inner_text()
        page.get_by_role("option").nth(nth).click()
        until(lambda: chosen(label) == name)
        # The script starts a moment after the click: Back before it has would undo the choice.
        page.wait_for_url(lambda url: url != before)
        page.wait_for_selector('[data-test-script-state="notRunning"]')
        return name

    def chosen(label: str) -> str:
        return page.get_by_test_id("stSidebar").get_by_label(label, exact=True).first.input_value()

    with started(folder, ends=signal.SIGTERM, TMPDIR=str(place)) as address:
        page = watched(f"{address}/manifold")
        page.wait_for_selector("h1")
        page.reload()
        shown = cloud(page)
        until(lambda: shown.evaluate("it => new Set(it.deepphaseCloud.frames.clip).size") == 12)
        settled(page)
        page.get_by_role("link", name="Data").click()
        page.get_by_text("1 file was left out").click()
        page.get_by_text("broken.bvh").first.wait_for()
        dog = choose("Clips", 1)
        page.get_by_role("link", name="Train").click()
        page.wait_for_url("**/train?clips=**")
        page.wait_for_selector('[data-test-script-state="notRunning"]')
        assert chosen("Clips") == dog
        # Two models read its joints.
        person, model = choose("Clips", 0), choose("Phase model", 1)
        assert person != dog
        page.go_back()
        page.wait_for_url("**/data?**")
        until(lambda: chosen("Clips") == dog)
        settled(page)
        page.go_forward()
        page.wait_for_url("**/train**")
        until(lambda: (chosen("Clips"), chosen("Phase model")) == (person, model))
        page.get_by_role("link", name="Data").click()
        page.wait_for_url("**/data?**")
        chooser = page.locator('[data-testid="stFileUploader"] input[type=file]')
        chooser.set_input_files(tmp_path / "mine.bvh")
        until(lambda: list(place.glob(".deepphase-*")))
        page.close()
    # PyTorch and ONNX Runtime keep caches of their own there.
    assert list(place.glob(".deepphase-*")) == []
