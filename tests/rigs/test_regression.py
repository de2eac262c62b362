"""Parts of inverse rig functions: the Gaussian process, samples, refinement."""

import numpy as np

from deepphase.rigs.inverse import refined
from deepphase.rigs.keying import keyed
from deepphase.rigs.regression import MultiquadricProcess, chosen_width, kernel
from deepphase.rigs.training import sampled_controls


def wave(count, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, (count, 3))
    return inputs, np.column_stack([np.sin(3 * inputs[:, 0]), inputs[:, 1] * inputs[:, 2]])


def test_the_kernel_is_the_multiquadric():
    first, second = np.array([[0.0, 0], [3, 4]]), np.array([[0.0, 0]])
    np.testing.assert_allclose(kernel(first, second, 0.1)[:, 0], [0.1, np.hypot(5, 0.1)])


def test_the_process_goes_through_its_examples():
    inputs, outputs = wave(150)
    process = MultiquadricProcess.fit(inputs, outputs, 0.1)
    np.testing.assert_allclose(process.predict(inputs), outputs, atol=1e-3)
    others, truth = wave(200, seed=1)
    assert np.abs(process.predict(others) - truth).mean() < 0.05


def test_the_width_is_chosen_by_held_out_halves():
    inputs, outputs = wave(200)
    chosen = chosen_width(inputs, outputs)
    others, truth = wave(300, seed=1)

    def error(width):
        made = MultiquadricProcess.fit(inputs, outputs, width)
        return np.mean((made.predict(others) - truth) ** 2)

    assert error(chosen) < error(1e-4)
    assert error(chosen) < error(1e2)


def test_samples_lie_around_examples_along_their_principal_components():
    rng = np.random.default_rng(0)
    main = rng.standard_normal(300)
    values = np.column_stack([main, main + 0.05 * rng.standard_normal(300)])
    made = sampled_controls(values, 4000, seed=3)
    assert made.shape == (4000, 2)
    assert np.std(made[:, 0] - made[:, 1]) < 0.2
    # Examples and half of their deviation.
    np.testing.assert_allclose(made.std(axis=0), np.sqrt(1.25) * values.std(axis=0), rtol=0.05)
    assert sampled_controls(values, 0, seed=3).shape == (0, 2)


def test_refinement_reaches_what_can_be_reached_within_the_limits(person, poses):
    truth = np.clip(keyed(poses, person)[:20:5], person.lower, person.upper)
    columns = np.flatnonzero([name.startswith("Left") for name in person.names])
    scale = np.full(len(columns), 0.3)
    start = truth.copy()
    start[:, columns] += 0.1 * np.random.default_rng(0).standard_normal((len(truth), len(columns)))
    target = person.evaluate(truth)
    values, positions = refined(person, start, target, columns=columns, scale=scale, damping=0.01)
    assert np.linalg.norm(positions - target, axis=-1).max() < 2e-3
    np.testing.assert_allclose(person.evaluate(values), positions)
    others = np.setdiff1d(np.arange(len(person.names)), columns)
    np.testing.assert_array_equal(values[:, others], start[:, others])
    # Joints without weight are free, and controls that reach nothing stay within their limits.
    hand, far = person.joints.index("LeftHand"), target + np.array([9.0, 0.0, 0.0])
    far[:, hand] = target[:, hand]
    weights = (np.arange(len(person.joints)) == hand).astype(float)
    values, positions = refined(
        person, start, far, columns=columns, scale=scale, damping=0.01, weights=weights
    )
    assert np.linalg.norm((positions - far)[:, hand], axis=-1).max() < 2e-3
    values, _ = refined(person, start, far, columns=columns, scale=scale, damping=0.01)
    assert ((values >= person.lower) & (values <= person.upper)).all()
