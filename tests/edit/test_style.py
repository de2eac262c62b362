"""Styles by Gram matrices."""

import numpy as np
import pytest
import torch

from deepphase.edit.style import gram_matrix, styled
from deepphase.motion.clip import joint_positions
from tests.formula_motion import swinging


def test_gram_matrices_do_not_depend_on_length_or_order():
    hidden = torch.randn(1, 5, 40, generator=torch.Generator().manual_seed(0))
    plain = sum(torch.outer(hidden[0, :, i], hidden[0, :, i]) for i in range(40)) / 40
    assert torch.allclose(gram_matrix(hidden), plain, atol=1e-6)
    again = torch.cat([hidden.flip(-1), hidden], -1)
    assert torch.allclose(gram_matrix(again), plain, atol=1e-6)


@pytest.mark.slow
def test_the_style_comes_nearer_and_the_path_stays(editor):
    content, _ = swinging(1.0, 3.0, seed=1)
    style, _ = swinging(1.5, 4.0, start=0.3, seed=9)
    made = styled(content, [style], editor)
    # An editor of a few hundred steps: of a trained one the distance falls by more than half.
    assert made.distance_after < 0.95 * made.distance_before
    assert len(made.clip) == len(content)
    np.testing.assert_allclose(
        made.clip.local_positions()[:, 0, ::2], content.local_positions()[:, 0, ::2], atol=0.05
    )
    same = styled(content, [style], editor, amount=0.0)
    np.testing.assert_allclose(joint_positions(same.clip), joint_positions(content), atol=1e-4)
