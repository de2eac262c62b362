"""Distributions of each channel's frequency and amplitude (Starke et al. 2022, fig. 4)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    add_message,
    add_note,
    as_float32,
    channel_colour,
    figure,
    with_opacity,
)
from deepphase.phase.parameters import PhaseParameters

_COLUMNS = {"frequency": "Frequency (Hz)", "amplitude": "Amplitude (latent unit)"}
_BINS = 80
# Height of the highest bin as a share of the distance between rows; pixels of a row.
_PEAK, _ROW_PIXELS = 0.86, 58
# Outliers beyond this percentile would compress all other frames into one bin.
_MAX_PERCENTILE = 99.8


def parameter_distributions(
    parameters: PhaseParameters, *, title: str = "Frequency and amplitude of each channel"
) -> go.Figure:
    """One row of histograms per channel: frequencies on the left, amplitudes on the right.

    The highest bin of every histogram has the height of a row; a stroke marks the median. All
    frames have the same weight.

    Parameters
    ----------
    parameters
        (frames, channels) each, frames of any clips.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the shape is another.

    References
    ----------
    Starke et al. 2022, fig. 4.
    """
    if parameters.phase.ndim != 2:
        raise ParameterError(
            f"phases must have shape (frames, channels), not {parameters.phase.shape}"
        )
    frames, channels = parameters.phase.shape
    chart = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.04,
        figure=figure(title, height=150 + _ROW_PIXELS * max(channels, 3)),
    )
    outliers = []
    for column, (name, words) in enumerate(_COLUMNS.items(), start=1):
        chart.update_xaxes(title_text=words, rangemode="tozero", row=1, col=column)
        if not frames:
            continue
        values = getattr(parameters, name)
        # All channels share the bins, so that heights in a column compare.
        top = max(float(np.percentile(values, _MAX_PERCENTILE)), 1e-6)
        edges = np.linspace(0.0, 1.02 * top, _BINS + 1)
        if (values > edges[-1]).any():
            outliers.append(f"{100 * (values > edges[-1]).mean():.2g} % with a higher {name}")
        for channel in range(channels):
            _add_ridge(chart, values[:, channel], edges, channel, channels, column)
    chart.update_yaxes(
        tickvals=[channels - 1 - channel for channel in range(channels)],
        ticktext=[str(channel) for channel in range(channels)],
        range=[-0.15, channels - 1 + 1.1],
        showgrid=False,
        fixedrange=True,
    )
    chart.update_yaxes(title_text="Channel (height: share of frames)", row=1, col=1)
    chart.update_yaxes(ticks="", row=1, col=2)
    chart.update_layout(showlegend=False)
    if outliers:
        add_note(chart, f"not shown: {', '.join(outliers)}")
    return chart if frames else add_message(chart, "no frames to show")


def _add_ridge(
    chart: go.Figure, values: Array, edges: Array, channel: int, channels: int, column: int
) -> None:
    """Draw one histogram on its base line, and a stroke at the median."""
    colour, base = channel_colour(channel), channels - 1 - channel
    counts, _ = np.histogram(values, edges)
    heights = counts / max(int(counts.max()), 1)
    median = float(np.median(values))
    outline = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    places = np.repeat(edges, 2)
    chart.add_trace(
        go.Scatter(
            x=as_float32(places),
            y=as_float32(base + _PEAK * outline),
            mode="lines",
            line={"color": colour, "width": 1.5, "simplify": False},
            # The base line closes the area of the histogram.
            fill="toself",
            fillcolor=with_opacity(colour, 0.3),
            hoveron="points",
            customdata=as_float32(
                np.concatenate([[0.0], np.repeat(counts, 2), [0.0]]) / len(values)
            ),
            hovertemplate=(
                f"channel {channel}<br>%{{x:.3f}}<br>%{{customdata:.1%}} of the frames"
                "<extra></extra>"
            ),
            name=f"channel {channel}",
        ),
        row=1,
        col=column,
    )
    unit = "Hz" if column == 1 else "latent unit"
    chart.add_trace(
        go.Scatter(
            x=as_float32([median, median]),
            y=as_float32([base, base + _PEAK]),
            mode="lines",
            line={"color": NEUTRAL, "width": 1.5},
            hovertemplate=f"channel {channel}<br>median {median:.3f} {unit}<extra></extra>",
            name=f"channel {channel}: median",
        ),
        row=1,
        col=column,
    )
