"""`deepphase train phase`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options.groups import (
    StoreOptions,
    TrainingOptions,
    parse_size,
    refuse_for_songs,
)
from apps.terminal import list_left_out, next_step, note, progress
from apps.training.any_skeleton import report_pages, train_for_any_skeleton
from apps.training.command import TrainingInputs, run_training
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.phase.config import ANY_SKELETON, NetworkConfig, PhaseConfig, TrainingConfig
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.signal_corpus import SignalCorpus


def command(
    stores: list[Path],
    output: Path,
    config: str = "default",
    network: NetworkConfig = NetworkConfig(),  # noqa: B008 (frozen; the config replaces it)
    training: TrainingConfig = TrainingConfig(),  # noqa: B008
    features: str | None = None,
    start: Path | None = None,
    report: Path | None = None,
    memory: str | None = None,
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train a phase model on clips or songs, without labels, and report how well it works.

    Parameters
    ----------
    stores
        A store, a folder of motion files, or one motion file; or a folder of songs, or one song.
        Several of them, with different skeletons, for --config any_skeleton.
    output
        Model file to write.
    config
        Config of the network and its training: a YAML file, or the name of a shipped one
        (configs/phase).
    features
        Audio features to train on, separated by commas, as in mel,chroma,onset_strength. The songs
        in the folder are then used even if it contains motion as well.
    start
        Phase model whose weights the training starts from, such as a model for any skeleton. Its
        network replaces that of the config.
    report
        Folder for the report; OUTPUT.report if not given.
    memory
        Memory for the signals of each process, such as 2GB or 500MB. Larger signals are kept in a
        temporary file, and windows are shuffled within blocks that fit. No limit if not given.
    """
    from apps.reports.training_report import training_report
    from deepphase.corpus.songs import holds_only_songs
    from deepphase.phase.training.train import train_phase
    from deepphase.training.metrics import metrics_beside

    if network.preset == ANY_SKELETON:
        if features is not None or start is not None or memory is not None:
            raise ParameterError(
                "--features, --start and --memory apply to models of one skeleton or of songs"
            )
        train_for_any_skeleton(stores, output, PhaseConfig(network, training), report, run, reading)
        return
    if len(stores) > 1:
        raise ParameterError(
            f"{len(stores)} stores, but a model of one skeleton is trained on one",
            hint="--config any_skeleton trains one model on several",
        )
    store = stores[0]
    folder = output.with_name(f"{output.name}.report") if report is None else report
    limit = None if memory is None else parse_size(memory)
    read: list[Any] = []

    def prepare(inputs: TrainingInputs) -> partial[PhaseModel | None]:
        world, description = inputs.world, inputs.description
        corpus: Any
        if features is not None or holds_only_songs(store):
            refuse_for_songs(reading)
            corpus = world.first_then_others(lambda: _songs(store, features, inputs.progress))
        else:
            corpus = inputs.clips(store)
        read.append(corpus)
        first = None
        if start is not None:
            first = world.together(lambda: _start(start, corpus, description))
        chosen = network if first is None else first.config.network
        return partial(
            train_phase,
            corpus,
            PhaseConfig(chosen, training),
            description=description,
            memory=limit,
            start=first,
        )

    model = run_training(output, run, reading, prepare, writes=report_pages(report))
    if model is None:  # a process of another device; the main process saves the model
        return
    metrics, corpus = metrics_beside(output), read[0]
    for line in model.health.words() if model.health else ():
        note(line)
    note(f"model: {output}")
    with progress() as on_progress:
        page = training_report(model, corpus, folder, metrics=metrics, progress=on_progress)
    note(f"report: {page}")
    next_step("encode", output, store, "-o", "phases")


def _start(path: Path, corpus: Any, description: dict[str, Any] | None) -> PhaseModel:
    """The model that a training starts from; one for any skeleton is bound to the clips."""
    from deepphase.corpus.clip_store import ClipStore
    from deepphase.phase.extractor import for_clips, load_model, reads_songs
    from deepphase.phase.model import PhaseModel

    model: Any = PhaseModel.load(path) if reads_songs(path) else load_model(path)
    if isinstance(corpus, ClipStore):
        model = for_clips(model, corpus, description)
    if not isinstance(model, PhaseModel):
        raise ParameterError(
            "a training starts from a trained network of the same kind",
            hint="give a file of `deepphase train phase`",
            path=path,
        )
    return model


def _songs(path: Path, features: str | None, on_progress: Progress) -> SignalCorpus:
    """Audio features of the songs at a path; prints how many songs there are."""
    from deepphase.corpus.songs import find_songs
    from deepphase.phase.signal_corpus import SignalCorpus
    from deepphase.phase.song_signals import SONG_FEATURES

    names = None if features is None else tuple(name.strip() for name in features.split(","))
    refused: list[DeepPhaseError] = []
    songs = find_songs(path)
    corpus = SignalCorpus.of_songs(
        songs,
        names or SONG_FEATURES,
        progress=on_progress,
        refused=refused if len(songs) > 1 else None,
    )
    list_left_out("left out", refused)
    minutes = len(corpus.values) / corpus.signals.fps / 60
    note(
        f"songs: {len(corpus.starts)} with {minutes:.1f} minutes in all; training on "
        + ", ".join(corpus.signals.features)
    )
    return corpus
