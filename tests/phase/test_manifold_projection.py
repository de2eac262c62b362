"""One view of a manifold: its signs are fixed, and it is kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve

from deepphase.errors import CheckpointError
from deepphase.formats.array_file import write_arrays
from deepphase.phase.manifold import ManifoldProjection, discriminant
from tests.figures.made_phases import made_phases


def test_signs_do_not_depend_on_the_order_of_frames_or_their_sign():
    manifold = made_phases(900, 3).manifold()
    one = ManifoldProjection.fit(manifold)
    assert (one.axes[np.arange(3), np.abs(one.axes).argmax(1)] > 0).all()
    shuffled = np.random.default_rng(0).permutation(manifold)
    np.testing.assert_allclose(ManifoldProjection.fit(shuffled).axes, one.axes, atol=1e-4)
    # The mirrored cloud has the same axes: only the points change sides.
    np.testing.assert_allclose(ManifoldProjection.fit(-manifold).axes, one.axes, atol=1e-4)


def test_it_is_kept_in_a_file(tmp_path):
    manifold = made_phases(300, 2).manifold()
    projection = ManifoldProjection.fit(manifold)
    projection.save(tmp_path / "view")
    again = ManifoldProjection.load(tmp_path / "view")
    np.testing.assert_array_equal(again(manifold), projection(manifold))
    np.testing.assert_array_equal(again.explained, projection.explained)


def test_another_file_is_refused(tmp_path):
    with pytest.raises(CheckpointError):
        ManifoldProjection.load(tmp_path / "missing")
    path = tmp_path / "half"
    write_arrays(
        path, {"mean": np.zeros(4, np.float32)}, {}, format="deepphase.projection", version=1
    )
    with pytest.raises(CheckpointError, match="axes"):
        ManifoldProjection.load(path)


def test_the_axis_of_a_label_is_that_of_the_largest_ratio_and_not_of_the_largest_variance():
    generator = np.random.default_rng(0)
    names = np.repeat(["walk", "run"], 400)
    values = generator.normal(size=(800, 4)) * [5.0, 1.0, 0.3, 0.0]
    values[:, 2] += np.where(names == "run", 2.0, 0.0)
    values[:, 1] += values[:, 2]
    direction, share = discriminant(values, names)
    # Of two kinds: the inverse of the scatter within, times the difference of the means.
    within = sum(np.cov(values[names == each].T, bias=True) / 2 for each in ("walk", "run"))
    apart = values[names == "run"].mean(0) - values[names == "walk"].mean(0)
    expected = solve(within + 1e-6 * np.eye(4), apart)
    expected /= np.linalg.norm(expected)
    assert abs(direction @ expected) > 0.99
    along = values @ direction
    groups = [along[names == each] for each in ("walk", "run")]
    between = np.var(np.repeat([each.mean() for each in groups], 400))
    assert share == pytest.approx(between / np.var(along))
    assert share > 0.8
