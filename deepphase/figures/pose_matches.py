"""Poses of the nearest frames of a query, one panel per feature (Starke et al. 2022, fig. 16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import NEUTRAL, as_float32, channel_colour, figure, label

# Columns of panels, and pixels of a row of them.
_COLUMNS, _ROW_PIXELS = 3, 330
_LINE, _MATCH_OPACITY = 2.0, 0.35
# Share of the forward axis in the horizontal one: a view from the side and a little from the front.
_SIDE = (0.35, 0.94)


def pose_matches(
    query: Array,
    matches: Mapping[str, Array],
    edges: Sequence[tuple[int, int]],
    *,
    title: str = "Poses of the nearest frames",
) -> go.Figure:
    """The pose of a frame, drawn over those of its nearest frames by each feature.

    Parameters
    ----------
    query
        (joints, 3) metres, root space.
    matches
        Name of a feature -> (matches, joints, 3) metres.
    edges
        Pairs of joints that a bone connects.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the joints differ.
    """
    for name, poses in matches.items():
        if poses.shape[1:] != query.shape:
            raise ParameterError(f"{name}: poses {poses.shape}, and the query is {query.shape}")
    columns = min(len(matches), _COLUMNS)
    rows = -(-len(matches) // columns) if columns else 1
    names = [
        f"{label(name)}: {100 * np.linalg.norm(poses - query, axis=-1).mean():.1f} cm"
        for name, poses in matches.items()
    ]
    chart = make_subplots(
        rows=rows,
        cols=max(columns, 1),
        shared_yaxes=True,
        shared_xaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.12 / rows,
        subplot_titles=names or None,
        figure=figure(title, height=90 + _ROW_PIXELS * rows),
    )
    for number, poses in enumerate(matches.values()):
        row, column = number // columns + 1, number % columns + 1
        for each, colour, opacity, words in (
            (poses, channel_colour(0), _MATCH_OPACITY, "nearest frames"),
            (query[None], NEUTRAL, 1.0, "query"),
        ):
            chart.add_trace(
                _drawn(each, edges, colour, opacity, words, shown=number == 0), row, column
            )
    chart.update_xaxes(showticklabels=False, zeroline=False, matches="x")
    chart.update_yaxes(title_text="Height (m)", col=1)
    for axis in range(1, len(matches) + 1):
        suffix = "" if axis == 1 else str(axis)
        chart.update_layout(
            {f"yaxis{suffix}": {"scaleanchor": f"x{suffix}", "matches": "y" if axis > 1 else None}}
        )
    return chart.update_layout(showlegend=True).update_annotations(font_size=12)


def _drawn(
    poses: Array,
    edges: Sequence[tuple[int, int]],
    colour: str,
    opacity: float,
    name: str,
    *,
    shown: bool,
) -> go.Scatter:
    """All bones of some poses as one trace, with gaps between bones."""
    across = poses @ np.array([_SIDE[0], 0.0, _SIDE[1]])
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    gap = np.full((len(poses), len(pairs), 1), np.nan)
    flat, height = (
        np.concatenate([values[:, pairs], gap], axis=2).reshape(-1)
        for values in (across, poses[..., 1])
    )
    return go.Scatter(
        x=as_float32(flat),
        y=as_float32(height),
        mode="lines",
        line={"color": colour, "width": _LINE},
        opacity=opacity,
        name=name,
        legendgroup=name,
        showlegend=shown,
        hoverinfo="skip",
    )
