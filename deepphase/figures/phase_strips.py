"""Phases of a clip as one strip per channel (Starke et al. 2022, fig. 5)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.figures.excerpt import excerpt
from deepphase.figures.phase_parameters import checked_interior, shade_frames
from deepphase.figures.theme import (
    WEBGL_POINTS,
    add_message,
    add_note,
    as_float32,
    channel_colour,
    figure,
    with_opacity,
)
from deepphase.phase.parameters import PhaseParameters

# Columns of a strip; a screen has no more pixels.
_MAX_COLUMNS = 1_800
# Heights of a strip: one level is 0.03 cycles.
_LEVELS = 32
# Share of the strip in the height of a row, and pixels of a row.
_STRIP_SHARE, _ROW_PIXELS = 0.86, 54
_OPAQUE = 255


def phase_strips(
    parameters: PhaseParameters,
    fps: float,
    *,
    interior: Array | None = None,
    start: float = 0.0,
    title: str = "Phases of all channels",
) -> go.Figure:
    """One row per channel: the height is the phase, the opacity the amplitude.

    All rows share one scale of opacity. Long clips are thinned or cut, and a note says so.

    Parameters
    ----------
    parameters
        (frames, channels) each, consecutive frames of one clip.
    fps
        Frames a second.
    interior
        (frames,) bool: frames whose whole window lies inside the clip; the others are shaded.
    start
        Time of the first frame, seconds.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the shapes do not fit.

    References
    ----------
    Starke et al. 2022, fig. 5.
    """
    interior = checked_interior(parameters, interior)
    frames, channels = parameters.phase.shape
    chart = figure(title, height=130 + _ROW_PIXELS * max(channels, 3))
    if not frames:
        return add_message(chart, "no frames to show")
    part = excerpt(frames, fps, _MAX_COLUMNS)
    shown = parameters[part.frames]
    time = start + np.arange(frames)[part.frames] / fps
    # Where no window lies inside the clip, all frames set the scale.
    strongest = float(parameters.amplitude[interior if interior.any() else slice(None)].max())
    for channel in range(channels):
        _add_strip(chart, shown[:, channel], time, channel, channels, strongest)
    shade_frames(
        chart, time, ~interior[part.frames], "grey: the window reaches past the clip's end"
    )
    opacity = f"opacity: amplitude, full at {strongest:.3g} (latent unit)"
    add_note(chart, ", ".join(filter(None, (opacity, part.note))), side="left")
    half = 0.5 * part.step / fps
    chart.update_xaxes(
        title_text="Time (s)",
        range=[float(time[0]) - half, float(time[-1]) + half],
        showgrid=False,
    )
    chart.update_yaxes(
        title_text="Phase of each channel<br>(a row is 1 cycle)",
        tickvals=[channels - 1 - channel + _STRIP_SHARE / 2 for channel in range(channels)],
        ticktext=[str(channel) for channel in range(channels)],
        range=[_STRIP_SHARE - 1, channels],
        showgrid=False,
        fixedrange=True,
    )
    return chart.update_layout(showlegend=False)


def strip(phase: Array, amplitude: Array, strongest: float) -> Array:
    """One strip as (levels, frames) uint8: 0 above the phase, 255 * amplitude / strongest below.

    Parameters
    ----------
    phase
        (frames,) cycles in [-0.5, 0.5): -0.5 is empty, up to 0.5 is full.
    amplitude
        (frames,)
    strongest
        The largest amplitude, which is opaque.
    """
    height = (np.arange(_LEVELS) + 0.5) / _LEVELS
    share = (amplitude / strongest).clip(0, 1) if strongest > 0 else np.zeros_like(amplitude)
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
    """Draw the strip of one channel; the first channel is at the top."""
    colour, bottom = channel_colour(channel), channels - 1 - channel
    span = float(time[1] - time[0]) if len(time) > 1 else 1.0
    chart.add_trace(
        go.Heatmap(
            z=strip(parameters.phase, parameters.amplitude, strongest),
            x0=float(time[0]),
            dx=span,
            y0=bottom + 0.5 * _STRIP_SHARE / _LEVELS,
            dy=_STRIP_SHARE / _LEVELS,
            zmin=0,
            zmax=_OPAQUE,
            colorscale=[[0, with_opacity(colour, 0)], [1, with_opacity(colour, 1)]],
            showscale=False,
            hoverinfo="skip",
            name=f"channel {channel}",
        )
    )
    # Invisible markers along the upper edge hold the values that appear on hovering.
    kind = go.Scattergl if len(time) > WEBGL_POINTS else go.Scatter
    chart.add_trace(
        kind(
            x=as_float32(time),
            y=as_float32(bottom + _STRIP_SHARE * (parameters.phase + 0.5)),
            mode="markers",
            marker={"color": colour, "opacity": 0},
            customdata=as_float32(np.stack([parameters.phase, parameters.amplitude], axis=-1)),
            name=f"channel {channel}",
            hovertemplate=(
                f"channel {channel}<br>%{{x:.2f}} s<br>phase %{{customdata[0]:.3f}} cycles<br>"
                "amplitude %{customdata[1]:.3f}<extra></extra>"
            ),
        )
    )
