"""The player that a page's HTML brings along is the one that the page draws."""

import re

import pytest

from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE
from deepphase.apps.dashboard.script.first_player import first_player
from deepphase.formats.load import save
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import components, opened


@pytest.mark.parametrize("page", ["data", "manifold", "channels", "train"])
def test_a_page_takes_its_first_player_over(page, monkeypatch):
    for address in ({}, {"clip": "run", "at": "2.5"}):
        app = opened(page, monkeypatch, query=address)
        own = next(each for each in components(app) if "clip" in each and "height" in each)
        html = first_player(page, address, dark=False)
        assert re.search('data-player="(.*?)"', html)[1] == own["id"]
        assert f'"at":{own["at"]}' in html


def test_there_is_none_where_the_page_has_none_or_others_are_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert first_player("data", {"clips": "store:other"}, dark=False) == ""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert first_player("control", {}, dark=False) == ""
    # What nobody has prepared yet is not waited for.
    save(locomotion(1, 3.0).clip, tmp_path / "walk.bvh")
    assert first_player("edit", {}, dark=False) == ""
