"""The frame of the dashboard around its pages."""

from __future__ import annotations

import gc

from deepphase.apps.dashboard import entry
from tests.dashboard.app_pages import opened


def test_loaded_modules_are_collected_no_more(monkeypatch):
    app = opened("data", monkeypatch)
    gc.unfreeze()
    monkeypatch.setattr(entry, "_frozen_modules", 0)
    app.run()
    assert gc.get_freeze_count() > 100_000
    # Later runs freeze nothing, so that what sessions leave behind is still collected.
    left: list = []
    left.append(left)
    app.run()
    assert any(each is left for each in gc.get_objects())
