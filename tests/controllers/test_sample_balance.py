"""Balance of samples: rare speeds and directions are repeated, none is left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from deepphase.controllers.data.sample_rows import balanced_rows, root_travel


@pytest.fixture
def samples():
    """900 samples go ahead at 1.3 m/s, 9 back at .8, 1 to the left at .3, and 90 stand."""
    velocities = np.repeat([[0.0, 1.3], [0.1, -0.8], [0.3, 0.0], [0.01, 0.0]], [900, 9, 1, 90], 0)
    # Half a second before, now, and a second later.
    offsets = (-0.5, 0.0, 1.0)
    inputs = np.concatenate([np.zeros((1000, 2)), *(each * velocities for each in offsets)], axis=1)
    outputs = np.concatenate([np.zeros((1000, 1)), velocities], axis=1).astype(np.float32)
    schema = SimpleNamespace(
        inputs=SimpleNamespace(slices={"trajectory_position": slice(2, 8)}),
        outputs=SimpleNamespace(slices={"root_velocity": slice(1, 3)}),
        config=SimpleNamespace(offsets_s=offsets),
    )
    return SimpleNamespace(inputs=inputs.astype(np.float32), outputs=outputs, schema=schema)


def test_speeds_and_directions(samples):
    speeds, ways = root_travel(samples, np.array([0, 909]))
    np.testing.assert_allclose(speeds, [1.3, 0.3], rtol=1e-6)
    np.testing.assert_allclose(ways, [0.0, 0.5 * np.pi], rtol=1e-6)


def test_rare_cells_are_repeated_by_their_rarity(samples):
    counts = np.bincount(balanced_rows(samples, np.arange(1000), 0.5, 0), minlength=1000)
    assert (counts[:900] == 1).all()
    assert (counts[900:909] == 10).all()
    assert counts[909] == 12
    np.testing.assert_allclose(counts[910:].mean(), np.sqrt(10.0), atol=0.2)


def test_starts_are_repeated_more_often_than_steady_travel(samples):
    # The same nine samples, but at rest up to now.
    samples.inputs[900:909, 2:4] = 0.0
    counts = np.bincount(balanced_rows(samples, np.arange(1000), 0.2, 0), minlength=1000)
    assert (counts[900:909] >= 9).all()
    assert counts[:900].max() == 1
