"""Which joints, and which parts of the body, each phase channel follows."""

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
    channel_style,
    figure,
    label,
    say_nothing_to_show,
    single,
)

# Pixels of a row, and of a joint that is followed wholly or not at all.
_ROW_PIXELS, _LARGEST, _SMALLEST = 19, 26.0, 5.0
# Share below which a joint is drawn as nobody's.
_LITTLE = 0.1


def channel_joints(
    shares: Array, joints: Sequence[str], *, title: str = "Which joints each channel follows"
) -> go.Figure:
    """A row a joint, a column a channel: brighter where more of the joint is followed.

    Parameters
    ----------
    shares
        (channels, joints) shares of each joint's variance; below 0 they are drawn as 0.
    joints
        (joints,) names.
    title
        Of the figure.

    Raises
    ------
    ParameterError
        Where the shapes do not fit.
    """
    shares = _checked(shares, joints)
    chart = figure(title, height=150 + _ROW_PIXELS * max(len(joints), 4))
    if not shares.size:
        return say_nothing_to_show(chart, "no joint was measured")
    percent = 100 * shares.T
    chart.add_trace(
        go.Heatmap(
            z=single(percent.clip(0)),
            x=[f"{channel}" for channel in range(len(shares))],
            # Two joints may be shortened to the same words: rows are numbers, names their labels.
            y=list(range(len(joints))),
            zmin=0,
            zmax=100,
            colorscale=SEQUENTIAL,
            xgap=2,
            ygap=1,
            text=[[label(name)] * len(shares) for name in joints],
            customdata=single(percent),
            hovertemplate="%{text}<br>channel %{x}<br>%{customdata:.0f} %<extra></extra>",
            colorbar={"title": {"text": "Share of the joint's movement (%)", "side": "right"}},
        )
    )
    chart.update_xaxes(title_text="Phase channel", type="category", showgrid=False)
    chart.update_yaxes(
        title_text="Joint",
        tickvals=list(range(len(joints))),
        ticktext=[label(name, 24) for name in joints],
        autorange="reversed",
        showgrid=False,
    )
    return chart


def followed_body(
    shares: Array,
    positions: Array,
    links: Array,
    joints: Sequence[str],
    *,
    title: str = "The body, coloured by channel",
) -> go.Figure:
    """A standing body from the front: each joint has the colour of the channel that follows it
    most, and is larger the more of it is followed.

    Parameters
    ----------
    shares
        (channels, joints) as of `channel_joints`.
    positions
        (joints, 3) metres in root space, seen from +Z.
    links
        (links, 2) pairs of joints that a limb joins.
    joints
        (joints,) names.
    """
    shares = _checked(shares, joints)
    if positions.shape != (len(joints), 3):
        raise ParameterError(f"positions {positions.shape} of {len(joints)} joints")
    chart = figure(title, height=560)
    if not shares.size:
        return say_nothing_to_show(chart, "no joint was measured")
    lines = positions[np.asarray(links, np.int64).reshape(-1, 2)]
    gaps = np.concatenate([lines, np.full((len(lines), 1, 3), np.nan)], axis=1).reshape(-1, 3)
    across, up = _view(positions)
    chart.add_trace(
        go.Scatter(
            x=single(gaps @ across),
            y=single(gaps @ up),
            mode="lines",
            line={"color": NEUTRAL, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    strongest, most = shares.argmax(0), shares.max(0).clip(0, 1)
    owners = [*range(len(shares)), -1]
    owned = np.where(most < _LITTLE, -1, strongest)
    assert len(joints) < WEBGL_POINTS
    for owner in owners:
        chosen = np.flatnonzero(owned == owner)
        if not chosen.size:
            continue
        style = channel_style(max(owner, 0))
        chart.add_trace(
            go.Scatter(
                x=single(positions[chosen] @ across),
                y=single(positions[chosen] @ up),
                mode="markers",
                name=f"channel {owner}" if owner >= 0 else "no channel",
                marker={
                    "color": style.colour if owner >= 0 else NEUTRAL,
                    "size": _SMALLEST + (_LARGEST - _SMALLEST) * most[chosen],
                    "line": {"width": 0},
                    "opacity": 0.9,
                },
                text=[label(joints[joint]) for joint in chosen.tolist()],
                customdata=single(100 * most[chosen]),
                hovertemplate="%{text}<br>%{customdata:.0f} %<extra></extra>",
            )
        )
    chart.update_xaxes(title_text=_words(across), constrain="domain", zeroline=False)
    chart.update_yaxes(title_text="Height (m)", scaleanchor="x", scaleratio=1)
    return chart.update_layout(showlegend=True)


def followed_parts_bars(
    shares: Mapping[str, Array], *, title: str = "Which part of the body each channel follows"
) -> go.Figure:
    """A group of bars a part of the body, a bar a channel.

    Parameters
    ----------
    shares
        Part -> (channels,) share of its movement; below 0 it is drawn as 0.
    """
    chart = figure(title, height=380)
    if not shares:
        return say_nothing_to_show(chart, "nothing moves here")
    values = np.stack([np.asarray(each, float) for each in shares.values()], axis=1)
    parts = [label(name) for name in shares]
    for channel, row in enumerate(100 * values):
        chart.add_trace(
            go.Bar(
                x=parts,
                y=single(row.clip(0)),
                name=f"{channel}",
                marker_color=channel_style(channel).colour,
                customdata=single(row),
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
    """Across and up: from the front, of a long body from the side."""
    spans = np.ptp(positions, axis=0)
    sideways = np.array([0.0, 0.0, 1.0]) if spans[2] > 1.5 * spans[0] else np.array([1.0, 0.0, 0.0])
    return sideways, np.array([0.0, 1.0, 0.0])


def _words(across: Array) -> str:
    return "Ahead (m)" if across[2] else "Seen from the front (m)"


def _checked(shares: Array, joints: Sequence[str]) -> Array:
    shares = np.asarray(shares, float)
    if shares.ndim != 2 or shares.shape[1] != len(joints):
        raise ParameterError(f"shares {shares.shape}, expected (channels, {len(joints)})")
    if not np.isfinite(shares).all():
        raise ParameterError("shares that are not finite")
    return shares
