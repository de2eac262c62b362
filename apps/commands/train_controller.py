"""`deepphase train controller`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.resumable_training import finish, hardware, resumable, work_folder
from apps.terminal import note, progress
from controllers.configuration import ControllerConfig
from controllers.networks.experts import ExpertsConfig
from controllers.networks.network import ControllerNetworkConfig
from controllers.schema_config import SchemaConfig
from controllers.training_config import ControllerTraining
from deepphase.errors import ParameterError

RECIPES = ControllerConfig


def command(
    store: Path,
    output: Path,
    model: Path | None = None,
    config: str = "experts",
    network: ControllerNetworkConfig = ExpertsConfig(),  # noqa: B008 (frozen; the recipe replaces it)
    schema: SchemaConfig = SchemaConfig(),  # noqa: B008
    training: ControllerTraining = ControllerTraining(),  # noqa: B008
    skeleton: str | None = None,
    resume: bool = False,
    restart: bool = False,
    accelerator: str = "auto",
    devices: str = "auto",
    precision: str = "32-true",
    strategy: str = "auto",
    skeleton_description: str | None = None,
) -> None:
    """Learn to move along paths from clips and their phases, and say whether it worked.

    Parameters
    ----------
    store
        A store, or a folder of motion files, or one such file.
    output
        The controller's file to write.
    model
        The phase model: of `deepphase train phase`, or a baseline of `deepphase fit phases`.
        Networks without phases need none.
    config
        A recipe: pfnn, experts, mann, lmp, no_phase, vinn, nn, nn_phase, erd, erd_phase, gp, pfgp,
        the papers' own trainings (experts_paper, pfnn_paper, vinn_paper), or a YAML file.
    skeleton
        Which skeleton group, where there are several.
    resume
        Go on with an unfinished training of this controller.
    restart
        Discard an unfinished training of this controller.
    accelerator, devices, precision, strategy
        Lightning's options of these names, as in --accelerator gpu --devices 2 --precision
        bf16-mixed.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    """
    from controllers.data.controller_data import ControllerData
    from controllers.networks.registry import network_kind
    from controllers.schema_config import GATES_OF_PHASES
    from controllers.training import train_controller
    from controllers.training_health import words
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import load_extractor

    recipe = ControllerConfig.load(config)
    recipe = ControllerConfig(recipe.name, network, schema, training)
    if network_kind(recipe.name).gate in GATES_OF_PHASES and model is None:
        raise ParameterError(
            f"{recipe.name} needs phases",
            hint="give --model: what `deepphase train phase` or `deepphase fit phases` wrote",
        )
    work = work_folder(output, resume=resume, restart=restart)
    description = told_skeleton(skeleton_description)
    phases = None if model is None else load_extractor(model)
    with progress() as shown:
        corpus = corpus_of(store, skeleton=skeleton, description=description, progress=shown)
        data = ControllerData.read(corpus, recipe, phases, description=description, progress=shown)
        with resumable(work, restart=restart):
            made = train_controller(
                data,
                recipe,
                folder=work,
                resume=resume,
                progress=shown,
                **hardware(accelerator, devices, precision, strategy),
            )
    if made is None:  # another device's process
        return
    made.save(output)
    finish(work, output)
    for line in words(made.health):
        note(line)
    note(f"controller: {output}")
