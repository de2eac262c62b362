"""What trainings were worth as they went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import channel_style, figure, label, say_nothing_to_show, single

_PANELS = (
    ("Loss ((m/s)²)", "loss", 1.0),
    ("Explained variance (%)", "explained", 100.0),
    ("Phase goes forward (%)", "forward", 100.0),
    ("Speed error (%)", "speed_error", 100.0),
)


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """One training over its epochs, each array (epochs,).

    Parameters
    ----------
    name
        Of the training.
    epoch
        Passes over all training windows.
    loss
        Mean squared error, (m/s)^2.
    explained
        Share of held-out movement that comes back.
    forward
        Share of frames in which the strongest channel's phase grows.
    speed_error
        Median difference of the phase's speed from its frequency, a share; NaN where there are no
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

    Parameters
    ----------
    runs
        One colour each.
    last_epoch
        Where the axis ends; the last one that there is, if not given.
    title
        Of the figure.

    Raises
    ------
    ParameterError
        Where the lengths of a run's arrays differ.
    """
    for run in runs:
        sizes = {np.shape(getattr(run, name)) for _, name, _ in _PANELS} | {np.shape(run.epoch)}
        if len(sizes) != 1:
            raise ParameterError(f"{run.name}: curves of different lengths: {sorted(sizes)}")
    chart = make_subplots(
        rows=2,
        cols=2,
        shared_xaxes=True,
        horizontal_spacing=0.12,
        vertical_spacing=0.09,
        figure=figure(title or "The training, epoch by epoch", height=460),
    )
    if not any(len(run.epoch) for run in runs):
        return say_nothing_to_show(chart, "no epoch has ended yet")
    for panel, (words, name, factor) in enumerate(_PANELS):
        row, column = divmod(panel, 2)
        for index, run in enumerate(runs):
            style = channel_style(index)
            values = factor * np.asarray(getattr(run, name), float)
            known = np.isfinite(values)
            chart.add_trace(
                go.Scatter(
                    x=single(run.epoch[known]),
                    y=single(values[known]),
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
