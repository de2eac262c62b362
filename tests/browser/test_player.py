"""The player in Chromium: ten journeys through its pages."""

import html
from dataclasses import replace

import numpy as np
import pytest

from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.actor import Actor, links_of
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Channels, Curve, Marker, PlayerSong, Take
from tests.browser.dashboard_pages import HEAD_WITHOUT_WEBGL, drawn_state
from tests.browser.dashboard_pages import until as holds
from tests.figures.made_phases import FPS, made_phases
from tests.viewer.player_pages import made_actor, made_costs, made_take, wav_bytes

# So long that it does not end while a busy machine compares its time with the page's.
SONG_S = 20.0
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


# Red and blue of the body at its first joint, in the first picture that is said to have it.
FIRST_PICTURE = f"""<head><script>{{
  {COPY}
  const native = requestAnimationFrame;
  window.requestAnimationFrame = (draw) => native((now) => {{
    draw(now);
    const [x, y] = deepphasePlayer.joint(0, 0).screen.map(Math.round);
    if (deepphasePlayer.isDrawn()) window.firstPicture ??= [...copied("stage", x, y, 1, 1)];
  }});
}}</script>"""


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
    holds(lambda: page.evaluate(expression))


def settle(page):
    """Until what was asked for has been drawn."""
    page.evaluate("() => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")


def bring_into_view(page, selector):
    """Scroll to a canvas, which is drawn again once the browser says that it is in view."""
    place = page.locator(selector)
    place.scroll_into_view_if_needed()
    # An observer made later than the canvas's own hears later.
    place.evaluate(
        """it => new Promise(go => new IntersectionObserver((entries, own) => {
             if (!entries.at(-1).isIntersecting) return;
             own.disconnect();
             go();
           }).observe(it))"""
    )
    settle(page)


def wait_until_drawn(page):
    until(page, "window.deepphasePlayer?.isDrawn()")
    settle(page)


# Pictures are drawn where the test says, at the seconds that it gives: `drawAt(...seconds)`.
OWN_CLOCK = """async () => {
  const [native, waiting] = [requestAnimationFrame, []];
  window.requestAnimationFrame = (draw) => waiting.push(draw);
  window.drawAt = (...seconds) => {
    for (const at of seconds) for (const draw of waiting.splice(0)) draw(1000 * at);
    return deepphasePlayer.state();
  };
  await new Promise((go) => native(() => native(go)));
}"""


# What the next two pictures draw once the look has changed: texts, areas and lines, with the id of
# their canvas or the name of their lane.
DRAWN = """() => {
  const calls = [];
  const drawing = CanvasRenderingContext2D.prototype;
  for (const name of ["fillText", "fillRect", "stroke"]) {
    const own = drawing[name];
    drawing[name] = function (...given) {
      const { canvas, fillStyle, lineWidth } = this;
      const where = canvas.id || canvas.parentElement?.querySelector("b")?.textContent;
      const wide = name === "fillText" ? this.measureText(given[0]).width : lineWidth;
      calls.push({ name, where, given: name === "stroke" ? [] : given, fillStyle, wide });
      return own.apply(this, given);
    };
  }
  document.getElementById("look").click();
  return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(calls))));
}"""


def drawn(page, where: str, name: str = "fillText") -> list[dict]:
    """What is drawn in a canvas or a lane, by the name of the canvas's function."""
    return [each for each in page.evaluate(DRAWN) if (each["where"], each["name"]) == (where, name)]


def opened(open_page, takes, *, options=None, **page):
    """A page with takes that has been drawn."""
    found = open_page(player_html(takes, **page), **(options or {}))
    wait_until_drawn(found)
    return found


@pytest.fixture
def made(open_page):
    return opened(open_page, [made_take(240)], title="Made")


