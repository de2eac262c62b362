"""What reading an archive costs in memory."""

import tracemalloc

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.formats.load import load, save
from tests.formats.smpl_files import written_smpl


def peak_bytes(path):
    tracemalloc.start()
    try:
        load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_costs_at_most_twenty_times_the_file(tmp_path):
    path = written_smpl(tmp_path / "walk.npz", frames=3000)
    assert peak_bytes(path) < 20 * path.stat().st_size
    save(load(path), tmp_path / "own.npz")
    assert peak_bytes(tmp_path / "own.npz") < 20 * (tmp_path / "own.npz").stat().st_size


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    zeros = np.zeros((100_000, 156), np.float32)
    np.savez_compressed(path, poses=zeros, trans=zeros[:, :3], mocap_framerate=60)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="would unpack to"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
