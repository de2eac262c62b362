"""`deepphase train phase`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options import refuse_for_songs, told_skeleton
from apps.resumable_training import finish, hardware, resumable, work_folder
from apps.terminal import list_left_out, note, progress
from deepphase.errors import DeepPhaseError
from deepphase.phase.configuration import NetworkConfig, PhaseConfig, TrainingConfig
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.signal_corpus import SignalCorpus


def command(
    store: Path,
    output: Path,
    config: str = "default",
    network: NetworkConfig = NetworkConfig(),  # noqa: B008 (frozen; the recipe replaces it)
    training: TrainingConfig = TrainingConfig(),  # noqa: B008
    skeleton: str | None = None,
    resume: bool = False,
    restart: bool = False,
    accelerator: str = "auto",
    devices: str = "auto",
    precision: str = "32-true",
    strategy: str = "auto",
    report: Path | None = None,
    skeleton_description: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
    features: str | None = None,
) -> None:
    """Learn phases from clips or songs without labels, and say at the end whether it worked.

    Parameters
    ----------
    store
        A store, or a folder of motion files, or one such file; or a folder of songs, or one song.
    output
        The model file to write; a report page is written beside it.
    config
        A recipe: a YAML file, or the name of a shipped one.
    skeleton
        Which skeleton group, where there are several.
    resume
        Go on with an unfinished training of this model.
    restart
        Discard an unfinished training of this model.
    accelerator, devices, precision, strategy
        Lightning's options of these names, as in --accelerator gpu --devices 2 --precision
        bf16-mixed.
    report
        Folder of the report; <model>.report beside the model if not given.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    unit, up
        Unit and up axis of the files, inferred if not given (a store has them already).
    file_fps
        Frames a second of the files, where theirs is wrong.
    features
        Learn from the songs in the folder, also where motion lies beside them, and from these
        features of theirs, with commas between (mel,chroma,onset_strength).
    """
    from apps.reports.training_report import training_report
    from deepphase.corpus.prepare import corpus_of
    from deepphase.corpus.song_files import holds_only_songs
    from deepphase.phase.training import train_phase
    from deepphase.replacing import check_writable

    work = work_folder(output, resume=resume, restart=restart)
    folder = output.with_name(f"{output.name}.report") if report is None else report
    if report is not None:
        check_writable(report / "index.html")
    description = told_skeleton(skeleton_description)
    with progress() as shown:
        corpus: Any
        if features is not None or holds_only_songs(store):
            refuse_for_songs(
                skeleton=skeleton,
                unit=unit,
                up=up,
                file_fps=file_fps,
                skeleton_description=skeleton_description,
            )
            corpus = _songs(store, features, shown)
        else:
            corpus = corpus_of(
                store,
                skeleton=skeleton,
                unit=unit,
                up=up,
                file_fps=file_fps,
                description=description,
                progress=shown,
            )
        with resumable(work, restart=restart):
            model = train_phase(
                corpus,
                PhaseConfig(network, training),
                folder=work,
                resume=resume,
                description=description,
                progress=shown,
                **hardware(accelerator, devices, precision, strategy),
            )
    if model is None:  # another device's process
        return
    model.save(output)
    finish(work, output)
    _say(model, output)
    with progress() as shown:
        page = training_report(model, corpus, folder, progress=shown)
    note(f"report: {page}")


def _songs(path: Path, features: str | None, shown: Progress) -> SignalCorpus:
    """The features of the songs that a path means; says aloud that it is songs."""
    from deepphase.corpus.song_files import find_songs
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
