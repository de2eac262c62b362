"""How much of each joint's motion a phase model gives back."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from deepphase.figures.theme import NEUTRAL, channel_colour, figure, label, say_nothing_to_show

# Below this share a joint is drawn in grey: its motion is mostly lost.
_LITTLE = 0.4


def explained_by_joint(
    shares: Mapping[str, float], *, title: str = "", what: str = "joint"
) -> go.Figure:
    """One bar a joint, the best explained on top.

    Parameters
    ----------
    shares
        Joint name -> share of its variance that the reconstruction explains, at most 1. A
        negative share (worse than no motion at all) is drawn as 0 and told on hovering.
    title
        Of the figure; "Explained variance by joint" if empty.
    what
        What the names are of, as in "feature" of songs.
    """
    chart = figure(title or f"Explained variance by {what}", height=150 + 19 * max(len(shares), 4))
    if not shares:
        return say_nothing_to_show(chart, f"no {what} was measured")
    ordered = sorted(shares.items(), key=lambda item: item[1])
    percent = [100 * share for _, share in ordered]
    rows = list(range(len(ordered)))
    chart.add_trace(
        go.Bar(
            x=[max(value, 0.0) for value in percent],
            y=rows,
            orientation="h",
            marker_color=[
                NEUTRAL if share < _LITTLE else channel_colour(0) for _, share in ordered
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
    # Two joints may be shortened to the same words: positions are numbers, names their labels.
    chart.update_yaxes(
        title_text=what.capitalize(),
        tickvals=rows,
        ticktext=[label(name, 28) for name, _ in ordered],
        showgrid=False,
        range=[-0.7, len(rows) - 0.3],
    )
    chart.update_layout(bargap=0.25)
    return chart
