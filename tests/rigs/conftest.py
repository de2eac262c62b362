"""Rigs of a person and a dog, made of synthetic motion."""

import numpy as np
import pytest

from deepphase.rigs.body_rig import BodyRig
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture(scope="session")
def walk():
    return locomotion(0, 2.0, gait="walk", turn_rate=0.3).clip


@pytest.fixture(scope="session")
def trot():
    return locomotion(1, 2.0, body="quadruped", gait="trot").clip


@pytest.fixture(scope="session")
def person(walk):
    return BodyRig.of_clip(walk)


@pytest.fixture(scope="session")
def dog(trot):
    return BodyRig.of_clip(trot)


def wild(rig, poses, seed=0):
    """Values of all controls, blends and stretch within their limits."""
    rng = np.random.default_rng(seed)
    values = rig.rest + 0.3 * rng.standard_normal((poses, len(rig.rest)))
    shares = [row for row, control in enumerate(rig.controls) if control.unit == "1"]
    values[:, shares] = rng.uniform(0, 1, (poses, len(shares)))
    return values
