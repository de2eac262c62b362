"""Solving of folders: the same files by processes, and memory of a few tracks."""

import weakref
from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus import solved_files
from deepphase.corpus.clips import agreed_point_sets
from deepphase.corpus.motion_files import find_motion_files
from deepphase.corpus.solved_files import solve_files
from deepphase.formats.points import save_points
from deepphase.solving import fitting
from tests.solving.point_bodies import points_of, walker


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four short tracks of two people, and a broken file between them."""
    place = tmp_path_factory.mktemp("points")
    track = points_of(walker(seconds=1.0)).track
    for number, size in enumerate((1.0, 1.0, 1.2, 1.0)):
        scaled = replace(track, positions=size * track.positions)
        save_points(scaled, place / f"{number}.npz")
    np.savez(place / "1b.npz", positions=np.full((20, 5, 3), np.nan), fps=30.0)
    return place


def solved(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_processes_write_the_same_files(folder, tmp_path, capsys):
    files = find_motion_files([folder])
    point_sets = agreed_point_sets(files)
    for workers, name in ((1, "one"), (2, "two")):
        targets = [tmp_path / name / f"{file.name}.npz" for file in files]
        done = solve_files(files, targets, point_sets, workers=workers)
        assert [file.error is None for file in done] == [True, True, False, True, True]
    assert solved(tmp_path / "two") == solved(tmp_path / "one")
    assert len(solved(tmp_path / "one")) == 4


def test_few_tracks_are_in_memory(folder, tmp_path, monkeypatch):
    alive, most = weakref.WeakSet(), 0
    read = solved_files._track

    def counted(*args):
        nonlocal most
        track = read(*args)
        alive.add(track)
        most = max(most, len(alive))
        return track

    monkeypatch.setattr(solved_files, "_track", counted)
    monkeypatch.setattr(fitting, "_MAX_TRACKS", 1)
    files = find_motion_files(folder)
    targets = [tmp_path / f"{each.name}.npz" for each in files]
    point_sets = agreed_point_sets(files)
    done = solve_files(files, targets, point_sets, workers=1)
    assert [each.name for each in done if each.error is None] == ["0", "1", "2", "3"]
    # The first, whose joints are planned for all, the last and the one that is read.
    assert most <= 3
