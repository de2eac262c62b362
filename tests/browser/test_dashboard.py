"""The dashboard in Chromium: pages are linked, draw, play and select, and fit a narrow screen."""

from __future__ import annotations

import numpy as np

from tests.browser.dashboard_pages import (
    answer_where,
    at_rest,
    colours,
    settled,
    state,
    titled_player,
    until,
)

_PAGES = ("data", "manifold", "channels", "matches", "control", "dance", "edit", "rig", "train")


def test_every_page_has_an_address_and_a_link(visit, address):
    page = visit("data")
    links = page.locator('[data-testid="stSidebarNavLink"]').all_inner_texts()
    # Icons are letters of a font of their own.
    for name in [text.split("\n")[-1] for text in links]:
        page.locator('[data-testid="stSidebarNavLink"]', has_text=name).click()
        page.wait_for_function("to => location.href === to", arg=f"{address}/{name.lower()}")
        page.wait_for_function("name => document.querySelector('h1')?.innerText === name", arg=name)
        # A link that is clicked while its page is redrawn is replaced.
        page.wait_for_selector('[data-test-script-state="notRunning"]')


def test_a_row_is_chosen_and_plays_by_the_keyboard(visit):
    page = visit("data")
    frame = settled(page)
    assert frame.locator("h1").inner_text() == "walk"
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


def cloud(page):
    """The big cloud of page Manifold, once it is drawn."""
    shown = page.locator("section.cloud").first
    shown.wait_for()
    until(lambda: colours(shown.locator(".plot")) > 8)
    return shown


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
    places = """it => [it.deepphaseCloud.count - 40].map((i) => {
        const cloud = it.deepphaseCloud;
        const [x, y] = [cloud.screen[2 * i], cloud.screen[2 * i + 1]];
        const found = cloud.nearest(x, y);
        return { x, y, clip: cloud.data.names[cloud.clip[found]], time: cloud.times[found] };
    })"""
    (last,) = shown.evaluate(places)
    box = at_rest(plot)
    page.mouse.move(box["x"] + last["x"], box["y"] + last["y"])
    until(lambda: last["clip"] in shown.locator(".pose").inner_text())
    page.mouse.click(box["x"] + last["x"], box["y"] + last["y"])
    frame = titled_player(page, last["clip"]) if last["clip"] != "walk" else settled(page)
    if last["clip"] != "walk":
        assert f"clip={last['clip'].replace(' ', '+')}" in page.url
        assert f"at={last['time']:.2f}" in page.url
        answer_where(page, "deepphasePlayer.time()", lambda now: now >= last["time"] - 0.02)
    # By keyboard as well: the next point is said aloud.
    plot.press("ArrowRight")
    until(lambda: shown.locator(".said").inner_text())
    # In space, with as many points.
    page.get_by_text("Space", exact=True).click()
    until(lambda: shown.evaluate("it => it.deepphaseCloud.data.space"))
    until(lambda: colours(shown.locator(".plot")) > 8)
    assert 1_000 < shown.evaluate("it => it.deepphaseCloud.count") <= 5_000
    # Pictures to keep.
    for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as download:
            shown.get_by_role("button", name=kind).click()
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
    assert "passages=" in page.url
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


def plots(page) -> list[str]:
    """Titles of the figures that have been drawn."""
    return page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot .gtitle')].map(each => each.textContent)"
    )


def test_channels_play_under_one_cursor(visit):
    page = visit("channels")
    frame = settled(page)
    before = frame.evaluate("deepphasePlayer.state().time")
    frame.get_by_role("button", name="Play").first.click()
    until(lambda: frame.evaluate("deepphasePlayer.state().time") > before + 0.3)
    until(lambda: "Phases of all channels" in plots(page))
    until(lambda: "Phase parameters over time" in plots(page))


def test_pages_fit_a_narrow_screen(visit):
    for name in _PAGES:
        page = visit(name, viewport={"width": 420, "height": 900})
        page.wait_for_selector('[data-test-script-state="notRunning"]')
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 420, name
