"""The player in Chromium: it draws, plays, steps, jumps, turns, and takes names for names."""

import html
import time
from dataclasses import replace

import numpy as np
import pytest

from deepphase.synthetic.locomotion import locomotion
from deepphase.viewer.actor import Actor, links_of
from deepphase.viewer.page import player_html
from deepphase.viewer.song import PlayerSong
from deepphase.viewer.take import Channels, Curve, Marker, Take
from tests.browser.dashboard_pages import PATIENCE_S
from tests.figures.made_phases import FPS, made_phases
from tests.viewer.player_pages import made_actor, made_costs, made_take, wav_bytes

HOSTILE = "</script><b onmouseover=alert(1)>name</b><img src=x onerror=alert(2)>"
# Pixels of a part of a canvas, on a canvas of their own: reading slows a canvas down.
COPY = """const copied = (id, x, y, width, height) => {
  const source = document.getElementById(id);
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [width ?? source.width, height ?? source.height];
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(source, -x, -y);
  return context.getImageData(0, 0, copy.width, copy.height).data;
};"""
# Number of different colours in a canvas.
COLOURS = f"id => {{ {COPY} return new Set(new Uint32Array(copied(id, 0, 0).buffer)).size; }}"
# Number of opaque pixels of 7 x 7 around a place in the stage.
OPAQUE = f"""([x, y]) => {{ {COPY}
  const stage = document.getElementById("stage");
  const ratio = stage.width / stage.clientWidth;
  const data = copied("stage", x * ratio - 3, y * ratio - 3, 7, 7);
  return data.filter((value, i) => i % 4 === 3 && value > 200).length;
}}"""


# A browser without WebGL 2.
WITHOUT_WEBGL = """<head><script>{
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return kind === "webgl2" ? null : getContext.call(this, kind, ...rest);
  };
}</script>"""


PICTURE = "() => document.getElementById('stage').toDataURL()"
# Share of the stage's pixels that are not transparent.
SHARE_DRAWN = f"""() => {{ {COPY}
  const data = copied("stage", 0, 0);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length / (data.length / 4);
}}"""


def state(page):
    return page.evaluate("deepphasePlayer.state()")


def until(page, expression):
    """Wait for an expression to hold. (The page forbids playwright's own way, which is eval.)"""
    limit = time.monotonic() + PATIENCE_S
    while not page.evaluate(expression):
        assert time.monotonic() < limit, expression
        time.sleep(0.03)


def settle(page):
    """Until what was asked for has been drawn."""
    page.evaluate("() => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")


def drawn_state(page):
    """The player's state, in the turn of a frame that it has just drawn."""
    return page.evaluate(
        "() => new Promise(go => requestAnimationFrame(() => go("
        "{...deepphasePlayer.state(), now: performance.now() / 1000})))"
    )


def wait_until_drawn(page):
    until(page, "window.deepphasePlayer?.stats().drawn.length > 0")
    settle(page)


@pytest.fixture
def made(open_page):
    page = open_page(player_html([made_take(240)], title="Made"))
    wait_until_drawn(page)
    return page


def test_everything_is_drawn(made):
    for canvas in ("stage", "wheels", "manifold", "gating", "overview"):
        assert made.evaluate(COLOURS, canvas) > 3, canvas
    made.locator("#manifold-3d").click()
    settle(made)
    assert made.evaluate(COLOURS, "manifold") > 3
    drawn = made.evaluate(
        "[...document.querySelectorAll('.lane:not([hidden]) b')].map(each => each.textContent)"
    )
    assert drawn == ["Phase", "Frequency", "Amplitude", "Experts", "Contacts", "Speed"]


