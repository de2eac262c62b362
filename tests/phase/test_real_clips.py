"""The chain on real captures: a short training already finds phases that go forward."""

import numpy as np
import pytest

from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from tests.real_data import real_clips


@pytest.mark.real_data
def test_walking_and_running_people(tmp_path):
    files = sorted(real_clips("bandai2_locomotion").glob("*.bvh"))[::13]
    report = prepare(files, tmp_path / "mocap.store", labels="{set}_{action}_{style}_{take}")
    assert not report.left_out
    assert not report.glitches
    store = open_store(tmp_path / "mocap.store")
    assert set(store.label_column("action")) == {
        "walk",
        "run",
        "walk-turn-left",
        "walk-turn-right",
    }
    config = PhaseConfig.load("default", **{"training.windows": 25_600})
    model = train_phase(store, config, folder=tmp_path / "work", accelerator="cpu")
    # joint_Root stays at the origin in these files: it is not part of the body.
    assert model.signals.joints[0] == "Hips"
    assert model.health.forward_strongest > 0.97
    assert model.health.explained_variance > 0.7
    # People step between 0.6 and 2 times a second, each leg; arms and trunk up to twice that.
    used = [channel.frequency[1] for channel in model.health.channels if channel.in_use]
    assert all(0.5 < frequency < 4.5 for frequency in used)
    clip = store.clip(0)
    phases = model.encode(clip)
    assert len(phases) == len(clip)
    assert np.isfinite(phases.parameters.manifold()).all()
