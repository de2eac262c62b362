"""`deepphase evaluate`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.input_checks import claim_folder
from deepphase.apps.options import parse_names
from deepphase.apps.terminal import clips_of_model, next_step, note, progress, table
from deepphase.corpus.motion_files import is_store


def command(
    model: Path,
    store: Path,
    output: Path,
    queries: int = 10_000,
    against: str | None = None,
    skeleton: str | None = None,
) -> None:
    """Measure a phase model on clips, and write the result as an HTML page and a JSON file.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file; preferably clips that the model was
        not trained on.
    output
        Folder for index.html, which plays some of the clips, and report.json.
    queries
        Number of frames on which alignment and future ranks are measured.
    against
        Phases to measure on the same frames, separated by commas: the baselines contact, pca and
        pfnn, which are fitted to these clips, or files of other models.
    """
    from deepphase.apps.reports.evaluation_report import evaluation_report
    from deepphase.apps.reports.page import headline_table

    claim_folder(output)
    with progress() as shown:
        loaded, clips = clips_of_model(model, store, skeleton, shown)
        page, health, measures = evaluation_report(
            loaded, clips, output, queries=queries, against=parse_names(against), progress=shown
        )
    for line in health.words():
        note(line)
    table(*headline_table(measures, "good"))
    note(f"report: {page}")
    if is_store(store):
        next_step("match", "build", store, "--model", model, "-o", "mocap.db")
    else:
        next_step("prepare", store, "-o", f"{store.stem}.store")
