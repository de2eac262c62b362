"""Joints that phase channels follow, and that a model reconstructs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    SEQUENTIAL,
    add_message,
    as_float32,
    channel_colour,
    figure,
    label,
)

# Pixels of a row.
_ROW_PIXELS = 19
# Joints with a smaller share are drawn in grey: their motion is mostly lost.
_MOSTLY_LOST = 0.4


def channel_joints(shares: Array, joints: Sequence[str]) -> go.Figure:
    """One row per joint and one column per channel, brighter for larger shares.

    `shares` (channels, joints) shares of each joint's variance; negative shares are drawn as 0.
    `joints` (joints,) names.
    """
    shares = _checked(shares, joints)
    chart = figure(
        "Which joints each channel follows", height=150 + _ROW_PIXELS * max(len(joints), 4)
    )
    if not shares.size:
        return add_message(chart, "no joint was measured")
    percent = 100 * shares.T
    chart.add_trace(
        go.Heatmap(
            z=as_float32(percent.clip(0)),
            x=[f"{channel}" for channel in range(len(shares))],
            y=list(range(len(joints))),
            zmin=0,
            zmax=100,
            colorscale=SEQUENTIAL,
            xgap=2,
            ygap=1,
            text=[[label(name)] * len(shares) for name in joints],
            customdata=as_float32(percent),
            hovertemplate="%{text}<br>channel %{x}<br>%{customdata:.0f} %<extra></extra>",
            colorbar={"title": {"text": "Share of the joint's movement (%)", "side": "right"}},
        )
    )
    chart.update_xaxes(title_text="Phase channel", type="category", showgrid=False)
    return _named_rows(chart, "Joint", joints, 24).update_yaxes(autorange="reversed")


def _checked(shares: Array, joints: Sequence[str]) -> Array:
    shares = np.asarray(shares, float)
    if shares.ndim != 2 or shares.shape[1] != len(joints):
        raise ParameterError(
            f"shares must have shape (channels, {len(joints)}), not {shares.shape}"
        )
    if not np.isfinite(shares).all():
        raise ParameterError("shares must be finite")
    return shares


def explained_by_joint(shares: Mapping[str, float], *, what: str = "joint") -> go.Figure:
    """One bar per joint, the best explained at the top.

    `shares`: joint name -> share of its variance that the reconstruction explains, up to 1. A
    negative share (worse than a constant pose) is drawn as 0, and its value appears on hovering.
    """
    chart = figure(f"Explained variance by {what}", height=150 + 19 * max(len(shares), 4))
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
                NEUTRAL if share < _MOSTLY_LOST else channel_colour(0) for _, share in ordered
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
    _named_rows(chart, what.capitalize(), [name for name, _ in ordered], 28)
    return chart.update_yaxes(range=[-0.7, len(rows) - 0.3]).update_layout(bargap=0.25)


def _named_rows(chart: go.Figure, title: str, names: Sequence[str], letters: int) -> go.Figure:
    """Rows are numbers, with the names as tick labels: shortened names may be equal."""
    return chart.update_yaxes(
        title_text=title,
        tickvals=list(range(len(names))),
        ticktext=[label(name, letters) for name in names],
        showgrid=False,
    )
