"""A learnt phase and the true phase of a limb over time, and their difference."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.figures.parameters_over_time import broken_at_wrap, shade_frames
from deepphase.figures.theme import NEUTRAL, add_message, as_float32, channel_style, figure

# Minimum range of the row of differences, in cycles, so that negligible noise looks small.
_MIN_RANGE = 0.03


def phase_and_truth(
    time: Array,
    phase: Array,
    truth: Array,
    *,
    channel: int,
    contacts: Array | None = None,
    limb: str = "limb",
    title: str = "",
) -> go.Figure:
    """The learnt phase over the true one, which is broad and grey, and their difference below.

    Parameters
    ----------
    time
        (frames,) seconds.
    phase, truth
        (frames,) cycles in [-0.5, 0.5), aligned by a constant shift.
    channel
        Index of the learnt phase, which selects its colour.
    contacts
        (frames,) bool: frames in which the limb touches the ground are shaded.
    limb
        Name of the limb.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the shapes do not fit.
    """
    given = [phase, truth] if contacts is None else [phase, truth, contacts]
    if any(values.shape != (len(time),) for values in given):
        raise ParameterError(f"{len(time)} times, but phases {phase.shape}, truth {truth.shape}")
    chart = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.03,
        row_heights=[0.68, 0.32],
        figure=figure(title or f"Phase of the {limb}, learnt and true", height=520),
    )
    if not len(time):
        return add_message(chart, "no frames to show")
    style = channel_style(channel)
    true, learnt = f"true phase of the {limb}", f"learnt: channel {channel}"
    looks = (
        (truth, true, {"color": NEUTRAL, "width": 7}, 0.55),
        (phase, learnt, {"color": style.colour, "width": 2}, 1.0),
    )
    for values, name, line, opacity in looks:
        x, y = broken_at_wrap(time, values)
        _add(chart, 1, x, y, name, "%{y:.3f} cycles", line=line, opacity=opacity)
    error = wrapped(np.asarray(phase, np.float64) - truth)
    line = {"color": style.colour, "width": 1.5}
    _add(chart, 2, time, error, "difference", "%{y:+.4f} cycles", line=line, showlegend=False)
    if contacts is not None:
        shade_frames(chart, time, np.asarray(contacts, bool), f"grey: the {limb} is on the ground")
    chart.add_hline(y=0, line_color=NEUTRAL, line_width=1, row=2, col=1)
    span = max(_MIN_RANGE, 1.1 * float(np.abs(error).max()))
    chart.update_yaxes(
        title_text="Phase (cycles)",
        range=[-0.55, 0.55],
        tickvals=[-0.5, -0.25, 0, 0.25, 0.5],
        row=1,
        col=1,
    )
    chart.update_yaxes(title_text="Difference<br>(cycles)", range=[-span, span], row=2, col=1)
    chart.update_xaxes(title_text="Time (s)", row=2, col=1)
    return chart.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"}, showlegend=True
    )


def _add(
    chart: go.Figure, row: int, x: Array, y: Array, name: str, given: str, **look: object
) -> None:
    look["line"] = {**look["line"], "simplify": False}  # type: ignore[dict-item]
    trace = go.Scatter(
        x=as_float32(x),
        y=as_float32(y),
        mode="lines",
        name=name,
        hovertemplate=f"{name}<br>%{{x:.2f}} s<br>{given}<extra></extra>",
        **look,
    )
    chart.add_trace(trace, row=row, col=1)
