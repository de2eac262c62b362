"""Measures of sets of dances beside recorded ones, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_measures import MEASURED_METERS, DanceScale
from deepphase.progress import Progress
from tests.studies.dances.bar_rows import bar_measures
from tests.studies.dances.dance_set import DanceSet, read_dance_set
from tests.studies.dances.response_rows import (
    TriedMaker,
    maker_trials,
    recorded_response_measures,
    response_measures,
)
from tests.studies.dances.rows import DanceMeasure, body_measures, measures_of, piece_measures


@dataclass(frozen=True)
class DancesReport:
    """Table of measures as texts, with a column for each set of dances."""

    columns: list[str]
    rows: list[list[str]]
    findings: list[str]


def dances_report(
    folders: Sequence[Path],
    output: Path | None = None,
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
    """Measure folders of dances; write the measures as JSON if an output is given.

    Parameters
    ----------
    folders
        Folders of dances; the first holds the recorded dances.
    output
        File to write.
    beats_per_bar
        Beats per bar of all songs; if None, bars of 3 and of 4 are both measured.
    by
        Label whose values are reported separately.
    makers
        Dancers and databases that dance to songs of the first folder, see
        :func:`tests.studies.dances.response_rows.maker_trials`.
    seeds, seconds
        Number of dances of each maker to each song, and their largest length.
    warn
        Called with a message for clips and songs that cannot be read.
    progress
        Called with the number of clips done.
    options
        Those of :func:`tests.studies.dances.dance_set.read_dance_set`.

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
            # Distances are between whole sets: parts of a set are not a reference for all dances.
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
        "data": {
            each.name: {
                "dances": len(each.measures),
                "with_a_song": len(each.own),
                "minutes": each.minutes,
                "segments": len(set().union(*(part.tolist() for part in each.segments))),
            }
            for each in sets
        },
        "seeds": list(range(seeds)) if makers else [0],
        "findings": findings,
        "measures": [
            {**asdict(measure), "by": given} for _, given, found in rows for measure in found
        ],
    }
    if output is not None:
        with atomic_write(output) as file:
            file.write(json.dumps(content, indent=1).encode())
    columns, cells = _table([(dances.name, found) for dances, _, found in rows])
    return DancesReport(columns, cells, findings)


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
