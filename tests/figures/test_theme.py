"""Colours that show on white and on black, and literal labels."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.figures.theme import DARK, LIGHT, SEQUENTIAL, channel_colour, label


def _linear(colour: str) -> np.ndarray:
    if colour.startswith("rgb"):
        values = np.array([float(part) for part in colour[4:-1].split(",")]) / 255
    else:
        values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    light = sorted(float(_linear(c) @ (0.2126, 0.7152, 0.0722)) + 0.05 for c in (one, other))
    return light[1] / light[0]


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_show_on_the_page(look):
    page = look.page
    assert _contrast(look.ink, page) > 7
    for colour in [*(channel_colour(i) for i in range(12)), *SEQUENTIAL]:
        assert _contrast(colour, page) > 1.7


def test_label_is_shown_literally_on_one_short_line():
    assert label("<b>walk</b> & run") == "&lt;b&gt;walk&lt;/b&gt; &amp; run"
    assert label("two\nlines\tand\x00nul") == "two lines and nul"
    assert label("歩く_ä") == "歩く_ä"
    long = label("x" * 50 + "take_07", 20)
    assert len(long) == 20
    assert long.endswith("take_07")
    label("undecodable \udcff byte").encode("utf-8")
