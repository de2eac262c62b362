"""Styles by Gram matrices."""

import numpy as np
import pytest
import torch

from deepphase.apps.cli import main
from deepphase.edit.style import gram_matrix, styled
from deepphase.errors import ParameterError
from deepphase.formats.load import load, save
from deepphase.motion.kinematics import joint_positions
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


@pytest.mark.slow
def test_mistakes_in_styles_are_stated(editor):
    clip, _ = swinging(1.0, 2.0)
    with pytest.raises(ParameterError, match=r"amount must be from 0 to 1\.5, not 2"):
        styled(clip, [clip], editor, amount=2.0)
    with pytest.raises(ParameterError, match="no clip of a style"):
        styled(clip, [], editor)
    with pytest.raises(ParameterError, match=r"lasts 0\.2. s"):
        styled(clip, [clip.sliced(0, 15)], editor)


@pytest.mark.slow
def test_commands(editor, tmp_path, capsys):
    editor.save(tmp_path / "swing.editor")
    for name, seed in (("a", 1), ("b", 2)):
        save(swinging(1.0, 2.0, seed=seed)[0], tmp_path / f"{name}.bvh")
    words = ["edit", "style", str(tmp_path / "a.bvh"), "--editor", str(tmp_path / "swing.editor")]
    words += ["-o", str(tmp_path / "c.bvh")]
    assert main([*words, "--style", str(tmp_path / "b.bvh"), "--amount", "0.5"]) == 0
    assert len(load(tmp_path / "c.bvh")) == 120
    assert main(words) == 2
    assert "no style is given" in capsys.readouterr().err
