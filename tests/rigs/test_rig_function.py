"""Rig functions: what they refuse, and their derivatives."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.rigs.rig_function import Control
from tests.rigs.conftest import FunctionRig, wild


def arm(values):
    """One joint on a rod that turns and grows."""
    angle, length = values[:, 0], values[:, 1]
    place = np.stack([length * np.cos(angle), length * np.sin(angle), 0 * angle], axis=-1)
    return place[:, None]


CONTROLS = (Control("turn"), Control("length", "m", 1.0, 0.1, 2.0))


def test_a_callable_is_a_rig():
    rig = FunctionRig(CONTROLS, ["tip"], arm)
    np.testing.assert_allclose(rig.evaluate(rig.rest[None]), [[[1.0, 0.0, 0.0]]])
    jacobian = rig.jacobian(np.array([[0.0, 2.0]]))
    np.testing.assert_allclose(jacobian[0], [[0, 1], [2, 0], [0, 0]], atol=1e-7)
    np.testing.assert_array_equal(rig.upper, [np.pi, 2.0])
    assert rig.index("length") == 1


def test_only_some_columns_of_the_jacobian():
    rig = FunctionRig(CONTROLS, ["tip"], arm)
    values = np.array([[0.3, 1.5], [1.0, 0.5]])
    both = rig.jacobian(values)
    np.testing.assert_allclose(rig.jacobian(values, np.array([1])), both[..., [1]])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Control("a", "deg"), "unknown unit"),
        (lambda: Control("a", "1", 2.0, 0.0, 1.0), "outside of its limits"),
        (lambda: FunctionRig([Control("a"), Control("a")], ["tip"], arm), "occur twice"),
        (lambda: FunctionRig([], ["tip"], arm), "a control and a joint"),
        (
            lambda: FunctionRig(CONTROLS, ["tip"], arm).evaluate(np.zeros((3, 5))),
            r"\(poses, 2 controls\)",
        ),
        (
            lambda: FunctionRig(CONTROLS, ["tip"], arm).evaluate(np.zeros(2)),
            r"\(poses, 2 controls\)",
        ),
        (lambda: FunctionRig(CONTROLS, ["tip"], arm).index("twist"), "no control"),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def exact_jacobian(rig, values):
    """Derivatives by complex steps (Squire and Trapp 1998): exact but for rounding."""
    found = []
    for pose in values:
        moved = pose + 1e-30j * np.eye(len(pose))
        found.append(rig.evaluate(moved).imag.reshape(len(pose), -1).T / 1e-30)
    return np.stack(found)


@pytest.mark.parametrize("body", ["person", "dog"])
def test_numeric_and_exact_jacobians_agree(body, request):
    rig = request.getfixturevalue(body)
    values = wild(rig, 4)
    exact = exact_jacobian(rig, values)
    numeric = rig.jacobian(values, step=1e-5)
    assert np.abs(exact).max() > 0.5
    np.testing.assert_allclose(numeric, exact, atol=2e-4 * np.abs(exact).max())
