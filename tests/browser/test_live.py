"""The live page in Chromium: steered by keys, gamepad and touch; its past; the files it saves."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import asset_of
from deepphase.apps.live.page import live_page
from deepphase.formats.load import load
from deepphase.motion.clip import joint_positions
from deepphase.terrain.heightmap import Heightmap
from tests.browser.dashboard_pages import HEAD_WITHOUT_WEBGL, until

pytestmark = pytest.mark.browser

# Software draws slowly; what is tested does not depend on the size of the picture.
_SMALL = {"width": 480, "height": 360}
_MM = 0.001


@pytest.fixture(scope="module")
def content() -> str:
    return live_page(asset_of(CONTROLLER), name="gaits", look="light")


@pytest.fixture
def live(open_page, content):
    """A function that opens the page, and waits until it has drawn; then frames go on without."""

    def opened(content=content, **options):
        page = open_page(content, **({"viewport": _SMALL} | options))
        until(lambda: page.evaluate("window.deepphaseLive?.pictures > 1"))
        # Software needs most of the time for the pictures.
        page.evaluate("deepphaseLive.view.draw = () => {}")
        return page

    return opened


def state(page) -> dict:
    return page.evaluate("deepphaseLive.state()")


def after(page, frames: int) -> dict:
    """The state after so many more frames."""
    goal = state(page)["count"] + frames
    return until(lambda: (now := state(page))["count"] >= goal and now)


def pictures_after(page, count: int) -> None:
    """Wait until so many more pictures have been drawn."""
    goal = state(page)["pictures"] + count
    until(lambda: state(page)["pictures"] >= goal)


def moved(before: dict, after: dict, direction) -> float:
    """Metres in a direction, given as a name of the camera's."""
    return float(np.dot(np.subtract(after["position"], before["position"]), direction))


def directions(page) -> dict[str, np.ndarray]:
    given = page.evaluate("deepphaseLive.view.camera.ground()")
    return {name: np.array(value) for name, value in given.items()}


def test_keys_steer_and_others_follow(live):
    page = live()
    assert page.title() == "gaits"
    ways = directions(page)
    assert state(page)["label"] == "walk"
    page.keyboard.press("1")
    page.keyboard.down("w")
    start = after(page, 30)
    end = after(page, 90)
    assert moved(start, end, ways["away"]) > 0.8
    assert end["label"] == "jog"
    page.keyboard.up("w")
    page.keyboard.down("ArrowLeft")
    start = after(page, 60)
    assert moved(start, after(page, 60), -ways["right"]) > 0.5
    page.keyboard.up("ArrowLeft")
    assert after(page, 10)["goal"]["velocity"] == [0, 0]

    page.get_by_label("Number of characters").fill("4")
    page.keyboard.press("Tab")
    before = state(page)["position"]
    page.evaluate("for (let i = 0; i < 240; i++) deepphaseLive.driver.step([0, 1.4], null)")
    places = np.array(state(page)["characters"])
    assert places.shape == (4, 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(4, 1)]
    assert apart.min() > 0.25
    assert apart.max() < 6.0
    assert places[1:, 1].min() > before[1] + 1.0

    page.evaluate("delete deepphaseLive.view.draw")
    pictures_after(page, 1)


def test_a_gamepad_and_the_stick_on_a_touch_screen_steer(live):
    page = live(has_touch=True)
    ways = directions(page)
    page.evaluate(
        """(() => {
          window.pad = {
            connected: true, index: 0, axes: [0.9, 0, 0, 0],
            buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })),
          };
          navigator.getGamepads = () => [window.pad, null];
        })()"""
    )
    start = after(page, 60)
    end = after(page, 60)
    assert moved(start, end, ways["right"]) > 0.6
    assert end["goal"]["facing"] is None
    # The second stick gives the facing.
    page.evaluate("pad.axes = [0.05, -0.08, 0, 1]")
    goal = after(page, 10)["goal"]
    assert goal["velocity"] == [0, 0]
    np.testing.assert_allclose(goal["facing"], -ways["away"], atol=1e-6)
    page.evaluate("pad.buttons[0].pressed = true")
    until(lambda: state(page)["paused"])

    page.evaluate("pad.connected = pad.buttons[0].pressed = false")
    page.get_by_role("button", name="Continue").first.click()
    stick = page.locator("#stick")
    assert stick.is_visible()
    touch = {"pointerId": 7, "pointerType": "touch", "isPrimary": True}
    stick.evaluate("(each) => { each.setPointerCapture = () => {}; }")
    box = stick.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    stick.dispatch_event(
        "pointerdown", {**touch, "clientX": x, "clientY": y - 0.45 * box["height"]}
    )
    start = after(page, 60)
    assert moved(start, after(page, 60), ways["away"]) > 0.6
    stick.dispatch_event("pointerup", {**touch, "clientX": x, "clientY": y})
    assert after(page, 5)["goal"]["velocity"] == [0, 0]


def test_late_pictures_have_less_detail_and_early_ones_more_again(live):
    page = live()

    def step_after(pictures: int, seconds: float) -> int:
        lit = "deepphaseLive.view.lit"
        page.evaluate(f"for (let i = 0; i < {pictures}; i++) {lit}.adapt({seconds})")
        return page.evaluate(f"{lit}.step")

    def vertices() -> int:
        return page.evaluate("[...deepphaseLive.view.lit.shown.values()][0].positions.length / 3")

    last = step_after(400, 0.05)
    assert last == page.evaluate("deepphaseLive.view.lit.steps.length - 1")
    # Pictures as late as they are early change nothing.
    assert step_after(400, 0.024) == last
    assert step_after(2000, 0.016) == 0
    until(lambda: vertices() > 8000)
    # More detail that was too much comes back later.
    assert step_after(20, 0.05) == 1
    assert step_after(300, 0.016) == 1
    until(lambda: vertices() < 8000)