def test_all_parts_are_drawn_where_they_belong_and_explained(made):
    for canvas in ("stage", "wheels", "manifold", "overview"):
        bring_into_view(made, f"#{canvas}")
        assert made.evaluate(COLOURS, canvas) > 3, canvas
    made.locator("#manifold-3d").click()
    bring_into_view(made, "#manifold")
    assert made.evaluate(COLOURS, "manifold") > 3
    lanes = made.locator(".lane:not([hidden]) b").all_text_contents()
    assert lanes == ["Phase", "Frequency", "Amplitude", "Experts", "Contacts", "Speed"]
    made.keyboard.press("?")
    assert made.locator("#help").is_visible()
    made.keyboard.press("Escape")
    unnamed = made.evaluate(
        """[...document.querySelectorAll('button, select, input')].filter(each =>
           !each.textContent.trim() && !each.getAttribute('aria-label')).length"""
    )
    assert unnamed == 0
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
    positions = made_actor(240).positions
    for joint in range(positions.shape[1]):
        given = made.evaluate("joint => deepphasePlayer.joint(0, joint)", joint)
        place = positions[60, joint]
        np.testing.assert_allclose(given["world"], place, atol=1e-3)
        away = place - eye
        scale = focal / (away @ forward)
        wanted = [
            box["width"] / 2 + scale * (away @ right),
            box["height"] / 2 - scale * (away @ up),
        ]
        np.testing.assert_allclose(given["screen"][:2], wanted, atol=1.0)
        assert made.evaluate(OPAQUE, wanted) > 5, "nothing is drawn at the joint"
    # Channels and experts count from 0, as figures, tables and files do.
    calls = made.evaluate(DRAWN)
    for where, count in (("wheels", 5),):
        own = [each for each in calls if (each["where"], each["name"]) == (where, "fillText")]
        numbers = {text for each in own if (text := each["given"][0].strip()).isdigit()}
        assert numbers == {str(number) for number in range(count)}


def test_keys_play_and_step(made):
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
    made.evaluate(OWN_CLOCK)
    made.keyboard.press("Space")
    assert state(made)["playing"]
    assert made.evaluate("drawAt(1)")["time"] == 0
    assert made.evaluate("drawAt(1.1, 1.3, 1.5)")["time"] == pytest.approx(0.5)
    # Of a picture that is late, a part of the time is passed over.
    assert made.evaluate("drawAt(9)")["time"] == pytest.approx(0.75)
    assert made.locator("#play").get_attribute("aria-label") == "Pause"
    made.keyboard.press("Space")
    stopped = made.evaluate("drawAt(9.1, 9.2)")
    assert not stopped["playing"]
    assert stopped["time"] == pytest.approx(0.75)
    made.keyboard.press("[")
    assert state(made)["speed"] == 0.75
    for _ in range(4):
        made.keyboard.press("]")
    assert state(made)["speed"] == 2
    made.keyboard.press("l")
    made.evaluate("deepphasePlayer.seek(3.9)")
    made.keyboard.press("Space")
    end = made.evaluate("drawAt(20, 20.02, 20.2)")
    assert (end["playing"], end["frame"]) == (False, 239)
    made.keyboard.press("l")
    made.keyboard.press("Space")
    made.evaluate("deepphasePlayer.seek(3.9)")
    again = made.evaluate("drawAt(30, 30.02, 30.2)")
    assert (again["playing"], again["time"]) == (True, 0)


def test_a_gallop_stays_in_the_picture(open_page):
    actor = made_actor(240)
    ahead = np.arange(240)[:, None] / FPS * [0, 0, 14.0]
    body = replace(
        actor,
        positions=actor.positions + ahead[:, None],
        root_positions=actor.root_positions + ahead,
    )
    page = opened(open_page, [Take("gallop", [body])], playing=True)
    seen = page.evaluate(
        """async () => {
          const seen = [], joints = [0, 1, 2, 3, 4, 5];
          for (let picture = 0; picture < 20; picture++) {
            await new Promise(requestAnimationFrame);
            seen.push(joints.map((joint) => deepphasePlayer.joint(0, joint).screen));
          }
          return seen;
        }"""
    )
    box = page.locator("#stage").bounding_box()
    x, y = np.moveaxis(np.array(seen)[..., :2], -1, 0)
    assert state(page)["time"] > 0
    assert min(x.min(), y.min()) > 0
    assert x.max() < box["width"]
    assert y.max() < box["height"]


def test_a_body_that_has_climbed_stays_as_far_below_the_top(open_page):
    actor = made_actor(240)
    up = np.linspace(0, 1.2, 240)[:, None] * [0, 1, 0]
    body = replace(actor, positions=actor.positions + up[:, None])
    page = opened(open_page, [Take("climb", [body])])
    tops = []
    for time in (0, 3):
        page.evaluate(f"deepphasePlayer.seek({time})")
        settle(page)
        tops.append(page.evaluate("deepphasePlayer.joint(0, 3).screen[1]"))
    assert tops[1] > tops[0] - 5


