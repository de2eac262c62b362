"""What reading an archive costs in memory."""

import tracemalloc

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
