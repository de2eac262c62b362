"""Matches of one moment by two kinds of distance."""

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
    channel_style,
    figure,
    label,
    say_nothing_to_show,
    single,
)


@dataclass(frozen=True, eq=False)
class MatchSet:
    """Moments that one search found.

    Parameters
    ----------
    name
        As in "by phase".
    distances
        (moments, 2) along both axes.
    words
        (moments,) what each is.
    colour
        As in "#0072B2".
    """

    name: str
    distances: Array
    words: Sequence[str]
    colour: str


def match_distances(
    sets: Sequence[MatchSet],
    others: Array,
    axes: tuple[str, str],
    *,
    title: str = "How far the matches are",
) -> go.Figure:
    """A number a match, among the distances of frames that were not looked for.

    Parameters
    ----------
    sets
        What was found.
    others
        (frames, 2) distances of some other frames, drawn faintly.
    axes
        Names of both distances, with their units.

    Raises
    ------
    ParameterError
        Where a shape does not fit or a value is not finite.
    """
    for each in (others, *(found.distances for found in sets)):
        if each.ndim != 2 or each.shape[1] != 2 or not np.isfinite(each).all():
            raise ParameterError(f"distances {each.shape}, expected finite ones (moments, 2)")
    chart = figure(title, height=460)
    if not any(len(found.distances) for found in sets):
        return say_nothing_to_show(chart, "nothing was found")
    kind = go.Scattergl if len(others) > WEBGL_POINTS else go.Scatter
    chart.add_trace(
        kind(
            x=single(others[:, 0]),
            y=single(others[:, 1]),
            mode="markers",
            name="other frames",
            marker={"color": NEUTRAL, "size": 4, "opacity": 0.35},
            hoverinfo="skip",
        )
    )
    for index, found in enumerate(sets):
        chart.add_trace(
            go.Scatter(
                x=single(found.distances[:, 0]),
                y=single(found.distances[:, 1]),
                mode="markers+text",
                name=label(found.name),
                text=[str(rank) for rank in range(1, len(found.distances) + 1)],
                textposition="top right" if index % 2 == 0 else "bottom left",
                textfont={"color": found.colour},
                marker={
                    "color": found.colour,
                    "size": 10,
                    "symbol": channel_style(8 * index).symbol,
                },
                customdata=[label(each, 60) for each in found.words],
                hovertemplate="%{text}: %{customdata}<br>%{x:.3f}, %{y:.3f}<extra></extra>",
            )
        )
    chart.update_xaxes(title_text=axes[0], rangemode="tozero")
    chart.update_yaxes(title_text=axes[1], rangemode="tozero")
    return chart.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 110},
    )
