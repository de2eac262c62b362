"""What a phase model explains: a window with its fitted sinusoids and reconstruction, and joints
that channels follow and that the model reconstructs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import (
    NEUTRAL,
    SEQUENTIAL,
    add_message,
    as_float32,
    channel_colour,
    channel_style,
    figure,
    label,
)
from deepphase.phase.parameters import PhaseParameters


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


def window_fit(example: WindowExample, *, signals: int = 5) -> go.Figure:
    """Left: the strongest `signals`, and their reconstruction; right: each channel and its fit.

    Inputs are broad grey lines; all rows of a column have one range, so that amplitudes compare.
    """
    shown, channels = example.strongest(signals), example.parameters.channels
    rows = max(len(shown), channels)
    content = "signals" if example.unit == "1" else "joint velocities"
    numbers = [
        f"channel {channel}:  F {one.frequency:.2f} Hz,  A {one.amplitude:.2f},  "
        f"phase {one.phase:+.2f},  B {one.offset:+.2f}"
        for channel, one in enumerate(example.parameters[c] for c in range(channels))
    ]
    titles = [label(example.names[index]) for index in shown], numbers
    words = f"One window, {100 * example.explained:.0f} % of it explained"
    if example.clip:
        words = f"{words} ({label(example.clip)} at {example.at:.2f} s)"
    chart = make_subplots(
        rows=rows,
        cols=2,
        shared_xaxes="all",
        column_titles=[
            f"<b>Strongest {content}</b><br>grey: input; line: reconstruction",
            "<b>Latent of each channel</b><br>grey: latent; line: A sin 2π(F t + phase) + B",
        ],
        specs=[[{} if row < len(column) else None for column in titles] for row in range(rows)],
        subplot_titles=[
            column[row] for row in range(rows) for column in titles if row < len(column)
        ],
        figure=figure(words, height=max(680, 170 + 70 * rows)),
    )
    for row, index in enumerate(shown, start=1):
        name = titles[0][row - 1]
        _add_line(chart, example.times, example.signals[index], f"{name} input", (row, 1))
        curve = example.reconstruction[index]
        _add_line(chart, example.times, curve, f"{name} reconstruction", (row, 1), {"width": 1.6})
    for channel in range(channels):
        style, name = channel_style(channel), f"channel {channel}"
        line, place = {"color": style.colour, "dash": style.dash, "width": 2}, (channel + 1, 2)
        _add_line(chart, example.times, example.latent[channel], f"{name} latent", place)
        _add_line(chart, example.times, example.fitted[channel], f"{name} sinusoid", place, line)
    unit = "scaled" if example.unit == "1" else example.unit
    chart.update_yaxes(title_text=unit, col=1, range=_range(example.signals[shown]))
    chart.update_yaxes(title_text="latent", col=2, range=_range(example.latent, example.fitted))
    chart.update_xaxes(title_text="Time from the frame (s)", row=len(shown), col=1)
    chart.update_xaxes(title_text="Time from the frame (s)", row=channels, col=2)
    chart.update_annotations(font_size=12)
    # The titles of the columns stand above those of their first rows.
    for title in chart.layout.annotations[-2:]:
        title.yshift = 20
    return chart.update_layout(showlegend=False, margin={"t": 120, "l": 60})


def _range(*curves: Array) -> list[float]:
    top = max(1e-3, *(float(np.abs(curve).max(initial=0.0)) for curve in curves))
    return [-1.15 * top, 1.15 * top]


def _add_line(
    chart: go.Figure,
    times: Array,
    values: Array,
    name: str,
    place: tuple[int, int],
    line: dict[str, object] | None = None,
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
        ),
        row=place[0],
        col=place[1],
    )


# Pixels of a row.
_ROW_PIXELS = 19
# Joints with a smaller share are drawn in grey: their motion is mostly lost.
_MOSTLY_LOST = 0.4


def channel_joints(shares: Array, joints: Sequence[str]) -> go.Figure:
    """One row per joint and one column per channel, brighter for larger shares.

    `shares` (channels, joints) shares of each joint's variance; negative shares are drawn as 0.
    `joints` (joints,) names.
    """
    shares = np.asarray(shares, float)
    if shares.ndim != 2 or shares.shape[1] != len(joints):
        raise ParameterError(
            f"shares must have shape (channels, {len(joints)}), not {shares.shape}"
        )
    if not np.isfinite(shares).all():
        raise ParameterError("shares must be finite")
    chart = figure(
        "Which joints each channel follows", height=150 + _ROW_PIXELS * max(len(joints), 4)
    )
    if not shares.size:
        return add_message(chart, "no joint was measured")
    percent = 100 * shares.T
    chart.add_trace(
        go.Heatmap(
            z=as_float32(percent.clip(0)),
            x=[f"{channel}" for channel in range(len(shares))],
            y=list(range(len(joints))),
            zmin=0,
            zmax=100,
            colorscale=SEQUENTIAL,
            xgap=2,
            ygap=1,
            text=[[label(name)] * len(shares) for name in joints],
            customdata=as_float32(percent),
            hovertemplate="%{text}<br>channel %{x}<br>%{customdata:.0f} %<extra></extra>",
            colorbar={"title": {"text": "Share of the joint's movement (%)", "side": "right"}},
        )
    )
    chart.update_xaxes(title_text="Phase channel", type="category", showgrid=False)
    return _named_rows(chart, "Joint", joints, 24).update_yaxes(autorange="reversed")


def explained_by_joint(shares: Mapping[str, float], *, what: str = "joint") -> go.Figure:
    """One bar per joint, the best explained at the top.

    `shares`: joint name -> share of its variance that the reconstruction explains, up to 1. A
    negative share (worse than a constant pose) is drawn as 0, and its value appears on hovering.
    """
    chart = figure(f"Explained variance by {what}", height=150 + _ROW_PIXELS * max(len(shares), 4))
    if not shares:
        return add_message(chart, f"no {what} was measured")
    ordered = sorted(shares.items(), key=lambda item: item[1])
    percent = [100 * share for _, share in ordered]
    rows = list(range(len(ordered)))
    chart.add_trace(
        go.Bar(
            x=[max(value, 0.0) for value in percent],
            y=rows,
            orientation="h",
            marker_color=[
                NEUTRAL if share < _MOSTLY_LOST else channel_colour(0) for _, share in ordered
            ],
            text=[f"{value:.0f}" for value in percent],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{customdata}: %{text} %<extra></extra>",
            customdata=[label(name) for name, _ in ordered],
            showlegend=False,
        )
    )
    chart.update_xaxes(title_text="Explained variance (%)", range=[0, 105])
    _named_rows(chart, what.capitalize(), [name for name, _ in ordered], 28)
    return chart.update_yaxes(range=[-0.7, len(rows) - 0.3]).update_layout(bargap=0.25)


def _named_rows(chart: go.Figure, title: str, names: Sequence[str], letters: int) -> go.Figure:
    """Rows are numbers, with the names as tick labels: shortened names may be equal."""
    return chart.update_yaxes(
        title_text=title,
        tickvals=list(range(len(names))),
        ticktext=[label(name, letters) for name in names],
        showgrid=False,
    )
