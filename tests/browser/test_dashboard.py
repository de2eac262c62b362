"""The dashboard in Chromium: journeys that need a browser; pages by themselves are run without."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.dashboard_pages import (
    WITHOUT_WEBGL,
    answer_where,
    at_rest,
    cloud,
    colours,
    drawn_state,
    live_frame,
    settled,
    state,
    titled_player,
    until,
)


def test_a_row_is_chosen_and_plays_by_the_keyboard(visit):
    page = visit("data")

    def taken_over():
        """The player that the page brought along; a slow page has drawn one of its own."""
        frame = settled(page)
        if frame.url.endswith("/first-player/data?"):
            return frame
        page.reload()
        return None

    frame = until(taken_over)
    assert frame.locator("h1").inner_text() == "walk"
    assert not page.locator("iframe.first-player").count()
    until(lambda: state(frame)["playing"])
    table = page.locator('[data-testid="stDataFrame"]').first
    box = at_rest(table)
    # The mark of the fourth row.
    page.mouse.click(box["x"] + 16, box["y"] + 33 * 4 + 16)
    frame = titled_player(page, "run")
    # A chosen clip plays; the space key stops it, and begins again.
    until(lambda: state(frame)["playing"])
    frame.locator("#stage").click()
    page.keyboard.press("Space")
    assert not state(frame)["playing"]
    page.keyboard.press("Home")
    before = frame.evaluate("deepphasePlayer.joint(0, 0).world")
    page.keyboard.press("Space")
    until(lambda: state(frame)["playing"] and state(frame)["time"] > 0.3)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 0).world"), before)
    assert np.linalg.norm(moved) > 0.3, "a runner has gone on"


def test_clouds_player_and_address_show_one_moment(visit):
    page = visit("manifold")
    frame = settled(page)
    shown = cloud(page)
    plot = shown.locator(".front")
    # The moving point goes where the player's time is.
    frame.evaluate("deepphasePlayer.pause()")
    moments = []
    for time_s in (1.0, 1.3):
        frame.evaluate(f"deepphasePlayer.seek({time_s})")
        until(lambda at=time_s: shown.evaluate("it => it.deepphaseCloud.time") == at)
        moments.append(shown.evaluate("it => it.deepphaseCloud.moment"))
    assert np.linalg.norm(np.subtract(*moments)) > 10
    # A point of the clip that plays is gone to at once; its pose is shown beside the mouse.
    place = """it => {
        const cloud = it.deepphaseCloud, i = cloud.count - 40;
        const [x, y] = [cloud.screen[2 * i], cloud.screen[2 * i + 1]];
        const found = cloud.nearest(x, y);
        const { names, clip, times } = cloud.frames;
        return { x, y, clip: names[clip[found]], time: times[found] };
    }"""

    def under_the_mouse():
        """The point that the mouse is on, once its pose is shown; it moves as clips are read."""
        box, found = at_rest(plot), shown.evaluate(place)
        for beside in (2, 0):
            page.mouse.move(box["x"] + found["x"] + beside, box["y"] + found["y"])
        page.wait_for_timeout(1000)
        return found if found["clip"] in shown.locator(".pose").inner_text() else None

    last = until(under_the_mouse)
    page.mouse.down()
    page.mouse.up()
    if last["clip"] != "walk":
        titled_player(page, last["clip"])
        for part in (f"clip={last['clip'].replace(' ', '+')}", f"at={last['time']:.2f}"):
            page.wait_for_url(f"**{part}*")
        answer_where(page, "deepphasePlayer.time()", lambda now: now >= last["time"] - 0.02)
    # By keyboard as well: the next point is said aloud.
    plot.press("ArrowRight")
    until(lambda: shown.locator(".said").inner_text())
    # In space, with as many points.
    shown.get_by_role("button", name="3D").click()
    until(lambda: shown.evaluate("it => it.deepphaseCloud.plot.space"))
    until(lambda: colours(shown.locator(".plot")) > 8)
    assert 1_000 < shown.evaluate("it => it.deepphaseCloud.count") <= 5_000
    # Pictures to keep.
    for kind, begins in {"PNG": b"\x89PNG", "CSV": b"clip,frame"}.items():
        with page.expect_download() as download:
            shown.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename.endswith(kind.lower())
        assert download.value.path().read_bytes().startswith(begins)


def test_a_lasso_selects_and_the_skeleton_plays_it(visit):
    page = visit("manifold")
    settled(page)
    shown = cloud(page)
    box = at_rest(shown.locator(".front"))
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    radius = 0.2 * box["width"]
    # A loop right of the middle, over the inner rings.
    turns = np.linspace(0, 2 * np.pi, 24)
    path = [
        (middle[0] + radius * (1.2 + 0.8 * np.cos(turn)), middle[1] + radius * np.sin(turn))
        for turn in turns
    ]
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    frame = titled_player(page, "Selected frames")
    until(lambda: state(frame)["time"] > 0.2)
    page.wait_for_url("**passages=*")
    # The address leads back to the selection.
    page.goto(page.url)
    titled_player(page, "Selected frames")
    # Without a mouse: Escape clears it, and two points are corners of a box.
    shown = cloud(page)
    until(lambda: shown.evaluate("it => it.deepphaseCloud?.selected?.size > 0"))
    shown.locator(".front").focus()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "passages=" not in url)
    settled(page)
    shown.locator(".front").focus()
    for key in ("ArrowRight", "b", "ArrowDown", "ArrowDown", "b"):
        page.keyboard.press(key)
    assert "points selected" in shown.locator(".said").inner_text()
    page.wait_for_url(lambda url: "passages=" in url)
    titled_player(page, "Selected frames")


def test_pages_are_linked_and_fit_a_narrow_screen(visit):
    page = visit("data")
    links = page.locator('[data-testid="stSidebarNavLink"]').all_inner_texts()
    # Icons are letters of a font of their own.
    page.set_viewport_size({"width": 420, "height": 900})
    for name in [text.split("\n")[-1] for text in links]:
        # The sidebar is closed where it is narrow.
        page.locator('[data-testid="stSidebarNavLink"]', has_text=name).dispatch_event("click")
        page.wait_for_function("to => location.pathname === to", arg=f"/{name.lower()}")
        page.wait_for_function("name => document.querySelector('h1')?.innerText === name", arg=name)
        # A link that is clicked while its page is redrawn is replaced.
        page.wait_for_selector('[data-test-script-state="notRunning"]')
        until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 420)


def another_duration(page, before: float) -> float:
    """The seconds of a run that takes another time than that one."""
    return answer_where(page, "deepphasePlayer.state().duration", lambda s: abs(s - before) > 0.05)


def test_a_way_is_drawn_by_mouse_and_by_keys(visit):
    page = visit("control")
    before = state(titled_player(page, "Control"))["duration"]
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
    frame.locator("#stage").press("v")
    frame.evaluate("for (let i = 0; i < 240; i++) deepphaseLive.driver.step([0.2, 1.3], null)")
    frame.get_by_role("button", name="Stop").click()
    page.get_by_text("is among the clips of all pages").wait_for()
    page.get_by_text("Feet slide").first.wait_for()
    page.get_by_text("All measures, with those of the data").wait_for()
    # Page Data opens on it, among the files of this session.
    page.get_by_role("link", name="Data").click()
    page.get_by_text("Remove my files").wait_for()
    answer_where(page, "document.querySelector('h1')?.innerText", lambda name: "by hand" in name)
    assert (
        "Your files"
        in page.get_by_test_id("stSidebar").get_by_label("Clips", exact=True).first.input_value()
    )


def test_a_point_moves_on_the_manifold_while_a_character_is_steered(visit):
    page = visit("manifold")
    settled(page)
    page.get_by_text("Steer by hand").click()
    frame = live_frame(page)
    # The character stands below the player.
    page.mouse.move(700, 600)
    page.mouse.wheel(0, 2000)
    until(lambda: colours(frame.locator("#manifold")) > 5)
    frame.evaluate("deepphaseLive.view.draw = () => {}")
    frame.evaluate("for (let i = 0; i < 120; i++) deepphaseLive.driver.step([0, 2], null)")
    points = frame.evaluate("deepphaseLive.driven().slice(-60).map((each) => each.manifold)")
    assert np.ptp(np.array(points), axis=0).max() > 0.5


def test_a_song_dances(visit):
    page = visit("dance")
    # Another clip plays until the dance is made.
    answer_where(page, "deepphasePlayer.state().duration", lambda s: abs(s - 20) < 0.2)
    frame = settled(page)
    before = frame.evaluate("deepphasePlayer.joint(0, 3).world")
    # Without sound until the reader touches the page; then the song is the clock.
    until(lambda: state(frame)["time"] > 0.2)
    assert not state(frame)["songRuns"]
    frame.locator("#stage").click()
    until(lambda: state(frame)["songRuns"] and state(frame)["songTime"] > 3.0)
    clock = drawn_state(frame)
    assert clock["time"] == pytest.approx(clock["songTime"], abs=0.2)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 3).world"), before)
    assert np.linalg.norm(moved) > 0.02
    for id in ("wheels", "overview"):
        until(lambda at=id: colours(frame.locator(f"#{at}")) > 4)
    names = frame.locator("#lanes b").all_text_contents()
    assert "Song" in names
    assert "Phase" in names
    # Its film has the sound.
    film = frame.get_by_role("button", name="Film").first
    film.click()
    until(lambda: state(frame)["filmed"] > 20_000)
    with page.expect_download() as download:
        film.click()
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x1a\x45\xdf\xa3"), "WebM begins as Matroska does"
    assert b"A_OPUS" in content[:4000]


def test_back_leads_to_the_page_before_with_its_clip_in_each_session(visit, address):
    page, other = visit("manifold"), visit("channels?clip=medley")
    titled_player(page, "walk")
    titled_player(other, "medley")
    page.get_by_role("link", name="Channels").click()
    page.wait_for_url("**/channels?**")
    titled_player(page, "walk")
    # Changes within a page are not steps of the history.
    for name in ("medley", "run"):
        page.locator('[data-testid="stMain"] [data-testid="stSelectbox"] input').first.click()
        page.get_by_role("option", name=name).click()
        page.wait_for_url(f"**/channels?*clip={name}*")
        frame = titled_player(page, name)
    frame.evaluate("deepphasePlayer.pause()")
    frame.evaluate("deepphasePlayer.seek(2)")
    page.wait_for_url("**now=2.00")
    page.go_back()
    page.wait_for_url(f"{address}/manifold?*clip=walk*")
    titled_player(page, "walk")
    page.go_forward()
    page.wait_for_url(f"{address}/channels?*clip=run*")
    titled_player(page, "run")
    # At the moment of before.
    answer_where(page, "deepphasePlayer.time()", lambda now: now >= 1.9)
    assert settled(other).locator("h1").inner_text() == "medley"


# Whether the players in sight have drawn and are not faded, and where they are, at each picture of
# the page.
_LOOK = """(function look() {
    const inside = (root) => [...(root?.querySelectorAll("*") ?? [])].flatMap((each) =>
        each.title === "Player" ? [each] : inside(each.shadowRoot));
    const shown = inside(document).filter((it) => it.checkVisibility({ visibilityProperty: true }));
    const faded = (it) => it && ((it.dataset?.stale === "true" && getComputedStyle(it).opacity < 1)
        || faded(it.parentElement ?? it.getRootNode().host));
    (window.drawn ??= []).push(
        shown.map((it) => !faded(it) && !!it.contentWindow?.deepphasePlayer?.isDrawn()));
    const places = shown.map((it) => it.getBoundingClientRect()).map(({ x, y }) => [x, y]);
    (window.places ??= []).push(...places);
    const under = ({ x, y }) => document.elementFromPoint(x + 9, y + 9)?.title === "Player";
    window.covered |= [...document.querySelectorAll("button")].some((it) =>
        it.innerText.includes("Cancel") && under(it.getBoundingClientRect()));
    requestAnimationFrame(look);
})()"""


def test_the_last_player_stays_until_the_next_has_drawn_and_some_are_kept(visit):
    page = visit("manifold")
    settled(page)
    until(lambda: not page.get_by_text("Reading phases").count())
    shown = cloud(page)
    page.evaluate(_LOOK)
    last = shown.evaluate("it => it.deepphaseCloud.count - 40")
    go = """(it, i) => {
        it.deepphaseCloud.go(i);
        const { names, clip } = it.deepphaseCloud.frames;
        return names[clip[i]];
    }"""
    names = []
    for point in (last, 40, last, 40, last // 2):
        names.append(shown.evaluate(go, point))
        titled_player(page, names[-1])
        # A kept player is seen before the page answers.
        page.wait_for_url(f"**clip={names[-1]}*")
    assert len(set(names)) == 3
    assert all(each == [True] for each in page.evaluate("drawn"))
    # Memory does not grow with clicks.
    assert page.evaluate("window.deepphasePlayers.frames.length") <= 4
    assert page.evaluate("window.deepphaseFrames.size") <= 4
    # A click on what plays, before the page has answered another one, is not lost.
    shown.evaluate(f"it => {{ for (const i of [40, {last // 2}]) it.deepphaseCloud.go(i); }}")
    page.wait_for_url(f"**clip={names[-1]}*")
    titled_player(page, names[-1])
    # Nor is one between a new player and the picture of what it plays.
    sent = """(it, i) => {
        let sent;
        it.deepphaseCloud.send = (value) => { sent = value.clicked; };
        deepphasePlayers.show({ id: "another", page: "" });
        it.deepphaseCloud.go(i);
        return sent;
    }"""
    settled(page)
    assert shown.evaluate(sent, last // 2) == last // 2


def test_colours_axes_and_views_are_chosen_by_keys_without_the_server(visit):
    page = visit("manifold")
    settled(page)
    until(lambda: not page.get_by_text("Reading phases").count())
    shown = cloud(page)
    sent = shown.evaluate(
        """async it => {
        const cloud = it.deepphaseCloud, { send } = WebSocket.prototype, sent = [];
        WebSocket.prototype.send = function (data) { sent.push(data); send.call(this, data); };
        cloud.choose({ colour: "Speed", view: "Space" });
        await new Promise(requestAnimationFrame);
        WebSocket.prototype.send = send;
        return sent.length;
    }"""
    )
    assert sent == 0
    until(lambda: not cloud(page).evaluate("it => it.deepphaseCloud.surface.stale"))
    colour = shown.get_by_label("Colour")
    colour.focus()
    page.keyboard.press("Home")
    until(lambda: shown.evaluate("it => it.deepphaseCloud.seen.colour") == "Clip")
    shown.get_by_role("button", name="2D").press("Enter")
    assert not shown.evaluate("it => it.deepphaseCloud.plot.space")
    shown.get_by_label("Axes").select_option("Channel 2")
    assert "channel 2" in shown.evaluate("it => it.deepphaseCloud.titles[0]")
    page.wait_for_url("**axes=Channel+2*")
    # A reload leads back to it.
    page.reload()
    until(lambda: cloud(page).evaluate("it => it.deepphaseCloud?.seen.axes") == "Channel 2")


@pytest.mark.parametrize("name", ["control", "dance", "edit"])
def test_one_player_is_seen_until_the_next_has_drawn(name, browser, address):
    says = "after" if name == "edit" else name.capitalize()
    page = browser.new_page()
    page.add_init_script(WITHOUT_WEBGL + _LOOK)
    page.goto(f"{address}/{name}")
    text = "window.deepphasePlayers?.shown?.contentDocument.body?.innerText"
    until(lambda: says in (page.evaluate(text) or ""))
    seen = page.evaluate("drawn")
    assert all(each == [True] for each in seen[seen.index([True]) :])
    assert not page.evaluate("covered"), "a player lies over Cancel"
    assert np.ptp(page.evaluate("places"), axis=0).max() <= 2, "players move"
    # A name that is cut shows its end.
    chooser = page.locator('[data-testid="stSelectbox"] input').first
    chooser.evaluate("it => (it.style.maxWidth = '9ch', document.body.append(''))")
    until(lambda: page.locator("[data-end]").first.get_attribute("data-end") == "ion (demo)")
    page.close()
