"""Phases of clips in JavaScript against those of the phase model."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.demo import EMBEDDING, PHASES
from deepphase.apps.live.asset import live_asset
from deepphase.errors import ParameterError
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.model import PhaseModel
from deepphase.synthetic.gait_motion import locomotion
from tests.live.node import ask_node, needs_node


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("frames", [156, 61, 24])
def test_phases_of_a_clip_are_those_of_the_model(tmp_path, frames):
    model = PhaseModel.load(PHASES)
    clip = locomotion(7, 2.6, turn_rate=0.6).clip.sliced(0, frames)
    ours = model.encode(clip).parameters
    theirs = ask_node(
        tmp_path,
        live_asset(model),
        "phases",
        places=joint_positions(clip),
        names=clip.skeleton.names,
    )
    theirs = {name: np.reshape(values, ours.phase.shape) for name, values in theirs.items()}
    apart = np.abs((theirs["phase"] - ours.phase + 0.5) % 1.0 - 0.5)
    # The ends, too; the goal of other programs is 0.0005 within the clip.
    assert np.percentile(apart, 95) < 1e-4
    np.testing.assert_allclose(theirs["frequency"], ours.frequency, atol=2e-3)
    np.testing.assert_allclose(theirs["amplitude"], ours.amplitude, atol=1e-4)
    np.testing.assert_allclose(theirs["offset"], ours.offset, atol=1e-4)


def test_other_networks_are_refused():
    with pytest.raises(ParameterError, match="no JavaScript form"):
        live_asset(PhaseModel.load(EMBEDDING))
