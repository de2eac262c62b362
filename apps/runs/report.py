"""Reports of runs: files, a page, and measures next to those of the captured motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deepphase.apps.reports.measure_table import MeasuredReport, MeasureTable
from deepphase.apps.reports.page import Page
from deepphase.apps.reports.report_file import save_report
from deepphase.apps.runs.files import DECISIONS_SUFFIX, motion_note, write_run
from deepphase.apps.runs.request import Goal, MeasuredRun, RunRequest, measured_run
from deepphase.apps.runs.scene import scene_objects
from deepphase.apps.runs.sections import Section, ball_sections
from deepphase.apps.runs.take import compared_take, run_take
from deepphase.evaluation.measured_runs import RUN_MEASURES, data_values, joint_rotations
from deepphase.progress import Progress
from deepphase.steering.run import Runner, RunnerSource
from deepphase.terrain.ground_measures import GROUND_MEASURES
from deepphase.viewer.costs import CostComparison
from deepphase.viewer.page import save_player


@dataclass(frozen=True, eq=False)
class RunSubject:
    """A runner's source as a report names it.

    Parameters
    ----------
    source
        Source of the runners.
    title, summary
        Title and summary of the page.
    made_with
        Provenance, as plain values.
    data
        Properties of the captured motion, as plain values.
    note
        Further text under the measures.
    features
        Name of the subject, such as the features that are searched, if several are compared; else
        empty.
    costs
        Function that writes the decisions of a run to a file and returns them for the player's
        page; not given for runners that do not search.
    """

    source: RunnerSource[Runner]
    title: str
    summary: str
    made_with: Mapping[str, Any]
    data: Mapping[str, Any]
    note: str = ""
    features: str = ""
    costs: Callable[[MeasuredRun, Path], CostComparison | None] | None = None


def run_report(
    subjects: Sequence[RunSubject],
    goals: Mapping[str, Goal],
    request: RunRequest,
    folder: Path,
    *,
    sections: Sequence[Section] = (),
    progress: Progress | None = None,
) -> MeasuredReport:
    """Run every subject along every goal, write all files into a folder, and measure.

    Parameters
    ----------
    subjects
        One, or several to compare, whose first characters the player shows side by side, too; title
        and data are those of the first.
    sections
        Further tables of the page.

    Raises
    ------
    ParameterError
        If a subject cannot follow a goal.
    """
    first = subjects[0]
    files: list[tuple[str, str]] = []
    takes, runs = [], []
    for subject in subjects:
        for goal in goals.values():
            made = measured_run(subject.source, request, goal, progress)
            label = goal.name if len(subjects) == 1 else f"{goal.name}, {subject.features}"
            stem = label.replace(", ", "-").replace(" ", "-")
            files += write_run(
                made.run,
                folder,
                stem,
                subject.source.columns,
                request.root_motion,
                objects=partial(scene_objects, made, root_motion=request.root_motion),
            )
            costs = None
            if subject.costs is not None:
                table = folder / f"{stem}{DECISIONS_SUFFIX}"
                costs = subject.costs(made, table)
                files.append((table.name, "searches: costs of the moments compared, by feature"))
            takes.append(run_take(made, label, costs))
            by = {"goal": goal.name} | ({"features": subject.features} if subject.features else {})
            runs.append(_Labelled(label, by, made, joint_rotations(made.run)))
    beside = []
    for number, goal in enumerate(goals.values() if len(subjects) > 1 else ()):
        of_goal = takes[number :: len(goals)]
        names = [subject.features for subject in subjects]
        beside.append(compared_take(dict(zip(names, of_goal, strict=True)), goal.name))
    save_player(folder / "player.html", [*beside, *takes], title=first.title)
    data = first.source.data
    measures = MeasureTable(
        RUN_MEASURES,
        [(each.label, {name: each.made.value(name) for name in RUN_MEASURES}) for each in runs],
        data_values(data),
    )
    balls = ball_sections([(each.label, each.by, each.made.run) for each in runs], data)
    on_ground = _terrain(runs)
    sections = [*sections, *(section for section, _ in on_ground), *balls]
    findings = [f"{each.label}: {finding}" for each in runs for finding in each.made.findings]
    save_report(
        folder,
        first.made_with,
        dict(data) | dict(first.data),
        first.source.seed,
        [
            *(
                entry
                for column, each in enumerate(runs)
                for entry in measures.entries(column, each.made.run.characters, each.by)
            ),
            *(entry for each in runs for entry in each.joint_entries(data["joint_rotations"])),
            *(entry for section in sections for entry in section.entries),
        ],
        findings=findings,
        settings=asdict(first.source.settings)
        | {
            "characters": request.characters,
            "labels": dict(first.source.labels),
            "root_motion": request.root_motion,
            "terrain": None if request.ground is None else request.ground.name,
        },
    )
    page = _page(first, runs, measures, findings, sections)
    page.add_files([("player.html", "plays the runs"), *files], "Description")
    page.add_text(motion_note(runs[0].made.run, request.root_motion))
    written = page.write(folder / "index.html")
    return MeasuredReport(written, measures, findings, [table for _, table in on_ground])


@dataclass(frozen=True, eq=False)
class _Labelled:
    """A run with its label in the report, and the rotation rates of its joints."""

    label: str
    by: dict[str, str]
    made: MeasuredRun
    rotations: dict[str, float]

    def joint_entries(self, data: Mapping[str, float]) -> list[dict[str, Any]]:
        return [
            {
                "name": "joint_rotation",
                "definition": "mean over frames, of local rotations",
                "value": value,
                "unit": "deg/s",
                "n": self.made.run.characters,
                "by": self.by | {"joint": joint},
                "data": data[joint],
            }
            for joint, value in self.rotations.items()
        ]


def _terrain(runs: Sequence[_Labelled]) -> list[tuple[Section, MeasureTable]]:
    """The section on feet on the ground, and its table; none without ground."""
    ground = runs[0].made.ground
    if ground is None:
        return []
    # Runners that know the ground walk on it; the motion of others is laid on it afterwards.
    walked = runs[0].made.run.spec.ground is not None
    columns, entries = [], []
    for each in runs:
        feet = each.made.on_ground
        found, floor = (
            {name: _mean_of([getattr(one, of) for one in feet], name) for name in GROUND_MEASURES}
            for of in ("ground", "floor")
        )
        own = MeasureTable(GROUND_MEASURES, [(each.label, found)])
        entries += [
            entry | {"on_flat_floor": floor[name]}
            for name, entry in zip(
                own.names, own.entries(0, len(feet), each.by, prefix="on_ground_"), strict=True
            )
        ]
        columns += [(each.label, found)] + ([] if walked else [("on the flat floor", floor)])
    text = (
        f"The heights of {ground!r} along the trajectory are among the network's inputs or the "
        "search's features; feet are then moved to the ground. "
        if walked
        else "The motion was made on a flat floor, where the measures above were taken, and then "
        f"laid on {ground!r}: feet have the height and slope of the ground beneath them, and the "
        "hips follow. "
    ) + " ".join(f"{note.capitalize()}." for note in ground.notes)
    table = MeasureTable(GROUND_MEASURES, columns)
    return [(Section.of_measures("On the ground", text.strip(), table, entries), table)]


def _mean_of(measures: Sequence[object], name: str) -> float | None:
    found = [getattr(each, name) for each in measures if each is not None]
    return sum(found) / len(found) if found else None


def _page(
    subject: RunSubject,
    runs: Sequence[_Labelled],
    measures: MeasureTable,
    findings: list[str],
    sections: Sequence[Section],
) -> Page:
    page = Page(subject.title, f"{subject.summary} player.html plays it.")
    if findings:
        page.add_list(findings, heading="Findings")
    else:
        page.add_text("No character ran away, stood like a statue or was lost.")
    page.add_table(measures.headings, measures.rows, heading="Measures of the runs and of the data")
    if subject.note:
        page.add_text(subject.note)
    page.add_list(measures.described)
    page.add_table(
        ("Joint", *(each.label for each in runs), "The data"),
        [
            (
                joint,
                *(f"{r[joint]:.1f}" if joint in (r := each.rotations) else "" for each in runs),
                f"{value:.1f}",
            )
            for joint, value in subject.source.data["joint_rotations"].items()
        ],
        heading="Rotation of each joint (deg/s)",
    )
    for section in sections:
        page.add_table(section.columns, section.rows, heading=section.heading)
        page.add_text(section.text)
    return page
