"""Page Dance in Chromium: a song dances, with sound; an upload does, a hostile one is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from deepphase.synthetic.song import make_song
from tests.browser.dashboard_pages import (
    answer_where,
    colours,
    settled,
    slide_to_end,
    state,
    until,
)


@pytest.fixture
def song() -> bytes:
    """Five seconds that no other reader has."""
    made, file = make_song(3, 5.0, tempo_bpm=112.0), io.BytesIO()
    soundfile.write(file, made.samples, made.sample_rate, format="WAV")
    return file.getvalue()


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


def test_an_upload_dances_and_a_hostile_one_is_refused(visit, song):
    page = visit("dance")
    settled(page)
    page.get_by_text("Your own").click()
    page.get_by_text("Drop a song here").wait_for()
    chooser = page.locator('[data-testid="stFileUploader"]:has-text("Sound file") input')
    name = "<img src=x onerror=alert(1)>.mp3"
    chooser.set_input_files(
        {"name": name, "mimeType": "audio/mpeg", "buffer": b"ID3" + bytes(3000)}
    )
    page.locator('[data-testid="stAlert"]').first.wait_for()
    assert "Traceback" not in page.inner_text("body")
    chooser.set_input_files({"name": "mine.wav", "mimeType": "audio/wav", "buffer": song})
    script = "deepphasePlayer.state().duration"
    answer_where(page, script, lambda value: abs(value - 5.0) < 0.1)
    assert page.get_by_text("mine · 5.0 s · 112 beats a minute").is_visible()
    # Other readers do not see it.
    other = visit("dance")
    settled(other)
    assert "mine" not in other.inner_text('[data-testid="stMain"]')


def test_a_dance_is_a_file(visit):
    page = visit("dance")
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="BVH").click()
    assert download.value.suggested_filename == "dance.bvh"
    assert download.value.path().read_text().startswith("HIERARCHY")


def test_a_long_dance_is_cancelled(visit):
    page = visit("dance")
    settled(page)
    slide_to_end(page, "Length of the song (s)")
    settled(page)
    slide_to_end(page, "Seconds")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()


@pytest.mark.parametrize("width", [420, 900])
def test_it_fits_a_narrow_screen(visit, width):
    page = visit("dance", viewport={"width": width, "height": 900})
    settled(page)
    beyond = page.evaluate(
        "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert beyond <= 0
