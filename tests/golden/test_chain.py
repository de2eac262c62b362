"""Every step of the chain gives what it gave."""

import numpy as np
import pytest

from tests.golden.chain import STEPS, expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("chain")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_step_gives_what_it_gave(step, folder):
    result = step(folder)
    assert np.isfinite(result).all()
    np.testing.assert_allclose(result, expected()[step.__name__], atol=STEPS[step], rtol=1e-4)
