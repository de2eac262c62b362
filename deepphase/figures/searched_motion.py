"""Frames that autoregressive searches find, beside the motion that follows (fig. 17)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import SEQUENTIAL, add_message, as_float32, figure, label

_ROW_PIXELS = 42


def searched_motion(
    distances: Mapping[str, Array], fps: float, *, title: str = "Autoregressive search"
) -> go.Figure:
    """One row per feature and one column per step; bright where the found poses are right.

    Parameters
    ----------
    distances
        Name of a feature -> (steps,) metres between the found pose and that of the motion itself.
    fps
        Steps a second.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the lengths differ.

    References
    ----------
    Starke et al. 2022, fig. 17.
    """
    lengths = {len(each) for each in distances.values()}
    if len(lengths) > 1:
        raise ParameterError(f"searches of different lengths: {sorted(lengths)}")
    chart = figure(title, height=170 + _ROW_PIXELS * max(len(distances), 2))
    if not lengths or not max(lengths):
        return add_message(chart, "no clip is long enough")
    names = [label(name) for name in distances]
    chart.add_trace(
        go.Heatmap(
            z=as_float32(100.0 * np.stack(list(distances.values()))),
            x0=0.0,
            dx=1.0 / fps,
            y=list(range(len(names))),
            colorscale=SEQUENTIAL,
            reversescale=True,
            zmin=0,
            ygap=4,
            text=[[name] * max(lengths) for name in names],
            hovertemplate="%{text}<br>%{x:.2f} s<br>%{z:.1f} cm<extra></extra>",
            colorbar={"title": {"text": "Distance of joints (cm)", "side": "right"}},
        )
    )
    chart.update_xaxes(title_text="Time of the search (s)", showgrid=False)
    chart.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, autorange="reversed", showgrid=False
    )
    return chart
