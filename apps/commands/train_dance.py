"""`deepphase train dance`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.resumable_training import finish, hardware, resumable, work_folder
from apps.terminal import note, progress, warn
from controllers.dance_config import DanceConfig, DanceTraining, MusicConfig
from controllers.networks.experts import ExpertsConfig
from controllers.networks.network import ControllerNetworkConfig
from controllers.schema_config import SchemaConfig
from controllers.training_config import ControllerTraining
from deepphase.errors import ParameterError

RECIPES = DanceConfig


def command(
    dances: Path,
    output: Path,
    model: Path | None = None,
    config: str = "experts",
    network: ControllerNetworkConfig = ExpertsConfig(),  # noqa: B008 (frozen; the recipe replaces it)
    schema: SchemaConfig = SchemaConfig(),  # noqa: B008
    training: ControllerTraining = ControllerTraining(),  # noqa: B008
    music: MusicConfig = MusicConfig(),  # noqa: B008
    dance: DanceTraining = DanceTraining(),  # noqa: B008
    songs: Path | None = None,
    unit: str | None = None,
    up: str | None = None,
    skeleton: str | None = None,
    resume: bool = False,
    restart: bool = False,
    accelerator: str = "auto",
    devices: str = "auto",
    precision: str = "32-true",
    strategy: str = "auto",
    skeleton_description: str | None = None,
) -> None:
    """Learn to dance from clips with a song beside each, and say whether it worked.

    A song lies beside its clip and has its name (.wav, .flac, .ogg, .mp3). Clips that are points
    get a skeleton first, as `deepphase rig` gives them.

    Parameters
    ----------
    dances
        A folder of motion files with their songs, or a store of it.
    output
        The dancer's file to write.
    model
        The phase model, as `deepphase train phase` wrote it. Networks without phases need none.
    config
        A recipe: experts, no_phase, paper, or a YAML file.
    songs
        The folder that was prepared into a store, where the store lies elsewhere.
    unit, up
        Unit and up axis of the files, inferred if not given.
    skeleton
        Which skeleton group, where there are several.
    resume
        Go on with an unfinished training of this dancer.
    restart
        Discard an unfinished training of this dancer.
    accelerator, devices, precision, strategy
        Lightning's options of these names, as in --accelerator gpu --devices 2 --precision
        bf16-mixed.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    """
    from controllers.dance_health import dance_words
    from controllers.dance_songs import danced
    from controllers.dance_training import DanceLessons, train_dance
    from controllers.networks.registry import network_kind
    from controllers.schema_config import GATES_OF_PHASES
    from controllers.training_health import words
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import load_extractor

    name = DanceConfig.load(config).controller.name
    recipe = DanceConfig.of_sections(name, network, schema, training, music, dance)
    if network_kind(name).gate in GATES_OF_PHASES and model is None:
        raise ParameterError(
            f"{name} needs phases, and there is no phase model",
            hint=f"first: deepphase rig {dances} -o RIGGED, if these are points; then: deepphase "
            "train phase RIGGED -o MODEL --config dance; then this with --model MODEL",
        )
    work = work_folder(output, resume=resume, restart=restart)
    description = told_skeleton(skeleton_description)
    phases = None if model is None else load_extractor(model)
    with progress() as shown:
        corpus = corpus_of(
            dances,
            skeleton=skeleton,
            unit=unit,
            up=up,
            description=description,
            progress=shown,
        )
        folder = songs or (dances if dances.is_dir() else dances.parent)
        learnt = danced(corpus, folder, description=description, progress=shown)
        for clip, why in learnt.left_out:
            warn(f"{clip}: left out: {why}")
        if learnt.residual_m is not None:
            mean, high = (100.0 * each for each in learnt.residual_m)
            note(
                f"points became a skeleton of {len(learnt.store.skeleton)} joints: residual "
                f"{mean:.2f} cm on average, {high:.2f} cm at the 95th percentile"
            )
        note(
            f"{len(learnt.store)} clips, {learnt.store.minutes:.1f} minutes, to "
            f"{len(learnt.songs)} songs"
        )
        lessons = DanceLessons.read(learnt, recipe, phases, description=description, progress=shown)
        with resumable(work, restart=restart):
            made = train_dance(
                lessons,
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
    health = made.controller.health
    for line in [*words(health), *dance_words(health["dance"], made.reference.values)]:
        note(line)
    note(f"dancer: {output}")
