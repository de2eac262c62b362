"""Columns of rows that hold a trajectory."""

import numpy as np
import pytest

from deepphase.features.feature import (
    TRAJECTORY_BLOCKS,
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    Feature,
    TrajectoryBlocks,
)
from deepphase.features.layout import FeatureLayout

EVERY, LATER = (-1.0, -0.5, 0.0, 0.5), (0.0, 0.5)


def layout(offsets_s, names=TRAJECTORY_BLOCKS) -> FeatureLayout:
    """Trajectory blocks behind another one."""
    velocity = {"kind": "track", "channels": 2}
    return FeatureLayout(
        Feature("contact", kind="track", channels=2),
        *(
            Feature(name, offsets_s=offsets_s, **(velocity if name == TRAJECTORY_VELOCITY else {}))
            for name in names
        ),
    )


@pytest.fixture
def trajectory() -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.normal(size=(3, 5, 4)) + 1j * generator.normal(size=(3, 5, 4))


def test_what_is_written_is_read_and_the_rest_stays(trajectory):
    made = layout(EVERY)
    blocks = TrajectoryBlocks(made.slices, len(LATER))
    rows = np.full((5, made.dims), 7.0)
    blocks.write(rows, trajectory)
    for name, values in zip(TRAJECTORY_BLOCKS, trajectory, strict=True):
        np.testing.assert_array_equal(blocks.read(rows, name), values)
        np.testing.assert_array_equal(blocks.read_later(rows, name), values[:, 2:])
    np.testing.assert_array_equal(rows[:, :2], 7.0)


def test_columns_are_x_and_z_of_each_offset(trajectory):
    made = layout(EVERY)
    rows = np.zeros((5, made.dims))
    TrajectoryBlocks(made.slices, len(LATER)).write(rows, trajectory)
    named = dict(zip(made.value_names, rows.T, strict=True))
    np.testing.assert_array_equal(named["trajectory_position.-0.5s.x"], trajectory[0, :, 1].real)
    np.testing.assert_array_equal(named["trajectory_direction.+0.5s.z"], trajectory[1, :, 3].imag)


def test_blocks_of_now_and_later_take_the_last_samples(trajectory):
    made = layout(LATER, (TRAJECTORY_DIRECTION, TRAJECTORY_VELOCITY))
    blocks = TrajectoryBlocks(made.slices, len(LATER))
    rows = np.zeros((5, made.dims))
    blocks.write(rows, trajectory)
    assert TRAJECTORY_POSITION not in blocks
    np.testing.assert_array_equal(blocks.read(rows, TRAJECTORY_DIRECTION), trajectory[1, :, 2:])
    np.testing.assert_array_equal(blocks.read(rows, TRAJECTORY_VELOCITY), trajectory[2, :, 2:])
