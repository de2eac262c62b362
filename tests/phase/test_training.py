"""Training end to end on motion by formula: phases, resuming bit for bit, refused input."""

import json
import logging
import math
from pathlib import Path

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger

from deepphase.arrays import wrapped
from deepphase.config import checked_record
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.errors import CheckpointError, ParameterError, SkeletonError
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import fit_phases
from deepphase.phase.health import Health, measure
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.training.train import train_phase
from deepphase.training import task
from deepphase.training.folder import metrics_file, read_metrics
from tests.formula_motion import body, swinging, swings, tiny_phases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> PhaseModel:
    folder = tmp_path_factory.mktemp("training")
    return train_phase(
        swings(6, 6.0),
        tiny_phases(
            **{
                "network.window_s": 1.5,
                "network.kernel_s": None,
                "network.hidden": None,
                "training.windows": 3_200,
                "training.batch_size": 32,
                "training.learning_rate": 6e-3,
            }
        ),
        folder=folder,
        accelerator="cpu",
    )


def test_learns_the_phase_of_a_swing(model):
    """The strongest channel's phase is the true one (or its double) up to a constant."""
    clip, phase = swinging(1.1, 8.0, seed=50)
    phases = model.encode(clip)
    strongest = phases.parameters.amplitude.mean(0).argmax()
    found = phases.parameters.phase[phases.interior, strongest]
    errors = []
    for multiple in (1, 2):
        difference = wrapped(found - multiple * phase[phases.interior])
        centre = np.angle(np.exp(2j * np.pi * difference).mean()) / (2 * np.pi)
        errors.append(np.median(np.abs(wrapped(difference - centre))))
    assert min(errors) < 0.03


def test_health_of_a_training_that_worked(model):
    health = model.health
    assert health.explained_variance > 0.8
    assert health.forward_strongest > 0.98
    assert health.speed_error < 0.15
    assert set(health.explained_by_joint) == set(model.signals.joints)
    assert any("explained variance" in line for line in health.words())


def test_joints_in_another_order_are_the_same_motion(model):
    clip, _ = swinging(1.0)
    original = body()
    order = [0, 7, 12, 10, 11, 8, 9, 4, 5, 6, 1, 2, 3]
    place = {joint: index for index, joint in enumerate(order)}
    shuffled = type(original)(
        tuple(original.names[joint] for joint in order),
        np.array([place.get(original.parents[joint], -1) for joint in order]),
        original.offsets[order],
    )
    other = clip.in_order_of(shuffled)
    assert other.skeleton.names != clip.skeleton.names
    np.testing.assert_allclose(
        model.encode(other).parameters.phase, model.encode(clip).parameters.phase, atol=1e-4
    )


def test_another_skeleton_is_refused(model):
    clip, _ = swinging(1.0)
    names = tuple(f"bone_{index}" for index in range(len(clip.skeleton)))
    skeleton = type(clip.skeleton)(names, clip.skeleton.parents, clip.skeleton.offsets)
    foreign = Clip(skeleton, clip.rotations, clip.translations, clip.fps)
    with pytest.raises(SkeletonError, match="without 'Hips' and 12 more of the 13 joints"):
        model.encode(foreign)


def test_file_round_trip(model, tmp_path):
    path = tmp_path / "phases.model"
    model.save(path)
    again = PhaseModel.load(path)
    clip, _ = swinging(1.3)
    for name in ("phase", "frequency", "amplitude", "offset"):
        one, two = (getattr(m.encode(clip).parameters, name) for m in (model, again))
        np.testing.assert_array_equal(one, two)
    assert again.sha256 == model.sha256
    assert again.health == model.health
    np.testing.assert_array_equal(again.projection.axes, model.projection.axes)


