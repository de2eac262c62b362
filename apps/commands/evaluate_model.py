"""`deepphase evaluate`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.terminal import note, progress


def command(
    model: Path,
    store: Path,
    output: Path,
    skeleton: str | None = None,
    queries: int = 10_000,
    seed: int = 0,
    unit: str | None = None,
    up: str | None = None,
    skeleton_description: str | None = None,
) -> None:
    """Measure a phase model on clips: one HTML page and one JSON file.

    Parameters
    ----------
    model
        A phase model or a baseline: what `deepphase train phase` or `deepphase fit phases` wrote.
    store
        A store, a folder of motion files or one such file; best of clips that it never saw.
    output
        Folder for index.html, player.html and report.json.
    skeleton
        Which skeleton group, where there are several.
    queries
        Frames that alignment and future ranks are measured on.
    seed
        Of their choice.
    unit, up
        Unit and up axis of the files, inferred if not given (a store has them already).
    skeleton_description
        A YAML file that says which point is which, for point tracks.
    """
    from apps.reports.evaluation_report import evaluation_report
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import load_extractor

    trained = load_extractor(model)
    with progress() as shown:
        clips = corpus_of(
            store,
            skeleton=skeleton,
            fps=trained.fps,
            unit=unit,
            up=up,
            description=told_skeleton(skeleton_description),
            progress=shown,
        )
        page, measures, health = evaluation_report(
            trained, clips, output, queries=queries, seed=seed, progress=shown
        )
    for line in health.words():
        note(line)
    for measure in measures:
        note(f"{measure.name}: {measure.value:.4g} {measure.unit}".rstrip())
    note(f"report: {page}")
