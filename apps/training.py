"""The frame of all `train` commands, and the files that one of phase models reads and writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import deepphase as dp
from deepphase.apps import terminal
from deepphase.apps.input_checks import claim
from deepphase.apps.options import TrainingOptions
from deepphase.apps.verdicts import phase_verdict
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import is_store
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.files import atomic_write, check_writable
from deepphase.work import Progress

# Bytes that must be free for a model and its checkpoints.
_ROOM = 16_000_000
# Clips that are drawn in the report of a phase model.
_PAGE_CLIPS = 8


class Saveable(Protocol):
    """What a training results in."""

    def save(self, path: Path, /) -> object:
        """Write the file."""


Result = TypeVar("Result", bound=Saveable)


def run_training(
    kind: str,
    output: Path,
    run: TrainingOptions,
    train: Callable[..., Result | None],
    *,
    lines: Callable[[Result], Iterable[str]],
    verdict: Callable[[Result], str],
    pages: Callable[[Result], Iterable[Path]] = lambda trained: (),
    json_report: bool = False,
    part: str = "",
    then: Sequence[object] = (),
) -> None:
    """Train as a command asks, write and report; of several devices all but one are silent."""
    from deepphase.training.folder import (
        check_folder,
        finish,
        kept_until_saved,
        metrics_file,
        unfinished,
    )
    from deepphase.training.task import check_trainer, is_first_process

    report = output.with_name(f"{output.name}.report.json")
    work = output.with_name(f"{output.name}.unfinished")
    trainer, first = run.trainer_options(output), is_first_process()
    if first:
        if not run.resume:
            pages_before = output.with_name(f"{output.name}.report").rglob("index.html")
            for path in (output, report, *pages_before):
                claim(path, beside=output)
        check_writable(output, example="model", room=_ROOM)
        # Inside the folder of an unfinished training, where a killed one leaves temporary files.
        check_writable(metrics_file(work) if os.path.isdir(work) else work)
        check_folder(work, resume=run.resume)
        if json_report:
            check_writable(report)
    check_trainer(trainer)
    with terminal.printing(silent=not first), terminal.progress() as shown, kept_until_saved(work):
        try:
            result = train(progress=shown, folder=work, resume=run.resume, **trainer)
        except KeyboardInterrupt:
            if first and unfinished(work):
                terminal.warn("the same command with --resume continues this training")
            raise
    if result is None:
        return
    result.save(output)
    finish(work, output, part)
    for line in lines(result):
        terminal.note(line)
    terminal.note(f"{kind}: {output}")
    if json_report:
        with atomic_write(report) as file:
            file.write(json.dumps(result.report, indent=1).encode())  # type: ignore[attr-defined]
        terminal.note(f"report: {report}")
    for page in pages(result):
        terminal.note(f"report: {page}")
    terminal.note(verdict(result))
    if then:
        terminal.next_step(*then)


def read_corpora(
    paths: Sequence[Path],
    features: tuple[str, ...] | None,
    skeleton: str | None,
    on_progress: Progress,
    *,
    any_skeleton: bool,
) -> list[Any]:
    """One store or one corpus of songs at some paths, or all skeletons of all paths."""
    from deepphase.corpus.motion_files import holds_only_songs

    if any_skeleton:
        corpora: list[ClipStore] = []
        for path in paths:
            if skeleton is None and is_store(path):
                corpora += [
                    dp.corpus.open_store(path, group.name) for group in dp.corpus.store_groups(path)
                ]
            else:
                corpora.append(terminal.read_corpus(path, skeleton=skeleton, progress=on_progress))
        return corpora
    if features is None and not holds_only_songs(paths[0]):
        return [terminal.read_corpus(paths[0], skeleton=skeleton, progress=on_progress)]
    if skeleton is not None:
        fact = "--skeleton applies to clips, and these are songs"
        raise ParameterError(fact, hint="leave it out")
    return [_songs(paths[0], features, on_progress)]


def _songs(
    path: Path, features: tuple[str, ...] | None, on_progress: Progress
) -> dp.phase.SignalCorpus:
    from deepphase.corpus.songs import find_songs
    from deepphase.phase.song_signals import SONG_FEATURES

    refused, songs = list[DeepPhaseError](), find_songs(path)
    corpus = dp.phase.SignalCorpus.from_songs(
        songs,
        features or SONG_FEATURES,
        progress=on_progress,
        refused=refused if len(songs) > 1 else None,
    )
    terminal.list_left_out("left out", refused)
    minutes = len(corpus.values) / corpus.signals.fps / 60
    names = ", ".join(corpus.signals.features)
    terminal.note(
        f"songs: {len(corpus.starts)} with {minutes:.1f} minutes in all; training on {names}"
    )
    return corpus


def start_model(path: Path, corpus: Any) -> dp.PhaseModel:
    """The model that a training starts from; one for any skeleton is bound to the clips."""
    from deepphase.phase.config import reads_songs

    model: Any = dp.PhaseModel.load(path) if reads_songs(path) else dp.load_model(path)
    if isinstance(corpus, ClipStore):
        model = model.bound(corpus, corpus.description)
    if not isinstance(model, dp.PhaseModel):
        fact = "a training starts from a trained network of the same kind"
        raise ParameterError(fact, hint="give a file of `deepphase train phase`", path=path)
    return model


def model_lines(model: dp.PhaseModel[Any]) -> Iterator[str]:
    """Sentences on a trained model, or on each of its skeletons."""
    yield from model.health.words() if model.health else ()
    for skeleton in model.skeletons:
        yield skeleton.words()


def model_verdict(model: dp.PhaseModel[Any]) -> str:
    """Whether the training of a model worked, on all of its skeletons."""
    if not model.skeletons:
        return phase_verdict(model.health)
    told = {each.name: phase_verdict(each.health) for each in model.skeletons}
    failed = [f"{name}: {text}" for name, text in told.items() if "did not" in text]
    if failed:
        return f"It did not work on {len(failed)} of {len(told)} skeletons: {failed[0]}"
    return f"It worked on all of {len(told)} skeletons"


def model_pages(model: dp.PhaseModel[Any], corpora: list[Any], output: Path) -> Iterator[Path]:
    """Write a report of a trained model, or one for each of its skeletons."""
    from deepphase.apps.reports.phase_pages import FigureData, training_page
    from deepphase.apps.reports.player import takes_of_store
    from deepphase.training.folder import metrics_beside, read_metrics

    folder = output.with_name(f"{output.name}.report")
    for number, corpus in enumerate(corpora):
        part, place = model, folder
        if model.skeletons:
            part = replace(
                model.bound(corpus, corpus.description), health=model.skeletons[number].health
            )
            place = folder / f"{1 + number}_{corpus.group}"
        with terminal.progress() as shown:
            data = FigureData.read(part, corpus, count=_PAGE_CLIPS, progress=shown)
        page = training_page(part, data, read_metrics(metrics_beside(output)))
        if isinstance(corpus, ClipStore):
            page.add_takes(takes_of_store(part, corpus))
        yield page.write(place / "index.html")