def test_the_mouse_jumps_in_curves_and_turns_the_view_that_follows_the_body(made):
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

    made.evaluate("deepphasePlayer.seek(3)")
    until(made, "Math.abs(deepphasePlayer.state().camera.target[2] - 3) < 0.05")
    made.keyboard.press("f")
    assert not state(made)["shows"]["follow"]
    made.evaluate("deepphasePlayer.seek(0)")
    settle(made)
    assert state(made)["camera"]["target"][2] == pytest.approx(3, abs=0.05)
    made.keyboard.press("f")
    until(made, "Math.abs(deepphasePlayer.state().camera.target[2]) < 0.05")

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


def test_bodies_have_their_own_rates_colours_names_and_places(open_page):
    sides = {"feet_labels": ("left", "right")}
    sides["joint_names"] = ("Hips", "Knee_L", "Foot_L", "Knee_R", "Foot_R", "Head")
    actors = [
        made_actor(121, name="query", colour="#85898F", **sides),
        made_actor(41, name="phase 1", colour="#0072B2", fps=20.0, start_s=0.5, **sides),
    ]
    actors[1] = replace(actors[1], positions=actors[1].positions + np.array([1.0, 0, 0]))
    page = opened(open_page, [Take("two", actors)])
    # Between two frames of the slower one: 10.5 frames after its start.
    page.evaluate("deepphasePlayer.seek(0.5 + 10.5 / 20)")
    settle(page)
    one, two = (page.evaluate(f"deepphasePlayer.joint({n}, 0)")["world"] for n in (0, 1))
    assert one[2] == pytest.approx(1.025, abs=0.01)
    np.testing.assert_allclose(two, [1, 1, 0.525], atol=1e-3)
    calls = [each for each in page.evaluate(DRAWN) if each["where"] == "Contacts"]
    texts = [each["given"][0] for each in calls if each["name"] == "fillText"]
    assert texts == ["query L", "query R", "phase 1 L", "phase 1 R"]
    fills = {each["fillStyle"] for each in calls if each["name"] == "fillRect"}
    assert {"#85898f", "#0072b2"} <= fills
    assert "#e69f00" not in fills
    assert page.locator("#actors button").all_inner_texts() == ["query", "phase 1"]
    picture = page.locator("#stage").screenshot()
    page.locator("#actors button").nth(1).click()
    holds(lambda: page.locator("#stage").screenshot() != picture)
    assert page.locator("#actors button").nth(1).get_attribute("aria-pressed") == "false"

    # Names of bodies that stand close do not cover each other.
    body = made_actor()
    actors = [
        replace(body, positions=body.positions + np.array([0.1 * i, 0, 0]), name=f"pose {i}")
        for i in range(4)
    ]
    names = drawn(opened(open_page, [Take("close", actors)]), "stage")[:4]
    assert len(names) == 4
    for i, name in enumerate(names):
        for other in names[:i]:
            across, down = (abs(name["given"][at] - other["given"][at]) for at in (1, 2))
            assert across >= (name["wide"] + other["wide"]) / 2 or down >= 12

    # The camera stands further from a body that is longer than high.
    long = body.positions.copy()
    long[:, 5, 2] += 3.0
    distances = [
        state(opened(open_page, [Take("one", [replace(body, positions=each)])]))["camera"][
            "distance"
        ]
        for each in (body.positions, long)
    ]
    assert distances[1] > 1.8 * distances[0]


@pytest.mark.parametrize(("body", "gait"), [("biped", "walk"), ("quadruped", "trot")])
def test_a_clip_is_a_body_or_a_skeleton_which_it_is_without_webgl(open_page, body, gait):
    take = Take(body, [Actor.from_clip(locomotion(0, 4.0, body=body, gait=gait).clip)])
    page = open_page(player_html([take]).replace("<head>", FIRST_PICTURE, 1))
    wait_until_drawn(page)
    # It is warm, and the ground behind it is cool.
    red, _, blue, _ = page.evaluate("window.firstPicture")
    assert red > blue + 5
    pictures, shares = [], []
    for _ in range(3):
        pictures.append(page.evaluate(PICTURE))
        shares.append(page.evaluate(SHARE_DRAWN))
        page.get_by_role("button", name="Skeleton").click()
        settle(page)
    assert state(page)["shows"]["skeleton"]
    assert pictures[0] != pictures[1]
    # The ground of the lit picture is everywhere; that of the skeleton is lines.
    assert shares[0] == shares[2] == 1
    assert shares[1] < 0.5
    assert page.is_hidden("#plain")
    page = open_page(player_html([take]).replace("<head>", HEAD_WITHOUT_WEBGL, 1))
    wait_until_drawn(page)
    assert page.inner_text("#plain").startswith("This browser has no WebGL 2")
    assert 0 < page.evaluate(SHARE_DRAWN) < 0.5


