"""`deepphase evaluate`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ParallelOptions, StoreOptions
from apps.terminal import Outcome, next_step, note, progress


def command(
    model: Path,
    store: Path,
    output: Path,
    queries: int = 10_000,
    seed: int = 0,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
    parallel: ParallelOptions = ParallelOptions(),  # noqa: B008 (frozen)
) -> Outcome:
    """Measure a phase model on clips, and write the result as an HTML page and a JSON file.

    Parameters
    ----------
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`.
    store
        A store, a folder of motion files, or one motion file; preferably clips that the model was
        not trained on.
    output
        Folder for index.html, player.html and report.json.
    queries
        Number of frames on which alignment and future ranks are measured.
    seed
        Random seed for the choice of these frames.
    """
    from apps.reports.evaluation_report import evaluation_report
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.encoding import encode_clips
    from deepphase.phase.extractor import load_extractor

    spread = parallel.parallel
    trained = load_extractor(model)
    check_writable(output / "index.html")
    with progress() as on_progress:
        clips = corpus_of(store, fps=trained.fps, progress=on_progress, **reading.corpus, **spread)
        encoded = encode_clips(model, clips, **{**spread, "workers": parallel.workers or 1})
        page, measures, health = evaluation_report(
            trained,
            clips,
            output,
            queries=queries,
            seed=seed,
            encoded=encoded,
            progress=on_progress,
        )
    for line in health.words():
        note(line)
    for measure in measures:
        note(f"{measure.name}: {measure.value:.4g} {measure.unit}".rstrip())
    note(f"report: {page}")
    next_step("match", "build", store, "--model", model, "-o", "mocap.db")
    return Outcome(
        {
            "model": str(model),
            "store": str(store),
            "report": str(page),
            "health": health.as_mapping(),
            "measures": [
                {"name": each.name, "value": each.value, "unit": each.unit or None}
                for each in measures
            ],
        }
    )
