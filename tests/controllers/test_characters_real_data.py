"""Captured clips, replayed: the runtime's conventions hold on their skeletons too."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.formats.load import load
from deepphase.motion.clip import joint_positions
from deepphase.motion.resample import resample
from deepphase.steering.run import rollout
from tests.controllers.made_controllers import FormulaPhases
from tests.controllers.replaying import replay_of
from tests.real_data import real_clips

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize("name", ["bandai1", "bandai2_locomotion", "dog_mann"])
def test_a_captured_clip_comes_back(name):
    files = sorted(real_clips(name).glob("*.bvh"), key=lambda path: path.stat().st_size)
    if not files:
        pytest.skip(f"no clips in {name}")
    clip, first = resample(load(files[len(files) // 2]), 60.0), 30
    controller, starts, blocks = replay_of(clip, "experts", [first], FormulaPhases())
    root = blocks.body.root
    joints = [clip.skeleton.index(each) for each in controller.schema.joints]
    there = joint_positions(clip)[first + 1 : first + 121][:, joints]
    for held in (False, True):
        character = Characters(
            controller,
            starts,
            positions=root.positions[[first]][:, ::2],
            angles=root.angles[[first]],
            settings=CharacterSettings(foot_ik=held),
        )
        run = rollout(character, None, len(there) / 60)
        away = np.abs(joint_positions(run.clip())[:, joints] - there)
        # Held feet are a little elsewhere, and nothing else is.
        assert away.mean() < (0.01 if held else 1e-5)
        assert held or away.max() < 1e-4
