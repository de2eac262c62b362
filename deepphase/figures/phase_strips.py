"""Phases of a clip as one strip a channel (Starke et al. 2022, fig. 5)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.excerpt import excerpt
from deepphase.figures.parameters_over_time import shade
from deepphase.figures.theme import (
    WEBGL_POINTS,
    add_note,
    channel_colour,
    figure,
    say_nothing_to_show,
    single,
    with_opacity,
)
from deepphase.phase.parameters import PhaseParameters

# Columns of a strip: more than a screen has pixels are not seen.
_COLUMNS = 1_800
# Heights that a strip can show: one is 0.03 cycles.
_LEVELS = 32
# Of a row's height, what the strip takes; and pixels of a row.
_STRIP, _ROW_PIXELS = 0.86, 54
_OPAQUE = 255


def phase_strips(
    parameters: PhaseParameters,
    fps: float,
    *,
    interior: Array | None = None,
    start: float = 0.0,
    title: str = "Phases of all channels",
) -> go.Figure:
    """One row a channel: the height is the phase, the opacity the amplitude.

    All rows share one scale of opacity, so that a channel that is faint says little. What does
    not fit a screen is thinned or cut, and the figure says so.

    Parameters
    ----------
    parameters
        (frames, channels) each, consecutive frames of one clip.
    fps
        Frames a second.
    interior
        (frames,) bool: frames whose whole window lies inside the clip; the others are shaded.
    start
        Seconds of the first frame.
    title
        Of the figure.

    Raises
    ------
    ParameterError
        Where the shapes do not fit.

    References
    ----------
    Starke et al. 2022, fig. 5.
    """
    if parameters.phase.ndim != 2:
        raise ParameterError(f"phases {parameters.phase.shape}, expected (frames, channels)")
    frames, channels = parameters.phase.shape
    interior = np.ones(frames, bool) if interior is None else np.asarray(interior, bool)
    if interior.shape != (frames,):
        raise ParameterError(f"interior {interior.shape}, expected ({frames},)")
    chart = figure(title, height=130 + _ROW_PIXELS * max(channels, 3))
    if not frames:
        return say_nothing_to_show(chart, "no frames to show")
    part = excerpt(frames, fps, _COLUMNS)
    shown = parameters[part.frames]
    time = start + np.arange(frames)[part.frames] / fps
    strongest = float(parameters.amplitude.max())
    for channel in range(channels):
        _add_strip(chart, shown[:, channel], time, channel, channels, strongest)
    shade(chart, time, ~interior[part.frames], "grey: the window reaches past the clip's end")
    opacity = f"opacity: amplitude, full at {strongest:.3g} (latent unit)"
    add_note(chart, ", ".join(filter(None, (opacity, part.words))), side="left")
    half = 0.5 * part.step / fps
    chart.update_xaxes(
        title_text="Time (s)",
        range=[float(time[0]) - half, float(time[-1]) + half],
        showgrid=False,
    )
    chart.update_yaxes(
        title_text="Phase of each channel<br>(a row is 1 cycle)",
        tickvals=[channels - 1 - channel + _STRIP / 2 for channel in range(channels)],
        ticktext=[str(channel) for channel in range(channels)],
        range=[_STRIP - 1, channels],
        showgrid=False,
        fixedrange=True,
    )
    return chart.update_layout(showlegend=False)


def strip(phase: Array, amplitude: Array, strongest: float) -> Array:
    """(levels, frames) uint8: 0 above the phase, the amplitude's share of 255 below it.

    Parameters
    ----------
    phase
        (frames,) cycles in [-0.5, 0.5): -0.5 is empty, up to 0.5 is full.
    amplitude
        (frames,), at most `strongest`, which is opaque.
    """
    height = (np.arange(_LEVELS) + 0.5) / _LEVELS
    share = amplitude / strongest if strongest > 0 else np.zeros_like(amplitude)
    filled = height[:, None] <= phase + 0.5
    return (filled * np.rint(_OPAQUE * share)).astype(np.uint8)


def _add_strip(
    chart: go.Figure,
    parameters: PhaseParameters,
    time: Array,
    channel: int,
    channels: int,
    strongest: float,
) -> None:
    """The strip of one channel; the first channel stands on top."""
    colour, bottom = channel_colour(channel), channels - 1 - channel
    span = float(time[1] - time[0]) if len(time) > 1 else 1.0
    chart.add_trace(
        go.Heatmap(
            z=strip(parameters.phase, parameters.amplitude, strongest),
            x0=float(time[0]),
            dx=span,
            y0=bottom + 0.5 * _STRIP / _LEVELS,
            dy=_STRIP / _LEVELS,
            zmin=0,
            zmax=_OPAQUE,
            colorscale=[[0, with_opacity(colour, 0)], [1, with_opacity(colour, 1)]],
            showscale=False,
            hoverinfo="skip",
            name=f"channel {channel}",
        )
    )
    # The edge that moves, unseen, for what is told on hovering.
    kind = go.Scattergl if len(time) > WEBGL_POINTS else go.Scatter
    chart.add_trace(
        kind(
            x=single(time),
            y=single(bottom + _STRIP * (parameters.phase + 0.5)),
            mode="markers",
            marker={"color": colour, "opacity": 0},
            customdata=single(np.stack([parameters.phase, parameters.amplitude], axis=-1)),
            name=f"channel {channel}",
            hovertemplate=(
                f"channel {channel}<br>%{{x:.2f}} s<br>phase %{{customdata[0]:.3f}} cycles<br>"
                "amplitude %{customdata[1]:.3f}<extra></extra>"
            ),
        )
    )
