"""One window of motion: its signals, latent, fitted sinusoids and reconstruction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.figures.theme import NEUTRAL, as_float32, channel_style, figure, label
from deepphase.phase.parameters import PhaseParameters

# Number of signals in a figure; more could not be distinguished.
_SIGNALS = 5
# Share of a row above it, for its title.
_GAP = 0.3
_LEFT, _RIGHT = (0.0, 0.46), (0.56, 1.0)


@dataclass(frozen=True, eq=False)
class WindowExample:
    """One window with a phase model's latent, sinusoids and reconstruction.

    `times` (frames,) seconds from the middle frame. `names` (signals,) names, as in "LeftFoot.z" or
    "chroma.C#". `signals`, `reconstruction` (signals, frames) in `unit`, without the mean over the
    window. `latent`, `fitted` (channels, frames): the latent and the sinusoids that fit it.
    `parameters` (channels,) each. `at`: time of the middle frame in the clip, seconds. `unit`: unit
    of the signals; "1" if they have none.
    """

    times: Array
    names: tuple[str, ...]
    signals: Array
    reconstruction: Array
    latent: Array
    fitted: Array
    parameters: PhaseParameters
    clip: str = ""
    at: float = 0.0
    unit: str = "m/s"

    @property
    def explained(self) -> float:
        """1 - squared error / squared signal of this window; 0 if nothing moves."""
        moved = float(np.square(self.signals, dtype=np.float64).sum())
        error = np.square(self.reconstruction - self.signals, dtype=np.float64).sum()
        return 1.0 - float(error) / moved if moved > 0 else 0.0

    def strongest(self, count: int) -> Array:
        """Indices of the strongest signal of each of the `count` joints that move most.

        For songs, features take the place of joints.
        """
        power = np.square(self.signals, dtype=np.float64).mean(1)
        chosen: dict[str, int] = {}
        for index in np.argsort(-power, kind="stable"):
            name = self.names[index]
            chosen.setdefault(name.rpartition(".")[0] or name, int(index))
            if len(chosen) == count:
                break
        return np.array(list(chosen.values()), np.int64)


def window_fit(example: WindowExample, *, signals: int = _SIGNALS) -> go.Figure:
    """Left: the strongest signals and their reconstruction; right: each channel and its fit."""
    shown, channels = example.strongest(signals), example.parameters.channels
    words = f"One window, {100 * example.explained:.0f} % of it explained"
    if example.clip:
        words = f"{words} ({label(example.clip)} at {example.at:.2f} s)"
    chart = figure(words, height=max(680, 170 + 70 * channels))
    chart.update_layout(showlegend=False, margin={"t": 120, "l": 60})
    signal_range = _range(example.signals[shown], example.reconstruction[shown])
    latent_range = _range(example.latent, example.fitted)
    unit = "scaled" if example.unit == "1" else example.unit
    content = "signals" if example.unit == "1" else "joint velocities"
    for row, index in enumerate(shown):
        name = label(example.names[index])
        axes = _Row(row, len(shown), _LEFT).add(chart, name, unit, signal_range)
        _line(chart, axes, example.times, example.signals[index], f"{name} input")
        given = example.reconstruction[index]
        _line(chart, axes, example.times, given, f"{name} reconstruction", line={"width": 1.6})
    for channel in range(channels):
        style, one = channel_style(channel), example.parameters[channel]
        numbers = (
            f"channel {channel}:  F {one.frequency:.2f} Hz,  A {one.amplitude:.2f},  "
            f"phase {one.phase:+.2f},  B {one.offset:+.2f}"
        )
        axes = _Row(channel, channels, _RIGHT, first=len(shown)).add(
            chart, numbers, "latent", latent_range, style.colour
        )
        name = f"channel {channel}"
        _line(chart, axes, example.times, example.latent[channel], f"{name} latent")
        line = {"color": style.colour, "dash": style.dash, "width": 2}
        _line(chart, axes, example.times, example.fitted[channel], f"{name} sinusoid", line=line)
    for (left, _), heading in (
        (_LEFT, f"<b>Strongest {content}</b><br>grey: input; line: reconstruction"),
        (_RIGHT, "<b>Latent of each channel</b><br>grey: latent; line: A sin 2π(F t + phase) + B"),
    ):
        chart.add_annotation(
            text=heading,
            xref="paper",
            yref="paper",
            x=left,
            y=1,
            yshift=24,
            yanchor="bottom",
            xanchor="left",
            align="left",
            showarrow=False,
            font_size=12,
        )
    return chart


def _range(*curves: Array) -> list[float]:
    """One range for all rows of a column, so that amplitudes compare."""
    top = max(1e-3, *(float(np.abs(curve).max(initial=0.0)) for curve in curves))
    return [-1.15 * top, 1.15 * top]


def _round(top: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not above `top`."""
    power = 10.0 ** math.floor(math.log10(top))
    return max(step * power for step in (1, 2, 5) if step * power <= top)


@dataclass(frozen=True)
class _Row:
    """Place of one small plot: row `index` of `rows` in a column of the figure."""

    index: int
    rows: int
    column: tuple[float, float]
    first: int = 0

    @property
    def number(self) -> str:
        at = self.first + self.index
        return "" if at == 0 else str(at + 1)

    def key(self, letter: str) -> str:
        return f"{letter}axis{self.number}"

    def add(
        self, chart: go.Figure, words: str, unit: str, span: list[float], colour: str | None = None
    ) -> _Axes:
        """Add axes at this place with a title; all rows share the zoom of the time axis."""
        bottom, top = 1 - (self.index + 1) / self.rows, 1 - self.index / self.rows
        top -= _GAP / self.rows
        last = self.index == self.rows - 1
        time = {"domain": self.column, "anchor": f"y{self.number}", "showticklabels": last}
        if self.number:
            time["matches"] = "x"
        if last:
            time["title"] = {"text": "Time from the frame (s)"}
        tick = _round(span[1])
        value = {
            "domain": [bottom, top],
            "anchor": f"x{self.number}",
            "range": span,
            "tickvals": [-tick, 0.0, tick],
            "title": {"text": unit},
        }
        chart.update_layout({self.key("x"): time, self.key("y"): value})
        chart.add_annotation(
            text=words,
            xref="paper",
            yref="paper",
            x=self.column[0],
            y=top,
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 12} if colour is None else {"size": 12, "color": colour},
        )
        return _Axes(f"x{self.number}", f"y{self.number}")


class _Axes(NamedTuple):
    xaxis: str
    yaxis: str


def _line(
    chart: go.Figure,
    axes: _Axes,
    times: Array,
    values: Array,
    name: str,
    *,
    line: dict[str, Any] | None = None,
) -> None:
    """Draw an input as a broad grey line, or with `line` a fit as a thin line on top.

    A line without a colour is drawn in the colour of the text.
    """
    chart.add_trace(
        go.Scatter(
            x=as_float32(times),
            y=as_float32(values),
            mode="lines",
            line={"simplify": False, **(line or {"width": 5, "color": NEUTRAL})},
            opacity=1.0 if line else 0.5,
            name=name,
            hovertemplate=f"{name}<br>%{{x:.2f}} s<br>%{{y:.3f}}<extra></extra>",
            **axes._asdict(),
        )
    )