def test_players_in_frames_are_as_high_as_their_content_and_play_in_view(open_page):
    bare = html.escape(player_html([made_take(240)], playing=True, bare=True))
    whole = html.escape(player_html([made_take(240, 10)], embedded=True, playing=True))
    space = '<div style="height: 3000px"></div>'
    page = open_page(
        "<!DOCTYPE html><link rel=icon href='data:,'>"
        f'<iframe style="width: 1000px" srcdoc="{whole}"></iframe>{space}'
        f'<iframe style="width: 900px; height: 600px" srcdoc="{bare}"></iframe>{space}'
    )
    first, frame = page.frames[1:]
    until(first, "window.deepphasePlayer?.state().playing")
    until(first, "document.documentElement.scrollHeight <= innerHeight && innerHeight > 600")
    lanes = "(list => list.scrollHeight - list.clientHeight)(document.getElementById('lanes'))"
    assert first.evaluate(lanes) <= 1
    until(frame, "window.deepphasePlayer")
    assert not state(frame)["playing"]
    page.locator("iframe").nth(1).scroll_into_view_if_needed()
    until(frame, "deepphasePlayer.state().playing")
    until(first, "!deepphasePlayer.state().playing")
    # Body and ring side by side, and a line of time below.
    stage, ring, line = (
        frame.locator(each).bounding_box() for each in ("#stage", "#manifold", "#overview-row")
    )
    assert ring["x"] >= stage["x"] + stage["width"]
    assert line["width"] > 700
    low, high = state(frame)["plot"]
    assert high - low > 600
    assert all(each.evaluate(COLOURS, "stage") > 3 for each in (first, frame))
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


def test_a_song_is_the_clock_unless_it_cannot_be_played(open_page):
    beats = np.arange(0, 3, 0.5)
    song = PlayerSong(wav_bytes(SONG_S), "audio/wav", duration_s=SONG_S, beats=beats, start_s=0.5)
    page = opened(open_page, [made_take(60 * 24, song=song)])
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.state().songRuns && deepphasePlayer.state().time > 0.6")
    running = drawn_state(page)
    assert running["time"] == pytest.approx(running["songTime"], abs=0.15)
    page.evaluate("deepphasePlayer.seek(2.5)")
    until(page, "deepphasePlayer.state().time > 2.5")
    jumped = drawn_state(page)
    assert jumped["time"] == pytest.approx(jumped["songTime"], abs=0.15)
    # The take goes on behind the song's end.
    page.evaluate(f"deepphasePlayer.seek({SONG_S})")
    until(page, f"deepphasePlayer.state().time > {SONG_S} + 0.8")
    assert not state(page)["songRuns"]
    assert state(page)["playing"]
    page.keyboard.press("Space")
    assert page.locator("#lanes b").first.inner_text() == "Song"

    take = made_take(120, song=PlayerSong(b"no sound at all", "audio/wav", "noise", 2.0))
    page = open_page(player_html([take]))
    page.locator("#message").wait_for(state="visible")
    assert "cannot play the song" in page.locator("#message").inner_text()
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.state().time > 0.2")


