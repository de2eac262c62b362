"""`deepphase train controller`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions, parse_size
from apps.terminal import next_step, note, progress
from apps.training.processes import processes, shared_corpus
from apps.training.resumable import finish, resumable, work_folder
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
    options = reading.corpus
    limit = None if memory is None else parse_size(memory)
    trainer = run.trainer(output)
    with processes(trainer) as world, progress() as report_progress:
        work = world.first(lambda: work_folder(output, resume=run.resume, restart=run.restart))
        loaded = world.together(lambda: None if model is None else load_model(model))
        grounds = world.together(lambda: None if terrain is None else ClipGrounds.read(terrain))
        balls = world.together(lambda: None if ball is None else ClipBalls.read(ball))
        corpus = shared_corpus(world, store, work, progress=report_progress, **options)
        phases = None if loaded is None else for_clips(loaded, corpus, options["description"])
        data = world.together(
            lambda: ControllerData.read(
                corpus,
                controller_config,
                phases,
                grounds=grounds,
                balls=balls,
                description=options["description"],
                memory=limit,
                progress=report_progress,
            )
        )
        with resumable(world, work, restart=run.restart):
            made = train_controller(
                data,
                controller_config,
                folder=work,
                resume=run.resume,
                progress=report_progress,
                **trainer,
            )
    if made is None:  # another device's process
        return
    made.save(output)
    finish(work, output)
    for line in health_lines(made.health):
        note(line)
    note(f"controller: {output}")
    next_step("control", output, "--path", "square", "-o", "run")
