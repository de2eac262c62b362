"""Phase parameters over time, and their distributions (Starke et al. 2022, figures 3 to 5)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array, true_runs, wrapped
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    COLOURS,
    NEUTRAL,
    SHADE,
    WEBGL_POINTS,
    LineStyle,
    add_message,
    add_note,
    as_float32,
    channel_colour,
    channel_style,
    excerpt,
    figure,
    with_opacity,
)
from deepphase.phase.parameters import PhaseParameters

_ROWS = {
    "phase": "Phase (cycles)",
    "frequency": "Frequency (Hz)",
    "amplitude": "Amplitude<br>(latent unit)",
    "offset": "Offset<br>(latent unit)",
}
# Maximum number of frames that are drawn.
_MAX_FRAMES = 6_000
# Opacity of a channel without amplitude; the strongest channel has 1.
_MIN_OPACITY = 0.3
_COLUMNS = {"frequency": "Frequency (Hz)", "amplitude": "Amplitude (latent unit)"}
_BINS = 80
# Pixels of a row.
_ROW_PIXELS = 58
# Outliers beyond this percentile would compress all other frames into one bin.
_MAX_PERCENTILE = 99.8
# Columns of a strip; a screen has no more pixels.
_MAX_COLUMNS = 1_800
# Heights of a strip: one level is 0.03 cycles.
_LEVELS = 32
# Share of the strip in the height of a row, and pixels of a row.
_STRIP_SHARE, _STRIP_PIXELS = 0.86, 54
_OPAQUE = 255


def parameters_over_time(
    parameters: PhaseParameters,
    fps: float,
    *,
    interior: Array | None = None,
    start: float = 0.0,
    title: str = "Phase parameters over time",
) -> go.Figure:
    """Four rows over one time axis, one colour per channel; weak channels are thin and faint.

    Long clips are thinned or cut, and a note in the figure says so.

    Parameters
    ----------
    parameters
        (frames, channels) each, consecutive frames of one clip.
    fps
        Frames a second.
    interior
        (frames,) bool: frames whose whole window lies inside the clip; the others are shaded.
        All frames by default.
    start
        Time of the first frame, seconds.
    title
        Title of the figure.

    Raises
    ------
    ParameterError
        If the shapes do not fit.
    """
    interior = _checked_interior(parameters, interior)
    frames, channels = parameters.phase.shape
    part = excerpt(frames, fps, _MAX_FRAMES)
    parameters, interior = parameters[part.frames], interior[part.frames]
    time = start + np.arange(frames)[part.frames] / fps
    chart = make_subplots(
        rows=4,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.035,
        row_heights=[0.31, 0.23, 0.23, 0.23],
        figure=figure(title, height=760),
    )
    if frames:
        strength = parameters.amplitude.mean(0)
        strength = strength / max(float(strength.max()), 1e-12)
        order = _strongest_first(parameters, interior)
        # Of many channels the strongest have the colours that differ, as in players.
        for channel in range(channels):
            style = channel_style(order.index(channel) if channels > COLOURS else channel)
            for trace, row in _channel(parameters, time, channel, style, float(strength[channel])):
                chart.add_trace(trace, row=row, col=1)
        _shade_frames(chart, time, ~interior, "grey: the window reaches past the clip's end")
        add_note(chart, part.note, side="left")
    for row, words in enumerate(_ROWS.values(), start=1):
        chart.update_yaxes(title_text=words, row=row, col=1)
    chart.update_yaxes(range=[-0.55, 0.55], tickvals=[-0.5, -0.25, 0, 0.25, 0.5], row=1, col=1)
    for row in (2, 3):
        chart.update_yaxes(rangemode="tozero", row=row, col=1)
    chart.update_xaxes(title_text="Time (s)", row=4, col=1)
    chart.update_layout(
        legend={"title": {"text": "Channel"}, "groupclick": "togglegroup", "tracegroupgap": 0},
        showlegend=True,
    )
    return chart if frames else add_message(chart, "no frames to show")


def _strongest_first(parameters: PhaseParameters, interior: Array) -> list[int]:
    """Channels by the power of their amplitude inside, as in players."""
    inside = parameters.amplitude[interior if interior.any() else slice(None)]
    return np.argsort(-np.square(inside).mean(axis=0), kind="stable").tolist()


def _checked_interior(parameters: PhaseParameters, interior: Array | None) -> Array:
    """(frames,) bool, all frames if None; ParameterError if the shapes do not fit."""
    if parameters.phase.ndim != 2:
        raise ParameterError(
            f"phases must have shape (frames, channels), not {parameters.phase.shape}"
        )
    frames = len(parameters.phase)
    flags = np.ones(frames, bool) if interior is None else np.asarray(interior, bool)
    if flags.shape != (frames,):
        raise ParameterError(f"interior must have shape ({frames},), not {flags.shape}")
    return flags


def broken_at_wrap(time: Array, phase: Array) -> tuple[Array, Array]:
    """Insert gaps into a line of phase, so that wraps are not drawn as strokes.

    `time` (frames,) seconds. `phase` (frames,) cycles in [-0.5, 0.5). Returns time, phase (frames +
    3 * wraps,) each: at a wrap, the point on the edge that the phase reaches, NaN, and the point on
    the opposite edge.
    """
    at = np.flatnonzero(np.abs(np.diff(phase)) > 0.5)
    step = wrapped(phase[at + 1] - phase[at])
    edge = 0.5 * np.sign(step)
    share = np.divide(edge - phase[at], step, out=np.zeros(len(at)), where=step != 0)
    crossed = time[at] + np.clip(share, 0, 1) * (time[at + 1] - time[at])
    times = np.stack([crossed, crossed, crossed], axis=1).reshape(-1)
    phases = np.stack([edge, np.full(len(at), np.nan), -edge], axis=1).reshape(-1)
    places = np.repeat(at + 1, 3)
    return np.insert(time, places, times), np.insert(phase.astype(float), places, phases)


def _channel(
    parameters: PhaseParameters, time: Array, channel: int, style: LineStyle, strength: float
) -> list[tuple[go.Scatter | go.Scattergl, int]]:
    kind = go.Scattergl if len(time) > WEBGL_POINTS else go.Scatter
    traces = []
    for row, name in enumerate(_ROWS, start=1):
        x, y = time, getattr(parameters, name)[:, channel]
        if name == "phase":
            x, y = broken_at_wrap(x, y)
        trace = kind(
            x=as_float32(x),
            y=as_float32(y),
            mode="lines",
            connectgaps=False,
            line={"color": style.colour, "dash": style.dash, "width": 1.0 + 1.2 * strength},
            opacity=_MIN_OPACITY + (1 - _MIN_OPACITY) * strength,
            name=f"{channel}",
            legendgroup=f"channel {channel}",
            showlegend=row == 1,
            hovertemplate=f"channel {channel}<br>%{{x:.2f}} s<br>{name} %{{y:.3f}}<extra></extra>",
        )
        if kind is go.Scatter:
            trace.line.simplify = False
        traces.append((trace, row))
    return traces


def _shade_frames(chart: go.Figure, time: Array, chosen: Array, words: str) -> None:
    """Draw a grey band through all rows over each run of chosen frames, with a note.

    `time` (frames,) seconds, evenly spaced. `chosen` (frames,) bool.
    """
    runs = true_runs(chosen)
    half = 0.5 * float(time[1] - time[0]) if len(time) > 1 else 0.0
    for first, stop in runs:
        chart.add_shape(
            type="rect",
            xref="x",
            yref="paper",
            x0=float(time[first]) - half,
            x1=float(time[stop - 1]) + half,
            y0=0,
            y1=1,
            fillcolor=SHADE,
            line_width=0,
            layer="below",
        )
    if runs:
        add_note(chart, words, side="below")


def phase_strips(
    parameters: PhaseParameters,
    fps: float,
    *,
    interior: Array | None = None,
    start: float = 0.0,
    title: str = "Phases of all channels",
) -> go.Figure:
    """One row per channel, the strongest at the top: height is phase, opacity amplitude.

    All rows share one scale of opacity. Long clips are thinned or cut, and a note says so.

    Parameters and errors are those of `parameters_over_time`.

    References
    ----------
    Starke et al. 2022, fig. 5.
    """
    interior = _checked_interior(parameters, interior)
    frames, channels = parameters.phase.shape
    chart = figure(title, height=130 + _STRIP_PIXELS * max(channels, 3))
    if not frames:
        return add_message(chart, "no frames to show")
    part = excerpt(frames, fps, _MAX_COLUMNS)
    shown = parameters[part.frames]
    time = start + np.arange(frames)[part.frames] / fps
    # Where no window lies inside the clip, all frames set the scale.
    strongest = float(parameters.amplitude[interior if interior.any() else slice(None)].max())
    order = _strongest_first(parameters, interior)
    for row, channel in enumerate(order):
        colour = channel_colour(row if channels > COLOURS else channel)
        _add_strip(chart, shown[:, channel], time, channel, colour, channels - 1 - row, strongest)
    _shade_frames(
        chart, time, ~interior[part.frames], "grey: the window reaches past the clip's end"
    )
    opacity = f"opacity: amplitude, full at {strongest:.3g} (latent unit)"
    add_note(chart, ", ".join(filter(None, (opacity, part.note))), side="left")
    half = 0.5 * part.frames.step / fps
    chart.update_xaxes(
        title_text="Time (s)", range=[float(time[0]) - half, float(time[-1]) + half], showgrid=False
    )
    chart.update_yaxes(
        title_text="Phase of each channel<br>(a row is 1 cycle)",
        tickvals=[channels - 1 - row + _STRIP_SHARE / 2 for row in range(channels)],
        ticktext=[str(channel) for channel in order],
        range=[_STRIP_SHARE - 1, channels],
        showgrid=False,
        fixedrange=True,
    )
    return chart.update_layout(showlegend=False)


def strip(phase: Array, amplitude: Array, strongest: float) -> Array:
    """One strip as (levels, frames) uint8: 0 above the phase, 255 * amplitude / strongest below.

    `phase` (frames,) cycles in [-0.5, 0.5): -0.5 is empty, up to 0.5 is full. `amplitude`
    (frames,).
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
    colour: str,
    bottom: int,
    strongest: float,
) -> None:
    """Draw the strip of one channel, from a height on."""
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


