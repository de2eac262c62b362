"""`deepphase train dance`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import next_step, note, warn
from apps.training.command import TrainingInputs, run_training
from controllers.config import ControllerTraining
from controllers.dance.config import DanceConfig, DanceTraining, MusicConfig
from controllers.networks.experts import ExpertsConfig
from controllers.networks.network import ControllerNetworkConfig
from controllers.schema.config import SchemaConfig
from deepphase.errors import ParameterError

CONFIGS = DanceConfig


def command(
    dances: Path,
    output: Path,
    model: Path | None = None,
    config: str = "experts",
    network: ControllerNetworkConfig = ExpertsConfig(),  # noqa: B008 (frozen)
    schema: SchemaConfig = SchemaConfig(),  # noqa: B008
    training: ControllerTraining = ControllerTraining(),  # noqa: B008
    music: MusicConfig = MusicConfig(),  # noqa: B008
    dance: DanceTraining = DanceTraining(),  # noqa: B008
    songs: Path | None = None,
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train a dancer on clips with their songs, and report how well it dances.

    Each song lies beside its clip under the same name (.wav, .flac, .ogg, .mp3, .m4a). A skeleton
    is solved for clips that are point tracks, as `deepphase solve` does.

    Parameters
    ----------
    dances
        A folder of motion files with their songs, or a store made of it.
    output
        Dancer file to write.
    model
        Phase model of `deepphase train phase`. Networks without phases need none.
    config
        Config of the network, its inputs and its training: experts, no_phase, paper, or a YAML
        file.
    songs
        Folder that holds the songs, if the store lies elsewhere.
    """
    from controllers.dance.dancer import Dancer
    from controllers.dance.health import dance_words
    from controllers.dance.path_shares import path_share_words
    from controllers.dance.song_clips import song_clips
    from controllers.dance.training import DanceData, train_dance
    from controllers.networks.registry import network_kind
    from controllers.schema.config import GATES_OF_PHASES
    from controllers.training.health import health_lines
    from deepphase.phase.extractor import for_clips, load_model

    name = DanceConfig.load(config).controller.name
    settings = DanceConfig.of_sections(name, network, schema, training, music, dance)
    if network_kind(name).gate in GATES_OF_PHASES and model is None:
        raise ParameterError(
            f"{name} needs phases, and no phase model is given",
            hint=f"first: deepphase solve {dances} -o SOLVED, if these are points; then: deepphase "
            "train phase SOLVED -o MODEL --config dance; then repeat this with --model MODEL",
        )

    def prepare(inputs: TrainingInputs) -> partial[Dancer | None]:
        world, shown, description = inputs.world, inputs.progress, inputs.description
        loaded = world.together(lambda: None if model is None else load_model(model))
        corpus = inputs.clips(dances)
        folder = songs or (dances if dances.is_dir() else dances.parent)
        learnt = world.first_then_others(
            lambda: song_clips(corpus, folder, description=description, progress=shown)
        )
        for clip, why in learnt.left_out:
            warn(f"{clip}: left out: {why}")
        if learnt.residual_m is not None:
            mean, high = (100.0 * each for each in learnt.residual_m)
            note(
                f"skeleton of {len(learnt.store.skeleton)} joints solved from points: residual "
                f"{mean:.2f} cm on average, {high:.2f} cm at the 95th percentile"
            )
        note(
            f"{len(learnt.store)} clips, {learnt.store.minutes:.1f} minutes, to "
            f"{len(learnt.songs)} songs"
        )
        phases = None if loaded is None else for_clips(loaded, learnt.store, description)
        data = world.together(
            lambda: DanceData.read(
                learnt, settings, phases, description=description, progress=shown
            )
        )
        if data.clocks is not None:
            for line in data.clocks.words():
                note(line)
        return partial(train_dance, data, settings)

    made = run_training(output, run, reading, prepare)
    if made is None:  # in a process of another device
        return
    health = made.controller.health
    words = dance_words(health["dance"], made.reference.values)
    for line in [*health_lines(health), *words, *path_share_words(made.path_shares)]:
        note(line)
    note(f"dancer: {output}")
    next_step("dance", "SONG", "--dancer", output, "-o", "dance")
