"""Sections of a run's page: tables with a text, and that on the ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from controllers.evaluation.dribbling import DRIBBLING_MEASURES, dribbling_measures
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
    clips = _of_clips(data)
    rows, entries = [], []
    for name, (unit, definition) in DRIBBLING_MEASURES.items():
        values = [found[name] for _, _, _, found in measured]
        cells = ["" if each is None else f"{each:.3g}" for each in (*values, clips.get(name))]
        rows.append((name.replace("_", " "), unit, *cells, definition))
        entries += [
            {
                "name": f"ball_{name}",
                "definition": definition,
                "value": value,
                "unit": unit,
                "n": run.characters,
                "by": dict(by),
                **({"data": clips[name]} if name in clips else {}),
            }
            for (_, by, run, _), value in zip(measured, values, strict=True)
            if value is not None
        ]
    columns = ("Measure", "Unit", *(label for label, *_ in measured), "The clips", "Description")
    return [Section("Ball", _energy(measured), columns, rows, entries)]


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
