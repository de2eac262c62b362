"""`deepphase figures`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.terminal import next_step, note, progress, warn


def command(
    model: Path,
    store: Path,
    output: Path,
    png: bool = False,
    skeleton: str | None = None,
) -> None:
    """Draw figures of a phase model on clips: manifold, strips, parameters, windows, similarity.

    Parameters
    ----------
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`.
    store
        A store, a folder of motion files, or one motion file.
    output
        Folder for index.html and the PNG files.
    png
        Also write every figure as PNG, which needs Chromium.
    """
    from deepphase.apps.corpus_notes import read_corpus
    from deepphase.apps.reports.phase_pages import FigureData, figures_page
    from deepphase.atomic_write import check_writable
    from deepphase.phase.extractor import load_model

    check_writable(output / "index.html")
    loaded = load_model(model)
    with progress() as on_progress:
        corpus = read_corpus(
            store,
            fps=loaded.fps,
            joints=loaded.signals.joints,
            progress=on_progress,
            skeleton=skeleton,
        )
        data = FigureData.read(
            loaded.bound(corpus, corpus.description),
            corpus,
            projection_file=model.with_name(f"{model.name}.projection"),
            progress=on_progress,
        )
        page, images = figures_page(data, output, pictures=png)
    if images.problem:
        warn(images.problem)
    if images.paths:
        note(f"{len(images.paths)} pictures -> {output}")
    note(f"figures: {page}")
    next_step("evaluate", model, store, "-o", "report")
