"""Evaluation of sets of dances against recorded ones: page, report and table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from apps.dances.bar_rows import bar_measures
from apps.dances.dance_set import DanceSet, read_dance_set
from apps.dances.response_rows import (
    TriedMaker,
    maker_trials,
    recorded_response_measures,
    response_measures,
)
from apps.dances.rows import DanceMeasure, body_measures, measures_of, piece_measures
from apps.reports.evaluation_report import FORMAT, VERSION
from apps.reports.page import Page
from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_measures import MEASURED_METERS, DanceScale
from deepphase.evaluation.dance_rhythm import counted_beats, tempo_profile
from deepphase.figures.tempo_profile import tempo_profile_figure
from deepphase.progress import Progress

_FACTORS = np.round(np.arange(0.6, 1.605, 0.02), 2)

_LEAD = (
    "The first column holds the recorded dances, with the distance between their halves as the "
    "scale. Each score is followed by its controls: chance, the song at another tempo, other songs."
)
_READING = (
    "Beat alignment is the name of two different scores. Over motion beats it rewards few accents, "
    "over music beats many, and recorded dances can be at chance in both. Whether a dance follows "
    "its song shows at the bar: in the speed, and better in the hips' height, against the song at "
    "other tempi.",
    "Bars of 3 and of 4 counted beats are both measured for every song: the wrong one is a "
    "control. These measures leave open where in the bar the movement is strongest, so that the "
    "first beat of a bar need not be known.",
    "The place in the bar is measured separately, for songs in which bars were found: whether the "
    "dance is fastest, and its hips highest, where recorded dances to other songs are. It has a "
    "sign, and is 0 on average for dances that do not follow the bars. Other songs from their "
    "start may score higher if all are cut to begin with a bar.",
    "Physical foot contact and distances are comparable within this page only. Distances are "
    "between halves with the same number of windows, so that they compare with those between "
    "halves of the recorded dances.",
)


@dataclass(frozen=True)
class DancesReport:
    """Page of an evaluation of dances, and its table as texts."""

    page: Path
    columns: list[str]
    rows: list[list[str]]
    findings: list[str]


def dances_report(
    folders: Sequence[Path],
    output: Path,
    *,
    beats_per_bar: int | None = None,
    by: str | None = None,
    makers: Sequence[TriedMaker] = (),
    seeds: int = 8,
    seconds: float = 30.0,
    warn: Callable[[str], None],
    progress: Progress | None = None,
    **options: Any,
) -> DancesReport:
    """Measure folders of dances; write index.html and report.json.

    Parameters
    ----------
    folders
        Folders of dances; the first holds the recorded dances.
    output
        Folder to write to.
    beats_per_bar
        Beats per bar of all songs; if None, bars of 3 and of 4 are both measured.
    by
        Label whose values are reported separately.
    makers
        Dancers and databases that dance to songs of the first folder, see
        :func:`apps.dances.response_rows.maker_trials`.
    seeds, seconds
        Number of dances of each maker to each song, and their largest length.
    warn
        Called with a message for clips and songs that cannot be read.
    progress
        Called with the number of clips done.
    options
        Those of :func:`apps.dances.dance_set.read_dance_set`.

    Raises
    ------
    ParameterError
        If a folder is given twice, or no dance has the label.
    """
    if beats_per_bar is not None and not 2 <= beats_per_bar <= 12:
        raise ParameterError(
            f"beats_per_bar must lie in 2 to 12, not {beats_per_bar}", hint="for example 3 or 4"
        )
    metres = MEASURED_METERS if beats_per_bar is None else (beats_per_bar,)
    sets = [
        read_dance_set(folder, name=name, metres=metres, warn=warn, progress=progress, **options)
        for folder, name in zip(folders, _names(folders), strict=True)
    ]
    reference = sets[0]
    scale = DanceScale.of(reference.measures)

    def measured(dances: DanceSet) -> list[DanceMeasure]:
        return [
            *measures_of(dances, reference, scale, metres),
            *bar_measures(dances, reference, metres),
            *piece_measures(dances, reference, by),
        ]

    rows: list[tuple[DanceSet, dict[str, str], list[DanceMeasure]]] = []
    for dances in sets:
        given = {"dances": dances.name}
        rows.append((dances, given, measured(dances)))
        for value in _values(dances, by):
            assert by is not None
            part = dances.selected(f"{dances.name}, {by} {value}", by, value)
            # Distances are between whole sets: parts of a set are no reference for all dances.
            some = [each for each in measured(part) if not each.name.startswith("FID")]
            rows.append((part, {**given, by: value}, some))
    if by is not None and len(rows) == len(sets):
        raise ParameterError(
            f"no dance has a label {by!r}",
            hint="read labels from file names, as in --labels 'DANCE_{dance}_{_take}' --by dance",
        )
    findings = []
    for tried in makers:
        trials = maker_trials(
            tried, reference, seeds=seeds, seconds=seconds, warn=warn, progress=progress
        )
        if trials is None:
            continue
        rows[0][2].extend(
            each
            for each in recorded_response_measures(trials.response)
            if each.name not in {one.name for one in rows[0][2]}
        )
        found = [
            *response_measures(trials.response),
            *body_measures(trials.dances, scale),
            *piece_measures(trials.dances, reference, by),
        ]
        rows.append((trials.dances, {"dances": tried.name}, found))
        findings += [f"{tried.name}: {each}" for each in trials.findings(reference)]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": {"deepphase": metadata.version("deepphase")},
        "data": {
            each.name: {
                "dances": len(each.measures),
                "with_a_song": len(each.own),
                "minutes": each.minutes,
                "segments": len(np.unique(np.concatenate(each.segments))),
            }
            for each in sets
        },
        "seeds": list(range(seeds)) if makers else [0],
        "findings": findings,
        "measures": [
            {**asdict(measure), "by": given} for _, given, found in rows for measure in found
        ],
    }
    with atomic_write(output / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    columns, cells = _table([(dances.name, found) for dances, _, found in rows])
    page = _page(rows, columns, cells, metres, findings).write(output / "index.html")
    return DancesReport(page, columns, cells, findings)


def _names(folders: Sequence[Path]) -> list[str]:
    real = [folder.resolve() for folder in folders]
    if len(set(real)) < len(real):
        raise ParameterError("a folder is given twice", hint="give each folder once")
    names = [folder.name for folder in real]
    # Folders of the same name are named with their parent.
    return [
        name if names.count(name) == 1 else f"{folder.parent.name}/{name}"
        for name, folder in zip(names, real, strict=True)
    ]


def _values(dances: DanceSet, by: str | None) -> list[str]:
    if by is None:
        return []
    return sorted({each.labels[by] for each in dances.measures if by in each.labels})


def _table(rows: list[tuple[str, list[DanceMeasure]]]) -> tuple[list[str], list[list[str]]]:
    """Table with a row per measure and a column per set of dances."""
    names = list(dict.fromkeys(each.name for _, found in rows for each in found))
    cells = []
    for name in names:
        line = []
        unit = ""
        for _, found in rows:
            one = next((each for each in found if each.name == name), None)
            unit = one.unit if one else unit
            line.append("" if one is None else _text(one))
        cells.append([f"{name} ({unit})" if unit else name, *line])
    return ["measure", *(name for name, _ in rows)], cells


def _text(measure: DanceMeasure) -> str:
    if measure.interval_95 is None:
        return f"{measure.value:.3g}"
    low, high = measure.interval_95
    return f"{measure.value:.3g} [{low:.3g}, {high:.3g}]"


def _page(
    rows: list[tuple[DanceSet, dict[str, str], list[DanceMeasure]]],
    columns: list[str],
    cells: list[list[str]],
    metres: Sequence[int],
    findings: Sequence[str],
) -> Page:
    page = Page("Dances and their songs", _LEAD)
    if findings:
        page.add_list(list(findings), heading="Findings")
    page.add_table(
        ("Dances", "Clips", "With a song", "Minutes"),
        [
            (
                dances.name,
                len(dances.measures),
                sum(each.name in dances.own for each in dances.measures),
                round(dances.minutes, 1),
            )
            for dances, _, _ in rows
        ],
        heading="Dances",
    )
    page.add_table(
        columns,
        cells,
        heading="Measures, with 95 % intervals over songs (of distances: the range of the splits)",
    )
    page.add_text(*_READING, heading="How to read them")
    charts = {}
    for count in metres:
        profiles = {dances.name: _profile(dances, count) for dances, _, _ in rows if dances.own}
        charts[f"bar of {count}"] = tempo_profile_figure(_FACTORS, profiles)
    page.add_choice(
        charts,
        "Does the dance follow the song's tempo?",
        "Vector strength of the mean joint speed on the bar of the song, and of the same song "
        "faster and slower. A dance that follows the song has a clear peak at 1; one that does not "
        "has a flat line.",
    )
    defined = {each.name: each for _, _, found in rows for each in found}
    page.add_table(
        ("Measure", "Definition", "n, of the first row that has it"),
        [
            (name, each.definition, f"{_first(rows, name).n:,} {each.unit_of_n}")
            for name, each in defined.items()
        ],
        heading="Definitions",
    )
    return page


def _first(
    rows: list[tuple[DanceSet, dict[str, str], list[DanceMeasure]]], name: str
) -> DanceMeasure:
    return next(each for _, _, found in rows for each in found if each.name == name)


def _profile(dances: DanceSet, count: int) -> Array:
    profiles = []
    for each in dances.measures:
        if each.name not in dances.own:
            continue
        beats = dances.beats[each.name]
        per_cycle = count * counted_beats(beats)
        profiles.append(
            tempo_profile(each.speed, each.fps, beats, _FACTORS, beats_per_cycle=per_cycle)
        )
    return np.mean(profiles, axis=0) if profiles else np.zeros(len(_FACTORS))
