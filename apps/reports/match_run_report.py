"""Runs of a motion database: files, a page, and what the runs are worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from apps.reports.evaluation_report import FORMAT, VERSION
from apps.reports.page import Link, Page
from apps.reports.run_files import write_run
from apps.reports.run_request import Request, measured_run, unknown_labels
from apps.reports.run_take import run_take
from apps.reports.wishes import read_wishes, wishes
from deepphase.figures.player.page import save_player
from deepphase.progress import Progress
from deepphase.replacing import replacing
from deepphase.steering.path import Path as GroundPath
from matching.comparison import pose_databases
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.run_measures import DataMeasures, RunMeasures
from matching.search import open_searcher

# (measure, unit, definition)
MEASURES = (
    ("path_error", "m", "mean distance of the root from the nearest place on the path"),
    ("largest_path_error", "m", "its largest"),
    ("skating", "", "mean of v / v_max of feet in contact, v_max the data's largest"),
    ("contact_speed", "m/s", "mean speed over the ground of feet in contact"),
    ("jump_jerk", "m/s3", "mean over joints, within 0.1 s of jumps"),
    ("jerk", "m/s3", "mean over joints and all frames"),
    ("jump_acceleration", "m/s2", "the largest of any joint within 0.1 s of jumps"),
    ("over_usual", "", "share of those frames over the data's 99.9th percentile"),
    ("alignment", "m", "mean distance of joints between the poses on both sides of jumps"),
    ("jumps_per_s", "1/s", "jumps in a second"),
    ("playing_on", "", "share of time more than 0.1 s after a jump"),
    ("longest_s", "s", "longest stretch without a jump"),
)


@dataclass(frozen=True)
class RunReport:
    """What was written, and its table as texts."""

    page: Path
    columns: list[str]
    rows: list[list[str]]
    notes: list[str]


def run_report(
    database: MotionDatabase,
    request: Request,
    folder: Path,
    *,
    compare: bool = False,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> RunReport:
    """Run, write all files into a folder, and measure.

    Parameters
    ----------
    note
        Is told why an index was not used.

    Raises
    ------
    ParameterError, FormatError
        Where a path, a stick or a setting is impossible.
    """
    read = read_wishes(request.paths, request.stick)
    playback = Playback.of_database(database, progress)
    wished = wishes(
        request.paths,
        read,
        travelling_speed=playback.travelling_speed,
        speed=request.speed,
        size=request.size,
        seconds=request.seconds,
    )
    notes = unknown_labels(wished, database)
    data = DataMeasures.of_database(database, playback)
    rivals: list[tuple[str, MotionDatabase]] = [("as built", database)]
    if compare:
        own = "phases" if database.layout.of_kind("phase_manifold") else "as built"
        rivals = [(own, database), *pose_databases(database, progress)]
    takes, files, rows = [], [], []
    for features, rival in rivals:
        searcher = open_searcher(rival, request.index, progress=progress, note=note)
        for name, wish in wished.items():
            run, measured = measured_run(request, rival, playback, searcher, wish, data, progress)
            label = name if len(rivals) == 1 else f"{name}, {features}"
            stem = label.replace(", ", "-").replace(" ", "-")
            files += write_run(run, playback, rival, folder, stem)
            path = wish if isinstance(wish, GroundPath) else None
            takes.append(run_take(run, playback, path, label))
            rows.append((name, features, rival, measured))
    save_player(folder / "player.html", takes, title="Runs of a motion database")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": {"deepphase": metadata.version("deepphase"), **database.made_with},
        "data": {"clips": len(database.clip_names), "rows": len(database), "fps": database.fps}
        | asdict(data),
        "seeds": [request.seed],
        "settings": asdict(request.settings) | {"characters": request.characters},
        "measures": [
            {
                "name": key,
                "definition": text,
                "value": getattr(measured, key),
                "unit": unit,
                "n": request.characters,
                "by": {"wish": name, "features": features},
            }
            for name, features, _, measured in rows
            for key, unit, text in MEASURES
            if getattr(measured, key) is not None
        ]
        + [
            {
                "name": key,
                "definition": text,
                "value": value,
                "unit": unit,
                "n": len(rival),
                "by": {"features": features},
            }
            for features, rival in rivals
            for key, text, value, unit in (
                ("dimensions", "values in a feature row", rival.dims, ""),
                ("memory", "of all feature rows", rival.features.nbytes, "bytes"),
            )
        ],
    }
    with replacing(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    columns, cells = _table(rows)
    page = _page(columns, cells, data, files).write(folder / "index.html")
    return RunReport(page, columns, cells, notes)


def _table(
    rows: list[tuple[str, str, MotionDatabase, RunMeasures]],
) -> tuple[list[str], list[list[str]]]:
    columns = ["wish", "features", "dimensions", "memory"]
    columns += [
        f"{key.replace('_', ' ')} {f'({unit})' if unit else ''}".strip()
        for key, unit, _ in MEASURES
    ]
    cells = []
    for name, features, database, measured in rows:
        values = [getattr(measured, key) for key, _, _ in MEASURES]
        cells.append(
            [name, features, str(database.dims), f"{database.features.nbytes / 1e6:.1f} MB"]
            + ["" if value is None else f"{value:.3g}" for value in values]
        )
    return columns, cells


def _page(
    columns: list[str], cells: list[list[str]], data: DataMeasures, files: list[tuple[str, str]]
) -> Page:
    page = Page(
        "Runs of a motion database",
        "New motion, played out of captured motion along what was wished. player.html plays it.",
    )
    page.add_table(columns, cells, heading="Measures")
    page.add_list([f"{key.replace('_', ' ')}: {text}" for key, _, text in MEASURES])
    page.add_text(
        f"The captured motion itself: contact speed {data.mean_contact_speed:.3g} m/s on average, "
        f"{data.largest_contact_speed:.3g} at most; jerk {data.jerk:.4g} m/s3; 99.9 % of its "
        f"frames accelerate no joint by more than {data.usual_acceleration:.4g} m/s2.",
        heading="Beside the data",
    )
    page.add_table(
        ("File", "What it is"),
        [(Link("player.html"), "plays the runs"), *((Link(name), what) for name, what in files)],
        heading="Files",
    )
    return page
