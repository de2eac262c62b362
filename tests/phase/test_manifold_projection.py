"""One view of a manifold: its signs are fixed, and it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.errors import CheckpointError
from deepphase.formats.array_file import write_arrays
from deepphase.phase.parameters import ManifoldProjection
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
