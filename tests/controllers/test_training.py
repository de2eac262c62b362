"""Training of controllers: what is held out, what is learnt, and that it resumes."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import CSVLogger

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_batches import SEQUENCE_FRAMES, ControllerBatches
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_rows import SampleSplit
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.health import health_lines
from deepphase.controllers.training.module import ControllerModule
from deepphase.controllers.training.train import measured_controller, train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from deepphase.training.folder import read_metrics
from tests.controllers.made_controllers import FormulaPhases, data_of, samples_for, walking_store

pytestmark = pytest.mark.slow

_TINY = {"network.hidden": 16, "training.samples": 640, "training.batch_size": 32}


def _config(name: str, **changes) -> ControllerConfig:
    if name in ("gp", "pfgp"):
        # The walks have few frames near each of ten phases.
        processes = 3 if name == "pfgp" else 1
        own = {"network.samples": 30, "network.phases": processes}
        return ControllerConfig.load(name, **{**own, **changes})
    experts = {"network.experts": 2, "network.gating_hidden": 8}
    own = experts if name in ("experts", "mann", "lmp", "no_phase") else {}
    return ControllerConfig.load(name, **{**_TINY, **own, **changes})


def _trained(config: ControllerConfig, folder, store=None, **options) -> Controller:
    data = ControllerData.read(store or walking_store(), config, FormulaPhases())
    made = train_controller(data, config, folder=folder, **options)
    assert made is not None
    return made


@pytest.mark.parametrize(
    "name",
    [
        *("pfnn", "experts", "mann", "lmp", "no_phase", "vinn"),
        *("nn", "nn_phase", "erd", "erd_phase", "gp", "pfgp"),
    ],
)
def test_every_recipe_trains_runs_and_comes_back_from_its_file(name, tmp_path):
    made = _trained(_config(name), tmp_path / "work")
    made.save(tmp_path / "file")
    again = Controller.load(tmp_path / "file")
    assert again.schema == made.schema
    assert again.config == made.config
    assert again.starts.names == made.starts.names
    starts = again.starts.select([0, 1])
    np.testing.assert_array_equal(
        rollout(Characters(made, starts), None, 0.2).rotations,
        rollout(Characters(again, starts), None, 0.2).rotations,
    )
    assert made.health["samples"] > 0
    assert health_lines(made.health)[0].startswith("one step")


def test_training_lowers_the_error_and_health_says_it(tmp_path):
    # One person on three ways: what is held out is like what is learnt.
    walks = [locomotion(1, 6.0, turn_rate=rate).clip for rate in (0.0, 0.05, -0.05)]
    clips = [replace(clip, name=f"walk-{index}") for index, clip in enumerate(walks)]
    store = ClipStore.from_clips(clips)
    short = _trained(_config("nn"), tmp_path / "short", store)
    options = {"training.samples": 12_000, "network.hidden": 64, "network.dropout": 0.0}
    longer = _trained(_config("nn", **options), tmp_path / "longer", store)
    assert longer.health["explained"] > 0.9 > short.health["explained"] + 0.2
    assert longer.health["position_cm"] < 0.3 * short.health["position_cm"]
    worse = "one step is worse than standing still"
    for made in (short, longer):
        found = made.health["position_cm"] > made.health["still_position_cm"]
        assert found == any(line.startswith(worse) for line in made.health["findings"])
    assert any(line.startswith(worse) for line in health_lines(short.health))


@pytest.mark.parametrize(("name", "optimizer"), [("experts", "muon"), ("erd", "adamw")])
def test_an_interrupted_training_ends_in_the_same_weights(name, optimizer, tmp_path):
    changes = {"training.pose_noise": 0.1, "training.optimizer": optimizer}
    config = _config(name, **changes)
    whole = _trained(config, tmp_path / "whole")
    shown = []

    def interrupt(what, done, of, text):
        shown.append(done)
        if what == "training" and done > of // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _trained(config, tmp_path / "parts", progress=interrupt)
    resumed = _trained(config, tmp_path / "parts", resume=True)
    for name_, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name_]), name_


def test_files_are_held_out_whole():
    samples = samples_for("experts", walking_store())
    split = SampleSplit.from_samples(samples, 0.3)
    held = {samples.sources[run] for run in samples.run_of(split.held_out)}
    learnt = {samples.sources[run] for run in samples.run_of(split.train)}
    assert held == set(split.sources)
    assert not held & learnt
    assert len(split.train) + len(split.held_out) == len(samples)


def test_sequences_lie_in_one_run():
    samples = samples_for("erd", walking_store())
    config = _config("erd")
    options, rows = config.training, np.arange(len(samples))
    batches = ControllerBatches(data_of(samples, rows, rows[:40]), config)
    rows = batches.batch(0, 512).numpy()
    assert rows.shape == (512 // SEQUENCE_FRAMES, SEQUENCE_FRAMES)
    assert (np.diff(rows, axis=1) == 1).all()
    np.testing.assert_array_equal(samples.run_of(rows[:, 0]), samples.run_of(rows[:, -1]))
    # As many pairs a step as a network without memory is shown.
    assert batches.steps(1) == round(options.samples / options.batch_size)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("experts", {"training.unroll_frames": 3, "training.unroll_goals": False}),
        ("erd", {}),
        ("nn", {"training.schedule": "restarts", "training.learning_rate": 0.01}),
    ],
)
def test_a_trainer_of_ones_own_trains_it(name, changes, tmp_path):
    torch.manual_seed(0)
    # Losses of few steps fall where these are alike.
    alike = {"network.dropout": 0.0, "training.drift": 0.0, "training.balance": 0.0}
    config = _config(name, **{**alike, **changes})
    data = ControllerData.read(walking_store(), config, FormulaPhases())
    batches = ControllerBatches(data, config)
    module = ControllerModule(batches)
    logger = CSVLogger(tmp_path)
    own = pl.Trainer(
        max_epochs=2,
        logger=logger,
        log_every_n_steps=1,
        default_root_dir=tmp_path,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
    )
    own.fit(module, datamodule=batches)
    assert own.global_step == 2 * math.ceil(batches.epoch_samples / batches.batch_size)
    logged = read_metrics(Path(logger.log_dir) / "metrics.csv")
    losses = logged["loss"][np.isfinite(logged["loss"])]
    assert losses[-5:].mean() < losses[:5].mean()
    explained = logged["explained_variance"]
    assert explained[np.isfinite(explained)][-1] == pytest.approx(module.explained, rel=1e-3)
    made = measured_controller(module.controller, config, data)
    made.save(tmp_path / "file")
    assert Controller.load(tmp_path / "file").health["samples"] > 0
