"""Frequencies and amplitudes of the phase channels in different motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import NEUTRAL, add_message, channel_style, figure, label

# Diameter in pixels of the strongest channel of a motion, and of one without amplitude.
_MAX_MARKER, _MIN_MARKER = 22.0, 4.0
# Share of a motion's column that its channels occupy.
_SPREAD = 0.56
_SYMBOLS = ("line-ew-open", "line-ew-open")
_DASH_WIDTHS = (3.0, 1.5)


def channel_frequencies(
    names: Sequence[str],
    frequency: Array,
    amplitude: Array,
    *,
    references: Mapping[str, Array] | None = None,
    title: str = "Frequencies of the phase channels",
) -> go.Figure:
    """One column per motion and one dot per channel, whose area is the amplitude.

    Parameters
    ----------
    names
        (motions,) names.
    frequency
        (motions, channels) Hz.
    amplitude
        (motions, channels) in the unit of the latent.
    references
        Name -> (motions,) Hz, up to two: drawn as grey strokes across each column.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the shapes do not fit.
    """
    references = references or {}
    frequency, amplitude = np.asarray(frequency, float), np.asarray(amplitude, float)
    if frequency.ndim != 2 or frequency.shape != amplitude.shape or len(frequency) != len(names):
        raise ParameterError(
            f"{len(names)} motions, frequencies {frequency.shape}, amplitudes {amplitude.shape}"
        )
    if any(len(values) != len(names) for values in references.values()):
        raise ParameterError(f"references that are not one frequency for each of {len(names)}")
    chart = figure(title, height=520)
    if not frequency.size:
        return add_message(chart, "no motions to show")
    places = np.arange(len(names))
    labels = [label(name, 24) for name in names]
    for (name, values), symbol, width in zip(
        references.items(), _SYMBOLS, _DASH_WIDTHS, strict=False
    ):
        chart.add_trace(
            go.Scatter(
                x=places,
                y=np.asarray(values, float),
                mode="markers",
                name=label(name),
                marker={
                    "symbol": symbol,
                    "size": 40,
                    "color": NEUTRAL,
                    "line": {"width": width, "color": NEUTRAL},
                },
                customdata=labels,
                hovertemplate=f"%{{customdata}}<br>{label(name)} %{{y:.2f}} Hz<extra></extra>",
            )
        )
    channels = frequency.shape[1]
    strongest = np.maximum(amplitude.max(1, keepdims=True), 1e-12)
    share = amplitude / strongest
    for channel in range(channels):
        style = channel_style(channel)
        beside = _SPREAD * ((channel + 0.5) / channels - 0.5)
        size = _MIN_MARKER + (_MAX_MARKER - _MIN_MARKER) * np.sqrt(share[:, channel])
        chart.add_trace(
            go.Scatter(
                x=places + beside,
                y=frequency[:, channel],
                mode="markers",
                name=f"channel {channel}",
                marker={
                    "symbol": style.symbol,
                    "color": style.colour,
                    "size": size,
                    "line": {"width": 0},
                },
                opacity=0.9,
                customdata=[
                    (text, f"{value:.3f}")
                    for text, value in zip(labels, amplitude[:, channel], strict=True)
                ],
                hovertemplate=(
                    f"%{{customdata[0]}}<br>channel {channel}<br>%{{y:.2f}} Hz<br>"
                    "amplitude %{customdata[1]}<extra></extra>"
                ),
            )
        )
    chart.update_xaxes(
        tickvals=places, ticktext=labels, range=[-0.6, len(names) - 0.4], showgrid=False
    )
    chart.update_yaxes(title_text="Frequency (Hz)", rangemode="tozero")
    # Dots in the legend have one size, as only their colour matters.
    return chart.update_layout(legend={"itemsizing": "constant"}, showlegend=True)
