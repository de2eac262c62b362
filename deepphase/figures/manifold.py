"""The phase manifold as a cloud of points, one per frame, and its development in a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    CYCLIC,
    NEUTRAL,
    SEQUENTIAL,
    WEBGL_POINTS,
    Colouring,
    add_message,
    add_note,
    as_float32,
    figure,
    label,
    percentile_range,
    thinning,
    thinning_note,
)

# Maximum number of points that are drawn.
_MAX_POINTS = 20_000
# Camera position that shows a whole cube.
_EYE = (1.35, 1.35, 0.85)
# Axes -> diameter of a marker for few and for many points.
_SIZES = {2: (6.0, 3.5), 3: (4.0, 2.4)}
# Milliseconds per epoch.
_EPOCH_MS = 350


def phase_manifold(
    points: Array,
    explained: Array,
    *,
    colour: Colouring,
    dimensions: Literal[2, 3] = 2,
    clips: Array | None = None,
    time: Array | None = None,
    lines: bool = False,
    unit: str = "latent unit",
    note: str = "",
    title: str = "",
) -> go.Figure:
    """The leading principal components of a phase manifold, one point per frame.

    Parameters
    ----------
    points
        (points, 3) as `ManifoldProjection` returns them, clip by clip in order of time.
    explained
        (3,) share of the variance on each axis.
    colour
        Values of the colours.
    dimensions
        Draw two components in the plane, or three in space.
    clips
        (points,) name of each point's clip, shown on hovering; lines end where it changes.
    time
        (points,) seconds in the clip, shown on hovering.
    lines
        Connect the frames of a clip in order of time.
    unit
        Unit of the points.
    note
        Note above the figure on frames that were left out. If there are too many points to draw,
        every n-th is drawn, and the figure adds a note on that.
    title
        Title of the figure; "Phase manifold by <colour>" if empty.

    Raises
    ------
    ParameterError
        If the lengths differ or a value is not finite.
    """
    chart = _chart(_Cloud(points, clips, time, dimensions), explained, colour, lines, note, title)
    titles = [axis_title(axis, explained, unit) for axis in range(dimensions)]
    if dimensions == 2:
        chart.update_xaxes(title_text=titles[0], constrain="domain")
        chart.update_yaxes(
            title_text=titles[1],
            constrain="domain",
            # Below the note in narrow figures.
            constraintoward="top",
            scaleanchor="x",
            scaleratio=1,
        )
        return chart.update_layout(height=680)
    spans = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    solid = bool((spans > 0).all())
    # plotly scales the box to a volume of 1, so that a long box needs a more distant camera.
    away = np.linalg.norm(spans / np.cbrt(spans.prod())) / np.sqrt(3) if solid else 1.0
    return chart.update_layout(
        height=640,
        margin={"l": 10, "r": 10, "t": 50, "b": 10},
        scene={
            **{
                f"{axis}axis": {"title": {"text": words}, "nticks": 6}
                for axis, words in zip("xyz", titles, strict=True)
            },
            # A box without extent along an axis cannot be drawn.
            "aspectmode": "data" if solid else "cube",
            "camera": {
                "eye": {axis: float(away * at) for axis, at in zip("xyz", _EYE, strict=True)},
                "center": {"x": 0, "y": 0, "z": -0.15},
            },
        },
    )


def axis_title(index: int, explained: Array, unit: str) -> str:
    """Title of a principal component's axis with its unit and share of the variance."""
    return f"PC {index + 1} ({label(unit)}; {100 * float(explained[index]):.0f} % of variance)"


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Points with their clips and times, drawn along two or three axes."""

    points: Array
    clips: Array | None
    time: Array | None
    axes: int

    @property
    def dense(self) -> bool:
        return len(self.points) > WEBGL_POINTS

    def thinned(self, step: int) -> _Cloud:
        """Every `step`-th point."""
        clips, time = (
            None if values is None else np.asarray(values)[::step]
            for values in (self.clips, self.time)
        )
        return _Cloud(self.points[::step], clips, time, self.axes)

    def trace(
        self, chosen: Array, *, lines: bool = False, hover: str = "", **look: Any
    ) -> go.Scatter | go.Scattergl | go.Scatter3d:
        """A trace of the chosen points; with `lines`, consecutive frames are connected."""
        index = self._with_gaps(chosen) if lines else chosen
        gap = index < 0
        shown = as_float32(np.where(gap[:, None], np.nan, self.points[index, : self.axes]))
        words = [f"PC {axis + 1} %{{{name}:.3f}}" for axis, name in enumerate("xyz"[: self.axes])]
        words += [hover] if hover else []
        if self.time is not None:
            words.append("time %{customdata:.2f} s")
            look["customdata"] = as_float32(np.where(gap, np.nan, np.asarray(self.time)[index]))
        if self.clips is not None:
            words.insert(0, "clip %{text}")
            names, which = np.unique(np.asarray(self.clips).astype(str), return_inverse=True)
            shorts = [*(label(name) for name in names), ""]
            look["text"] = [shorts[i] for i in np.where(gap, len(names), which[index])]
        # All traces of a figure have one kind, however few points they have.
        kind = go.Scatter3d if self.axes == 3 else go.Scattergl if self.dense else go.Scatter
        size = _SIZES[self.axes][self.dense]
        return kind(
            **dict(zip("xyz", shown.T, strict=False)),
            mode="lines+markers" if lines else "markers",
            hovertemplate="<br>".join(words) + "<extra></extra>",
            **look,
        ).update(marker={"size": size, "line": {"width": 0}})

    def _with_gaps(self, chosen: Array) -> Array:
        """Indices with -1 where a line ends: between clips and at gaps."""
        broken = np.diff(chosen) != 1
        if self.clips is not None:
            names = np.asarray(self.clips)[chosen]
            broken |= names[1:] != names[:-1]
        return np.insert(chosen, np.flatnonzero(broken) + 1, -1)


def _chart(
    cloud: _Cloud, explained: Array, colour: Colouring, lines: bool, note: str, title: str
) -> go.Figure:
    _check(cloud, explained, colour)
    step = thinning(len(cloud.points), _MAX_POINTS)
    note = ", ".join(filter(None, (note, thinning_note(step, len(cloud.points)))))
    cloud, colour = cloud.thinned(step), colour.thinned(step)
    chart = figure(title or f"Phase manifold by {label(colour.name)}")
    if not len(cloud.points):
        return add_message(chart, "no frames to show")
    add_note(chart, note)
    if colour.categorical:
        for chosen, look in colour.categories():
            chart.add_trace(cloud.trace(chosen, lines=lines, **look))
        return chart.update_layout(legend={"title": {"text": colour.title}}, showlegend=True)
    everything = np.arange(len(cloud.points))
    if lines:
        path = cloud.trace(everything, lines=True, line={"color": NEUTRAL, "width": 1}, opacity=0.4)
        path.update(mode="lines", hoverinfo="skip", hovertemplate=None, showlegend=False)
        chart.add_trace(path)
    values = as_float32(colour.values)
    chart.add_trace(
        cloud.trace(
            everything,
            hover=f"{colour.title} %{{marker.color:.3f}}",
            marker={"color": values, "coloraxis": "coloraxis", "opacity": 0.85},
            showlegend=False,
        )
    )
    low, high = (-0.5, 0.5) if colour.cyclic else percentile_range(values)
    bar: dict[str, Any] = {"title": {"text": colour.title, "side": "right"}, "len": 0.85}
    if colour.cyclic:
        bar["tickvals"] = [-0.5, -0.25, 0, 0.25, 0.5]
    scale = CYCLIC if colour.cyclic else SEQUENTIAL
    return chart.update_layout(
        coloraxis={"colorscale": scale, "cmin": low, "cmax": high, "colorbar": bar}
    )


def _check(cloud: _Cloud, explained: Array, colour: Colouring) -> None:
    points = cloud.points
    if points.ndim != 2 or points.shape[1] != 3 or np.shape(explained) != (3,):
        raise ParameterError(
            f"points must have shape (points, 3) and explained (3,), not {points.shape} "
            f"and {np.shape(explained)}"
        )
    columns = {"colour": colour.values, "clips": cloud.clips, "time": cloud.time}
    for name, values in columns.items():
        if values is not None and np.shape(values) != (len(points),):
            raise ParameterError(f"{name} must have shape ({len(points)},), not {np.shape(values)}")
    numbers = [points, *([] if colour.categorical else [np.asarray(colour.values, float)])]
    if not all(np.isfinite(item).all() for item in numbers):
        raise ParameterError("points and colours must be finite")


def aligned_views(views: Sequence[Array]) -> list[Array]:
    """Align each view with the following one; the last view is unchanged.

    The principal axes of two epochs may differ by a rotation or reflection although the manifold
    is the same. Each view is multiplied with the orthogonal matrix that minimises the distance of
    its points to those of the next epoch (Schönemann 1966).

    `views` (points, axes) each, the same points in the same order.
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
        aligned.append(view @ alignment(view, aligned[-1]) if aligned else view)
    return aligned[::-1]


def alignment(points: Array, others: Array) -> Array:
    """(axes, axes) the rotation or reflection that brings points nearest to the same other ones.

    `points`, `others` (points, axes) each, the same frames in the same order. `points @ alignment`
    are the aligned ones (Schönemann 1966).
    """
    left, _, right = np.linalg.svd(points.T @ others)
    return left @ right


def manifold_change(
    views: Sequence[Array],
    epochs: Sequence[float],
    *,
    colour: Colouring,
    axes: tuple[str, str] = ("PC 1", "PC 2"),
    title: str = "The manifold by epoch",
) -> go.Figure:
    """The last view in the plane, with a slider and a button that play the earlier ones.

    `views` (points, 2 or 3) each, as `aligned_views` returns them.
    """
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
        title_text=f"{axes[1]} (latent unit)", range=[-reach, reach], scaleanchor="x", scaleratio=1,
        constrain="domain",
    )  # fmt: skip
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