def test_the_past_is_shown_and_saved_and_the_picture_has_two_looks(live, tmp_path):
    page = live()
    page.evaluate("for (let i = 0; i < 40; i++) deepphaseLive.driver.step([0.3, 1.2], null)")
    page.get_by_role("button", name="Pause").click()
    last = state(page)
    assert state(page)["count"] == last["count"]
    page.get_by_role("slider", name="The last 60 seconds").fill("10")
    back = state(page)
    assert (back["index"], back["paused"]) == (10, True)
    assert back["position"] != last["position"]
    page.keyboard.press(".")
    assert state(page)["index"] == 11
    shown = page.evaluate("deepphaseLive.driven().map((frame) => [...frame.positions])")
    shown = np.array(shown).reshape(len(shown), -1, 3)
    assert len(shown) == last["count"]
    for label, limit in (("Save as BVH", _MM), ("Save as glb", _MM)):
        with page.expect_download() as saved:
            page.get_by_role("button", name=label).click()
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        clip = load(path)
        assert clip.fps == pytest.approx(60.0)
        names = page.evaluate("deepphaseLive.asset.skeleton.names")
        order = [clip.skeleton.names.index(name) for name in names]
        np.testing.assert_allclose(joint_positions(clip)[:, order], shown, atol=limit)
    page.evaluate("delete deepphaseLive.view.draw")
    page.evaluate("deepphaseLive.show(deepphaseLive.history.count - 12)")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as WebM video").click()
    saved.value.save_as(tmp_path / "driven.webm")
    # Beginning of every file of the container Matroska.
    assert (tmp_path / "driven.webm").read_bytes()[:4] == b"\x1a\x45\xdf\xa3"
    until(lambda: not state(page)["paused"])

    image = pytest.importorskip("PIL.Image")
    page.evaluate(
        "document.querySelectorAll('#bar, #side, header, #hint').forEach((e) => e.remove())"
    )
    means = []
    for _ in range(2):
        path = tmp_path / f"{len(means)}.png"
        page.locator("#stage").screenshot(path=str(path))
        pixels = np.asarray(image.open(path).convert("RGB")).astype(float)
        middle = pixels[120:260, 200:280]
        # Light and shade of a body, on a ground that is nearly of one colour.
        assert middle.std() > 12.0
        means.append(pixels[:40, 100:300].mean())
        page.get_by_role("button", name="Light or dark").click()
        pictures_after(page, 3)
    assert means[0] > means[1] + 80


def test_a_character_walks_up_the_stairs_of_the_list(live):
    slope = Heightmap.centred(np.linspace(0.0, 2.0, 100)[:, None] * np.ones(5), 0.2, "slope")
    page = live(live_page(asset_of(CONTROLLER), name="gaits", look="light", ground=slope))
    shown = page.get_by_label("Ground", exact=True).locator("option:checked")
    assert shown.text_content() == "slope"
    assert page.evaluate("deepphaseLive.view.level(0, 4.95)") == pytest.approx(1.5, abs=1e-3)
    page.get_by_label("Ground", exact=True).select_option("stairs")
    page.evaluate("deepphaseLive.setPaused(true)")
    heights = page.evaluate(
        """Array.from({ length: 300 }, () => {
          deepphaseLive.driver.step([0, 1.2], null);
          const { position, height } = deepphaseLive.state();
          return [height, deepphaseLive.view.level(...position), position[1]];
        })"""
    )
    _, ground, z = np.array(heights).T
    assert z[-1] > 3.0
    assert ground.max() > 0.5
    feet = page.evaluate(
        """(() => {
          const { asset, view } = deepphaseLive;
          const over = (places, foot) =>
            places[3 * foot + 1] - view.level(places[3 * foot], places[3 * foot + 2]);
          return deepphaseLive.driven().slice(-200).map(({ positions, contacts }) =>
            asset.skeleton.feet.flatMap((foot, at) =>
              (contacts[at] > 0.9 ? [over(positions, foot)] : [])));
        })()"""
    )
    standing = np.concatenate([each for each in feet if each])
    assert len(standing) > 50
    # Ankles are over the ground that the foot stands on, not under it nor as high as a step.
    assert np.quantile(standing, 0.1) > -0.05
    assert np.median(standing) < 0.2
    page.evaluate("delete deepphaseLive.view.draw")
    pictures_after(page, 1)
    page.get_by_label("Ground", exact=True).select_option("")
    assert page.evaluate("deepphaseLive.view.terrain") is None


def test_without_webgl_a_sentence_says_so_and_the_character_is_drawn(open_page, content):
    page = open_page(content.replace("<head>", HEAD_WITHOUT_WEBGL, 1), viewport=_SMALL)
    until(lambda: page.evaluate("window.deepphaseLive?.pictures > 1"))
    assert page.inner_text("#plain").startswith("This browser has no WebGL 2")
    colours = page.evaluate(
        "() => { const stage = document.getElementById('stage');"
        "const { data } = stage.getContext('2d').getImageData(0, 0, stage.width, stage.height);"
        "return new Set(new Uint32Array(data.buffer)).size; }"
    )
    assert colours > 20
