"""Bars of the share of each joint's motion that a phase model reconstructs."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from deepphase.figures.theme import NEUTRAL, add_message, channel_colour, figure, label

# Joints with a smaller share are drawn in grey: their motion is mostly lost.
_MIN_SHARE = 0.4


def explained_by_joint(
    shares: Mapping[str, float], *, title: str = "", what: str = "joint"
) -> go.Figure:
    """One bar per joint, the best explained at the top.

    Parameters
    ----------
    shares
        Joint name -> share of its variance that the reconstruction explains, up to 1. A negative
        share (worse than a constant pose) is drawn as 0, and its value appears on hovering.
    title
        Title of the figure; "Explained variance by joint" if empty.
    what
        Kind of the named things: "joint", or "feature" for songs.
    """
    chart = figure(title or f"Explained variance by {what}", height=150 + 19 * max(len(shares), 4))
    if not shares:
        return add_message(chart, f"no {what} was measured")
    ordered = sorted(shares.items(), key=lambda item: item[1])
    percent = [100 * share for _, share in ordered]
    rows = list(range(len(ordered)))
    chart.add_trace(
        go.Bar(
            x=[max(value, 0.0) for value in percent],
            y=rows,
            orientation="h",
            marker_color=[
                NEUTRAL if share < _MIN_SHARE else channel_colour(0) for _, share in ordered
            ],
            text=[f"{value:.0f}" for value in percent],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{customdata}: %{text} %<extra></extra>",
            customdata=[label(name) for name, _ in ordered],
            showlegend=False,
        )
    )
    chart.update_xaxes(title_text="Explained variance (%)", range=[0, 105])
    # Shortened names may be equal: rows are numbers, with the names as tick labels.
    chart.update_yaxes(
        title_text=what.capitalize(),
        tickvals=rows,
        ticktext=[label(name, 28) for name, _ in ordered],
        showgrid=False,
        range=[-0.7, len(rows) - 0.3],
    )
    chart.update_layout(bargap=0.25)
    return chart
