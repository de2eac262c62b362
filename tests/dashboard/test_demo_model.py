"""The models that ship: small, of this recipe, and what the one command makes again."""

from __future__ import annotations

import numpy as np
import pytest

from apps.dashboard.parts.demo import demo_clips
from apps.demo.model import PHASES, PRESETS, demo_config, made_model
from deepphase.phase.model import PhaseModel


@pytest.mark.parametrize("path", list(PRESETS), ids=lambda path: path.stem)
def test_it_is_small_and_of_this_recipe(path):
    assert path.stat().st_size < 300_000
    assert PhaseModel.load(path).config == demo_config(PRESETS[path])


def test_it_reads_motion_that_it_never_saw():
    model = PhaseModel.load(PHASES)
    assert model.health is not None
    assert model.health.explained_variance > 0.5
    walk = model.encode(demo_clips().clip(0))
    steps = np.diff(np.unwrap(2 * np.pi * walk.parameters.phase, axis=0) / (2 * np.pi), axis=0)
    strongest = walk.parameters.amplitude.mean(0).argmax()
    assert (steps[walk.interior[1:], strongest] > 0).mean() > 0.95


def test_the_command_makes_it_again():
    shipped, again = PhaseModel.load(PHASES), made_model(PRESETS[PHASES])
    assert again.health is not None
    assert shipped.health is not None
    assert again.health.explained_variance == pytest.approx(
        shipped.health.explained_variance, abs=0.02
    )
    for index in (0, 3):
        one, other = (model.encode(demo_clips().clip(index)) for model in (shipped, again))
        distance = (one.parameters.phase - other.parameters.phase + 0.5) % 1.0 - 0.5
        weight = one.parameters.amplitude
        # Sums come out a little otherwise on another processor.
        assert (weight * np.abs(distance)).sum() / weight.sum() < 0.02
        np.testing.assert_allclose(
            one.parameters.amplitude.mean(0), other.parameters.amplitude.mean(0), rtol=0.1
        )
