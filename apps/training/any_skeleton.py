"""Training of one phase model for any skeleton, from a command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import next_step, note, progress
from apps.training.command import TrainingInputs, run_training
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store, store_groups
from deepphase.formats.array_file import is_array_file
from deepphase.phase.config import PhaseConfig


def report_pages(report: Path | None) -> list[Path]:
    """Page of a report whose folder the user names."""
    return [] if report is None else [report / "index.html"]


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
    from deepphase.phase.any_skeleton.model import AnySkeletonModel, trained_words
    from deepphase.phase.any_skeleton.training import train_any_skeleton
    from deepphase.training.metrics import metrics_beside

    folder = output.with_name(f"{output.name}.report") if report is None else report
    stores: list[ClipStore] = []

    def prepare(inputs: TrainingInputs) -> partial[AnySkeletonModel | None]:
        for path in paths:
            stores.extend(_groups(path, inputs.options) or [inputs.clips(path)])
        return partial(train_any_skeleton, stores, config, description=inputs.description)

    model = run_training(output, run, reading, prepare, writes=report_pages(report))
    if model is None:  # a process of another device; the main process saves the model
        return
    metrics = metrics_beside(output)
    for line in trained_words(model.skeletons):
        note(line)
    note(f"model: {output}")
    for number, (store, trained) in enumerate(zip(stores, model.skeletons, strict=True), start=1):
        bound = model.bound(store, reading.description)
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
