"""`deepphase train causal`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import next_step, note
from apps.training.command import TrainingInputs, run_training
from deepphase.errors import ParameterError


def command(
    store: Path,
    output: Path,
    model: Path | None = None,
    frames: int = 1_500_000,
    varied: int = 3,
    seed: int = 0,
    run: TrainingOptions = TrainingOptions(),  # noqa: B008 (frozen)
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train a causal encoder, with which `deepphase stream` gives better current phases.

    A periodic autoencoder needs half a window of the future. A causal encoder learns from its
    phases of whole windows to give them out of the past alone.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file: best the clips of the model's
        training.
    output
        Phase model to write: the model with the causal encoder. It may be the model's own file.
    model
        Phase model of motion of `deepphase train phase`.
    frames
        Number of frames to train on.
    varied
        Number of varied copies of each clip, with another tempo and livelier or calmer limbs.
    seed
        Random seed of the copies, the initial weights and the order of the frames.
    """
    from deepphase.phase.causal.data import CausalTraining
    from deepphase.phase.causal.training import train_causal
    from deepphase.phase.extractor import load_extractor
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.signals import JointVelocities

    if model is None:
        raise ParameterError(
            "no phase model is given", hint="give --model: the file of `deepphase train phase`"
        )
    given = load_extractor(model)
    if not isinstance(given, PhaseModel):
        raise ParameterError(
            "baselines need the whole clip", hint="give a model of `deepphase train phase`"
        )

    def prepare(inputs: TrainingInputs) -> partial[PhaseModel[JointVelocities] | None]:
        training = CausalTraining(frames, varied, seed=seed)
        return partial(train_causal, inputs.clips(store), given, training)

    trained = run_training(output, run, reading, prepare, part="causal")
    if trained is None:  # a process of another device; the first one saves the model
        return
    for line in trained.causal.words() if trained.causal else ():
        note(line)
    note(f"model: {output}")
    next_step("stream", output, "-")