def test_clips_are_chosen_with_any_name_and_data(open_page, browser):
    takes = [made_take(60 * n, name=f"clip {n}") for n in (1, 2)]
    takes.append(Take("costs", [made_actor(180)], costs=made_costs()))
    page = opened(open_page, takes)
    page.locator("#take").select_option("2")
    assert (state(page)["take"], state(page)["frames"]) == (2, 180)
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
    shares = np.outer([1, 1 / 4], [1 / 6, 2 / 6, 3 / 6]).ravel()
    np.testing.assert_allclose(np.array(widths) / sum(widths[:3]), shares, atol=0.01)
    page.evaluate("deepphasePlayer.seek(0.9)")
    settle(page)
    assert page.text_content("#costs-text") == "It continues."
    assert page.locator("#costs-rows tr").count() == 1
    page.keyboard.press("PageDown")
    assert state(page)["take"] == 0
    assert page.is_hidden("#costs-card")
    page.locator("#take-before").click()
    assert state(page)["take"] == 2
    page.keyboard.press("Space")
    assert state(page)["playing"]

    hostile = made_take(
        actors=[made_actor(name=HOSTILE), made_actor(name=HOSTILE)],
        name=HOSTILE,
        note=HOSTILE,
        curves=[Curve(HOSTILE, HOSTILE, np.zeros(120), FPS)],
        markers=[Marker(HOSTILE, 0, 1)],
    )
    page = open_page(player_html([hostile, hostile], title=HOSTILE))
    assert page.title() == HOSTILE
    for place in ("#title", "#note", "#take option", "#lanes b"):
        assert page.locator(place).last.text_content() == HOSTILE
    assert page.locator("img").count() == 0

    page = open_page(player_html([]))
    assert "Nothing to play" in page.locator("#message").inner_text()
    bare = open_page(player_html([Take("bare", [made_actor(contacts=None, feet=())])]))
    bare.keyboard.press("ArrowRight")
    assert state(bare)["frame"] == 1
    alone = open_page(player_html([Take("phases", channels=Channels(made_phases(60, 3), FPS))]))
    assert "No skeleton" in alone.locator("#stage-empty").inner_text()
    content = player_html([Take("t", [made_actor()])])
    start = content.index('id="array-1">') + len('id="array-1">')
    context = browser.new_context()
    damaged = context.new_page()
    damaged.set_content(content[:start] + content[start + 8 :])
    assert "cannot be shown" in damaged.locator("#message").inner_text()
    context.close()


def test_pages_fit_their_look_width_and_length(open_page):
    page = open_page(player_html([made_take()]), color_scheme="dark")
    assert state(page)["dark"]
    page.locator("#look").click()
    assert not state(page)["dark"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert state(open_page(player_html([made_take()], look="dark"), color_scheme="light"))["dark"]

    # Wheels and weights stand between stage and curves where the page is not wide.
    page = open_page(player_html([made_take()]), viewport={"width": 700, "height": 900})
    settle(page)
    boxes = {
        id: page.locator(f"#{id}").bounding_box()
        for id in ("stage-card", "wheels", "manifold", "time-card")
    }
    assert boxes["stage-card"]["y"] < boxes["wheels"]["y"] < boxes["time-card"]["y"]
    assert boxes["wheels"]["x"] < boxes["manifold"]["x"]
    assert boxes["manifold"]["x"] + boxes["manifold"]["width"] <= 700
    assert boxes["time-card"]["y"] < 700
    narrow = {"viewport": {"width": 400, "height": 800}, "device_scale_factor": 2}
    page = opened(open_page, [made_take(), made_take()], options=narrow)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("document.getElementById('stage').width") == pytest.approx(
        2 * page.evaluate("document.getElementById('stage').clientWidth"), abs=1
    )
    assert page.evaluate(COLOURS, "stage") > 3

    # The amplitude of a window that reaches past the clip is not the movement's, and sets no scale.
    phases = made_phases(240, 2)
    interior = np.ones(240, bool)
    interior[:60] = interior[-60:] = False
    amplitude = np.where(interior[:, None], phases.amplitude, 50.0)
    channels = Channels(replace(phases, amplitude=amplitude), FPS, interior)
    page = opened(open_page, [Take("edges", [made_actor(240)], channels=channels)])
    ticks = [float(each["given"][0]) for each in drawn(page, "Amplitude")]
    assert max(ticks) <= 1.2 * phases.amplitude[interior].max()

    random = np.random.default_rng(0)
    steps = random.normal(scale=0.002, size=(30_000, 30, 3)).cumsum(0)
    positions = (random.uniform(0, 1.7, (30, 3)) + steps).astype(np.float32)
    actor = Actor("long", positions, links_of(np.arange(30) - 1), 60.0)
    page = opened(open_page, [made_take(30_000, 8, actors=[actor])])
    page.keyboard.press("0")
    page.keyboard.press("Space")
    until(page, "deepphasePlayer.time() > 1")
    assert state(page)["playing"]
