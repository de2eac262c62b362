"""`deepphase fit phases`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.terminal import note, progress
from deepphase.errors import ParameterError


def command(
    store: Path,
    output: Path,
    method: str = "contact",
    window_s: float = 2.0,
    normalised: bool = False,
    skeleton: str | None = None,
    skeleton_description: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
) -> None:
    """Phases by a rule, without a training: the baselines that learnt phases are compared with.

    Parameters
    ----------
    store
        A store, or a folder of motion files, or one such file.
    output
        The file to write; encode, evaluate, figures, play and match build take it as a model.
    method
        contact (a phase a foot, of when it stands), pca (a phase a hand or foot, of its velocity
        along its main direction) or pfnn (one phase, of the foot strikes).
    window_s
        Seconds around a frame that its phases are read off.
    normalised
        Of pca: amplitude without unit and not in m/s.
    skeleton
        Which skeleton group, where there are several.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    unit, up
        Unit and up axis of the files, inferred if not given (a store has them already).
    file_fps
        Frames a second of the files, where theirs is wrong.
    """
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import baseline_named, fit_phases
    from deepphase.replacing import check_writable

    kind = baseline_named(method)
    if normalised and "normalised" not in kind.OPTIONS:
        raise ParameterError(f"--normalised is of pca, not of {method}", hint="leave it out")
    check_writable(output)
    if output.is_dir():
        raise ParameterError(
            f"{output} is a folder", hint=f"name the file: -o {output / f'{method}.phases'}"
        )
    description = told_skeleton(skeleton_description)
    with progress() as shown:
        corpus = corpus_of(
            store,
            skeleton=skeleton,
            unit=unit,
            up=up,
            file_fps=file_fps,
            description=description,
            progress=shown,
        )
        made = fit_phases(
            corpus,
            method,
            window_s=window_s,
            normalised=normalised,
            description=description,
            progress=shown,
        )
    made.save(output)
    channels = f"{made.channels} phase{'s' if made.channels > 1 else ''}"
    note(f"{channels}, read off {', '.join(made.limbs)} in windows of {made.window_s:g} s")
    note(f"{made.ORIGIN}; amplitude: {made.AMPLITUDE}")
    note(f"model: {output}")
