"""Matches of one query by two kinds of distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    WEBGL_POINTS,
    add_message,
    as_float32,
    channel_style,
    figure,
    label,
)


@dataclass(frozen=True, eq=False)
class MatchSet:
    """Results of one search.

    Parameters
    ----------
    name
        Name, as in "by phase".
    distances
        (matches, 2) distances along both axes.
    words
        (matches,) description of each match.
    colour
        Colour, as in "#0072B2".
    """

    name: str
    distances: Array
    words: Sequence[str]
    colour: str


def match_distances(sets: Sequence[MatchSet], others: Array, axes: tuple[str, str]) -> go.Figure:
    """Numbered matches among the distances of other frames.

    Parameters
    ----------
    sets
        Matches of each search.
    others
        (frames, 2) distances of some other frames, drawn faintly.
    axes
        Names of both distances, with their units.

    Raises
    ------
    ParameterError
        If a shape does not fit or a value is not finite.
    """
    for each in (others, *(matches.distances for matches in sets)):
        if each.ndim != 2 or each.shape[1] != 2 or not np.isfinite(each).all():
            raise ParameterError(
                f"distances must be finite and have shape (matches, 2), not {each.shape}"
            )
    chart = figure("Distances of the matches", height=460)
    if not any(len(matches.distances) for matches in sets):
        return add_message(chart, "no matches")
    kind = go.Scattergl if len(others) > WEBGL_POINTS else go.Scatter
    chart.add_trace(
        kind(
            x=as_float32(others[:, 0]),
            y=as_float32(others[:, 1]),
            mode="markers",
            name="other frames",
            marker={"color": NEUTRAL, "size": 4, "opacity": 0.35},
            hoverinfo="skip",
        )
    )
    for index, matches in enumerate(sets):
        chart.add_trace(
            go.Scatter(
                x=as_float32(matches.distances[:, 0]),
                y=as_float32(matches.distances[:, 1]),
                mode="markers+text",
                name=label(matches.name),
                text=[str(rank) for rank in range(1, len(matches.distances) + 1)],
                textposition="top right" if index % 2 == 0 else "bottom left",
                textfont={"color": matches.colour},
                marker={
                    "color": matches.colour,
                    "size": 10,
                    "symbol": channel_style(8 * index).symbol,
                },
                customdata=[label(each, 60) for each in matches.words],
                hovertemplate="%{text}: %{customdata}<br>%{x:.3f}, %{y:.3f}<extra></extra>",
            )
        )
    chart.update_xaxes(title_text=axes[0], rangemode="tozero")
    chart.update_yaxes(title_text=axes[1], rangemode="tozero")
    return chart.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 86},
    )
