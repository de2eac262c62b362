"""The trials of a controller as sections of a page and entries of a report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from apps.runs.report import Section
from controllers.evaluation.phase_sensitivity import phase_sensitivity
from controllers.evaluation.trials import path_errors, run_variation, survival
from controllers.runtime.controller import Controller
from deepphase.errors import ParameterError
from deepphase.evaluation.run_measures import RUN_MEASURES
from deepphase.progress import Progress

_MINUTES = 10.0
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
    values = asdict(run_variation(controller, seed=seed))
    return Section(
        "Variation",
        "100 runs of 4 s straight ahead from one state (Sprenger et al. 2020): variation between "
        "and within runs, and errors. Deterministic networks have one run, so none between runs.",
        ("Component", "Unit", "Value", "Description"),
        [
            (name.replace("_", " "), _VARIATION[name][0], _cell(value), _VARIATION[name][1])
            for name, value in values.items()
        ],
        [
            _entry(f"variation_{name}", _VARIATION[name][1], value, _VARIATION[name][0], 100)
            for name, value in values.items()
        ],
    )


def _entry(name: str, definition: str, value: float, unit: str, n: int) -> dict[str, Any]:
    return {"name": name, "definition": definition, "value": value, "unit": unit, "n": n}


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
