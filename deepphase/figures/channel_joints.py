"""Joints and parts of the body that phase channels follow, and that a model reconstructs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    SEQUENTIAL,
    WEBGL_POINTS,
    add_message,
    as_float32,
    channel_colour,
    channel_style,
    figure,
    label,
)

# Pixels of a row, and of the marker of a joint with a share of 1 and of 0.
_ROW_PIXELS, _MAX_MARKER, _MIN_MARKER = 19, 26.0, 5.0
# Joints with a smaller share belong to no channel.
_MIN_SHARE = 0.1
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


def followed_body(
    shares: Array, positions: Array, links: Array, joints: Sequence[str]
) -> go.Figure:
    """The body from the front: joints have the colour of their strongest channel, and sizes that
    grow with its share.

    `shares` (channels, joints) as in `channel_joints`. `positions` (joints, 3) metres in root
    space, viewed from +Z. `joints` (joints,) names.
    """
    shares = _checked(shares, joints)
    if positions.shape != (len(joints), 3):
        raise ParameterError(f"positions must have shape ({len(joints)}, 3), not {positions.shape}")
    chart = figure("The body, coloured by channel", height=560)
    if not shares.size:
        return add_message(chart, "no joint was measured")
    lines = positions[np.asarray(links, np.int64).reshape(-1, 2)]
    gaps = np.concatenate([lines, np.full((len(lines), 1, 3), np.nan)], axis=1).reshape(-1, 3)
    across, up = _view(positions)
    chart.add_trace(
        go.Scatter(
            x=as_float32(gaps @ across),
            y=as_float32(gaps @ up),
            mode="lines",
            line={"color": NEUTRAL, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    strongest, largest = shares.argmax(0), shares.max(0).clip(0, 1)
    owners = [*range(len(shares)), -1]
    owned = np.where(largest < _MIN_SHARE, -1, strongest)
    assert len(joints) < WEBGL_POINTS
    for owner in owners:
        chosen = np.flatnonzero(owned == owner)
        if not chosen.size:
            continue
        style = channel_style(max(owner, 0))
        chart.add_trace(
            go.Scatter(
                x=as_float32(positions[chosen] @ across),
                y=as_float32(positions[chosen] @ up),
                mode="markers",
                name=f"channel {owner}" if owner >= 0 else "no channel",
                marker={
                    "color": style.colour if owner >= 0 else NEUTRAL,
                    "size": _MIN_MARKER + (_MAX_MARKER - _MIN_MARKER) * largest[chosen],
                    "line": {"width": 0},
                    "opacity": 0.9,
                },
                text=[label(joints[joint]) for joint in chosen.tolist()],
                customdata=as_float32(100 * largest[chosen]),
                hovertemplate="%{text}<br>%{customdata:.0f} %<extra></extra>",
            )
        )
    chart.update_xaxes(title_text=_words(across), constrain="domain", zeroline=False)
    chart.update_yaxes(title_text="Height (m)", scaleanchor="x", scaleratio=1)
    return chart.update_layout(showlegend=True)


def followed_parts_bars(
    shares: Mapping[str, Array], energy: Mapping[str, float] | None = None
) -> go.Figure:
    """One group of bars per part of the body, one bar per channel.

    `shares`: part -> (channels,) share of its movement; negative shares are drawn as 0. `energy`:
    part -> its share of the movement of the whole body, written below its name.
    """
    chart = figure("Which part of the body each channel follows", height=380)
    if not shares:
        return add_message(chart, "nothing moves")
    values = np.stack([np.asarray(each, float) for each in shares.values()], axis=1)
    parts = [
        label(name) + (f"<br>{100 * energy[name]:.0f} % of all" if energy else "")
        for name in shares
    ]
    for channel, row in enumerate(100 * values):
        chart.add_trace(
            go.Bar(
                x=parts,
                y=as_float32(row.clip(0)),
                name=f"{channel}",
                marker_color=channel_style(channel).colour,
                customdata=as_float32(row),
                hovertemplate=f"%{{x}}<br>channel {channel}<br>%{{customdata:.0f}} %"
                "<extra></extra>",
            )
        )
    chart.update_xaxes(title_text="Part of the body", showgrid=False)
    chart.update_yaxes(title_text="Share of its movement (%)", range=[0, 105])
    return chart.update_layout(
        barmode="group", bargap=0.25, legend={"title": {"text": "Channel"}}, showlegend=True
    )


def _view(positions: Array) -> tuple[Array, Array]:
    """Horizontal and vertical axis of the view: from the front, or the side for long bodies."""
    spans = np.ptp(positions, axis=0)
    sideways = np.array([0.0, 0.0, 1.0]) if spans[2] > 1.5 * spans[0] else np.array([1.0, 0.0, 0.0])
    return sideways, np.array([0.0, 1.0, 0.0])


def _words(across: Array) -> str:
    return "Forward (m)" if across[2] else "View from the front (m)"


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
