"""Vector strength of dances at the tempo of their songs and at other tempi."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    add_message,
    as_float32,
    channel_style,
    figure,
    label,
)


def tempo_profile_figure(
    factors: Array,
    profiles: Mapping[str, Array],
    *,
    title: str = "Strength of the bar at the song's tempo, and at others",
) -> go.Figure:
    """One line per set of dances; a peak at 1 means that the dances follow their songs.

    Parameters
    ----------
    factors
        (factors,) tempi relative to the song's own.
    profiles
        Name -> (factors,) vector strength, 0 to 1.

    Raises
    ------
    ParameterError
        If a profile has another length than the factors.
    """
    chart = figure(title, height=420)
    if not profiles:
        return add_message(chart, "no dance with a song")
    for number, (name, strength) in enumerate(profiles.items()):
        if len(strength) != len(factors):
            raise ParameterError(f"{name}: {len(strength)} strengths of {len(factors)} tempi")
        style = channel_style(number)
        chart.add_trace(
            go.Scatter(
                x=as_float32(factors),
                y=as_float32(strength),
                mode="lines",
                name=label(name),
                line={"color": style.colour, "dash": style.dash, "width": 2},
                hovertemplate=f"{label(name)}<br>tempo x %{{x:.2f}}: %{{y:.3f}}<extra></extra>",
            )
        )
    chart.add_vline(x=1.0, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    chart.update_xaxes(title_text="Tempo relative to the song's own")
    chart.update_yaxes(title_text="Vector strength of the speed", rangemode="tozero")
    return chart.update_layout(showlegend=True)
