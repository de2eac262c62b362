"""Figures that compare features: ranks, searches, poses of matches."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.figures.future_ranks import future_ranks_figure
from deepphase.figures.pose_matches import pose_matches
from deepphase.figures.searched_motion import searched_motion


def test_each_feature_has_a_line_of_its_ranks():
    chart = future_ranks_figure(
        (0.1, 0.2), {"phase": np.array([1.0, 3.0]), "pose": np.array([2.0, np.nan])}
    )
    assert [trace.name for trace in chart.data] == ["phase", "pose"]
    np.testing.assert_allclose(chart.data[0].x, [100, 200])
    np.testing.assert_allclose(chart.data[0].y, [1, 3])
    assert chart.layout.yaxis.type == "log"
    with pytest.raises(ParameterError, match="3 ranks"):
        future_ranks_figure((0.1, 0.2), {"phase": np.ones(3)})


def test_ranks_of_short_clips_say_so():
    chart = future_ranks_figure((0.1,), {"phase": np.array([np.nan])})
    assert "no clip" in chart.layout.annotations[0].text


def test_a_search_is_a_row_in_centimetres():
    chart = searched_motion({"phase": np.array([0.0, 0.01]), "pose": np.array([0.0, 0.2])}, 60.0)
    np.testing.assert_allclose(chart.data[0].z, [[0, 1], [0, 20]], atol=1e-5)
    assert chart.data[0].dx == pytest.approx(1 / 60)
    assert list(chart.layout.yaxis.ticktext) == ["phase", "pose"]
    with pytest.raises(ParameterError, match="different lengths"):
        searched_motion({"phase": np.zeros(2), "pose": np.zeros(3)}, 60.0)


def test_poses_of_matches_are_drawn_over_the_query():
    query = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    other = query + np.array([0.0, 0.0, 0.1])
    chart = pose_matches(query, {"phase": other[None], "pose": query[None]}, [(0, 1)])
    assert len(chart.data) == 4
    assert [each.text for each in chart.layout.annotations] == ["phase: 10.0 cm", "pose: 0.0 cm"]
    # A bone is two points and a gap.
    np.testing.assert_allclose(chart.data[1].y, [0, 1, np.nan])
    with pytest.raises(ParameterError, match="the query is"):
        pose_matches(query, {"phase": np.zeros((1, 3, 3))}, [(0, 1)])
