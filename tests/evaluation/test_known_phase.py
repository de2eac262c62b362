"""Phases against a truth that is known."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.evaluation.known_phase import (
    KnownClip,
    PhaseKey,
    choose_key,
    circular_median,
    known_phase_errors,
    phase_errors,
)


def _truth(frames=400, hertz=1.3, start=0.2, fps=60.0):
    return wrapped(start + hertz * np.arange(frames) / fps)


def _noise(frames, channels, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (frames, channels))


@pytest.mark.parametrize("multiple", [1, 2])
@pytest.mark.parametrize("shift", [-0.5, -0.49, 0.0, 0.31, 0.4999])
def test_the_key_is_found_over_the_seam(multiple, shift):
    truths = [_truth(start=0.1), _truth(211, hertz=0.7)]
    phases = []
    for seed, truth in enumerate(truths):
        phase = _noise(len(truth), 4, seed)
        phase[:, 2] = wrapped(multiple * truth + shift)
        phases.append(phase)
    key = choose_key(phases, truths)
    assert (key.channel, key.multiple) == (2, multiple)
    assert abs(wrapped(np.array(key.shift - shift))) < 1e-12
    for phase, truth in zip(phases, truths, strict=True):
        assert phase_errors(key, phase, truth).max() < 1e-12


def test_errors_are_the_shorter_way_round():
    truth = np.array([0.49, -0.49, 0.0, 0.25])
    phase = np.array([[-0.49], [0.49], [0.5], [-0.25]])
    errors = phase_errors(PhaseKey(0, 1, 0.0), phase, truth)
    np.testing.assert_allclose(errors, [0.02, 0.02, 0.5, 0.5], atol=1e-12)
    twice = phase_errors(PhaseKey(0, 2, 0.1), np.array([[0.3]]), np.array([0.4]))
    np.testing.assert_allclose(twice, [0.4], atol=1e-12)


def test_a_few_wild_frames_do_not_move_the_shift():
    truth = _truth(1000)
    phase = wrapped(truth + 0.2)[:, None]
    phase[:300] = wrapped(truth[:300] + 0.45)[:, None]
    key = choose_key([phase], [truth])
    assert key.shift == pytest.approx(0.2, abs=1e-12)
    assert np.median(phase_errors(key, phase, truth)) < 1e-12


def test_the_channel_with_the_smaller_median_error_wins():
    truth = _truth(1000)
    random = np.random.default_rng(1)
    phase = np.stack([wrapped(truth + random.normal(0, s, 1000)) for s in (0.05, 0.01, 0.03)], 1)
    key = choose_key([phase], [truth])
    assert key.channel == 1
    # The median of |N(0, s)| is 0.6745 s.
    assert np.median(phase_errors(key, phase, truth)) == pytest.approx(0.006745, rel=0.1)


def test_multiples_can_be_told():
    truth = _truth()
    phase = np.stack([wrapped(2 * truth), wrapped(truth + 0.02 * np.sin(np.arange(400)))], 1)
    assert choose_key([phase], [truth]).multiple == 2
    assert choose_key([phase], [truth], multiples=(1,)) == PhaseKey(
        1, 1, choose_key([phase[:, 1:]], [truth]).shift
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_circular_median_is_the_best_of_all_angles(seed):
    random = np.random.default_rng(seed)
    values = wrapped(random.normal(random.uniform(), random.choice([0.05, 0.2]), 1 + seed * 2))
    grid = np.concatenate([np.linspace(-0.5, 0.5, 2001), values])
    cost = np.abs(wrapped(grid[:, None] - values)).mean(1)
    found = circular_median(values)
    assert -0.5 <= found < 0.5
    assert np.abs(wrapped(found - values)).mean() == pytest.approx(cost.min(), abs=1e-12)


def test_the_circular_median_of_an_even_number_is_the_middle():
    assert circular_median(np.array([0.45, -0.45])) in (pytest.approx(-0.5), pytest.approx(0.5))
    assert circular_median(np.array([0.0, 0.1, 0.2, 0.7, 0.15, 0.05])) == pytest.approx(0.075)


def _known(name, group, truth, shifts, hertz=1.3):
    """Channel 0 is the limb's phase, moved by one shift each limb."""
    limbs = np.stack([wrapped(truth + 0.5 * limb) for limb in range(len(shifts))], 1)
    phase = np.stack([wrapped(truth + shifts[0]), _noise(len(truth), 1)[:, 0]], 1)
    return KnownClip(name, group, phase, limbs, np.full(limbs.shape, hertz))


def test_each_group_has_keys_of_its_own():
    truth = _truth()
    training = [_known("a", "walk", truth, (0.1, 0.1)), _known("b", "run", truth, (-0.3, 0.1))]
    late = _known("c", "walk", truth, (0.13, 0.1))
    exact = _known("d", "run", truth, (-0.3, 0.1))
    walk, run = known_phase_errors(training, [late, exact])
    np.testing.assert_allclose(walk.cycles, 0.03, atol=1e-12)
    np.testing.assert_allclose(walk.seconds, 0.03 / 1.3, atol=1e-12)
    np.testing.assert_allclose(run.cycles, 0.0, atol=1e-12)
    assert run.stride_hz == (1.3, 1.3)
    assert walk.frames == 400
    # The other limb is half a cycle on: so is its shift.
    shifts = [key.shift for key in walk.keys]
    np.testing.assert_allclose(shifts, [0.1, -0.4], atol=1e-12)


def test_what_does_not_fit_is_refused():
    truth = _truth(50)
    good = wrapped(truth + 0.1)[:, None]
    bad = good.copy()
    bad[7] = np.nan
    cases = [([], []), ([good], []), ([good], [truth[:-1]]), ([bad], [truth])]
    cases += [([good[:, 0]], [truth]), ([good[:0]], [truth[:0]])]
    cases += [([good, np.tile(good, 2)], [truth, truth])]
    for phases, truths in cases:
        with pytest.raises(ParameterError):
            choose_key(phases, truths)
    walk = _known("a", "walk", truth, (0.1,))
    with pytest.raises(ParameterError, match="'run'"):
        known_phase_errors([walk], [_known("b", "run", truth, (0.1,))])
    still = KnownClip("s", "walk", walk.phase, walk.truth, np.zeros_like(walk.frequency))
    with pytest.raises(
        ParameterError, match="s: the clip must have frames, and each of its limbs must move"
    ):
        known_phase_errors([walk], [still])
