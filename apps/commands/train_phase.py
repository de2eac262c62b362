"""`deepphase train phase`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options.groups import StoreOptions, TrainingOptions, refuse_for_songs
from apps.terminal import list_left_out, next_step, note, progress
from apps.training.resumable import finish, resumable, work_folder
from deepphase.errors import DeepPhaseError
from deepphase.phase.config import NetworkConfig, PhaseConfig, TrainingConfig
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.signal_corpus import SignalCorpus


def command(
    store: Path,
    output: Path,
    config: str = "default",
    network: NetworkConfig = NetworkConfig(),  # noqa: B008 (frozen; the config replaces it)
    training: TrainingConfig = TrainingConfig(),  # noqa: B008
    features: str | None = None,
    report: Path | None = None,
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train a phase model on clips or songs, without labels, and report how well it works.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file; or a folder of songs, or one song.
    output
        Model file to write. A report is written to a folder beside it.
    config
        Config of the network and its training: a YAML file, or the name of a shipped one
        (configs/phase).
    features
        Train on the songs in the folder, even if it holds motion as well, and on these audio
        features, separated by commas, as in mel,chroma,onset_strength.
    report
        Folder for the report; MODEL.report beside the model if not given.
    """
    from apps.reports.training_report import training_report
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.prepare import corpus_of
    from deepphase.corpus.songs import holds_only_songs
    from deepphase.phase.training.train import train_phase

    work = work_folder(output, resume=run.resume, restart=run.restart)
    folder = output.with_name(f"{output.name}.report") if report is None else report
    if report is not None:
        check_writable(report / "index.html")
    options = reading.corpus
    trainer = run.trainer(output)
    with progress() as shown:
        corpus: Any
        if features is not None or holds_only_songs(store):
            refuse_for_songs(reading)
            corpus = _songs(store, features, shown)
        else:
            corpus = corpus_of(store, progress=shown, **options)
        with resumable(work, restart=run.restart):
            model = train_phase(
                corpus,
                PhaseConfig(network, training),
                folder=work,
                resume=run.resume,
                description=options["description"],
                progress=shown,
                **trainer,
            )
    if model is None:  # another device's process
        return
    model.save(output)
    metrics = finish(work, output)
    _say(model, output)
    with progress() as shown:
        page = training_report(model, corpus, folder, metrics=metrics, progress=shown)
    note(f"report: {page}")
    next_step("encode", output, store, "-o", "phases")


def _songs(path: Path, features: str | None, shown: Progress) -> SignalCorpus:
    """The audio features of the songs that a path means; notes that they are songs."""
    from deepphase.corpus.songs import find_songs
    from deepphase.phase.signal_corpus import SignalCorpus
    from deepphase.phase.song_signals import SONG_FEATURES

    named = None if features is None else tuple(name.strip() for name in features.split(","))
    refused: list[DeepPhaseError] = []
    songs = find_songs(path)
    corpus = SignalCorpus.of_songs(
        songs, named or SONG_FEATURES, progress=shown, refused=refused if len(songs) > 1 else None
    )
    list_left_out("left out", refused)
    minutes = len(corpus.values) / corpus.signals.fps / 60
    note(
        f"songs, not motion: {len(corpus.starts)} of {minutes:.1f} minutes in all; learning from "
        + ", ".join(corpus.signals.features)
    )
    return corpus


def _say(model: Any, output: Path) -> None:
    for line in model.health.words():
        note(line)
    note(f"model: {output}")
