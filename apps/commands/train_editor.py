"""`deepphase train editor`."""

from __future__ import annotations

import json
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import note, progress
from apps.training.processes import processes, shared_corpus
from apps.training.resumable import finish, resumable, work_folder
from deepphase.editing.config import EditorConfig, EditorNetwork, EditorTraining

CONFIGS = EditorConfig


def command(
    store: Path,
    output: Path,
    config: str = "masked",
    network: EditorNetwork = EditorNetwork(),  # noqa: B008 (frozen; the config replaces it)
    training: EditorTraining = EditorTraining(),  # noqa: B008
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train an editor of motion on clips, and report how well it repairs held-out clips.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file.
    output
        Editor file to write. OUTPUT.report.json is the report.
    config
        Config of the network and its training: a YAML file, or one of masked, manifold and
        synthesis (configs/editor).
    """
    from deepphase.atomic_write import atomic_write, check_writable
    from deepphase.editing.report import report_lines
    from deepphase.editing.train import train_editor

    report_file = output.with_name(f"{output.name}.report.json")
    options = reading.corpus
    trainer = run.trainer(output)
    with processes(trainer) as world, progress() as report_progress:
        work = world.first(lambda: work_folder(output, resume=run.resume, restart=run.restart))
        world.together(lambda: check_writable(report_file))
        corpus = shared_corpus(world, store, work, progress=report_progress, **options)
        with resumable(world, work, restart=run.restart):
            editor = train_editor(
                corpus,
                EditorConfig(network, training),
                folder=work,
                resume=run.resume,
                description=options["description"],
                progress=report_progress,
                **trainer,
            )
    if editor is None:  # a process of another device; the first one saves the editor
        return
    editor.save(output)
    finish(work, output)
    with atomic_write(report_file) as file:
        file.write(json.dumps(editor.report, indent=1).encode())
    for line in report_lines(editor.report):
        note(line)
    note(f"editor: {output}")
    note(f"report: {report_file}")
