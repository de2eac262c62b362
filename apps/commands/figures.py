"""`deepphase figures`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import note, progress, warn


def command(
    model: Path,
    store: Path,
    output: Path,
    clips: str | None = None,
    color_by: str | None = None,
    compare: str | None = None,
    dark: bool = False,
    png: bool = False,
    skeleton: str | None = None,
    unit: str | None = None,
    up: str | None = None,
) -> None:
    """Draw a phase model on clips: manifold, strips, parameters, windows, similarity.

    Parameters
    ----------
    model
        A phase model or a baseline: what `deepphase train phase` or `deepphase fit phases` wrote.
    store
        A store, a folder of motion files or one such file.
    output
        Folder for index.html and the pictures.
    clips
        Names of clips with commas between them, where * stands for any letters, as in
        walk*,run_01; if not given, some that are spread over the store.
    color_by
        What colours the manifold, with commas between them: clip, time, speed, frequency,
        amplitude, phase or the name of a label; all of them if not given.
    compare
        Other models or baselines, with commas between them, whose view of the same frames is shown.
    dark
        On a dark ground. (Without it, the page follows the reader's colour scheme.)
    png
        Also write every figure as PNG; this needs Chromium.
    skeleton
        Which skeleton group, where there are several.
    unit, up
        Unit and up axis of the files, inferred if not given (a store has them already).
    """
    from apps.reports.figure_material import FigureMaterial
    from apps.reports.figures_page import figures_page
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import load_extractor
    from deepphase.replacing import check_writable

    check_writable(output / "index.html")
    trained = load_extractor(model)
    colours = None if color_by is None else [name.strip() for name in color_by.split(",")]
    names = [] if compare is None else [name.strip() for name in compare.split(",")]
    others = {name: Path(name) for name in names if name}
    with progress() as shown:
        corpus = corpus_of(
            store, skeleton=skeleton, fps=trained.fps, unit=unit, up=up, progress=shown
        )
        material = FigureMaterial.read(
            trained,
            corpus,
            projection_file=model.with_name(f"{model.name}.projection"),
            clips=clips,
            progress=shown,
        )
        compared = {
            name: FigureMaterial.read(
                load_extractor(other),
                corpus,
                projection_file=other.with_name(f"{other.name}.projection"),
                clips=material.chosen,
                progress=shown,
            )
            for name, other in others.items()
        }
        page, images = figures_page(
            material, output, colours=colours, compared=compared, dark=dark, pictures=png
        )
    if images.problem:
        warn(images.problem)
    if images.paths:
        note(f"{len(images.paths)} pictures -> {output}")
    note(f"figures: {page}")
