"""Development of a phase manifold over the epochs of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.colouring import Colouring
from deepphase.figures.theme import WEBGL_POINTS, add_message, as_float32, figure

# Milliseconds per epoch.
_EPOCH_MS = 350


def aligned_views(views: Sequence[Array]) -> list[Array]:
    """Align each view with the following one; the last view is unchanged.

    The principal axes of two epochs may differ by a rotation or reflection although the manifold
    is the same. Each view is multiplied with the orthogonal matrix that minimises the distance of
    its points to those of the next epoch (Schönemann 1966).

    Parameters
    ----------
    views
        (points, axes) each, the same points in the same order.

    Raises
    ------
    ParameterError
        If the shapes differ or a value is not finite.
    """
    views = [np.asarray(view, np.float64) for view in views]
    if any(view.ndim != 2 or view.shape != views[0].shape for view in views):
        raise ParameterError(
            "all views must have the same shape (points, 2 or 3); their shapes are "
            f"{[view.shape for view in views]}"
        )
    if not all(np.isfinite(view).all() for view in views):
        raise ParameterError("views must be finite")
    aligned: list[Array] = []
    for view in reversed(views):
        if aligned:
            left, _, right = np.linalg.svd(view.T @ aligned[-1])
            view = view @ (left @ right)
        aligned.append(view)
    return aligned[::-1]


def manifold_change(
    views: Sequence[Array],
    epochs: Sequence[float],
    *,
    colour: Colouring,
    axes: tuple[str, str] = ("PC 1", "PC 2"),
    title: str = "The manifold by epoch",
) -> go.Figure:
    """The last view in the plane, with a slider and a button that play the earlier ones.

    Parameters
    ----------
    views
        (points, 2 or 3) each, as `aligned_views` returns them.
    epochs
        (views,) passes over all windows.
    colour
        Categories of the points.
    axes
        Names of the axes, without the unit.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the lengths differ.
    """
    if len(views) != len(epochs):
        raise ParameterError(
            f"there must be one epoch for each view, but there are {len(views)} views and "
            f"{len(epochs)} epochs"
        )
    chart = figure(title, height=620)
    if not views or not len(views[-1]):
        return add_message(chart, "no epoch has ended yet")
    categories = list(colour.categories())
    kind = go.Scattergl if len(views[-1]) > WEBGL_POINTS else go.Scatter

    def drawn(view: Array) -> list[dict[str, Array]]:
        return [{"x": as_float32(view[c, 0]), "y": as_float32(view[c, 1])} for c, _ in categories]

    for places, (_, look) in zip(drawn(views[-1]), categories, strict=True):
        look = {name: value for name, value in look.items() if name != "line"}
        trace = kind(**places, mode="markers", hoverinfo="name", **look)
        chart.add_trace(trace.update(marker={"size": 4.5, "line": {"width": 0}}))
    reach = 1.08 * max(float(np.abs(view[:, :2]).max()) for view in views) or 1.0
    chart.update_xaxes(
        title_text=f"{axes[0]} (latent unit)", range=[-reach, reach], constrain="domain"
    )
    chart.update_yaxes(
        title_text=f"{axes[1]} (latent unit)", range=[-reach, reach], scaleanchor="x", scaleratio=1
    )
    chart.update_layout(legend={"title": {"text": colour.title}}, showlegend=True)
    return _with_slider(chart, [drawn(view) for view in views], epochs) if len(views) > 1 else chart


def _with_slider(
    chart: go.Figure, drawn: list[list[dict[str, Array]]], epochs: Sequence[float]
) -> go.Figure:
    kind = type(chart.data[0])
    names = [f"{epoch:.2f}" for epoch in epochs]
    chart.frames = [
        go.Frame(data=[kind(**places) for places in each], name=f"{index}")
        for index, each in enumerate(drawn)
    ]
    at_once = {"mode": "immediate", "frame": {"duration": 0}, "transition": {"duration": 0}}
    playing = at_once | {"frame": {"duration": _EPOCH_MS, "redraw": True}, "fromcurrent": False}
    return chart.update_layout(
        margin={"b": 130},
        sliders=[
            {
                "active": len(names) - 1,
                "currentvalue": {"prefix": "Epoch ", "xanchor": "right"},
                "pad": {"t": 46, "l": 76},
                "steps": [
                    {"args": [[f"{index}"], at_once], "label": name, "method": "animate"}
                    for index, name in enumerate(names)
                ],
            }
        ],
        updatemenus=[
            {
                "type": "buttons",
                "x": 0,
                "y": 0,
                "xanchor": "left",
                "yanchor": "top",
                "pad": {"t": 62},
                "showactive": False,
                "buttons": [{"label": "Play", "method": "animate", "args": [None, playing]}],
            }
        ],
    )
