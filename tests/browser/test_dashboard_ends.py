"""What readers sent goes with the server, however it is asked to end."""

from __future__ import annotations

import signal

import pytest

from deepphase.formats.bvh.writer import save_bvh
from deepphase.synthetic.locomotion import locomotion
from tests.browser.dashboard_pages import settled, started, until


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_no_files_stay_behind(browser, tmp_path, ends):
    save_bvh(locomotion(4, 2.0, gait="jog").clip, tmp_path / "mine.bvh")
    place = tmp_path / "temporary"
    place.mkdir()
    with started(ends=ends, TMPDIR=str(place)) as address:
        page = browser.new_context().new_page()
        page.goto(f"{address}/data")
        settled(page)
        chooser = page.locator('[data-testid="stFileUploader"] input[type=file]')
        chooser.set_input_files(tmp_path / "mine.bvh")
        until(lambda: list(place.glob(".deepphase-*")))
    page.context.close()
    # PyTorch and ONNX Runtime keep caches of their own there.
    assert list(place.glob(".deepphase-*")) == []
