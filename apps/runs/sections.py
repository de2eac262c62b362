"""Sections of a run's page: tables with a text, and that on the ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deepphase.apps.reports.measure_table import MeasureTable
from deepphase.controllers.evaluation.dribbling import DRIBBLING_MEASURES, dribbling_measures
from deepphase.steering.run import Run

# A ball's energy grows by so much at most where it is computed in float32, joules.
_ROUNDING_J = 0.02


@dataclass(frozen=True)
class Section:
    """A table of a run's page with a text, and its entries for report.json."""

    heading: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    entries: Sequence[dict[str, Any]]

    @classmethod
    def of_measures(
        cls, heading: str, text: str, table: MeasureTable, entries: Sequence[dict[str, Any]]
    ) -> Section:
        """A table of measures with their definitions in its last column."""
        titles = [f"{title[:1].upper()}{title[1:]}" for title in table.headings[:2]]
        rows = [
            [*row, table.definitions[name][1]]
            for name, row in zip(table.names, table.rows, strict=True)
        ]
        return cls(heading, text, (*titles, *table.headings[2:], "Description"), rows, entries)


def ball_sections(
    runs: Sequence[tuple[str, Mapping[str, str], Run]], data: Mapping[str, Any]
) -> list[Section]:
    """The table of measures of the runs' balls; none for runs without a ball.

    Parameters
    ----------
    runs
        Label, entries that tell it from others in report.json, and the run.
    data
        Measures of the training clips, with those of their balls under "ball".
    """
    measured = [
        (label, by, run, asdict(dribbling_measures(run, run.spec.ball)))
        for label, by, run in runs
        if run.spec.ball is not None
    ]
    if not measured:
        return []
    table = MeasureTable(
        DRIBBLING_MEASURES,
        [(label, found) for label, _, _, found in measured],
        _of_clips(data),
        "The clips",
    )
    entries = [
        entry
        for column, (_, by, run, _) in enumerate(measured)
        for entry in table.entries(column, run.characters, by, prefix="ball_")
    ]
    return [Section.of_measures("Ball", _energy(measured), table, entries)]


def _of_clips(data: Mapping[str, Any]) -> dict[str, float]:
    """Measures of the balls of the training clips, as far as the controller's file has them."""
    touches = data.get("ball", {}).get("touches_per_second")
    return {} if touches is None else {"touches": float(touches)}


def _energy(measured: Sequence[tuple[str, Mapping[str, str], Run, Mapping[str, Any]]]) -> str:
    """The sentence on energy without a foot."""
    growths = [found["energy"] for *_, found in measured if found["energy"] is not None]
    if not growths:
        return "A foot was within 10 cm of the ball in every frame: its energy was not checked."
    if max(growths) <= _ROUNDING_J:
        return "Energy came from feet alone."
    return (
        f"The ball gained up to {max(growths):.3g} J in a frame without a foot within 10 cm of it."
    )