def parameter_distributions(parameters: PhaseParameters) -> go.Figure:
    """One row of histograms per channel: frequencies on the left, amplitudes on the right.

    A line marks the median. All frames have the same weight.

    Parameters
    ----------
    parameters
        (frames, channels) each, frames of any clips.

    Raises
    ------
    ParameterError
        If the shape is another.

    References
    ----------
    Starke et al. 2022, fig. 4.
    """
    _checked_interior(parameters, None)
    frames, channels = parameters.phase.shape
    height = 150 + _ROW_PIXELS * max(channels, 3)
    chart = figure("Frequency and amplitude of each channel", height=height)
    if not frames:
        return add_message(chart, "no frames to show")
    chart.set_subplots(
        rows=channels,
        cols=2,
        shared_xaxes="columns",
        horizontal_spacing=0.04,
        vertical_spacing=0.2 / channels,
    )
    outliers = []
    for column, (name, words) in enumerate(_COLUMNS.items(), start=1):
        values = getattr(parameters, name)
        # All channels share the bins, so that a column compares.
        top = max(float(np.percentile(values, _MAX_PERCENTILE)), 1e-6)
        edges = np.linspace(0.0, 1.02 * top, _BINS + 1)
        if (values > edges[-1]).any():
            outliers.append(f"{100 * (values > edges[-1]).mean():.2g} % with a higher {name}")
        for channel in range(channels):
            counts, _ = np.histogram(values[:, channel], edges)
            place = {"row": channel + 1, "col": column}
            chart.add_trace(
                go.Bar(
                    x=as_float32(0.5 * (edges[1:] + edges[:-1])),
                    y=as_float32(counts / frames),
                    width=float(edges[1]),
                    marker={"color": channel_colour(channel), "line": {"width": 0}},
                    name=f"channel {channel}",
                    hovertemplate=f"channel {channel}<br>%{{x:.3f}}<br>%{{y:.1%}} of the frames"
                    "<extra></extra>",
                ),
                **place,
            )
            chart.add_vline(float(np.median(values[:, channel])), line_color=NEUTRAL, **place)
        chart.update_xaxes(title_text=words, row=channels, col=column)
    for channel in range(channels):
        chart.update_yaxes(title_text=f"{channel}", row=channel + 1, col=1)
    chart.update_yaxes(showticklabels=False, showgrid=False, ticks="", fixedrange=True)
    left_out = f"; not shown: {', '.join(outliers)}" if outliers else ""
    return add_note(chart, f"line: median{left_out}").update_layout(showlegend=False, bargap=0)
