"""Page Dance in Chromium: a song dances, with sound, and a long dance is cancelled."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.dashboard_pages import (
    colours,
    settled,
    slide_to_end,
    state,
    until,
)


def test_a_song_dances(visit):
    page = visit("dance")
    frame = settled(page)
    before = frame.evaluate("deepphasePlayer.joint(0, 3).world")
    frame.get_by_role("button", name="Play").first.click()
    # The song runs, and is the clock.
    until(lambda: state(frame)["songRuns"] and state(frame)["songTime"] > 3.0)
    # In a frame's own turn: the song runs on between two frames.
    clock = frame.evaluate(
        "new Promise(go => requestAnimationFrame(() => go(deepphasePlayer.state())))"
    )
    assert clock["time"] == pytest.approx(clock["songTime"], abs=0.2)
    moved = np.subtract(frame.evaluate("deepphasePlayer.joint(0, 3).world"), before)
    assert np.linalg.norm(moved) > 0.02
    for id in ("wheels", "overview"):
        assert colours(frame.locator(f"#{id}")) > 4, id
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


def test_a_long_dance_is_cancelled(visit):
    page = visit("dance")
    settled(page)
    slide_to_end(page, "Length of the song (s)")
    settled(page)
    slide_to_end(page, "Seconds")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
