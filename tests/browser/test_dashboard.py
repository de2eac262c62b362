"""The dashboard in Chromium: it opens at once, draws, plays, selects, takes files and refuses."""

from __future__ import annotations

import http.client
import os
import time

import numpy as np
import pytest

from deepphase.formats.bvh.writer import save_bvh
from deepphase.synthetic.locomotion import locomotion
from tests.browser.dashboard_pages import (
    answer_where,
    at_rest,
    chart,
    chosen,
    colours,
    player,
    settled,
    state,
    titled_player,
    until,
)


def status(address: str, path: str, **headers: str) -> int:
    """The status of the answer to a request with these headers."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_pages_of_other_sites_get_no_answer(address):
    own = address.removeprefix("http://")
    foreign = f"evil.example:{own.rpartition(':')[2]}"
    websocket = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    for path, headers, answered in (
        ("/data", {}, 200),
        ("/_stcore/health", {}, 200),
        ("/_stcore/stream", websocket, 101),
    ):
        assert status(address, path, Host=own, **headers) == answered
        assert status(address, path, Host=own, Origin=address, **headers) == answered
        assert status(address, path, Host=foreign, **headers) == 403
        # A name that was pointed at this machine, and a page that uses the true address.
        for host in (foreign, own):
            origin = f"http://{foreign}"
            assert status(address, path, Host=host, Origin=origin, **headers) == 403


def test_the_first_picture_is_there_at_once(visit, address):
    visit("data")  # Chromium and the server have warmed up.
    began = time.monotonic()
    page = visit("")
    player(page)
    spent = time.monotonic() - began
    assert page.url == f"{address}/data"
    # The promise is 3 s on a free machine; here others may wait for the same cores.
    waiting = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert spent < 8 * waiting, f"the first picture took {spent:.1f} s"


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
    before = frame.evaluate("deepphasePlayer.joint(0, 0).world")
    frame.locator("#stage").click()
    page.keyboard.press("Space")
    until(lambda: state(frame)["playing"] and state(frame)["time"] > 0.3)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 0).world"), before)
    assert np.linalg.norm(moved) > 0.3, "a runner has gone on"


def test_the_manifold_is_drawn_in_the_plane_and_in_space(visit):
    page = visit("manifold")
    settled(page)
    until(lambda: colours(chart(page)) > 12)
    page.get_by_text("Space", exact=True).click()
    page.wait_for_selector(".js-plotly-plot .gl-container canvas, .js-plotly-plot #scene canvas")
    page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullLayout?.scene")
    drawn = chart(page)
    until(lambda: colours(drawn) > 12)
    points = page.evaluate(
        "document.querySelector('.js-plotly-plot')._fullData.reduce((n, t) => n + t._length, 0)"
    )
    assert 1_000 < points <= 5_000


def test_a_lasso_selects_and_the_skeleton_plays_it(visit):
    page = visit("manifold")
    # Charts further down are drawn last, and move those above until they are there.
    settled(page)
    box = at_rest(chart(page).locator(".nsewdrag").first)
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
    page.wait_for_selector("text=points selected")
    frame = titled_player(page, "Selected frames")
    frame.locator("#stage").click()
    page.keyboard.press("Space")
    until(lambda: state(frame)["time"] > 0.2)
    # The selected frames lie inside the loop, and so does the point that moves.
    words = page.locator("text=points selected").inner_text()
    assert int(words.split(" points")[0].split()[-1].replace(",", "")) > 20


def test_a_clip_plays_and_the_point_moves(visit):
    page = visit("manifold")
    frame = settled(page)
    picture = frame.locator("#manifold")
    picture.scroll_into_view_if_needed()
    until(lambda: picture.screenshot() == picture.screenshot())
    still = picture.screenshot()
    before = frame.evaluate("deepphasePlayer.joint(0, 5).world")
    frame.evaluate("deepphasePlayer.seek(1.25)")
    until(lambda: picture.screenshot() != still)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 5).world"), before)
    assert np.linalg.norm(moved) > 0.5


def test_an_upload_plays_and_a_hostile_one_is_refused(visit, tmp_path):
    save_bvh(locomotion(4, 2.0, gait="jog").clip, tmp_path / "mine.bvh")
    page = visit("data")
    settled(page)
    chooser = page.locator('[data-testid="stFileUploader"] input[type=file]')
    chooser.set_input_files(
        {
            "name": "<img src=x onerror=alert(1)>.bvh",
            "mimeType": "text/plain",
            "buffer": b"HIERARCHY\nROOT <script>alert(1)</script>\n{",
        }
    )
    page.wait_for_selector("text=Refused")
    assert "Traceback" not in page.inner_text("body")
    chooser.set_input_files(tmp_path / "mine.bvh")
    frame = titled_player(page, "mine")
    assert state(frame)["duration"] == pytest.approx(2.0, abs=0.1)
    assert chosen(page)[0].startswith("Your files")
    # Other readers do not see it.
    other = visit("data")
    settled(other)
    assert chosen(other)[0] == "Made motion (demo)"
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Manifold").click()
    until(lambda: colours(chart(page)) > 3)


def test_dark_follows_the_reader(visit):
    page = visit("manifold", color_scheme="dark")
    assert answer_where(page, "deepphasePlayer.state().dark", lambda dark: True)
    background = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert background == "rgb(21, 24, 28)"
    paper = chart(page).evaluate("plot => plot._fullLayout.paper_bgcolor")
    assert paper.upper() == "#15181C"


def test_nothing_is_wider_than_a_narrow_window(visit):
    for name in ("data", "manifold"):
        page = visit(name, viewport={"width": 480, "height": 900})
        settled(page)
        wide = page.evaluate(
            "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
        )
        assert wide <= 0
