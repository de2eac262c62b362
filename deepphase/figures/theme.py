"""Theme of all figures: colours, fonts, templates in light and dark, and colourings of points."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.colors import cyclical, sample_colorscale

from deepphase.arrays import Array, brief_repr

# Blue, sky blue and vermilion of Okabe and Ito 2008 and nine colours that were searched for: each
# pair differs for every common kind of colour vision, on a dark and on a white page. The four
# colours of a group also differ in grey, as in print; groups differ by dash and symbol.
_COLOURS = (
    "#0072B2",
    "#DAB526",
    "#00A776",
    "#9C253F",
    "#56B4E9",
    "#D55E00",
    "#5F16C7",
    "#C20088",
    "#8179F0",
    "#8ED08B",
    "#0E6375",
    "#752900",
)
COLOURS = len(_COLOURS)
"""Number of channels whose colours differ."""
# Each for the four colours of a group; symbols are those that 2D, WebGL and 3D traces all support.
_DASHES = np.repeat(("solid", "dash", "dot", "dashdot"), 4).tolist()
_SYMBOLS = np.repeat(("circle", "diamond", "square", "x"), 4).tolist()

# Grey for anything but channels (input signals, guides, shading), visible in light and dark.
NEUTRAL = "#85898F"
SHADE = "rgba(133, 137, 143, 0.16)"
# Viridis without its ends, which are as dark as a dark page and as bright as a white one.
SEQUENTIAL = sample_colorscale("Viridis", np.linspace(0.22, 0.85, 9).tolist())
CYCLIC = cyclical.Phase

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
# Traces with more points are drawn by WebGL.
WEBGL_POINTS = 1000


class Look(NamedTuple):
    """Colours of a light or a dark page: of texts, of its lines, of itself, and of its parts."""

    ink: str
    soft: str
    line: str
    page: str
    wall: str


LIGHT = Look("#1B1F24", "#59616B", "#E4E7EB", "#FFFFFF", "#F6F8FA")
DARK = Look("#E6E8EB", "#A9AFB7", "#2C3138", "#15181C", "#1B1F24")


class LineStyle(NamedTuple):
    """Line and marker style of one channel or category."""

    colour: str
    dash: str
    symbol: str


CHANNEL_STYLES = tuple(map(LineStyle, 4 * _COLOURS, 3 * _DASHES, 3 * _SYMBOLS))
"""Colour, line dash and marker symbol of channels; those of later ones repeat."""


def channel_colour(index: int) -> str:
    """Colour of a phase channel (or a category), the same in every figure and table."""
    return channel_style(index).colour


def with_opacity(colour: str, opacity: float) -> str:
    """A colour of the palette, "#rrggbb", with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def channel_style(index: int) -> LineStyle:
    """Colour, line dash and marker symbol of a channel; the first 48 all differ."""
    return CHANNEL_STYLES[index % len(CHANNEL_STYLES)]


def label(text: object, length: int = 40) -> str:
    """Escape a text for plotly, on one line and shortened to `length` letters."""
    # Bytes of file names that are not characters appear as lone surrogates.
    clean = str(text).encode("utf-8", "replace").decode("utf-8")
    clean = " ".join("".join(c if c.isprintable() else " " for c in clean).split())
    if len(clean) > length:
        clean = f"{clean[: length // 2]}…{clean[-(length - length // 2 - 1) :]}"
    return html.escape(clean, quote=False)


# Categories with a colour of their own; all further ones share a colour.
_MAX_CATEGORIES = 12
# Rank behind all other entries of a legend, which plotly ranks 1000.
_LAST = 2000


