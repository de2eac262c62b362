"""Trainings over their steps or epochs: loss, learning rate and health measures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.figures.theme import add_message, as_float32, channel_style, figure

# Losses that the scale names.
_LOSSES = [digit * 10.0**power for power in range(-6, 6) for digit in (1, 2, 5)]
# Column -> its panel; columns of shares are drawn in percent.
_PANELS = {
    "loss": "Loss",
    "explained_variance": "Explained variance (%)",
    "forward": "Phase goes forward (%)",
    "speed_error": "Speed error (%)",
    "learning_rate": "Learning rate",
}


def training_metrics(metrics: Mapping[str, Array], along: str = "step") -> go.Figure:
    """Panels of the metrics of a training over its optimizer steps.

    Parameters
    ----------
    metrics
        Columns of a training's CSV, as `read_metrics` returns them: "step" and those of the
        panels, each (rows,), NaN where a row has no value.
    along
        Another column for the horizontal axis, such as "epoch".
    """
    shown = [name for name in _PANELS if np.isfinite(metrics.get(name, np.nan)).any()]
    chart = figure("", height=180 + 180 * max(len(shown), 1))
    if not shown:
        return add_message(chart, "no metrics were logged")
    chart.set_subplots(rows=len(shown), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for row, name in enumerate(shown, start=1):
        known, words = np.isfinite(metrics[name]), _PANELS[name]
        factor = 100.0 if words.endswith("(%)") else 1.0
        chart.add_trace(
            go.Scatter(
                x=metrics[along][known],
                y=as_float32(factor * metrics[name][known]),
                mode="lines+markers",
                name=words,
                line={"color": channel_style(row - 1).colour, "width": 2},
                marker={"size": 4},
                hovertemplate=f"{along} %{{x:,}}<br>{words} %{{y:.4g}}<extra></extra>",
            ),
            row=row,
            col=1,
        )
        # The loss falls by orders of magnitude; nothing goes forward in more than all frames.
        scales: dict[str, dict[str, object]] = {
            "loss": {"type": "log", "tickvals": _LOSSES},
            "forward": {"autorangeoptions": {"maxallowed": 100}},
        }
        chart.update_yaxes(title_text=words, row=row, col=1, **scales.get(name, {}))
    titles = {"step": "Optimizer steps", "epoch": "Epochs (passes)"}
    chart.update_xaxes(title_text=titles.get(along, along), row=len(shown), col=1)
    return chart.update_layout(showlegend=False, margin={"t": 24})
