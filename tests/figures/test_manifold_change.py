"""Views of a manifold that is learnt: turned to lie alike, one frame an epoch."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import ParameterError
from deepphase.figures.manifold import aligned_views, manifold_change
from deepphase.figures.theme import Colouring


def test_turned_and_mirrored_views_come_to_lie_alike():
    last = np.random.default_rng(1).normal(size=(50, 3)) * [3, 2, 1]
    turn = Rotation.from_rotvec([0.4, -1.1, 2.0]).as_matrix() * [1, -1, 1]
    first, second, third = aligned_views([last @ turn, last @ turn.T, last])
    np.testing.assert_allclose(third, last)
    np.testing.assert_allclose(second, last, atol=1e-9)
    np.testing.assert_allclose(first, last, atol=1e-9)


def test_size_is_not_changed():
    last = np.random.default_rng(2).normal(size=(20, 2))
    np.testing.assert_allclose(aligned_views([0.5 * last, last])[0], 0.5 * last, atol=1e-12)


def test_a_frame_an_epoch_and_the_last_one_shown():
    views = [np.full((4, 2), float(size)) for size in (1, 2, 3)]
    colour = Colouring("clip", np.array(["a", "a", "b", "b"]))
    chart = manifold_change(views, [0.5, 1.0, 1.5], colour=colour)
    assert [len(frame.data) for frame in chart.frames] == [2, 2, 2]
    assert chart.data[0].x[0] == 3
    assert chart.frames[0].data[1].y[0] == 1
    assert [step.label for step in chart.layout.sliders[0].steps] == ["0.50", "1.00", "1.50"]
    assert not manifold_change(views[:1], [0.5], colour=colour).frames


def test_views_of_other_points_are_refused():
    with pytest.raises(
        ParameterError, match=r"all views must have the same shape \(points, 2 or 3\); their"
    ):
        aligned_views([np.zeros((3, 2)), np.zeros((4, 2))])
