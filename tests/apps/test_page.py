"""A page is one file that fetches nothing and shows names literally."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from deepphase.apps.reports.page import Page, headline_table
from deepphase.errors import CheckpointError
from deepphase.evaluation.measurement import Measure, measures_of
from deepphase.figures.theme import figure

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


def figures_in(content: str) -> dict[str, Any]:
    """Figures of a page by the id of their elements."""
    found = re.findall(r'id="(figure-\d+)-data">(.*?)</script>', content)
    return {id: json.loads(gzip.decompress(base64.b64decode(own))) for id, own in found}


def _own(content: str) -> str:
    """The page without plotly's own program."""
    assert content.count(get_plotlyjs()) == 1
    return content.replace(get_plotlyjs(), "")


def _hostile_page() -> Page:
    chart = figure("t").add_trace(go.Scatter(y=[1.0, 2.0], name=HOSTILE, text=[HOSTILE, HOSTILE]))
    page = Page(HOSTILE, HOSTILE)
    page.add_text(HOSTILE, heading=HOSTILE).add_list([HOSTILE], heading=HOSTILE)
    page.add_table([HOSTILE], [[HOSTILE]], heading=HOSTILE, colours=[HOSTILE])
    return page.add_figure(chart, HOSTILE, HOSTILE)


def test_names_are_never_read_as_html():
    own = _own(_hostile_page().html())
    # templates, one figure, plotly's own, and the page's own: as many as were written.
    assert own.count("<script") == own.count("</script>") == 4
    assert "<img" not in own
    assert "onerror=alert(2)&gt;" in own
    assert '"onerror' not in own


def test_figures_survive_the_escape():
    own = _own(_hostile_page().html())
    (drawn,) = figures_in(own)["figure-1"]
    assert drawn["data"][0]["name"] == HOSTILE
    assert drawn["data"][0]["y"] == [1.0, 2.0]
    assert "template" not in drawn["layout"]


def test_nothing_is_fetched():
    page = Page("t").add_figure(figure("f"), "h", "e").add_table(["a"], [[1]])
    own = _own(page.html())
    assert "://" not in own
    assert "url(" not in own
    assert not re.search(r"\b(?:src|href)=\"(?!data:)", own)
    assert "default-src 'none'" in own


def test_it_is_written_whole_or_not_at_all(tmp_path):
    path = Page("undecodable \udcff").write(tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError):
        Page("t").write(tmp_path / "file" / "page.html")


def test_headlines_without_data_say_a_limit_where_there_is_one():
    units = {
        "by_motion": ("", "more"),
        "sliding": ("m/s", "less"),
        "speed": ("m/s", "like the data"),
    }
    measures = measures_of(
        {name: (*own, name) for name, own in units.items()}, dict.fromkeys(units, 0.5)
    )
    assert [row[-1] for row in headline_table({"a dance": measures})[1]] == ["", "", ""]
    found = [Measure("explained variance", 0.5, better="more", sentence="e", fixed_limit=0.4)]
    ((_, value, limit),) = headline_table({"a model": found})[1]
    assert (value, limit) == ("0.5, good", "from 0.4")
