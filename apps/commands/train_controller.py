"""`deepphase train controller`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions, parse_size
from apps.terminal import next_step, note
from apps.training.command import TrainingInputs, run_training
from controllers.config import ControllerConfig, ControllerTraining
from controllers.networks.experts import ExpertsConfig
from controllers.networks.network import ControllerNetworkConfig
from controllers.schema.config import SchemaConfig
from deepphase.errors import ParameterError

CONFIGS = ControllerConfig


def command(
    store: Path,
    output: Path,
    model: Path | None = None,
    terrain: list[Path] | None = None,
    ball: list[Path] | None = None,
    memory: str | None = None,
    config: str = "experts",
    network: ControllerNetworkConfig = ExpertsConfig(),  # noqa: B008 (frozen)
    schema: SchemaConfig = SchemaConfig(),  # noqa: B008
    training: ControllerTraining = ControllerTraining(),  # noqa: B008
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train a controller on clips and their phases, and report how well it follows paths.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file.
    output
        Controller file to write.
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`. Networks
        without phases need none.
    terrain
        Folders and files of ground under the clips, from `deepphase fit ground` on the same store.
        The controller then has the heights of the ground among its inputs.
    ball
        Folders and files of balls of the clips, from `deepphase fit ball` on the same store. The
        controller then dribbles.
    config
        Config of the network, its inputs and its training: a YAML file, or one of pfnn, experts,
        mann, lmp, no_phase, vinn, nn, nn_phase, erd, erd_phase, gp, pfgp, experts_paper,
        pfnn_paper, vinn_paper, ball and ball_no_phase.

    Other Parameters
    ----------------
    memory
        Memory for the training frames, such as 2GB or 500MB. Larger ones are kept in a temporary
        file, from which batches are read. 1 GiB if not given.
    """
    from controllers.ball.ball_file import ClipBalls
    from controllers.data.controller_data import ControllerData
    from controllers.networks.registry import network_kind
    from controllers.runtime.controller import Controller
    from controllers.schema.config import GATES_OF_PHASES
    from controllers.training.health import health_lines
    from controllers.training.train import train_controller
    from deepphase.phase.extractor import for_clips, load_model
    from deepphase.terrain.grounded_clip import ClipGrounds

    name = ControllerConfig.load(config).name
    if terrain is not None:
        schema = replace(schema, heights=True)
    if ball is not None:
        schema = replace(schema, ball=True)
    controller_config = ControllerConfig(name, network, schema, training)
    if network_kind(controller_config.name).gate in GATES_OF_PHASES and model is None:
        raise ParameterError(
            f"{controller_config.name} needs phases",
            hint="give --model: the file of `deepphase train phase` or `deepphase fit phases`",
        )
    limit = None if memory is None else parse_size(memory)

    def prepare(inputs: TrainingInputs) -> partial[Controller | None]:
        together = inputs.world.together
        loaded = together(lambda: None if model is None else load_model(model))
        grounds = together(lambda: None if terrain is None else ClipGrounds.read(terrain))
        balls = together(lambda: None if ball is None else ClipBalls.read(ball))
        corpus = inputs.clips(store)
        phases = None if loaded is None else for_clips(loaded, corpus, inputs.description)
        data = together(
            lambda: ControllerData.read(
                corpus,
                controller_config,
                phases,
                grounds=grounds,
                balls=balls,
                description=inputs.description,
                memory=limit,
                progress=inputs.progress,
            )
        )
        return partial(train_controller, data, controller_config)

    made = run_training(output, run, reading, prepare)
    if made is None:  # another device's process
        return
    for line in health_lines(made.health):
        note(line)
    note(f"controller: {output}")
    next_step("control", output, "--path", "square", "-o", "run")
