"""`deepphase figures`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.options.groups import StoreOptions
from deepphase.apps.terminal import next_step, note, progress, warn


def command(
    model: Path,
    store: Path,
    output: Path,
    clips: str | None = None,
    color_by: str | None = None,
    compare: str | None = None,
    png: bool = False,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
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
    clips
        Names of the clips to draw, separated by commas, where * matches any text, as in
        walk*,run_01. If not given, an even selection of the clips.
    color_by
        Colours of the manifold, separated by commas: clip, time, speed, frequency, amplitude,
        phase, or the name of a label. All of them if not given.
    compare
        Other models or baselines, separated by commas, to draw on the same frames.
    png
        Also write every figure as PNG, which needs Chromium.
    """
    from deepphase.apps.corpus_notes import note_chosen_skeleton
    from deepphase.apps.reports.figure_data import FigureData
    from deepphase.apps.reports.figures_page import figures_page
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import load_model

    check_writable(output / "index.html")
    loaded = load_model(model)
    colours = None if color_by is None else [name.strip() for name in color_by.split(",")]
    names = [] if compare is None else [name.strip() for name in compare.split(",")]
    others = {name: Path(name) for name in names if name}
    with progress() as on_progress:
        corpus = corpus_of(
            store,
            fps=loaded.fps,
            joints=loaded.signals.joints,
            progress=on_progress,
            **reading.corpus,
        )
        data = FigureData.read(
            loaded.bound(corpus, reading.description),
            corpus,
            projection_file=model.with_name(f"{model.name}.projection"),
            clips=clips,
            progress=on_progress,
        )
        compared = {
            name: FigureData.read(
                load_model(other).bound(corpus, reading.description),
                corpus,
                projection_file=other.with_name(f"{other.name}.projection"),
                clips=data.chosen,
                progress=on_progress,
            )
            for name, other in others.items()
        }
        page, images = figures_page(data, output, colours=colours, compared=compared, pictures=png)
    note_chosen_skeleton(corpus, store)
    if images.problem:
        warn(images.problem)
    if images.paths:
        note(f"{len(images.paths)} pictures -> {output}")
    note(f"figures: {page}")
    next_step("evaluate", model, store, "-o", "report")
