"""Where in the bar a movement is: known for sinusoids and noise, and on made dances."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_bars import BarDirection, bar_phases
from deepphase.evaluation.dance_beats import explained_by_cycle, vector_strength
from deepphase.evaluation.dance_measures import measure_dance
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

FPS = 60.0
TIME = np.arange(round(61.0 * FPS)) / FPS
DOWNBEATS = np.arange(0.2, 61.0, 1.5)
BAR = (TIME - 0.2) / 1.5


def at(place):
    """A speed and a height that are largest at a place of the bar, in cycles."""
    wave = np.cos(2 * np.pi * (BAR - place))
    return 1 + wave, 0.9 + 0.02 * wave


def along(direction, place, downbeats=DOWNBEATS, **options):
    phases = bar_phases(*at(place), FPS, downbeats, **options)
    return [values.mean() for values in direction.along(phases)]


@pytest.fixture(scope="module")
def direction():
    return BarDirection.of([bar_phases(*at(0.1), FPS, DOWNBEATS)])


def test_size_and_angle_of_known_movements():
    phases = bar_phases(*at(0.25), FPS, DOWNBEATS)
    assert len(phases) == 3
    np.testing.assert_allclose(phases.speed, 0.5j, atol=0.02)
    np.testing.assert_allclose(phases.height, 1j, atol=0.01)


def test_the_size_is_that_of_the_measures_without_a_place():
    rng = np.random.default_rng(3)
    heard = np.flatnonzero(np.abs(TIME - DOWNBEATS.mean()) <= np.ptp(DOWNBEATS) / 2)
    height = np.cos(2 * np.pi * BAR) + rng.standard_normal(len(TIME))
    speed = np.abs(height) + 0.1
    whole = bar_phases(speed, height, FPS, DOWNBEATS, window_s=len(heard) / FPS)
    (first, second) = whole.speed[0], whole.height[0]
    assert abs(first) == pytest.approx(vector_strength(speed[heard], BAR[heard]), abs=1e-3)
    assert abs(second) ** 2 == pytest.approx(
        explained_by_cycle(height[heard], BAR[heard]), abs=1e-3
    )


@pytest.mark.parametrize(
    ("beside", "share"), [(0, 1.0), (1 / 6, 0.5), (1 / 4, 0.0), (1 / 3, -0.5), (1 / 2, -1.0)]
)
def test_a_dance_beside_its_place_loses_and_is_against_it_in_the_end(direction, beside, share):
    speed, height = along(direction, 0.1 + beside)
    assert speed == pytest.approx(0.5 * share, abs=0.03)
    assert height == pytest.approx(share, abs=0.03)


def test_another_tempo_has_nothing(direction):
    for factor in (0.83, 1.17):
        assert np.abs(along(direction, 0.1, factor=factor)).max() < 0.1


def test_dances_that_know_no_bar_have_nothing_in_the_mean(direction):
    """The size is always positive: signed places are not."""
    places = np.arange(12) / 12
    assert np.mean([along(direction, place) for place in places], axis=0) == pytest.approx(
        [0.0, 0.0], abs=1e-6
    )
    rng = np.random.default_rng(0)
    noise = [
        bar_phases(*np.abs(rng.standard_normal((2, len(TIME)))), FPS, DOWNBEATS) for _ in range(20)
    ]
    assert np.mean([direction.along(each) for each in noise]) == pytest.approx(0.0, abs=0.005)
    assert np.mean([np.abs(each.speed).mean() for each in noise]) > 0.01


def test_nothing_has_no_direction(direction):
    still = bar_phases(np.zeros(len(TIME)), np.full(len(TIME), 0.9), FPS, DOWNBEATS)
    assert not still.speed.any()
    assert not still.height.any()
    assert BarDirection.of([still]) == BarDirection(0j, 0j)
    for values in BarDirection.of([still]).along(bar_phases(*at(0.1), FPS, DOWNBEATS)):
        assert not values.any()
    few = bar_phases(*at(0.1), FPS, DOWNBEATS[:3])
    assert len(few) == 0
    assert len(bar_phases(*at(0.1), FPS, DOWNBEATS[:0])) == 0
    with pytest.raises(ParameterError, match="known bars"):
        BarDirection.of([few])
    with pytest.raises(
        ParameterError, match="speed and height must have the same number of frames, but"
    ):
        bar_phases(TIME, TIME[1:], FPS, DOWNBEATS)
    with pytest.raises(ParameterError, match="speed must be 0 or more in every frame"):
        bar_phases(-TIME, TIME, FPS, DOWNBEATS)


@pytest.fixture(scope="module")
def waltzes():
    """Of made dances (speed, height), and the first beats of their songs' bars."""
    found = []
    # No two of a tempo, and no two that begin alike.
    for seed, bpm in enumerate((86.0, 88.5, 91.0, 93.5, 96.0)):
        song = make_song(seed, 46.0, tempo_bpm=bpm, beats_per_bar=3)
        made = measure_dance(dance(song, seed).clip)
        first = round((0.3 + 0.37 * seed) * made.fps)
        found.append(
            (made.speed[first:], made.height[first:], made.fps, song.bars - first / made.fps)
        )
    return found


@pytest.mark.slow
def test_made_dances_are_told_from_others_of_nearly_the_same_tempo(waltzes):
    phases = [bar_phases(*each) for each in waltzes]
    rng = np.random.default_rng(0)
    own, other, beside, sizes = [], [], [], []
    for number, (*movement, bars) in enumerate(waltzes):
        towards = BarDirection.of(phases[:number] + phases[number + 1 :])
        own.append(towards.along(phases[number])[1].mean())
        sizes.append(np.abs(phases[number].height).mean())
        late = bar_phases(*movement, bars + np.median(np.diff(bars)) / 3)
        beside.append(towards.along(late)[1].mean())
        for *_, foreign in waltzes[:number] + waltzes[number + 1 :]:
            other += [
                towards.along(bar_phases(*movement, foreign - seconds))[1].mean()
                for seconds in rng.uniform(0.0, 10.0, 6)
            ]
    # All of what there is lies where the other dances have it.
    assert np.mean(own) > 0.9 * np.mean(sizes) > 0.5
    assert np.mean(beside) < -0.3 * np.mean(sizes)
    assert abs(np.mean(other)) < 0.1 * np.mean(own)
