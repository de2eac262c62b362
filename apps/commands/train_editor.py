"""`deepphase train editor`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import note
from apps.training.command import TrainingInputs, note_files, run_training
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
        Config of the network and its training: a YAML file, or masked (configs/editor).
    """
    from deepphase.editing.editor import MotionEditor
    from deepphase.editing.report import report_lines
    from deepphase.editing.training import train_editor

    def prepare(inputs: TrainingInputs) -> partial[MotionEditor | None]:
        config, clips = EditorConfig(network, training), inputs.clips(store)
        return partial(train_editor, clips, config, description=inputs.description)

    editor = run_training(output, run, reading, prepare, json_report=True)
    if editor is None:  # a process of another device; the first one saves the editor
        return
    for line in report_lines(editor.report):
        note(line)
    note_files("editor", output, json_report=True)
