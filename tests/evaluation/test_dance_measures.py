"""Made dances whose song's beats are known: what is true scores high, what is not does not."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_measures import DanceScale, dance_to_song, measure_dance
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song
from tests.synthetic.poses import constant_pose


@pytest.fixture(scope="module")
def waltz():
    return make_song(1, 45.0, tempo_bpm=90.0, beats_per_bar=3)


@pytest.fixture(scope="module")
def danced(waltz):
    return measure_dance(dance(waltz, 2).clip)


def test_a_dance_lies_on_its_own_song(waltz, danced):
    own = dance_to_song(danced, waltz.beats)
    assert own.alignment.by_motion > own.by_chance.by_motion + 0.15
    bar, wrong = own.rhythms[3], own.rhythms[4]
    assert bar.strength.mean() > 2 * bar.strength_shifted.mean()
    assert bar.variance.mean() > 10 * bar.variance_shifted.mean()
    assert bar.strength.mean() > 2 * wrong.strength.mean()
    assert own.rhythms[1].variance.mean() > 10 * own.rhythms[1].variance_shifted.mean()


def test_it_does_not_lie_on_another_song(waltz, danced):
    own = dance_to_song(danced, waltz.beats)
    for bpm in (75.0, 107.0):
        other = make_song(3, 45.0, tempo_bpm=bpm, beats_per_bar=3)
        foreign = dance_to_song(danced, other.beats)
        assert foreign.alignment.by_motion < own.alignment.by_motion
        assert foreign.rhythms[3].strength.mean() < 0.4 * own.rhythms[3].strength.mean()


def test_the_oracle_of_alignment_is_near_one(waltz, danced):
    """Accents of the movement put on the beats themselves."""
    exact = replace(danced, beats=waltz.beats)
    assert dance_to_song(exact, waltz.beats).alignment.by_motion == pytest.approx(1.0)
    shifted = dance_to_song(exact, waltz.beats + 0.3)
    assert shifted.alignment.by_motion < 0.01


def test_beats_heard_twice_as_fast_are_counted_the_same(waltz, danced):
    double = np.sort(np.concatenate([waltz.beats, waltz.beats[:-1] + np.diff(waltz.beats) / 2]))
    one, two = (dance_to_song(danced, beats).rhythms[3] for beats in (waltz.beats, double))
    np.testing.assert_allclose(one.strength, two.strength, atol=1e-6)


def test_the_body_of_a_made_dance_is_right(danced):
    scale = DanceScale.of([danced])
    assert scale.standing(danced) == scale.broken(danced) == 0.0
    assert 100 * danced.sliding.mean() < 5.0
    assert danced.turning is not None
    assert danced.turning > 1.0


def test_standing_still_and_shaking_are_noticed(danced):
    scale = DanceScale.of([danced])
    still = measure_dance(constant_pose(5.0))
    assert scale.standing(still) == 1.0
    assert not len(still.beats)
    assert dance_to_song(still, np.arange(0.5, 5.0, 0.5)).alignment.by_music == 0.0
    shaken = replace(danced, moving=danced.moving * 10)
    assert scale.broken(shaken) == 1.0


def test_moments_are_no_dance():
    with pytest.raises(
        ParameterError, match=r"constant_pose: a dance must last 1 s or more, not 0\.48 s"
    ):
        measure_dance(constant_pose(0.5))
