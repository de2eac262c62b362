"""Sets of dances beside each other, the recorded ones first: a page, numbers, a table."""

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
from apps.dances.rows import DanceMeasure, measures_of
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
    "The first row is the scale: recorded dances, and how far one half of them is from the other. "
    "Beside each score stands what chance, the song at another tempo and other songs have."
)
_READING = (
    "Beat alignment goes by one name and is two scores; over motion beats it rewards few accents, "
    "over music beats many, and recorded dances can be at chance in both. What tells whether a "
    "dance follows its song is the bar: its speed, and better its hips' height, against the song "
    "at other tempi.",
    "Bars are of 3 and of 4 counted beats, whatever the song is in: the wrong one is a control. "
    "Where in the bar a movement is strongest is left open, so that the first beat of a bar need "
    "not be known.",
    "The place in the bar is asked for by itself, of songs whose bars can be told: how far a dance "
    "is fastest, and its hips highest, where recorded dances to other songs are. It has a sign: a "
    "dance that does not know where bars begin has 0. Other songs from their beginning may have "
    "more, where all are cut to begin with a bar.",
    "Physical foot contact and distances are comparable within this page only. Distances are "
    "between halves of equally many windows, so that real against real can stand beside them.",
)


@dataclass(frozen=True)
class DancesReport:
    """What was written, and its table as texts."""

    page: Path
    columns: list[str]
    rows: list[list[str]]


def dances_report(
    folders: Sequence[Path],
    output: Path,
    *,
    beats_per_bar: int | None = None,
    by: str | None = None,
    warn: Callable[[str], None],
    progress: Progress | None = None,
    **options: Any,
) -> DancesReport:
    """Measure folders of dances; write index.html and report.json.

    Parameters
    ----------
    folders
        Each a row; the first is that of the recorded dances.
    beats_per_bar
        Of all songs; None asks for bars of 3 and of 4.
    by
        A label whose values get rows of their own.
    options
        As those of :func:`apps.dances.dance_set.read_dance_set`.

    Raises
    ------
    ParameterError
        Where a folder is told twice, or no dance has the label.
    """
    if beats_per_bar is not None and not 2 <= beats_per_bar <= 12:
        raise ParameterError(f"{beats_per_bar} beats in a bar", hint="bars have 2 to 12")
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
        ]

    rows: list[tuple[DanceSet, dict[str, str], list[DanceMeasure]]] = []
    for dances in sets:
        given = {"dances": dances.name}
        rows.append((dances, given, measured(dances)))
        for value in _values(dances, by):
            assert by is not None
            part = dances.selected(f"{dances.name}, {by} {value}", by, value)
            # Captures of one kind are no measure for all: distances are between whole sets.
            some = [each for each in measured(part) if not each.name.startswith("FID")]
            rows.append((part, {**given, by: value}, some))
    if by is not None and len(rows) == len(sets):
        raise ParameterError(
            f"no dance has a label {by!r}",
            hint="read labels out of names: --labels 'DANCE_{dance}_{_take}' --by dance",
        )
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
        "seeds": [0],
        "measures": [
            {**asdict(measure), "by": given} for _, given, found in rows for measure in found
        ],
    }
    with atomic_write(output / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    columns, cells = _table([(dances.name, found) for dances, _, found in rows])
    page = _page(rows, columns, cells, metres).write(output / "index.html")
    return DancesReport(page, columns, cells)


def _names(folders: Sequence[Path]) -> list[str]:
    real = [folder.resolve() for folder in folders]
    if len(set(real)) < len(real):
        raise ParameterError("a folder that is told twice")
    names = [folder.name for folder in real]
    # Of folders of one name, more of the path.
    return [
        name if names.count(name) == 1 else f"{folder.parent.name}/{name}"
        for name, folder in zip(names, real, strict=True)
    ]


def _values(dances: DanceSet, by: str | None) -> list[str]:
    if by is None:
        return []
    return sorted({each.labels[by] for each in dances.measures if by in each.labels})


def _table(rows: list[tuple[str, list[DanceMeasure]]]) -> tuple[list[str], list[list[str]]]:
    """A line a measure, a column a set of dances."""
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
) -> Page:
    page = Page("Dances and their songs", _LEAD)
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
        heading="What was measured",
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
        "faster and slower. A peak at 1 that stands over the rest is a dance that follows; a "
        "flat line is one that does not.",
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
