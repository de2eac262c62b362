"""`deepphase figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from deepphase.apps.input_checks import claim_folder
from deepphase.apps.terminal import clips_of_model, next_step, note, progress, warn


def command(
    model: Path,
    store: Path,
    output: Path,
    pictures: Literal["png", "svg", "pdf"] | None = None,
    skeleton: str | None = None,
) -> None:
    """Draw figures of a phase model on clips: manifold, strips, parameters, windows, similarity.

    Parameters
    ----------
    output
        Folder for index.html and the pictures.
    pictures
        Also write every figure as a file of this format, which needs Chromium.
    """
    from deepphase.apps.reports.phase_pages import FigureData, figures_page

    claim_folder(output, (path.name for path in output.glob(f"*.{pictures}")))
    saved = model.with_name(f"{model.name}.projection")
    with progress() as shown:
        loaded, corpus = clips_of_model(model, store, skeleton, shown)
        data = FigureData.read(loaded, corpus, projection_file=saved, progress=shown)
        page, images = figures_page(data, output, pictures=pictures)
    if images.problem:
        warn(images.problem)
    if images.paths:
        note(f"{len(images.paths)} pictures -> {output}")
    note(f"figures: {page}")
    next_step("evaluate", model, store, "-o", "report")
