"""Rigs of a person and a dog, made of synthetic motion."""

import numpy as np
import pytest

from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.keying import motion_on_rig
from deepphase.synthetic.gait_motion import locomotion

BODIES = pytest.mark.parametrize("body", ["person", "dog"])


@pytest.fixture(scope="session")
def walk():
    return locomotion(0, 2.0, gait="walk", turn_rate=0.3).clip


@pytest.fixture(scope="session")
def clips(walk):
    trot = locomotion(1, 2.0, body="quadruped", gait="trot").clip
    return {"person": walk, "dog": trot}


@pytest.fixture(scope="session")
def rigs(clips):
    return {name: BodyRig.from_clip(clip) for name, clip in clips.items()}


@pytest.fixture(scope="session")
def person(rigs):
    return rigs["person"]


@pytest.fixture(scope="session")
def poses(person, walk):
    return motion_on_rig(walk, person)


def wild(rig, poses, seed=0):
    """Values of all controls, blends and stretch within their limits."""
    rng = np.random.default_rng(seed)
    values = rig.rest + 0.3 * rng.standard_normal((poses, len(rig.rest)))
    shares = [row for row, control in enumerate(rig.controls) if control.unit == "1"]
    values[:, shares] = rng.uniform(0, 1, (poses, len(shares)))
    return values
