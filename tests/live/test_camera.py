"""The camera of the live page: whole bodies stay in the free part of the picture."""

from __future__ import annotations

from itertools import product

import numpy as np

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import asset_of
from tests.live.node import ask_node, needs_node

# Height and length in metres, and the top speed in m/s.
_BODIES = {"person": (1.8, 0.7, 5.0), "dog": (0.75, 1.3, 6.0), "lizard": (0.2, 0.9, 2.0)}
_ASPECTS = (0.6, 1.0, 1.6, 2.2)
# Shares of the picture that panels cover.
_COVERED = (0.0, 0.25)


@needs_node
def test_a_body_of_any_shape_stays_in_the_picture_while_it_runs(tmp_path):
    headings = np.arange(8) * np.pi / 4
    views = [
        {
            "size": {"height": height, "length": length},
            "aspect": aspect,
            "beside": beside,
            "heading": heading,
            "speed": speed,
        }
        for (height, length, speed), aspect, beside, heading in product(
            _BODIES.values(), _ASPECTS, _COVERED, headings
        )
    ]
    given = np.array(ask_node(tmp_path, asset_of(CONTROLLER), "camera", views=views))
    assert given.shape == (len(views), 4, 2)
    for view, places in zip(views, given, strict=True):
        assert places.min() > 0.0, view
        assert places[:, 0].max() < 1.0 - view["beside"], view
        assert places[:, 1].max() < 1.0, view
        # It is not a speck either.
        assert np.ptp(places, axis=0).max() > 0.1, view


@needs_node
def test_the_ground_hides_no_foot_on_stairs_below_the_eye(tmp_path):
    assert min(ask_node(tmp_path, asset_of(CONTROLLER), "stairs")) > 0.0
