"""The curves of one training: a panel a metric, without the rows that lack it."""

import numpy as np

from deepphase.figures.learning_curves import training_metrics

METRICS = {
    "step": np.array([2.0, 4.0, 4.0, 6.0]),
    "loss": np.array([1.0, 0.5, np.nan, 0.25]),
    "explained_variance": np.array([np.nan, np.nan, 0.6, np.nan]),
    "learning_rate": np.full(4, np.nan),
}


def test_a_panel_for_each_metric_that_was_logged():
    loss, explained = training_metrics(METRICS).data
    np.testing.assert_array_equal(loss.x, [2, 4, 6])
    np.testing.assert_array_equal(loss.y, [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(explained.x, [4])
    np.testing.assert_allclose(explained.y, [60.0])


def test_nothing_logged_is_said():
    chart = training_metrics({})
    assert not chart.data
    assert "no metrics were logged" in chart.layout.annotations[0].text
