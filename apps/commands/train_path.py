"""`deepphase train path`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apps.edit_files import load_editor
from apps.options.groups import StoreOptions, TrainingOptions, parse_labels
from apps.terminal import note
from apps.training.command import TrainingInputs, run_training


def command(
    store: Path,
    output: Path,
    editor: Path | None = None,
    labels: str | None = None,
    effectors: bool = False,
    windows: int = 16_000,
    seed: int = 0,
    run: TrainingOptions = TrainingOptions(),  # noqa: B008 (frozen)
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Train the networks that lead from paths, or from hands and feet, to the motion of an editor.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file. Clips that walk or run are taken; all
        with --effectors.
    output
        Editor file to write: the editor with path networks. It may be the editor's own file.
    editor
        Editor of `deepphase train editor`, of the clips' skeleton.
    labels
        Take only clips with these labels, as in style=normal,action=walk+run. One style gives
        livelier motion than the mean of many.
    effectors
        Train networks from the paths of hands and feet instead, for `deepphase edit effectors`.
    windows
        Number of windows of 3.2 s to train on.
    seed
        Random seed of the initial weights and of the order of the windows.
    """
    from deepphase.editing.control_data import PathTraining
    from deepphase.editing.control_training import EFFECTOR_BATCH, train_path
    from deepphase.editing.editor import MotionEditor
    from deepphase.editing.effector_motion import effector_networks
    from deepphase.editing.path_motion import path_networks

    wanted = parse_labels(labels) if labels else {}
    training = PathTraining(windows, seed=seed)
    if effectors:
        training = PathTraining(windows, EFFECTOR_BATCH, seed)
    given = load_editor(editor)

    def prepare(inputs: TrainingInputs) -> partial[MotionEditor | None]:
        clips = inputs.clips(store)
        return partial(train_path, clips, given, training, effectors=effectors, labels=wanted)

    part = "effectors" if effectors else "path"
    trained = run_training(output, run, reading, prepare, part=part)
    if trained is None:  # a process of another device; the first one saves the editor
        return
    if effectors:
        moving = effector_networks(trained).limits
        note(f"paths of {', '.join(moving.joints)}, of {moving.clips} clips")
    else:
        limits = path_networks(trained).limits
        note(f"paths up to {limits.speed:.1f} m/s, of {limits.clips} clips")
    note(f"editor: {output}")