class Stop:
    """Interrupts a training when it has come so far."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, what, done, total, words):
        if what == "training" and done >= self.share * total:
            raise KeyboardInterrupt


def test_resume_ends_in_the_same_weights(tmp_path, monkeypatch):
    """Interrupted within a segment, at another place in the next, and after the last step."""
    options = {"accelerator": "cpu", "devices": 1}
    clips, recipe = swings(3, 4.0), tiny_phases(**{"training.windows": 16 * 104})
    whole = train_phase(clips, recipe, folder=tmp_path / "whole", **options)
    cut = tmp_path / "cut"
    for share, resume in ((0.35, False), (0.8, True)):
        stop = Stop(share)
        with pytest.raises(KeyboardInterrupt):
            train_phase(clips, recipe, folder=cut, resume=resume, progress=stop, **options)
        torch.rand(100)  # another process would have drawn other random numbers
    with monkeypatch.context() as ended:
        ended.setattr(task, "discard_trained", lambda work: Stop(0.0)("training", 1, 1, ""))
        with pytest.raises(KeyboardInterrupt):
            train_phase(clips, recipe, folder=cut, resume=True, **options)
    resumed = train_phase(clips, recipe, folder=cut, resume=True, **options)
    assert resumed.provenance["steps"] == whole.provenance["steps"] == 104
    for (name, one), two in zip(
        whole.network.state_dict().items(), resumed.network.state_dict().values(), strict=True
    ):
        assert torch.equal(one, two), name
    assert resumed.health == whole.health
    one, two = (read_metrics(metrics_file(tmp_path / name)) for name in ("whole", "cut"))
    assert list(one) == list(two)
    for name in ("step", "loss", "explained_variance", "learning_rate"):
        np.testing.assert_array_equal(one[name], two[name])


def test_paths_are_enough(tmp_path, monkeypatch, capsys):
    """Without a folder, an interrupted training goes on in the cache, which is empty at the end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for clip in swings(3, 4.0):
        save(clip, tmp_path / "clips" / f"{clip.name}.bvh")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(KeyboardInterrupt) as caught:
        train_phase(tmp_path / "clips", tiny_phases(), progress=Stop(0.5), accelerator="cpu")
    (note,) = caught.value.__notes__
    (kept,) = (tmp_path / "cache" / "deepphase" / "trainings").iterdir()
    assert note == f"the same call continues this training, which is kept in {kept}"
    assert f"the same call continues in {kept}\n" in capsys.readouterr().err
    model = train_phase(str(tmp_path / "clips"), tiny_phases(), accelerator="cpu")
    assert model.provenance["steps"] == 20
    assert not kept.exists()
    corpus = corpus_of(tmp_path / "clips")
    whole = train_phase(corpus, tiny_phases(), folder=tmp_path / "work", accelerator="cpu")
    assert whole.sha256 == model.sha256
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["metrics.csv"]
    files = sorted((tmp_path / "clips").iterdir())
    assert set(before) == {tmp_path / "clips", *files}
    one, several = model.encode(files[0]), model.encode(files)
    assert [phases.name for phases in several] == [path.stem for path in files]
    assert (one.parameters.phase == several[0].parameters.phase).all()
    assert [each.name for each in model.encode(tmp_path / "clips")] == [
        each.name for each in several
    ]
    baseline = fit_phases(corpus)
    assert len(baseline.encode(str(tmp_path / "clips"))) == len(baseline.encode(files)) == 3


class Counter(pl.Callback):
    """Counts the steps of a training."""

    steps = 0

    def on_train_batch_end(self, *_, **__):
        self.steps += 1


