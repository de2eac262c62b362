"""Firefox: the live page, from disk and without a network, and pages of the dashboard."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import asset_of
from deepphase.apps.live.page import live_page
from tests.browser.dashboard_pages import started, until
from tests.browser.firefox import firefox

pytestmark = pytest.mark.browser

# A pad whose left stick is pushed to the right.
_PAD = """(() => {
  const pad = { connected: true, index: 0, axes: [0.9, 0, 0, 0],
    buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })) };
  Object.defineProperty(navigator, "getGamepads", { value: () => [pad], configurable: true });
  return true;
})()"""
# Whether a player has drawn, in an iframe of the page or of a component's shadow tree.
_DRAWN = """(() => {
  const within = (tree) => [...tree.querySelectorAll("*")].some((each) =>
    each.contentWindow?.deepphasePlayer?.isDrawn()
    || (each.shadowRoot && within(each.shadowRoot)));
  return within(document);
})()"""
# On a busy machine a script asks for sizes before all styles are there, and Streamlit for the font
# of its icons long before it uses it.
# A first player that is replaced loses its canvas.
_CHATTER = ("Layout was forced", "preloaded with link preload", "WebGL context was lost")
_AT_REST = "document.querySelector('[data-test-script-state]')?.dataset.testScriptState"


@pytest.fixture
def window(tmp_path):
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    screen = shutil.which("Xvfb")
    if program is None:
        pytest.skip("no Firefox on this machine")
    if screen is None:
        pytest.skip("no Xvfb on this machine, without which Firefox has no WebGL")
    (tmp_path / "profile").mkdir()
    with firefox(tmp_path / "profile", program, screen) as window:
        yield window


@pytest.fixture
def page(window, tmp_path):
    path = tmp_path / "walk.html"
    path.write_text(live_page(asset_of(CONTROLLER), name="walk"), encoding="utf-8")
    window.resize(480, 360)
    window.goto(path.as_uri())
    until(lambda: window.evaluate("(window.deepphaseLive?.pictures ?? 0) > 1"))
    return window


def state(page) -> dict:
    return page.evaluate("deepphaseLive.state()")


def moved_after(page, frames: int, direction) -> float:
    """Metres in a direction over so many more frames."""
    before = state(page)
    until(lambda: state(page)["count"] >= before["count"] + frames)
    return float(np.dot(np.subtract(state(page)["position"], before["position"]), direction))


def test_keys_a_pad_and_a_touch_steer_what_is_drawn(page, tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = tmp_path / "page.png"
    picture.write_bytes(page.screenshot())
    pixels = np.asarray(image.open(picture).convert("RGB")).astype(float)
    # Light and shade of a body above the bar.
    assert pixels[60:200, 190:290].std() > 12.0
    # Software needs most of the time for the pictures.
    page.evaluate("deepphaseLive.view.draw = () => {}")
    ways = page.evaluate("deepphaseLive.view.camera.ground()")
    away, right = np.array(ways["away"]), np.array(ways["right"])
    page.keys(("down", "w"))
    moved_after(page, 40, away)
    assert moved_after(page, 60, away) > 0.5
    page.keys(("up", "w"), ("down", " "), ("up", " "))
    assert state(page)["paused"]
    page.keys(("down", " "), ("up", " "))
    assert page.evaluate(_PAD)
    moved_after(page, 60, right)
    assert moved_after(page, 60, right) > 0.5
    page.evaluate("void Object.defineProperty(navigator, 'getGamepads', { value: () => [] })")
    page.evaluate("void (document.getElementById('stick').style.display = 'block')")
    box = page.evaluate(
        "(({ x, y, width, height }) => [x, y, width, height])"
        "(document.getElementById('stick').getBoundingClientRect())"
    )
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    page.pointer(("move", x, y), ("down",), ("move", x, y - 0.45 * box[3]), kind="touch")
    goal = until(lambda: (now := state(page))["goal"]["velocity"] != [0, 0] and now["goal"])
    assert np.dot(goal["velocity"], away) > 0.5
    page.pointer(("up",), kind="touch")
    until(lambda: state(page)["goal"]["velocity"] == [0, 0])
    # The page gives back the context by which it finds out what draws.
    assert [each for each in page.errors() if "WebGL context was lost" not in each] == []


def test_pages_of_the_dashboard_draw_without_an_error(window):
    window.resize(1400, 900)
    with started() as address:
        for name in ("data", "manifold", "channels"):
            window.goto(f"{address}/{name}")
            until(lambda: window.evaluate(_DRAWN) and window.evaluate(_AT_REST) == "notRunning")
            said = [each for each in window.errors() if not any(part in each for part in _CHATTER)]
            assert said == []
