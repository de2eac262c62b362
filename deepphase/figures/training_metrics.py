"""Loss, explained variance and learning rate of one training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.figures.theme import add_message, as_float32, channel_style, figure

_PANELS = (
    ("loss", "Loss"),
    ("explained_variance", "Explained variance"),
    ("learning_rate", "Learning rate"),
)


def training_metrics(metrics: Mapping[str, Array], *, title: str = "") -> go.Figure:
    """Panels of loss, explained variance and learning rate over the optimizer steps.

    Parameters
    ----------
    metrics
        Columns of a training's CSV, as `read_metrics` returns them: "step" and those of the
        panels, each (rows,), NaN where a row has no value.
    """
    shown = [
        (name, text)
        for name, text in _PANELS
        if name in metrics and np.isfinite(metrics[name]).any()
    ]
    chart = figure(title, height=180 + 180 * max(len(shown), 1))
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
