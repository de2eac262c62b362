"""Runs of a controller: files, a page, and what the runs are worth beside the data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from apps.reports.control_files import write_rollout
from apps.reports.control_measures import MEASURES
from apps.reports.control_run import ControlRequest, ControlRun, control_run
from apps.reports.control_take import control_take
from apps.reports.control_trials import TrialSection, trial_sections
from apps.reports.evaluation_report import FORMAT, VERSION
from apps.reports.page import Link, Page
from apps.reports.wishes import Wish
from controllers.controller import Controller
from controllers.rollout_measures import data_values, joint_rotations
from deepphase.figures.player.page import save_player
from deepphase.progress import Progress
from deepphase.replacing import replacing


@dataclass(frozen=True)
class ControlReport:
    """What was written, and its table as texts."""

    page: Path
    columns: list[str]
    rows: list[list[str]]


def control_report(
    controller: Controller,
    wished: dict[str, Wish],
    request: ControlRequest,
    folder: Path,
    *,
    trials: bool = False,
    source: str = "",
    progress: Progress | None = None,
) -> ControlReport:
    """Run towards every wish, write all files into a folder, and measure.

    Parameters
    ----------
    trials
        Also path errors at three blendings, a long run, sensitivity and variation.
    source
        Name of the controller's file.

    Raises
    ------
    ParameterError
        Where a wish is impossible for this controller.
    """
    runs = [control_run(controller, request, wish, progress) for wish in wished.values()]
    files = [file for each in runs for file in write_rollout(each.run, folder, each.name)]
    takes = [
        control_take(each.run, controller, each.path, each.origins, each.name) for each in runs
    ]
    save_player(folder / "player.html", takes, title=f"Runs of {source or controller.name}")
    sections = trial_sections(controller, seed=request.seed, progress=progress) if trials else []
    data = data_values(controller)
    by_joint = [joint_rotations(each.run, controller) for each in runs]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": {"deepphase": metadata.version("deepphase"), "controller": source},
        "data": dict(controller.data),
        "seeds": [request.seed],
        "settings": asdict(request.settings)
        | {"characters": request.characters, "labels": dict(request.labels)},
        "measures": [
            *(entry for each in runs for entry in _entries(each, data)),
            *(
                entry
                for each, rotations in zip(runs, by_joint, strict=True)
                for entry in _joint_entries(each, rotations, controller)
            ),
            *(entry for section in sections for entry in section.entries),
        ],
    }
    with replacing(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    columns, rows = _table(runs, data)
    held = request.settings.foot_ik
    page = _page(controller, source, runs, by_joint, columns, rows, files, sections, feet_held=held)
    return ControlReport(page.write(folder / "index.html"), columns, rows)


def _entries(run: ControlRun, data: dict[str, float]) -> list[dict[str, Any]]:
    if run.measures is None:
        values: dict[str, Any] = {"survived": float(run.run.alive.mean())}
    else:
        values = asdict(run.measures)
    return [
        {
            "name": name,
            "definition": definition,
            "value": values[name],
            "unit": unit,
            "n": run.run.characters,
            "by": {"wish": run.name},
            **({"data": data[name]} if name in data else {}),
        }
        for name, (unit, definition) in MEASURES.items()
        if values.get(name) is not None
    ]


def _joint_entries(
    run: ControlRun, rotations: dict[str, float], controller: Controller
) -> list[dict[str, Any]]:
    return [
        {
            "name": "joint_rotation",
            "definition": "mean over frames, of local rotations",
            "value": value,
            "unit": "deg/s",
            "n": run.run.characters,
            "by": {"wish": run.name, "joint": joint},
            "data": controller.data["joint_rotations"][joint],
        }
        for joint, value in rotations.items()
    ]


def _table(runs: Sequence[ControlRun], data: dict[str, float]) -> tuple[list[str], list[list[str]]]:
    columns = ["measure", "unit", *(run.name for run in runs), "the data"]
    rows = []
    for name, (unit, _) in MEASURES.items():
        values = [
            getattr(run.measures, name)
            if run.measures is not None
            else (float(run.run.alive.mean()) if name == "survived" else None)
            for run in runs
        ]
        rows.append([name.replace("_", " "), unit, *map(_shown, values), _shown(data.get(name))])
    return columns, rows


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _page(
    controller: Controller,
    source: str,
    runs: Sequence[ControlRun],
    by_joint: Sequence[dict[str, float]],
    columns: list[str],
    rows: list[list[str]],
    files: list[tuple[str, str]],
    sections: Sequence[TrialSection],
    *,
    feet_held: bool,
) -> Page:
    page = Page(
        f"Runs of {source or controller.name}",
        f"Motion made by a controller ({controller.name}), frame by frame. player.html plays it.",
    )
    page.add_table(columns, rows, heading="Measures, and the data's own")
    page.add_text(
        "Feet in contact are held where they stand, which lessens skating; without, it is the "
        "network's own (--no-foot-ik)."
        if feet_held
        else "Feet are where the network has them."
    )
    page.add_list([f"{name.replace('_', ' ')}: {text}" for name, (_, text) in MEASURES.items()])
    page.add_table(
        ("Joint", *(run.name for run in runs), "The data"),
        [
            (joint, *(f"{each[joint]:.1f}" for each in by_joint), f"{value:.1f}")
            for joint, value in controller.data["joint_rotations"].items()
        ],
        heading="Rotation of each joint (deg/s)",
    )
    for section in sections:
        page.add_table(section.columns, section.rows, heading=section.heading)
        page.add_text(section.text)
    page.add_table(
        ("File", "What it is"),
        [(Link("player.html"), "plays the runs"), *((Link(name), what) for name, what in files)],
        heading="Files",
    )
    return page
