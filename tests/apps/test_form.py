"""Form of songs and dances: bars that repeat, and energies beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.dances.form import bar_times, energy_curve, form_rows, repeated_bars
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.music.features import features_of
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song


@pytest.fixture(scope="module")
def danced():
    song = make_song(3, 24.0, tempo_bpm=120.0)
    clip = dance(song, 3).clip
    root = root_trajectory(clip, find_roles(clip.skeleton, clip=clip))
    return features_of(song.samples, name="song"), clip, root


def test_repeated_bars_have_the_number_of_the_first():
    bars = np.repeat(np.eye(5)[[0, 1, 0, 2, 1, 0]], 4, axis=1) * 10.0
    assert repeated_bars(bars, 0.5) == [0, 1, 0, 2, 1, 0]


def test_bars_are_those_of_the_song(danced):
    features, _, _ = danced
    times = bar_times(features, 4.0, 10.0)
    assert (times >= 0).all()
    assert (times <= 10).all()
    np.testing.assert_allclose(np.diff(times), 2.0, atol=0.06)


def test_rows_cover_whole_bars_of_both(danced):
    features, clip, root = danced
    rows = form_rows(features, clip, root, 0.0)
    assert [row.name for row in rows] == ["Song's bars", "Dance's bars"]
    for row in rows:
        assert row.spans[0].label == "A"
        assert len(row.spans) == len(bar_times(features, 0.0, clip.duration)) - 1
    # Synthetic dances repeat a figure, so that not every bar of them is another.
    assert len({span.label for span in rows[1].spans}) < len(rows[1].spans)
    assert form_rows(features, clip.sliced(0, 30), root, 0.0) == ()


def test_energies_are_of_the_song_and_of_the_joints(danced):
    features, clip, _ = danced
    curve = energy_curve(features, clip, 0.0)
    assert curve.lines == ("song", "dance")
    assert curve.values.shape == (len(clip), 2)
    assert curve.values.min() >= 0
    assert curve.values.max() <= 1
    # A body that stands for a while has none there.
    still = np.array(clip.rotations)
    still[600:] = still[600]
    moved = np.array(clip.translations)
    moved[600:] = moved[600]
    stands = energy_curve(features, type(clip)(clip.skeleton, still, moved, clip.fps), 0.0)
    assert stands.values[700:, 1].max() < 0.05
    assert stands.values[:500, 1].mean() > 0.3
