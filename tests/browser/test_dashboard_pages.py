"""Pages Channels, Matches and Train in Chromium: strips show, a match plays, a training runs."""

from __future__ import annotations

import pytest

from tests.browser.dashboard_pages import PATIENCE_S, player, settled, until

# A busy machine takes its time to start the process of a training.
_TRAINING_MS = 2000 * PATIENCE_S


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


@pytest.mark.parametrize(
    ("section", "title"),
    [
        ("Reconstruction", "One window"),
        ("What each channel follows", "The body, coloured by channel"),
        ("Similar frames", "walk with itself"),
    ],
)
def test_sections_of_channels_leave_the_player_alone(visit, section, title):
    page = visit("channels")
    frame = settled(page)
    frame.evaluate("deepphasePlayer.seek(3)")
    page.get_by_role("radio", name=section).click()
    until(lambda: any(title in each for each in plots(page)))
    assert frame.evaluate("deepphasePlayer.state().time") == pytest.approx(3, abs=0.05)


def test_matches_play_with_their_query(visit):
    page = visit("matches")
    frame = settled(page)
    frame.get_by_role("button", name="Play").first.click()
    until(lambda: frame.evaluate("deepphasePlayer.state().time") > 0.3)
    until(lambda: "Distances of the matches" in plots(page))
    with page.expect_download() as download:
        page.get_by_role("button", name="BVH").click()
    assert download.value.path().read_text().startswith("HIERARCHY")


def test_pages_fit_a_narrow_screen(visit):
    for name in ("channels", "matches", "train"):
        page = visit(name, viewport={"width": 420, "height": 900})
        page.wait_for_selector('[data-test-script-state="notRunning"]')
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 420, name


def test_a_training_starts_shows_epochs_and_is_stopped(visit):
    page = visit("train")
    page.get_by_role("button", name="Start training").wait_for()
    # The longest one: a slow browser must not come too late to stop it.
    page.get_by_role("slider", name="Length").press("End")
    page.get_by_text("400,000 windows").first.wait_for()
    page.get_by_role("button", name="Start training").click()
    page.get_by_text("is training").wait_for()
    page.get_by_text("Explained variance").first.wait_for(timeout=_TRAINING_MS)
    until(lambda: "Learning curves" in plots(page))
    until(lambda: any(each.startswith("The manifold at epoch") for each in plots(page)))
    # Another page meanwhile, and back: it goes on.
    page.get_by_role("link", name="Data").click()
    player(page)
    page.get_by_role("link", name="Train").click()
    page.get_by_text("is training").wait_for()
    page.get_by_role("button", name="Stop and keep").click()
    page.get_by_text("It was stopped before its end").wait_for()
