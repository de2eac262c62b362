"""Colours that everyone can tell apart, on white, on black and in print, and literal labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deepphase.figures.theme import DARK, LIGHT, SEQUENTIAL, channel_colour, label

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def _linear(colour: str) -> np.ndarray:
    if colour.startswith("rgb"):
        values = np.array([float(part) for part in colour[4:-1].split(",")]) / 255
    else:
        values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _oklab(linear: np.ndarray) -> np.ndarray:
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(lab) @ np.cbrt(np.clip(np.array(cones) @ np.clip(linear, 0, 1), 0, None))


def _contrast(one: str, other: str) -> float:
    light = sorted(float(_linear(c) @ (0.2126, 0.7152, 0.0722)) + 0.05 for c in (one, other))
    return light[1] / light[0]


@pytest.mark.parametrize("vision", VISION)
def test_channel_colours_differ_for_every_kind_of_colour_vision(vision):
    seen = [_oklab(np.array(VISION[vision]) @ _linear(channel_colour(i))) for i in range(12)]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    # Black to white is 1; below 0.02 two patches side by side look the same.
    assert min(distances) > 0.075
    first = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen[:4], 2)]
    assert min(first) > 0.1


def _lightness(colour: str) -> float:
    """What a grey print keeps of a colour: the cube root of its luminance, 0 to 1."""
    return float(np.cbrt(_linear(colour) @ (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_show_on_the_page(look):
    page = look.layout.paper_bgcolor
    assert _contrast(look.layout.font.color, page) > 7
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
