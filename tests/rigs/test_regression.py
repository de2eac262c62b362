"""Parts of inverse rig functions: the Gaussian process, samples, refinement."""

import numpy as np

from deepphase.rigs.refinement import refined
from deepphase.rigs.regression import MultiquadricProcess, chosen_width, kernel
from deepphase.rigs.rig_function import Control
from deepphase.rigs.training import sampled_controls
from tests.rigs.conftest import FunctionRig


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
    made = sampled_controls(values, 4000, 0.5, seed=3)
    assert made.shape == (4000, 2)
    assert np.std(made[:, 0] - made[:, 1]) < 0.2
    # Examples and half of their deviation.
    np.testing.assert_allclose(made.std(axis=0), np.sqrt(1.25) * values.std(axis=0), rtol=0.05)
    assert sampled_controls(values, 0, 0.5, seed=3).shape == (0, 2)


def arm(values):
    """Two rods and a third control that does nothing."""
    angles = np.cumsum(values[:, :2], axis=1)
    steps = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    return np.cumsum(steps, axis=1)


ARM = FunctionRig([Control("a"), Control("b", lower=0.0), Control("idle")], ["mid", "tip"], arm)


def test_refinement_reaches_what_can_be_reached():
    truth = np.array([[0.3, 0.8, 0.0], [-1.0, 0.2, 0.0]])
    start = truth + np.array([0.3, -0.1, 0.4])
    columns = np.arange(3)
    values, positions = refined(
        ARM, start, arm(truth), columns=columns, scale=np.ones(3), damping=0.05
    )
    assert np.abs(positions - arm(truth)).max() < 1e-3
    # What has no effect stays as it was.
    np.testing.assert_allclose(values[:, 2], start[:, 2], atol=1e-9)


def test_refinement_keeps_the_limits_and_never_gets_worse():
    target = arm(np.array([[0.5, -0.9, 0.0]]))
    start = np.array([[0.2, 0.4, 0.0]])
    values, positions = refined(
        ARM, start, target, columns=np.arange(2), scale=np.ones(2), damping=0.05
    )
    assert values[0, 1] >= 0.0
    assert np.square(positions - target).sum() <= np.square(arm(start) - target).sum()


def test_joints_without_weight_are_free():
    target = arm(np.array([[0.3, 0.8, 0.0]]))
    free = target.copy()
    free[:, 0] = 9.0
    _, positions = refined(
        ARM,
        np.array([[0.2, 0.6, 0.0]]),
        free,
        columns=np.arange(2),
        scale=np.ones(2),
        damping=0.05,
        weights=np.array([0.0, 1.0]),
    )
    np.testing.assert_allclose(positions[:, 1], target[:, 1], atol=1e-3)
