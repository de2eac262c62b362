"""How strongly dances follow their songs, and the same songs at other tempi."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    channel_style,
    figure,
    label,
    say_nothing_to_show,
    single,
)


def tempo_profile_figure(
    factors: Array,
    profiles: Mapping[str, Array],
    *,
    title: str = "Strength of the bar at the song's tempo, and at others",
) -> go.Figure:
    """A line a set of dances: a peak at 1 is a dance that follows its song.

    Parameters
    ----------
    factors
        (factors,) tempo as a share of the song's own.
    profiles
        Name -> (factors,) vector strength, 0 to 1.

    Raises
    ------
    ParameterError
        Where a profile is of other factors.
    """
    chart = figure(title, height=420)
    if not profiles:
        return say_nothing_to_show(chart, "no dance with a song")
    for number, (name, strength) in enumerate(profiles.items()):
        if len(strength) != len(factors):
            raise ParameterError(f"{name}: {len(strength)} strengths of {len(factors)} tempi")
        style = channel_style(number)
        chart.add_trace(
            go.Scatter(
                x=single(factors),
                y=single(strength),
                mode="lines",
                name=label(name),
                line={"color": style.colour, "dash": style.dash, "width": 2},
                hovertemplate=f"{label(name)}<br>tempo x %{{x:.2f}}: %{{y:.3f}}<extra></extra>",
            )
        )
    chart.add_vline(x=1.0, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    chart.update_xaxes(title_text="Tempo, as a share of the song's own")
    chart.update_yaxes(title_text="Vector strength of the speed", rangemode="tozero")
    return chart.update_layout(showlegend=True)