def test_options_of_lightning_are_the_users(tmp_path):
    """Own callbacks, loggers and switches beside those that the training has itself."""
    counter, best = Counter(), ModelCheckpoint(tmp_path / "best", "{step}", "explained_variance")
    model = train_phase(
        swings(3, 4.0),
        tiny_phases(),
        folder=tmp_path / "work",
        accelerator="cpu",
        callbacks=[counter, best],
        logger=CSVLogger(tmp_path, name="mine"),
        log_every_n_steps=10,
        gradient_clip_val=1.0,
        enable_progress_bar=True,
        num_sanity_val_steps=1,
        check_val_every_n_epoch=5,
        max_time="00:01:00:00",
    )
    assert counter.steps == model.provenance["steps"] == 20
    assert Path(best.best_model_path).is_file()
    assert (tmp_path / "mine" / "version_0" / "metrics.csv").is_file()
    own = read_metrics(metrics_file(tmp_path / "work"))
    logged = np.isfinite(own["loss"])
    np.testing.assert_array_equal(own["step"][logged], [10, 20])
    np.testing.assert_array_equal(own["step"][~logged], [5, 10, 15, 20])
    assert (own["samples_per_s"][logged] > 0).all()


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"max_epochs": 3}, "max_epochs=3: the config sets the steps"),
        ({"accumulate_grad_batches": 2}, "accumulate_grad_batches=2"),
        ({"fast_dev_run": True}, "fast_dev_run=True"),
        ({"acelerator": "cpu"}, "did you mean 'accelerator'"),
        ({"gradient_clip_val": "much"}, "Lightning refuses gradient_clip_val=much"),
    ],
)
def test_impossible_options_are_refused_before_the_clips_are_read(tmp_path, options, fact):
    read = []
    with pytest.raises(ParameterError) as caught:
        train_phase(
            swings(3, 6.0),
            tiny_phases(),
            folder=tmp_path,
            progress=lambda *at: read.append(at),
            **options,
        )
    assert fact in str(caught.value)
    assert not read


def test_a_trainer_of_ones_own(tmp_path, caplog, monkeypatch):
    """A script that has its own loop: epochs are passes, the rate follows the trainer."""
    monkeypatch.setattr(logging.getLogger("pytorch_lightning"), "handlers", [caplog.handler])
    recipe = tiny_phases(**{"training.batch_size": 64})
    data = PhaseData(swings(3, 4.0), recipe)
    module = PhaseModule(recipe, data.signals)
    logger, best = CSVLogger(tmp_path), ModelCheckpoint(tmp_path / "best", save_last=True)
    options = {"accelerator": "cpu", "logger": logger, "callbacks": [best]}
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "log_every_n_steps": 1}
    trainer = pl.Trainer(max_epochs=3, **options, **quiet)
    trainer.fit(module, datamodule=data)
    # Lightning's own words stay, its advertisements do not.
    assert "max_epochs=3" in caplog.text
    assert "Tip" not in caplog.text
    each = math.ceil(len(data.split.train) / 64)
    assert trainer.global_step == trainer.estimated_stepping_batches == 3 * each
    # At the end of the cosine, as the configuration has it.
    rate = trainer.optimizers[0].param_groups[0]["lr"]
    assert rate == pytest.approx(recipe.training.learning_rate * recipe.training.final_rate)
    assert 0 < trainer.callback_metrics["loss"] < 1
    assert trainer.callback_metrics["explained_variance"] == pytest.approx(module.explained)
    model = module.phase_model(data)
    model.save(tmp_path / "own.model")
    assert PhaseModel.load(tmp_path / "own.model").sha256 == model.sha256
    assert model.health.explained_by_joint


def test_epochs_of_ones_own_trainer_go_on_from_a_checkpoint(tmp_path):
    """The windows of a resumed epoch are those that it would have had."""
    recipe = tiny_phases(**{"training.batch_size": 64})
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}

    class Seen(pl.Callback):
        def __init__(self):
            self.sums = []

        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            self.sums.append(float(batch.sum()))

    def fitted(epochs, checkpoint=None):
        seen, data = Seen(), PhaseData(clips, recipe)
        kept = ModelCheckpoint(tmp_path, save_last=True)
        module = PhaseModule(recipe, data.signals)
        options = {"accelerator": "cpu", "limit_train_batches": 3, "callbacks": [seen, kept]}
        trainer = pl.Trainer(max_epochs=epochs, **options, **quiet)
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=False)
        return seen.sums

    clips = swings(3, 4.0)
    whole, first = fitted(2), fitted(1)
    assert len(set(whole)) == 6
    assert first + fitted(2, tmp_path / "last-v1.ckpt") == whole


