"""Similarity of the frames of two clips (Starke et al. 2022, fig. 18)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    SEQUENTIAL,
    add_message,
    add_note,
    as_float32,
    excerpt,
    figure,
    label,
)

# Frames along an edge; a page holds their square.
_MAX_EDGE = 300
# Letters of a clip's name beside an axis, so that names of neighbouring panels do not overlap.
_NAME_LETTERS = 18


def frame_distances(one: Array, other: Array) -> Array:
    """(frames, others) Euclidean distances between the frames of two clips.

    Parameters
    ----------
    one, other
        (frames, dimensions) and (others, dimensions), as of a phase manifold.

    Raises
    ------
    ParameterError
        If the dimensions differ or a value is not finite.
    """
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1]:
        raise ParameterError(
            f"features must both have shape (frames, dimensions), not {one.shape} and {other.shape}"
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ParameterError("features must be finite")
    square = np.square(one).sum(1)[:, None] + np.square(other).sum(1)
    return np.sqrt(np.maximum(square - 2.0 * (one @ other.T), 0.0))


def similarity_map(
    pairs: Mapping[str, tuple[Array, Array]], fps: float, *, names: tuple[str, str]
) -> go.Figure:
    """One panel per feature: the axes are the times of two clips, bright pixels similar frames.

    Bright lines from the lower left to the upper right are similar passages, one per cycle of a
    periodic movement. Lines across them are poses that recur in reverse order, which poses have
    and phases should not have.

    Parameters
    ----------
    pairs
        Name of a feature, as in "phase manifold" -> its values (frames, dimensions) on the first
        clip and (others, dimensions) on the second, which may be the same.
    fps
        Frames a second of all of them.
    names
        Names of the first clip (horizontal axis) and the second (vertical axis).

    Raises
    ------
    ParameterError
        If the features do not fit together, or are not finite.

    References
    ----------
    Starke et al. 2022, fig. 18.
    """
    lengths = {(len(one), len(other)) for one, other in pairs.values()}
    if len(lengths) > 1:
        raise ParameterError(f"all pairs must have the same lengths, not {sorted(lengths)}")
    headline = "Similar frames: " + " and ".join(dict.fromkeys(label(name, 30) for name in names))
    chart = make_subplots(
        rows=1,
        cols=max(len(pairs), 1),
        shared_yaxes=True,
        horizontal_spacing=0.05,
        subplot_titles=[label(name) for name in pairs] or None,
        figure=figure(headline, height=560),
    )
    longest = max((max(pair) for pair in lengths), default=0)
    if not longest or any(0 in pair for pair in lengths):
        return add_message(chart, "no frames to show")
    part = excerpt(longest, fps, _MAX_EDGE)
    for column, (name, (one, other)) in enumerate(pairs.items(), start=1):
        one, other = one[part.frames], other[part.frames]
        chart.add_trace(_panel(name, one, other, part.frames.step / fps), 1, column)
        chart.update_xaxes(
            title_text=f"{label(names[0], _NAME_LETTERS)}: time (s)", row=1, col=column
        )
    chart.update_yaxes(title_text=f"{label(names[1], _NAME_LETTERS)}: time (s)", row=1, col=1)
    # Both axes have one scale: cycles of equal speed lie at 45 degrees.
    chart.update_xaxes(matches="x", constrain="domain")
    chart.update_yaxes(matches="y", constrain="domain", constraintoward="top")
    first = {"scaleanchor": "x", "scaleratio": 1, "matches": None}
    chart.update_layout(xaxis={"matches": None}, yaxis=first)
    # The 98th percentile of all panels, which ignores outliers.
    top = max(float(np.percentile(panel.z, 98)) for panel in chart.data)
    chart.update_layout(
        coloraxis={
            "colorscale": SEQUENTIAL,
            # Bright means similar.
            "reversescale": True,
            "cmin": 0.0,
            "cmax": top if top > 0 else 1.0,
            "colorbar": {
                "title": {"text": "Distance relative to the mean", "side": "right"},
                "len": 0.85,
            },
        },
        margin={"t": 90},
    )
    # Above the names of the panels.
    add_note(chart, part.note).update_annotations({"yshift": 20}, selector={"xanchor": "right"})
    return chart.update_annotations(font_size=12)


def _panel(name: str, one: Array, other: Array, seconds: float) -> go.Heatmap:
    values = frame_distances(one, other)
    mean = float(values.mean())
    values = values / mean if mean > 0 else values
    return go.Heatmap(
        # Rows are drawn upwards: they belong to the second clip.
        z=as_float32(values.T),
        x0=0.0,
        dx=seconds,
        y0=0.0,
        dy=seconds,
        coloraxis="coloraxis",
        name=label(name),
        hovertemplate=(
            f"{label(name)}<br>%{{x:.2f}} s and %{{y:.2f}} s<br>distance %{{z:.2f}}<extra></extra>"
        ),
    )
