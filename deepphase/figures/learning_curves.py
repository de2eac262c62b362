"""Trainings over their epochs and steps: loss, learning rate and health measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.figures.theme import add_message, as_float32, channel_style, figure, label

_PANELS = (
    ("Loss ((m/s)²)", "loss", 1.0),
    ("Explained variance (%)", "explained", 100.0),
    ("Phase goes forward (%)", "forward", 100.0),
    ("Speed error (%)", "speed_error", 100.0),
)
_METRICS = (
    ("loss", "Loss"),
    ("explained_variance", "Explained variance"),
    ("learning_rate", "Learning rate"),
)


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """One training over its epochs, each array (epochs,).

    `epoch`: passes over all training windows. `loss`: mean squared error, (m/s)^2. `explained`:
    share of the held-out clips' variance that the reconstruction explains. `forward`: share of
    frames in which the strongest channel's phase grows. `speed_error`: median difference between
    the phase's speed and its frequency, relative to the frequency; NaN for networks without
    frequencies.
    """

    name: str
    epoch: Array
    loss: Array
    explained: Array
    forward: Array
    speed_error: Array


def learning_curves(
    runs: Sequence[LearningCurve], *, last_epoch: float | None = None, title: str = ""
) -> go.Figure:
    """Four panels over the epochs: loss, explained variance, forward phase, speed error.

    `last_epoch`: end of the axis; by default the last epoch of the trainings.
    """
    chart = make_subplots(
        rows=2,
        cols=2,
        shared_xaxes=True,
        horizontal_spacing=0.12,
        vertical_spacing=0.09,
        figure=figure(title or "Learning curves", height=460),
    )
    if not any(len(run.epoch) for run in runs):
        return add_message(chart, "no epoch has ended yet")
    for panel, (words, name, factor) in enumerate(_PANELS):
        row, column = divmod(panel, 2)
        for index, run in enumerate(runs):
            style = channel_style(index)
            values = factor * np.asarray(getattr(run, name), float)
            known = np.isfinite(values)
            chart.add_trace(
                go.Scatter(
                    x=as_float32(run.epoch[known]),
                    y=as_float32(values[known]),
                    mode="lines+markers",
                    line={"color": style.colour, "dash": style.dash, "width": 2},
                    marker={"size": 5, "symbol": style.symbol},
                    name=label(run.name, 28),
                    legendgroup=str(index),
                    showlegend=panel == 0 and len(runs) > 1,
                    hovertemplate=f"{label(run.name)}<br>epoch %{{x:.2f}}<br>%{{y:.4g}}"
                    "<extra></extra>",
                ),
                row=row + 1,
                col=column + 1,
            )
        chart.update_yaxes(title_text=words, rangemode="tozero", row=row + 1, col=column + 1)
    last = max([last_epoch or 0.0, *(float(run.epoch[-1]) for run in runs if len(run.epoch))])
    chart.update_xaxes(range=[0, 1.02 * last])
    chart.update_xaxes(title_text="Epoch (passes)", row=2)
    return chart.update_layout(
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 60 if len(runs) < 2 else 90},
    )


def training_metrics(metrics: Mapping[str, Array]) -> go.Figure:
    """Panels of loss, explained variance and learning rate over the optimizer steps.

    Parameters
    ----------
    metrics
        Columns of a training's CSV, as `read_metrics` returns them: "step" and those of the
        panels, each (rows,), NaN where a row has no value.
    """
    shown = [
        (name, text)
        for name, text in _METRICS
        if name in metrics and np.isfinite(metrics[name]).any()
    ]
    chart = figure("", height=180 + 180 * max(len(shown), 1))
    if not shown:
        return add_message(chart, "no metrics were logged")
    chart.set_subplots(rows=len(shown), cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for row, (name, text) in enumerate(shown, start=1):
        known = np.isfinite(metrics[name])
        chart.add_trace(
            go.Scatter(
                x=metrics["step"][known],
                y=as_float32(metrics[name][known]),
                mode="lines+markers",
                name=text,
                line={"color": channel_style(row - 1).colour, "width": 2},
                marker={"size": 4},
                hovertemplate=f"step %{{x:,}}<br>{text} %{{y:.4g}}<extra></extra>",
            ),
            row=row,
            col=1,
        )
        chart.update_yaxes(title_text=text, row=row, col=1)
    # The loss falls by orders of magnitude.
    if shown[0][0] == "loss":
        chart.update_yaxes(type="log", row=1, col=1)
    chart.update_xaxes(title_text="Optimizer steps", row=len(shown), col=1)
    return chart.update_layout(showlegend=False)
