"""Measures of one or several motions as a table, and the file report.json of every report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepphase.atomic_write import atomic_write
from deepphase.checkout import version
from deepphase.evaluation.measurement import Measure

_FORMAT, _VERSION = "deepphase.report", 1
# Label of a motion -> its measures.
Columns = Mapping[str, Sequence[Measure]]


def measures_by_name(columns: Columns) -> dict[str, dict[str, Measure]]:
    """Name of a measure -> label of each motion that has it -> its measure."""
    found: dict[str, dict[str, Measure]] = {}
    for label, measures in columns.items():
        for measure in measures:
            found.setdefault(measure.name, {})[label] = measure
    return found


def measure_table(
    columns: Columns, reference: str = "the data"
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of texts: name, unit, the value of each motion, and that of the data."""
    rows, has_data = [], any(m.data is not None for own in columns.values() for m in own)
    for name, own in measures_by_name(columns).items():
        first = next(iter(own.values()))
        values = [number_text(own[label].value) if label in own else "" for label in columns]
        data = [number_text(first.data)] if has_data else []
        rows.append([name.replace("_", " "), first.unit, *values, *data])
    return ["measure", "unit", *columns, *([reference] if has_data else [])], rows


def measure_sentences(columns: Columns) -> list[str]:
    """What each measure is, and which values are better."""
    texts = []
    for name, own in measures_by_name(columns).items():
        measure = next(iter(own.values()))
        better = f" (better: {measure.better})" if measure.better else ""
        texts.append(f"{name.replace('_', ' ')}: {measure.sentence}{better}")
    return texts


def measure_entries(
    measures: Sequence[Measure], count: int, by: Mapping[str, str], *, key: str = "data"
) -> list[dict[str, Any]]:
    """Entries of one motion for report.json.

    `count` is the number of frames or characters that were measured, `by` has the names and values
    by which this motion differs from others, and `key` names the data's value.
    """
    return [
        {
            "name": each.name,
            "definition": each.sentence,
            "value": each.value if math.isfinite(each.value) else None,
            **({} if math.isfinite(each.value) else {"text": "never"}),
            "unit": each.unit,
            "better": each.better,
            "n": each.n or count,
            "by": dict(by),
            **({} if each.interval_95 is None else {"interval_95": list(each.interval_95)}),
            **({} if each.data is None else {key: each.data}),
        }
        for each in measures
    ]


def number_text(value: float | None) -> str:
    """A measure with three digits; empty for None."""
    if value is None:
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def save_report(
    folder: Path,
    made_with: Mapping[str, Any],
    data: Mapping[str, Any],
    seed: int,
    measures: Sequence[Mapping[str, Any]],
    **more: Any,
) -> None:
    """Write FOLDER/report.json."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "made_with": {"deepphase": version(), **made_with},
        "data": dict(data),
        "seeds": [seed],
        "measures": list(measures),
        **more,
    }
    with atomic_write(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