@brief_repr
@dataclass(frozen=True, eq=False)
class Colouring:
    """Values that determine the colours of points.

    Parameters
    ----------
    name
        Name, as in "frequency", "clip" or "style".
    values
        (points,) numbers, or texts, each of which is a category.
    unit
        Unit of the numbers.
    cyclic
        The numbers are cycles in [-0.5, 0.5): both ends of the scale have the same colour.
    spread
        If there are too many categories, choose those with a colour evenly over their order; by
        default the most frequent ones.
    """

    name: str
    values: Array
    unit: str = ""
    cyclic: bool = False
    spread: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the values are texts."""
        return np.asarray(self.values).dtype.kind in "USO"

    @property
    def title(self) -> str:
        """Name and unit, as in "Frequency (Hz)"."""
        name = label(self.name)
        return f"{name[:1].upper()}{name[1:]}" + (f" ({label(self.unit)})" if self.unit else "")

    def thinned(self, step: int) -> Colouring:
        """The colouring of every `step`-th point."""
        return replace(self, values=np.asarray(self.values)[::step])

    def categories(self) -> Iterator[tuple[Array, dict[str, Any]]]:
        """Points and style of each category, in order of appearance.

        Categories without a colour of their own come first, in one trace behind all others.
        """
        names, first, which, counts = np.unique(
            np.asarray(self.values).astype(str),
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        coloured = np.argsort(first if self.spread else -counts, kind="stable")
        if self.spread and len(names) > _MAX_CATEGORIES:
            coloured = coloured[np.linspace(0, len(names) - 1, _MAX_CATEGORIES).round().astype(int)]
        coloured = coloured[:_MAX_CATEGORIES]
        if len(names) > _MAX_CATEGORIES:
            yield (
                np.flatnonzero(~np.isin(which, coloured)),
                {
                    "name": f"{len(names) - _MAX_CATEGORIES} others",
                    "legendrank": _LAST,
                    "marker": {"color": NEUTRAL, "opacity": 0.4},
                    "line": {"color": NEUTRAL, "width": 1},
                },
            )
        for index, category in enumerate(sorted(coloured, key=lambda item: first[item])):
            style = channel_style(index)
            yield (
                np.flatnonzero(which == category),
                {
                    "name": label(names[category], 28),
                    "marker": {"color": style.colour, "symbol": style.symbol, "opacity": 0.85},
                    "line": {"color": style.colour, "width": 1},
                },
            )


@cache
def template(look: Look) -> go.layout.Template:
    """The plotly template of a page."""
    ink, soft, grid, page, wall = look
    axis = {
        "gridcolor": grid,
        "linecolor": soft,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": grid,
        "tickfont": {"color": soft, "size": 12},
        "title": {"font": {"color": ink, "size": 13}, "standoff": 8},
        "automargin": True,
    }
    solid = {
        "backgroundcolor": wall,
        "showbackground": True,
        "gridcolor": grid,
        "linecolor": soft,
        "zeroline": False,
        "showspikes": False,
        "tickfont": {"color": soft, "size": 11},
        "title": {"font": {"color": ink, "size": 13}},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "color": ink, "size": 13},
            "title": {
                "font": {"size": 17},
                "x": 0.01,
                "xanchor": "left",
                "y": 0.985,
                "yanchor": "top",
            },
            "paper_bgcolor": page,
            "plot_bgcolor": page,
            # Traces without a colour are drawn in the colour of the text.
            "colorway": [ink],
            "hoverlabel": {"bgcolor": page, "bordercolor": soft, "font": {"color": ink}},
            "legend": {
                "font": {"color": ink, "size": 12},
                "title": {"font": {"size": 13}},
                "itemsizing": "constant",
            },
            "xaxis": axis,
            "yaxis": axis,
            "scene": {"xaxis": solid, "yaxis": solid, "zaxis": solid},
            "coloraxis": {
                "colorbar": {
                    "outlinewidth": 0,
                    "thickness": 14,
                    "tickfont": {"color": soft, "size": 12},
                    "title": {"font": {"size": 13}},
                }
            },
            "modebar": {"color": soft, "activecolor": ink, "bgcolor": "rgba(0,0,0,0)"},
        }
    )


def figure(title: str, *, height: int = 560) -> go.Figure:
    """An empty figure in the light theme; pages replace the template for the dark one."""
    return go.Figure(
        layout={
            "template": template(LIGHT),
            "title": {"text": title},
            "height": height,
            "margin": {"l": 70, "r": 30, "t": 60, "b": 60},
            # Zoom, rotation and hidden traces survive a change of the template.
            "uirevision": "kept",
        }
    )


def themed(chart: go.Figure, *, dark: bool) -> go.Figure:
    """A copy of the figure with the dark or the light template."""
    return go.Figure(chart).update_layout(template=template(DARK if dark else LIGHT))


def add_note(
    chart: go.Figure, words: str, *, side: Literal["left", "right", "below"] = "right"
) -> go.Figure:
    """Add a line above the figure, left or right aligned, or at the right below its time axis.

    Above on the right, the buttons of plotly's mode bar may cover the line.
    """
    below = side == "below"
    if words:
        chart.add_annotation(
            text=words,
            xref="paper",
            yref="paper",
            x=0 if side == "left" else 1,
            y=0 if below else 1,
            yanchor="top" if below else "bottom",
            yshift=-42 if below else 0,
            xanchor="left" if side == "left" else "right",
            showarrow=False,
            font_size=12,
        )
    return chart


def add_message(chart: go.Figure, words: str) -> go.Figure:
    """Add a message in the middle of a figure without content."""
    chart.add_annotation(
        text=words, xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False, font_size=15
    )
    return chart


def as_float32(values: Array | Sequence[float]) -> Array:
    """The values as float32, which halves the size of pages and is finer than any screen."""
    return np.ascontiguousarray(values, dtype=np.float32)


def percentile_range(values: Array) -> tuple[float, float]:
    """1st and 99th percentile, a colour range that ignores outliers."""
    if not values.size:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(values, (1, 99)))
    if math.isclose(low, high, rel_tol=1e-6, abs_tol=1e-12):
        margin = max(abs(low) * 0.05, 1e-3)
        return low - margin, high + margin
    return low, high


# Body movements are slower than half of this rate, in Hz; a lower rate would alias them.
_MIN_FPS = 15.0


class Excerpt(NamedTuple):
    """The frames that are drawn, and a note on those left out; "" if all are drawn."""

    frames: slice
    note: str


def excerpt(frames: int, fps: float, max_frames: int) -> Excerpt:
    """Every n-th frame of a clip; if these are still too many, only its beginning."""
    step = min(thinning(frames, max_frames), max(1, int(fps / _MIN_FPS)))
    stop = min(frames, max_frames * step)
    notes = [f"1 frame in {step} is drawn"] if step > 1 else []
    if stop < frames:
        notes.append(f"the first {stop / fps:,.0f} s of {frames / fps:,.0f} s")
    return Excerpt(slice(0, stop, step), ", ".join(notes))


def thinning(count: int, max_count: int) -> int:
    """The smallest n for which every n-th of `count` points are no more than `max_count`."""
    return max(1, math.ceil(count / max_count))


def thinning_note(step: int, count: int) -> str:
    """Note of a figure that draws every `step`-th of `count` points of several clips."""
    return "" if step == 1 else f"1 frame in {step} of {count:,} is drawn"