def test_joints_are_where_they_belong(made):
    take = made_take(240)
    # So that the camera stands still.
    made.keyboard.press("f")
    made.evaluate("deepphasePlayer.seek(60 / 60)")
    settle(made)
    shown = state(made)["camera"]
    box = made.locator("#stage").bounding_box()
    # The same perspective, computed here from the camera's place.
    yaw, pitch = shown["yaw"], shown["pitch"]
    forward = -np.array([np.cos(pitch) * np.sin(yaw), np.sin(pitch), np.cos(pitch) * np.cos(yaw)])
    right = np.cross(forward, [0, 1, 0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    eye = np.array(shown["target"]) - forward * shown["distance"]
    focal = 0.5 * min(box["height"], 1.15 * box["width"]) / np.tan(np.radians(18))
    for joint in range(take.actors[0].positions.shape[1]):
        given = made.evaluate("joint => deepphasePlayer.joint(0, joint)", joint)
        place = take.actors[0].positions[60, joint]
        np.testing.assert_allclose(given["world"], place, atol=1e-3)
        away = place - eye
        scale = focal / (away @ forward)
        wanted = [
            box["width"] / 2 + scale * (away @ right),
            box["height"] / 2 - scale * (away @ up),
        ]
        np.testing.assert_allclose(given["screen"][:2], wanted, atol=1.0)
        colours = made.evaluate(OPAQUE, wanted)
        assert colours > 5, "nothing is drawn at the joint"


def test_space_plays_in_real_time_and_pauses(made):
    made.keyboard.press("Space")
    assert state(made)["playing"]
    first = drawn_state(made)
    until(made, f"performance.now() / 1000 > {first['now'] + 1.0}")
    last = drawn_state(made)
    assert last["time"] - first["time"] == pytest.approx(last["now"] - first["now"], abs=0.1)
    assert made.locator("#play").get_attribute("aria-label") == "Pause"
    made.keyboard.press("Space")
    stopped = state(made)
    assert not stopped["playing"]
    made.wait_for_timeout(200)
    assert state(made)["time"] == stopped["time"]


def test_speed_and_loop(made):
    made.keyboard.press("[")
    assert state(made)["speed"] == 0.75
    for _ in range(4):
        made.keyboard.press("]")
    assert state(made)["speed"] == 2
    made.keyboard.press("l")
    made.evaluate("deepphasePlayer.seek(3.9)")
    made.keyboard.press("Space")
    until(made, "!deepphasePlayer.state().playing")
    assert state(made)["frame"] == 239
    made.keyboard.press("l")
    made.keyboard.press("Space")
    made.evaluate("deepphasePlayer.seek(3.9)")
    until(made, "deepphasePlayer.state().time < 2")
    assert state(made)["playing"]


def test_arrows_step(made):
    for key, frame in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("Shift+ArrowRight", 12),
        ("ArrowLeft", 11),
        ("Shift+ArrowLeft", 1),
        ("Shift+ArrowLeft", 0),
        ("End", 239),
        ("ArrowRight", 239),
        ("Home", 0),
    ]:
        made.keyboard.press(key)
        assert state(made)["frame"] == frame, key


def test_click_and_drag_in_a_curve_jump(made):
    left, right = state(made)["plot"]
    box = made.locator("#lanes .lane canvas").first.bounding_box()
    y = box["y"] + box["height"] / 2

    def x(share):
        return box["x"] + left + share * (right - left)

    duration = state(made)["duration"]
    made.mouse.click(x(0.25), y)
    assert state(made)["time"] == pytest.approx(0.25 * duration, abs=0.02)
    made.mouse.move(x(0.5), y)
    made.mouse.down()
    made.mouse.move(x(0.75), y, steps=3)
    made.mouse.up()
    assert state(made)["time"] == pytest.approx(0.75 * duration, abs=0.02)
    settle(made)
    cursor = made.locator("#cursor").bounding_box()
    assert cursor["x"] + cursor["width"] / 2 == pytest.approx(x(0.75), abs=2)
    row = made.locator("#overview").bounding_box()
    made.mouse.click(x(0.5), row["y"] + 10)
    assert state(made)["time"] == pytest.approx(0.5 * duration, abs=0.02)
    # What is read out is written with the next picture.
    settle(made)
    assert float(made.locator("#overview-row").get_attribute("aria-valuenow")) == pytest.approx(
        0.5 * duration, abs=0.05
    )


def test_mouse_and_keys_turn_the_view(made):
    before = state(made)["camera"]
    picture = made.locator("#stage").screenshot()
    made.mouse.move(400, 250)
    made.mouse.down()
    made.mouse.move(500, 280, steps=4)
    made.mouse.up()
    settle(made)
    turned = state(made)["camera"]
    assert turned["yaw"] < before["yaw"]
    assert turned["pitch"] > before["pitch"]
    assert made.locator("#stage").screenshot() != picture
    made.mouse.wheel(0, 300)
    settle(made)
    assert state(made)["camera"]["distance"] > turned["distance"]
    made.mouse.move(400, 250)
    made.keyboard.down("Shift")
    made.mouse.down()
    made.mouse.move(450, 250, steps=2)
    made.mouse.up()
    made.keyboard.up("Shift")
    settle(made)
    assert state(made)["camera"]["target"] != turned["target"]
    made.locator("#stage").focus()
    yaw = state(made)["camera"]["yaw"]
    made.keyboard.press("d")
    assert state(made)["camera"]["yaw"] != yaw
    made.mouse.dblclick(400, 250)
    settle(made)
    assert state(made)["camera"]["distance"] == before["distance"]


def test_view_follows_the_body_unless_switched_off(made):
    made.evaluate("deepphasePlayer.seek(3)")
    until(made, "Math.abs(deepphasePlayer.state().camera.target[2] - 3) < 0.05")
    made.keyboard.press("f")
    assert not state(made)["shows"]["follow"]
    made.evaluate("deepphasePlayer.seek(0)")
    made.wait_for_timeout(300)
    assert state(made)["camera"]["target"][2] == pytest.approx(3, abs=0.05)


def test_several_bodies_at_their_own_rates(open_page):
    side = np.array([1.0, 0, 0])
    actors = [made_actor(121, name="sixty"), made_actor(41, name="twenty", fps=20.0)]
    actors[1] = Actor("twenty", actors[1].positions + side, actors[1].links, 20.0, start_s=0.5)
    page = open_page(player_html([Take("two", actors)]))
    wait_until_drawn(page)
    # Between two frames of the slower one: 10.5 frames after its start.
    page.evaluate("deepphasePlayer.seek(0.5 + 10.5 / 20)")
    settle(page)
    one = page.evaluate("deepphasePlayer.joint(0, 0)")["world"]
    two = page.evaluate("deepphasePlayer.joint(1, 0)")["world"]
    assert one[2] == pytest.approx(1.025, abs=0.01)
    np.testing.assert_allclose(two, [1, 1, 0.525], atol=1e-3)
    assert page.locator("#actors button").all_inner_texts() == ["sixty", "twenty"]
    picture = page.locator("#stage").screenshot()
    page.locator("#actors button").nth(1).click()
    limit = time.monotonic() + PATIENCE_S
    while page.locator("#stage").screenshot() == picture:
        assert time.monotonic() < limit, "the body that was hidden is still there"
    assert page.locator("#actors button").nth(1).get_attribute("aria-pressed") == "false"


def test_a_player_plays_while_it_is_in_view(open_page):
    inner = player_html([made_take(240)], playing=True, bare=True)
    below = f'<iframe style="width: 900px; height: 600px" srcdoc="{html.escape(inner)}"></iframe>'
    page = open_page(f'<div style="height: 3000px"></div>{below}<div style="height: 3000px"></div>')
    frame = page.frames[1]
    until(frame, "window.deepphasePlayer")
    settle(page)
    assert not state(frame)["playing"]
    page.locator("iframe").scroll_into_view_if_needed()
    until(frame, "deepphasePlayer.state().playing")
    # Body and ring side by side, and a line of time below.
    stage, ring, line = (
        frame.locator(each).bounding_box() for each in ("#stage", "#manifold", "#overview-row")
    )
    assert ring["x"] >= stage["x"] + stage["width"]
    assert line["width"] > 700
    low, high = state(frame)["plot"]
    assert high - low > 600
    page.evaluate("scrollTo(0, 0)")
    until(frame, "!deepphasePlayer.state().playing")


def test_pictures_and_films_of_the_page_are_files(made):
    with made.expect_download() as download:
        made.get_by_role("button", name="Save a picture").click()
    picture = download.value.path().read_bytes()
    assert picture.startswith(b"\x89PNG")
    # As wide as the page: PNG states its size in its first chunk.
    assert abs(int.from_bytes(picture[16:20]) - 1280) <= 2
    made.keyboard.press("v")
    until(made, "deepphasePlayer.state().filmed > 5000")
    with made.expect_download() as download:
        made.keyboard.press("v")
    film = download.value.path().read_bytes()
    assert film.startswith(b"\x1a\x45\xdf\xa3"), "WebM begins as Matroska does"
    assert len(film) > 5_000
    assert not state(made)["playing"]


def test_lanes_of_contacts_have_the_colours_and_sides_of_the_bodies(open_page):
    feet = {"joint_names": ("Hips", "Knee_L", "Foot_L", "Knee_R", "Foot_R", "Head")}
    actors = [
        made_actor(name="query", colour="#85898F", feet_labels=("left", "right"), **feet),
        made_actor(name="phase 1", colour="#0072B2", feet_labels=("left", "right"), **feet),
    ]
    page = open_page(player_html([Take("two", actors)]))
    wait_until_drawn(page)
    drawn = page.evaluate(
        """() => {
          const [words, fills] = [[], new Set()];
          const { fillText, fillRect } = CanvasRenderingContext2D.prototype;
          const inLane = (context) => context.canvas.parentElement?.className === "lane";
          CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            if (inLane(this)) words.push(text);
            return fillText.call(this, text, ...place);
          };
          CanvasRenderingContext2D.prototype.fillRect = function (...place) {
            if (inLane(this)) fills.add(this.fillStyle);
            return fillRect.call(this, ...place);
          };
          document.getElementById("look").click();
          return new Promise((go) => requestAnimationFrame(() =>
            requestAnimationFrame(() => go({ words, fills: [...fills] }))));
        }"""
    )
    assert drawn["words"] == ["query L", "query R", "phase 1 L", "phase 1 R"]
    assert {"#85898f", "#0072b2"} <= set(drawn["fills"])
    assert "#e69f00" not in drawn["fills"]


WIDEST = """() => {
  let widest = 0;
  const { stroke } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...given) {
    if (this.canvas.id === "stage") widest = Math.max(widest, this.lineWidth);
    return stroke.call(this, ...given);
  };
  document.getElementById("look").click();
  return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(widest))));
}"""


@pytest.mark.parametrize(
    ("name", "beyond", "has_head"),
    [("Head", "leftEye", True), ("Head", "Head2", True), ("Crown", "leftEye", False)],
)
def test_a_head_with_eyes_is_drawn_as_a_head(open_page, name, beyond, has_head):
    """Eyes and a second point beside the first do not say where a head ends."""
    body = made_actor()
    eye = body.positions[:, 5:] + [0.03, 0.05, 0.08]
    body = replace(
        body,
        positions=np.concatenate([body.positions, eye], axis=1),
        links=np.concatenate([body.links, [[5, 6]]]),
        joint_names=("Hips", "Knee_L", "Foot_L", "Knee_R", "Foot_R", name, beyond),
    )
    page = open_page(player_html([Take("one", [body])]))
    wait_until_drawn(page)
    stage = page.locator("#stage").bounding_box()
    # The body fills three quarters of the stage, and a head has 9 % of its height.
    assert (page.evaluate(WIDEST) > 0.06 * stage["height"]) == has_head


def test_the_camera_stands_further_from_a_body_longer_than_high(open_page):
    distances = []
    for along in (0.0, 3.0):
        body = made_actor()
        positions = body.positions.copy()
        positions[:, 5, 2] += along
        page = open_page(player_html([Take("one", [replace(body, positions=positions)])]))
        wait_until_drawn(page)
        distances.append(state(page)["camera"]["distance"])
    assert distances[1] > 1.8 * distances[0]


def test_frames_past_the_clip_set_no_scale(open_page):
    """The amplitude of a window that reaches past the clip is none of the movement's."""
    phases = made_phases(240, 2)
    interior = np.ones(240, bool)
    interior[:60] = interior[-60:] = False
    amplitude = np.where(interior[:, None], phases.amplitude, 50.0)
    channels = Channels(replace(phases, amplitude=amplitude), FPS, interior)
    page = open_page(player_html([Take("edges", [made_actor(240)], channels=channels)]))
    wait_until_drawn(page)
    ticks = page.evaluate(
        """() => {
          const words = [];
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            const name = this.canvas.parentElement?.querySelector("b")?.textContent;
            if (name === "Amplitude") words.push(Number(text));
            return write.call(this, text, ...place);
          };
          document.getElementById("look").click();
          return new Promise((go) => requestAnimationFrame(() =>
            requestAnimationFrame(() => go(words))));
        }"""
    )
    assert max(ticks) <= 1.2 * phases.amplitude[interior].max()


def test_a_frame_is_as_high_as_its_player(open_page):
    takes = [made_take(240, 10)]
    inner = player_html(takes, embedded=True, playing=True)
    page = open_page(f'<iframe style="width: 1000px" srcdoc="{html.escape(inner)}"></iframe>')
    frame = page.frames[1]
    until(frame, "window.deepphasePlayer?.state().playing")
    until(frame, "document.documentElement.scrollHeight <= innerHeight && innerHeight > 600")
    lanes = "(list => list.scrollHeight - list.clientHeight)(document.getElementById('lanes'))"
    assert frame.evaluate(lanes) <= 1


def test_song_is_the_clock(open_page):
    song = PlayerSong(
        wav_bytes(3.0), "audio/wav", duration_s=3.0, beats=np.arange(0, 3, 0.5), start_s=0.5
    )
    page = open_page(player_html([made_take(300, song=song)]))
    wait_until_drawn(page)
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.state().songRuns && deepphasePlayer.state().time > 0.6")
    running = drawn_state(page)
    assert running["time"] == pytest.approx(running["songTime"], abs=0.15)
    page.evaluate("deepphasePlayer.seek(2.5)")
    until(page, "deepphasePlayer.state().time > 2.5")
    jumped = drawn_state(page)
    assert jumped["time"] == pytest.approx(jumped["songTime"], abs=0.15)
    # The take goes on behind the song's end.
    until(page, "deepphasePlayer.state().time > 3.8")
    assert not state(page)["songRuns"]
    assert state(page)["playing"]
    page.keyboard.press("Space")
    assert page.locator("#lanes b").first.inner_text() == "Song"


def test_song_that_cannot_be_played_is_said(open_page):
    take = made_take(120, song=PlayerSong(b"no sound at all", "audio/wav", "noise", 2.0))
    page = open_page(player_html([take]))
    page.locator("#message").wait_for(state="visible")
    assert "cannot play the song" in page.locator("#message").inner_text()
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.state().time > 0.2")


def test_clips_are_chosen_by_list_and_key(open_page):
    takes = [made_take(60 * n, name=f"clip {n}") for n in (1, 2, 3)]
    page = open_page(player_html(takes))
    page.locator("#take").select_option("2")
    assert state(page)["take"] == 2
    assert state(page)["frames"] == 180
    page.keyboard.press("PageDown")
    assert state(page)["take"] == 0
    page.locator("#take-before").click()
    assert state(page)["take"] == 2
    page.keyboard.press("Space")
    assert state(page)["playing"]


def test_channels_and_experts_have_the_numbers_of_the_figures(made):
    """Figures, tables and files count from 0."""
    written = made.evaluate(
        """() => {
          const written = {};
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            (written[this.canvas.id || this.canvas.parentElement.className] ??= []).push(text);
            return write.call(this, text, ...place);
          };
          deepphasePlayer.seek(0.5);
          return new Promise((go) => requestAnimationFrame(() =>
            requestAnimationFrame(() => go(written))));
        }"""
    )
    numbers = {
        name: {text.strip() for text in texts if text.strip().isdigit()}
        for name, texts in written.items()
    }
    assert numbers["wheels"] == {"0", "1", "2", "3", "4"}
    assert numbers["gating"] == {"0", "1", "2", "3"}


def test_wheels_and_weights_stand_between_stage_and_curves_where_it_is_not_wide(open_page):
    page = open_page(player_html([made_take()]), viewport={"width": 700, "height": 900})
    settle(page)
    boxes = {
        id: page.locator(f"#{id}").bounding_box()
        for id in ("stage-card", "wheels", "manifold", "gating", "time-card")
    }
    assert boxes["stage-card"]["y"] < boxes["wheels"]["y"] < boxes["time-card"]["y"]
    assert boxes["wheels"]["x"] < boxes["manifold"]["x"] < boxes["gating"]["x"]
    assert boxes["gating"]["x"] + boxes["gating"]["width"] <= 700
    assert boxes["time-card"]["y"] < 700


def test_hostile_names_are_shown_as_text(open_page):
    take = made_take(
        actors=[made_actor(name=HOSTILE), made_actor(name=HOSTILE)],
        name=HOSTILE,
        note=HOSTILE,
        curves=[Curve(HOSTILE, HOSTILE, np.zeros(120), FPS)],
        markers=[Marker(HOSTILE, 0, 1)],
    )
    page = open_page(player_html([take, take], title=HOSTILE))
    assert page.title() == HOSTILE
    for id in ("title", "note"):
        assert page.locator(f"#{id}").text_content() == HOSTILE
    assert page.locator("#take option").first.text_content() == HOSTILE
    assert page.locator("#lanes b").last.text_content() == HOSTILE
    assert page.locator("img").count() == 0


def test_page_without_anything_says_what_to_do(open_page):
    page = open_page(player_html([]))
    assert "Nothing to play" in page.locator("#message").inner_text()
    bare = open_page(player_html([Take("bare", [made_actor(contacts=None, feet=())])]))
    bare.keyboard.press("ArrowRight")
    assert state(bare)["frame"] == 1
    phases = Take("phases", channels=Channels(made_phases(60, 3), FPS))
    alone = open_page(player_html([phases]))
    assert "No skeleton" in alone.locator("#stage-empty").inner_text()


def test_damaged_data_are_said(browser):
    page = player_html([Take("t", [made_actor()])])
    start = page.index('id="array-1">') + len('id="array-1">')
    context = browser.new_context()
    opened = context.new_page()
    opened.set_content(page[:start] + page[start + 8 :])
    assert "cannot be shown" in opened.locator("#message").inner_text()
    context.close()


def test_look_follows_the_reader_and_the_switch(open_page):
    content = player_html([made_take()])
    page = open_page(content, color_scheme="dark")
    assert state(page)["dark"]
    page.locator("#look").click()
    assert not state(page)["dark"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert state(open_page(player_html([made_take()], look="dark"), color_scheme="light"))["dark"]


def test_nothing_is_wider_than_a_narrow_page(open_page):
    page = open_page(
        player_html([made_take(), made_take()]),
        viewport={"width": 400, "height": 800},
        device_scale_factor=2,
    )
    wait_until_drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("document.getElementById('stage').width") == pytest.approx(
        2 * page.evaluate("document.getElementById('stage').clientWidth"), abs=1
    )
    assert page.evaluate(COLOURS, "stage") > 3


def test_keys_and_mouse_are_explained(made):
    made.keyboard.press("?")
    assert made.locator("#help").is_visible()
    made.keyboard.press("Escape")
    unnamed = made.evaluate(
        """[...document.querySelectorAll('button, select, input')].filter(each =>
           !each.textContent.trim() && !each.getAttribute('aria-label')).length"""
    )
    assert unnamed == 0


def test_two_players_in_frames_of_one_page(open_page):
    page = open_page(
        "<!DOCTYPE html><link rel=icon href='data:,'><body>"
        "<iframe sandbox='allow-scripts' width=700 height=500></iframe>"
        "<iframe sandbox='allow-scripts' width=700 height=500></iframe>"
    )
    contents = [player_html([made_take(60 * n)]) for n in (1, 2)]
    page.evaluate(
        "all => all.forEach((each, i) => { document.querySelectorAll('iframe')[i].srcdoc = each })",
        contents,
    )
    # Their documents are navigated to before they draw.
    for number in range(2):
        page.frame_locator("iframe").nth(number).locator("#stage").wait_for()
    frames = [frame for frame in page.frames if frame != page.main_frame]
    for frame in frames:
        until(frame, "window.deepphasePlayer?.stats().drawn.length > 0")
    lengths = [frame.evaluate("deepphasePlayer.state().frames") for frame in frames]
    assert sorted(lengths) == [60, 120]
    assert all(frame.evaluate(COLOURS, "stage") > 3 for frame in frames)


def test_drawing_time_of_30000_frames_of_30_joints(open_page, record_property):
    random = np.random.default_rng(0)
    steps = random.normal(scale=0.002, size=(30_000, 30, 3)).cumsum(0)
    positions = (random.uniform(0, 1.7, (30, 3)) + steps).astype(np.float32)
    actor = Actor("long", positions, links_of(np.arange(30) - 1), 60.0)
    take = made_take(30_000, 8, actors=[actor])
    page = open_page(player_html([take]))
    wait_until_drawn(page)
    page.keyboard.press("0")
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.stats().between.length > 30")
    stats = page.evaluate("deepphasePlayer.stats()")
    drawn, between = np.array(stats["drawn"]), np.array(stats["between"])
    assert state(page)["playing"]
    assert len(between) > 10
    words = (
        f"drawing {np.median(drawn):.1f} ms (95 %: {np.percentile(drawn, 95):.1f}), "
        f"{1000 / np.median(between):.0f} frames a second"
    )
    record_property("drawing", words)
    print(words)


def test_costs_follow_the_time(open_page):
    take = Take("costs", [made_actor(240)], costs=made_costs())
    page = open_page(player_html([take, made_take(name="without")]))
    wait_until_drawn(page)
    assert page.is_visible("#costs-card")
    assert page.is_hidden("#wheels-card")
    page.evaluate("deepphasePlayer.seek(1.2)")
    settle(page)
    assert page.text_content("#costs-text") == "It jumps."
    assert page.locator("#costs-rows tr").all_text_contents() == [
        "walk at 1.00 splaying4.90",
        "run at 3.00 schosen2.45",
    ]
    # Bars are as long as the squares are: 24 and 6, of which the last feature is half.
    widths = page.locator("#costs-rows .terms span").evaluate_all(
        "spans => spans.map(span => span.getBoundingClientRect().width)"
    )
    np.testing.assert_allclose(
        np.array(widths) / sum(widths[:3]),
        np.outer([1, 1 / 4], [1 / 6, 2 / 6, 3 / 6]).ravel(),
        atol=0.01,
    )
    page.evaluate("deepphasePlayer.seek(0.9)")
    settle(page)
    assert page.text_content("#costs-text") == "It continues."
    assert page.locator("#costs-rows tr").count() == 1
    page.select_option("#take", "1")
    settle(page)
    assert page.is_hidden("#costs-card")


def test_names_of_bodies_that_stand_close_do_not_cover_each_other(open_page):
    actors = [
        replace(body, positions=body.positions + np.array([0.1 * i, 0, 0]), name=f"pose {i}")
        for i, body in enumerate([made_actor()] * 4)
    ]
    page = open_page(player_html([Take("close", actors)]))
    wait_until_drawn(page)
    names = page.evaluate(
        """() => {
          const found = [];
          const { fillText } = CanvasRenderingContext2D.prototype;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            if (this.canvas.id === "stage" && text.startsWith("pose"))
              found.push([x, y, this.measureText(text).width]);
            return fillText.call(this, text, x, y);
          };
          document.getElementById("look").click();
          return new Promise((go) => requestAnimationFrame(() =>
            requestAnimationFrame(() => go(found.slice(0, 4)))));
        }"""
    )
    assert len(names) == 4
    for i, (x, y, width) in enumerate(names):
        for other_x, other_y, other_width in names[:i]:
            assert abs(x - other_x) >= (width + other_width) / 2 or abs(y - other_y) >= 12


@pytest.mark.parametrize("body", ["biped", "quadruped"])
def test_a_clip_is_drawn_as_a_body_and_where_it_is_chosen_as_a_skeleton(open_page, body):
    gait = {"biped": "walk", "quadruped": "trot"}[body]
    page = open_page(player_html([made_body(body, gait)]))
    wait_until_drawn(page)
    pictures = [page.evaluate(PICTURE)]
    for _ in range(2):
        page.get_by_role("button", name="Skeleton").click()
        settle(page)
        pictures.append(page.evaluate(PICTURE))
    assert not state(page)["shows"]["skeleton"]
    assert pictures[0] != pictures[1]
    # The ground of the lit picture is everywhere; that of the skeleton is lines.
    shares = [page.evaluate(SHARE_DRAWN)]
    page.get_by_role("button", name="Skeleton").click()
    settle(page)
    shares.append(page.evaluate(SHARE_DRAWN))
    assert shares[0] == 1
    assert shares[1] < 0.5
    assert page.is_hidden("#plain")


def test_without_webgl_a_sentence_says_so_and_bodies_are_skeletons(open_page):
    content = player_html([made_body("biped", "walk")]).replace("<head>", WITHOUT_WEBGL, 1)
    page = open_page(content)
    wait_until_drawn(page)
    assert page.inner_text("#plain").startswith("This browser has no WebGL 2")
    assert 0 < page.evaluate(SHARE_DRAWN) < 0.5


def made_body(body: str, gait: str) -> Take:
    return Take(body, [Actor.of_clip(locomotion(0, 1.0, body=body, gait=gait).clip)])
