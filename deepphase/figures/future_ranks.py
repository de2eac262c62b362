"""Ranks of future frames by different features (Starke et al. 2022, fig. 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import add_message, as_float32, channel_style, figure, label


def future_ranks_figure(
    seconds: Sequence[float], ranks: Mapping[str, Array], *, title: str = "Ranks of future frames"
) -> go.Figure:
    """One line per feature: the mean rank of the frame so many seconds ahead; 1 is the best.

    Parameters
    ----------
    seconds
        (times,) seconds ahead.
    ranks
        Name of a feature -> (times,) mean ranks; NaN where none was measured.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the lengths differ.

    References
    ----------
    Starke et al. 2022, fig. 15, right.
    """
    chart = figure(title, height=460)
    times = as_float32(1000.0 * np.asarray(seconds, np.float64))
    for index, (name, values) in enumerate(ranks.items()):
        if len(values) != len(times):
            raise ParameterError(f"{len(values)} ranks of {name}, {len(times)} times")
        style = channel_style(index)
        chart.add_trace(
            go.Scatter(
                x=times,
                y=as_float32(values),
                mode="lines+markers",
                name=label(name),
                line={"color": style.colour, "dash": style.dash},
                marker={"symbol": style.symbol, "size": 8},
                hovertemplate=(
                    f"{label(name)}<br>%{{x:.0f}} ms ahead<br>rank %{{y:,.1f}}<extra></extra>"
                ),
            )
        )
    if not any(np.isfinite(values).any() for values in ranks.values()):
        return add_message(chart, "no clip is long enough")
    chart.update_xaxes(title_text="Time ahead (ms)")
    chart.update_yaxes(title_text="Mean rank of the frame (log)", type="log", dtick=1)
    return chart.update_layout(showlegend=True)
