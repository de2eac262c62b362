"""Measures beside those of what they are compared with: for pages, terminals and report.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# In the names of measures of low-passed motion, see `deepphase.evaluation.runs.below`.
_BELOW = "_below_"


@dataclass(frozen=True, eq=False)
class MeasureTable:
    """Measures of one or several motions.

    Parameters
    ----------
    definitions
        Name -> (unit, definition), in the order of the rows.
    columns
        Label of each motion, and its name -> value. Values may be missing or None; infinite ones
        are times of what never happens.
    reference
        Name -> value of what the motions are compared with.
    reference_title
        Heading of its column, which a table without references does not have.
    """

    definitions: Mapping[str, tuple[str, str]]
    columns: Sequence[tuple[str, Mapping[str, float | None]]]
    reference: Mapping[str, float] = field(default_factory=dict)
    reference_title: str = "the data"

    @property
    def names(self) -> list[str]:
        """Measures that a motion has."""
        every = [values for _, values in self.columns]
        return [
            name
            for name in self.definitions
            if any(values.get(name) is not None for values in every)
        ]

    def value(self, name: str) -> float | None:
        """A measure of the first motion."""
        return self.columns[0][1].get(name)

    @property
    def headings(self) -> list[str]:
        """Titles of the columns."""
        last = [self.reference_title] if self.reference else []
        return ["measure", "unit", *(label for label, _ in self.columns), *last]

    @property
    def rows(self) -> list[list[str]]:
        """One row of texts for each measure; values below frequencies stand in its brackets."""
        rows = []
        for name, edges in self.with_bands.items():
            values = [values for _, values in self.columns]
            values += [self.reference] if self.reference else []
            texts = []
            for each in values:
                text = number_text(each.get(name))
                inside = [number_text(each.get(f"{name}{_BELOW}{edge}_hz")) for edge in edges]
                texts.append(f"{text} ({', '.join(inside)})" if text and any(inside) else text)
            title = name.replace("_", " ")
            if edges:
                title += f" (below {', '.join(edges)} Hz)"
            rows.append([title, self.definitions[name][0], *texts])
        return rows

    @property
    def described(self) -> list[str]:
        """What each measure is."""
        return [
            f"{name.replace('_', ' ')}: {self.definitions[name][1]}"
            + (f"; in brackets, without what is faster than {', '.join(edges)} Hz" if edges else "")
            for name, edges in self.with_bands.items()
        ]

    @property
    def with_bands(self) -> dict[str, list[str]]:
        """Measures with the frequencies below which they were measured, too."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            whole, _, edge = name.partition(_BELOW)
            if edge:
                found.setdefault(whole, []).append(edge.removesuffix("_hz"))
            else:
                found[name] = []
        return found

    def entries(
        self, column: int, count: int, by: Mapping[str, str], *, key: str = "data", prefix: str = ""
    ) -> list[dict[str, Any]]:
        """Entries of one motion for report.json.

        Parameters
        ----------
        column
            Index of the motion.
        count
            Number of frames or characters that were measured.
        by
            Names and values by which this motion differs from others.
        key
            Entry of the reference's value.
        prefix
            Before the measures' names.
        """
        values = self.columns[column][1]
        return [
            {
                "name": f"{prefix}{name}",
                "definition": definition,
                **({"value": value} if math.isfinite(value) else {"value": None, "text": "never"}),
                "unit": unit,
                "n": count,
                "by": dict(by),
                **({key: self.reference[name]} if name in self.reference else {}),
            }
            for name, (unit, definition) in self.definitions.items()
            if (value := values.get(name)) is not None
        ]


@dataclass(frozen=True, eq=False)
class MeasuredReport:
    """A page that was written, the table of its measures, and what these say.

    `further` are tables of other measures, such as those of feet on ground.
    """

    page: Path
    measures: MeasureTable
    findings: Sequence[Any]
    further: Sequence[MeasureTable] = ()

    @property
    def tables(self) -> list[MeasureTable]:
        """All tables, as the terminal shows them."""
        return [self.measures, *self.further]


def number_text(value: float | None) -> str:
    """A measure with three digits; empty for None."""
    if value is None:
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
