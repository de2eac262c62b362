"""Runs of a controller: parsing of its options, the report, and its trials (--measure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from apps.runs.report import RunReport, RunSubject, run_report
from apps.runs.request import Goal, RunRequest
from apps.runs.section import Section
from controllers.ball.ball_events import parse_ball_events
from controllers.ball.running_balls import BallSettings
from controllers.data.initial_states import InitialStates
from controllers.evaluation.phase_sensitivity import phase_sensitivity
from controllers.evaluation.trials import path_errors, run_variation, survival
from controllers.runtime.controller import Controller
from controllers.runtime.grouped_network import grouped_network
from controllers.runtime.int8_network import int8_network
from controllers.runtime.start import CharacterSource
from deepphase.corpus.clips import clips_in
from deepphase.errors import ParameterError
from deepphase.evaluation.run_measures import RUN_MEASURES
from deepphase.motion.resample import resample
from deepphase.phase.extractor import for_clips, load_model
from deepphase.progress import Progress

_MINUTES = 10.0
_VARIED_RUNS = 100
# Measures of each minute of the long run, which show motion that fades out or drifts.
_BY_MINUTE = (
    *("survived", "joint_rotation", "weaker", "stronger", "frozen", "limb_change"),
    *("contact_speed", "path_error"),
)
_VARIATION = {
    "inter_pose": ("m", "between runs, of the pose at each moment"),
    "inter_step": ("m/s", "between runs, of the speed of the same step"),
    "intra_pose": ("m", "in a run, of poses of one phase"),
    "intra_step": ("m/s", "in a run, of the speed of its steps"),
    "smooth": ("m/s", "95th percentile of joint speeds, relative to the root"),
    "drift": ("m/s", "mean speed of feet in contact"),
    "distance": ("m", "unevenness of successive steps' lengths"),
    "duration": ("s", "unevenness of successive steps' durations"),
    "steps": ("", "steps per run"),
}


def trial_sections(
    controller: Controller, *, seed: int = 0, progress: Progress | None = None
) -> list[Section]:
    """Run all trials of a controller, which takes some minutes."""
    sections = [
        _paths(controller, seed, progress),
        _long_run(controller, seed, progress),
        _variation(controller, seed),
    ]
    try:
        sensitivity = phase_sensitivity(controller)
    except ParameterError:
        return sections
    text = "||dy/dp|| of normalised outputs per radian of phase, with constant inputs"
    sections.append(
        Section(
            "Sensitivity to phase",
            text + ". (Holden et al. 2017: about 0.05 of a PFNN, 0.001 of NN + phase, in units "
            "that the paper does not state.)",
            ("Norm", "Per output", "States"),
            [(sensitivity.norm, sensitivity.per_output, sensitivity.states)],
            [_entry("phase_sensitivity", text, sensitivity.norm, "1/rad", sensitivity.states)],
        )
    )
    return sections


def _paths(controller: Controller, seed: int, progress: Progress | None) -> Section:
    errors = path_errors(controller, seed=seed, progress=progress)
    text = "mean distance from the nearest place of the path"
    return Section(
        "Path errors",
        "Four characters for 20 s at the data's travelling speed, no foot locking: the mean "
        "distance in cm from the nearest point of the path, and from the target at its clock. "
        "Biases are of positions and directions towards the goal (Holden et al. 2017, table 2).",
        ("Path", "Biases", "Nearest (cm)", "Clock (cm)", "Survived"),
        [
            (
                each.path,
                f"{each.position_bias:g}, {each.direction_bias:g}",
                each.nearest_cm,
                each.clock_cm,
                each.survived,
            )
            for each in errors
        ],
        [
            _entry("path_error_cm", text, each.nearest_cm, "cm", 4)
            | {"by": {"path": each.path, "biases": [each.position_bias, each.direction_bias]}}
            for each in errors
        ],
    )


def _long_run(controller: Controller, seed: int, progress: Progress | None) -> Section:
    whole, minutes = survival(controller, minutes=_MINUTES, seed=seed, progress=progress)
    rows = [
        (name, *(_cell(getattr(each, key)) for key in _BY_MINUTE))
        for name, each in [
            *((f"minute {number}", each) for number, each in enumerate(minutes, start=1)),
            ("all", whole),
        ]
    ]
    return Section(
        f"{_MINUTES:g} minutes",
        "Four characters on laps around a square; measures as above, minute by minute.",
        ("", *(key.replace("_", " ") for key in _BY_MINUTE)),
        rows,
        [
            _entry(
                f"long_run_{key}",
                f"over {_MINUTES:g} minutes: {RUN_MEASURES[key][1]}",
                float(value),
                RUN_MEASURES[key][0],
                4,
            )
            for key in _BY_MINUTE
            if (value := getattr(whole, key)) is not None
        ],
    )


def _variation(controller: Controller, seed: int) -> Section:
    values = asdict(run_variation(controller, runs=_VARIED_RUNS, seed=seed))
    count = _VARIED_RUNS if controller.network.network.is_stochastic else 1
    return Section(
        "Variation",
        "100 runs of 4 s straight ahead from one state (Sprenger et al. 2020): variation between "
        "and within runs, and errors. Deterministic networks have one run, so none between runs.",
        ("Component", "Unit", "Value", "Description"),
        [
            (
                name.replace("_", " "),
                _VARIATION[name][0],
                _cell(value) or "not measured",
                _VARIATION[name][1],
            )
            for name, value in values.items()
        ],
        [
            _entry(f"variation_{name}", _VARIATION[name][1], value, _VARIATION[name][0], count)
            for name, value in values.items()
            if value is not None
        ],
    )


def _entry(name: str, definition: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"name": name, "definition": definition, "value": value, "unit": unit, "n": n}


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


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


def ball_settings(
    controller: Controller,
    events: str | None,
    radius_m: float | None,
    rolling: float | None,
    slope: str | None,
) -> BallSettings | None:
    """Settings of the ball of the options of a command; None for a controller without a ball.

    Raises ParameterError if the controller has no ball and an option is given, or one is invalid.
    """
    given = {"radius_m": radius_m, "rolling": rolling}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if slope is not None:
        try:
            x, z = (float(part) for part in slope.split(":"))
        except ValueError:
            raise ParameterError(
                f"a slope {slope!r}", hint="give the rise along x and z, as in 0:0.05"
            ) from None
        changes["slope"] = (x, z)
    if not controller.schema.config.ball:
        if changes or events is not None:
            raise ParameterError(
                "the controller has no ball", hint="train one with `train controller --ball`"
            )
        return None
    ball = replace(controller.ball, **changes)
    return BallSettings(ball, events=tuple(parse_ball_events(events)))


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
    entries = clips_in([file])
    if len(entries) != 1:
        raise ParameterError(f"{len(entries)} clips, but one is needed", path=file)
    clip = entries[0].load()
    phases = None if model is None else for_clips(load_model(model), clip)
    controller.check_phases(phases)
    if clip.fps != controller.fps:
        clip = resample(clip, controller.fps)
    clip = replace(clip, labels=dict(clip.labels) | dict(labels))
    return InitialStates.of_clip(clip, np.array([frame]), controller.schema, phases)


def in_form(
    controller: Controller, form: Form, int8: bool = False, groups: int | None = None
) -> Controller:
    """A controller with its PFNN in this form, "cubic" is exact, or its blended layers in 8 bits.

    With `groups`, also with weights that are blended for this many gates.

    Raises ParameterError for networks that do not have it.
    """
    made = controller if form == "cubic" else controller.precomputed(form)
    if groups is not None:
        return replace(made, network=grouped_network(made, groups))
    return replace(made, network=int8_network(made.network)) if int8 else made
