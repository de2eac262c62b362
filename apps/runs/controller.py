"""Runs of a controller: parsing of its options, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from apps.runs.report import RunReport, RunSubject, run_report
from apps.runs.request import Goal, RunRequest
from apps.runs.trials import trial_sections
from controllers.data.initial_states import InitialStates
from controllers.runtime.controller import Controller
from controllers.runtime.start import CharacterSource
from deepphase.corpus.clips import clips_in
from deepphase.errors import ParameterError
from deepphase.motion.resample import resample
from deepphase.phase.extractor import load_extractor
from deepphase.progress import Progress

Form = Literal["cubic", "linear", "constant"]

BLENDS = {"natural": (0.5, 2.0), "balanced": (2.0, 5.0), "responsive": (5.0, 10.0)}
"""Name -> (position bias, direction bias): weight of the goals against the prediction."""


def controller_report(
    source: CharacterSource,
    goals: Mapping[str, Goal],
    request: RunRequest,
    folder: Path,
    *,
    trials: bool = False,
    file: str = "",
    progress: Progress | None = None,
) -> RunReport:
    """Run a controller along every goal, write all files into a folder, and measure.

    Parameters
    ----------
    trials
        Also path errors at three blendings, a long run, sensitivity and variation.
    file
        Name of the controller's file.

    Raises
    ------
    ParameterError
        If the controller cannot follow a goal.
    """
    controller = source.controller
    note = (
        "Feet in contact are locked, which reduces skating. --no-foot-ik shows the network's own "
        "skating."
        if source.settings.foot_ik
        else "Feet are not locked."
    )
    subject = RunSubject(
        source,
        f"Runs of {file or controller.name}",
        f"Motion of a controller ({controller.name}).",
        {"controller": file},
        {},
        note,
    )
    sections = trial_sections(controller, seed=source.seed, progress=progress) if trials else []
    return run_report([subject], goals, request, folder, sections=sections, progress=progress)


def parse_blend(text: str) -> tuple[float, float]:
    """The biases (positions, directions) of a name, or of two numbers as in "0.5,2"."""
    if text in BLENDS:
        return BLENDS[text]
    try:
        position, direction = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"no blend {text!r}", hint=f"give {', '.join(BLENDS)}, or two numbers as in 0.5,2"
        ) from None
    return position, direction


def parse_label(text: str | None, controller: Controller) -> dict[str, str]:
    """Label -> value of "style=old"; ParameterError if the controller has no such label."""
    if not text:
        return {}
    name, _, value = (part.strip() for part in text.partition("="))
    own, known = controller.schema.config.label, controller.schema.label_values
    if not value:
        raise ParameterError(
            f"{text!r} is not of the form label=value", hint="write it as in style=happy"
        )
    if name != own:
        raise ParameterError(
            f"no label {name!r}",
            hint=f"the controller is steered by {own!r}" if own else "the controller has no label",
        )
    if value not in known:
        raise ParameterError(
            f"{name} {value!r} is not among the controller's labels",
            hint=f"known: {', '.join(known)}",
        )
    return {name: value}


def start_of_file(
    controller: Controller,
    file: Path,
    frame: int,
    model: Path | None,
    labels: Mapping[str, str],
) -> InitialStates:
    """A frame of a motion file, at the controller's rate.

    Raises
    ------
    ParameterError, SkeletonError
        If there is no such frame, the skeleton differs, or the phase model is not the one that the
        controller was trained with.
    """
    phases = None if model is None else load_extractor(model)
    controller.check_phases(phases)
    entries = clips_in([file])
    if len(entries) != 1:
        raise ParameterError(f"{len(entries)} clips, but one is needed", path=file)
    clip = entries[0].load()
    if clip.fps != controller.fps:
        clip = resample(clip, controller.fps)
    clip = replace(clip, labels=dict(clip.labels) | dict(labels))
    return InitialStates.of_clip(clip, np.array([frame]), controller.schema, phases)


def in_form(controller: Controller, form: Form) -> Controller:
    """A controller with its PFNN in this form; "cubic" is exact.

    Raises ParameterError for other networks.
    """
    return controller if form == "cubic" else controller.precomputed(form)
