"""Training of one phase model for any skeleton, from a command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import next_step, note, progress
from apps.training.processes import processes, shared_corpus
from apps.training.resumable import finish, resumable, work_folder
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store, store_groups
from deepphase.formats.array_file import is_array_file
from deepphase.phase.config import PhaseConfig


def checked_work_folder(output: Path, report: Path | None, run: TrainingOptions) -> Path:
    """Work folder of a training; raises CheckpointError if its files cannot be written."""
    from deepphase.atomic_write import check_writable

    work = work_folder(output, resume=run.resume, restart=run.restart)
    if report is not None:
        check_writable(report / "index.html")
    return work


def train_for_any_skeleton(
    paths: Sequence[Path],
    output: Path,
    config: PhaseConfig,
    report: Path | None,
    run: TrainingOptions,
    reading: StoreOptions,
) -> None:
    """Train on the clips of several skeletons, and write the model and a report per skeleton.

    Parameters
    ----------
    paths
        Stores, of which all skeleton groups are read; folders or motion files of one skeleton.
    report
        Folder of the reports; OUTPUT.report if None.
    """
    from apps.reports.training_report import training_report
    from deepphase.phase.any_skeleton.model import trained_words
    from deepphase.phase.any_skeleton.training import train_any_skeleton

    folder = output.with_name(f"{output.name}.report") if report is None else report
    options = reading.corpus
    trainer = run.trainer(output)
    with processes(trainer) as world, progress() as on_progress:
        work = world.first(lambda: checked_work_folder(output, report, run))
        stores: list[ClipStore] = []
        for path in paths:
            groups = _groups(path, options)
            stores += groups or [shared_corpus(world, path, work, progress=on_progress, **options)]
        with resumable(world, work, restart=run.restart):
            model = train_any_skeleton(
                stores,
                config,
                folder=work,
                resume=run.resume,
                description=options["description"],
                progress=on_progress,
                **trainer,
            )
    if model is None:  # a process of another device; the main process saves the model
        return
    model.save(output)
    metrics = finish(work, output)
    for line in trained_words(model.skeletons):
        note(line)
    note(f"model: {output}")
    for number, (store, trained) in enumerate(zip(stores, model.skeletons, strict=True), start=1):
        bound = model.bound(store, options["description"])
        bound.health = trained.health
        with progress() as on_progress:
            page = training_report(
                bound,
                store,
                folder / f"{number}_{store.group}",
                metrics=metrics,
                progress=on_progress,
            )
        note(f"report: {page}")
    next_step("encode", output, "CLIPS", "-o", "phases")


def _groups(path: Path, options: dict[str, Any]) -> list[ClipStore]:
    """All skeleton groups of a store file, if none is named; empty for other paths."""
    if options["skeleton"] is not None or not is_array_file(path):
        return []
    return [open_store(path, group.name) for group in store_groups(path)]