def test_unfinished_training_is_not_overwritten(tmp_path):
    clips = swings(6, 6.0)
    with pytest.raises(KeyboardInterrupt):
        train_phase(clips, tiny_phases(), folder=tmp_path, progress=Stop(0.5), accelerator="cpu")
    with pytest.raises(CheckpointError, match="unfinished training lies here"):
        train_phase(clips, tiny_phases(), folder=tmp_path, accelerator="cpu")
    with pytest.raises(CheckpointError, match=r"network\.channels was 2, now 3"):
        train_phase(clips, tiny_phases(**{"network.channels": 3}), folder=tmp_path, resume=True)
    for content in (b"PK broken", b""):
        (tmp_path / "resume.ckpt").write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged"):
            train_phase(clips, tiny_phases(), folder=tmp_path, resume=True)
    with pytest.raises(CheckpointError, match="no checkpoint"):
        train_phase(clips, tiny_phases(), folder=tmp_path / "work", resume=True)
    assert not (tmp_path / "work").exists()


def test_clips_shorter_than_a_window_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="no clip is as long as a window"):
        train_phase(swings(3, 0.5), tiny_phases(), folder=tmp_path)


def held_pose() -> Clip:
    clip, _ = swinging(1.0)
    still = (np.repeat(values[:1], 400, 0) for values in (clip.rotations, clip.translations))
    return Clip(clip.skeleton, *still, 60.0, name="held")


def test_held_pose_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="nothing moves"):
        train_phase(ClipStore.from_clips([held_pose()]), tiny_phases(), folder=tmp_path)


def test_a_held_clip_among_moving_ones_gives_no_nan(tmp_path):
    clips = ClipStore.from_clips([*(swinging(1.0, seed=i)[0] for i in range(4)), held_pose()])
    model = train_phase(clips, tiny_phases(), folder=tmp_path, accelerator="cpu")
    assert np.isfinite(model.encode(held_pose()).parameters.manifold()).all()


def test_bfloat16_training_runs(tmp_path):
    model = train_phase(
        swings(3, 4.0), tiny_phases(), folder=tmp_path, accelerator="cpu", precision="bf16-mixed"
    )
    assert np.isfinite(model.health.explained_variance)


def test_watching_shows_the_training_and_leaves_it_alone(tmp_path):
    views, recipe = [], tiny_phases(**{"training.learning_rate": 0.02})
    watched = train_phase(
        swings(6, 6.0), recipe, folder=tmp_path / "one", watch=views.append, accelerator="cpu"
    )
    alone = train_phase(swings(6, 6.0), recipe, folder=tmp_path / "two", accelerator="cpu")
    assert watched.sha256 == alone.sha256
    assert len(views) >= 20
    assert views[-1].windows == views[-1].of == 320
    assert views[-1].model.sha256 == watched.sha256 != views[0].model.sha256
    assert [view.windows for view in views] == sorted({view.windows for view in views})
    assert views[-1].loss < views[0].loss
    assert views[-1].explained > views[0].explained
    np.testing.assert_allclose(views[-1].epoch, 320 / len(views[-1].split.train))


def test_health_names_channels_of_one_frequency_and_ragged_ones():
    frequency = np.tile([1.0, 1.02, 0.98, 1.0, 2.0, 0.5], (600, 1))
    phase = np.cumsum(frequency / 60.0, 0)
    phase[:, 4] = np.random.default_rng(0).random(600)
    amplitude = np.ones_like(phase)
    clip = PhaseParameters(wrapped(phase), frequency, amplitude, 0 * phase)
    health = measure([clip], 60.0, np.ones(3), np.full(3, 9.0), ("a", "b", "c"))
    same, ragged = health.findings
    assert same == (
        "channels 0, 1, 2, 3 have one frequency, 1.00 Hz: fewer (network.channels, such as 4) give "
        "a plainer manifold, at some cost of explained variance"
    )
    assert "at their frequency: 4; " in ragged
    assert checked_record(Health, json.loads(json.dumps(health.as_mapping())), "health") == health
    # The channels of a baseline are limbs, which share the rhythm.
    assert not any("have one" in each for each in measure([clip], 60.0).findings)
