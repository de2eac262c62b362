"""Deviation of phases at foot strikes whose relation to the strikes is known."""

import numpy as np
import pytest

from deepphase.arrays import wrapped
from tests.studies.phase_features.strike_agreement import strike_deviations


def walks(clips=6, seconds=8.0, fps=60.0):
    """Phases of a clock of the step, an unrelated one and noise; strikes of two feet."""
    rng = np.random.default_rng(0)
    phases, strikes = [], []
    for clip in range(clips):
        time = np.arange(round(seconds * fps)) / fps
        step = time * (0.8 + 0.05 * clip)
        unrelated = time * 0.613 * (1 + clip)
        noise = rng.uniform(-0.5, 0.5, len(time))
        phases.append(wrapped(np.stack([unrelated, step + 0.21, noise], -1)))
        strikes.append([np.flatnonzero(np.diff(np.floor(step + at))) for at in (0.0, 0.5)])
    return phases, strikes


def test_the_channel_that_times_steps_is_found():
    phases, strikes = walks()
    assert strike_deviations(phases, strikes).max() < 0.02
    without = [each[:, [0, 2]] for each in phases]
    assert strike_deviations(without, strikes).mean() > 0.15


def test_noise_is_at_chance():
    phases, strikes = walks(clips=40)
    noise = [each[:, [2]] for each in phases]
    assert strike_deviations(noise, strikes).mean() == pytest.approx(0.25, abs=0.04)


def test_a_phase_that_stands_still_does_not_time_steps():
    phases, strikes = walks()
    still = [np.full((len(each), 1), 0.3) for each in phases]
    np.testing.assert_array_equal(strike_deviations(still, strikes), 0.25)
    # Nor is it chosen in place of the one that does.
    both = [np.hstack([each, other]) for each, other in zip(phases, still, strict=True)]
    np.testing.assert_array_equal(
        strike_deviations(both, strikes), strike_deviations(phases, strikes)
    )


def test_clips_with_few_strikes_are_left_out():
    phases, strikes = walks(clips=5)
    strikes[2] = [each[:2] for each in strikes[2]]
    strikes[3] = []
    found = strike_deviations(phases, strikes)
    assert np.isnan(found).tolist() == [False, False, True, True, False]


def test_feet_without_strikes_elsewhere_have_no_channel():
    phases, strikes = walks(clips=2)
    strikes[1][1] = strikes[1][1][:0]
    phases[0][strikes[0][1]] += np.array([0.0, 0.3, 0.0])
    # The second foot of the first clip has no other clip to choose its channel on.
    assert strike_deviations(phases, strikes)[0] < 0.02
    assert np.isnan(strike_deviations(phases[:1], strikes[:1])).all()
    assert np.isnan(strike_deviations(phases, [[], []])).all()
