"""Figures, the player and download buttons of all pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from apps.dashboard.parts.theme import TABLE_KEY, is_dark
from deepphase.figures.theme import themed
from deepphase.formats.units import unit_in_words
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Take

Selection = Literal["points", "box", "lasso"]
# Largest page of a player that browsers load without a pause.
_PLAYER_BYTES = 40_000_000


def show_player(
    takes: Sequence[Take],
    *,
    height: int = 640,
    title: str = "Player",
    playing: bool = False,
    at_s: float = 0.0,
    clip_from_s: float | None = None,
) -> None:
    """Display the player of these takes, which runs in the browser alone.

    Parameters
    ----------
    takes
        Takes that can be chosen in the player.
    height
        Pixels until the player has loaded; then the frame is as high as its content.
    title
        Heading of the player.
    playing
        The first take plays at once.
    at_s
        Time in the first take at which it opens, seconds.
    clip_from_s
        Time of the take's first frame in the chosen clip: where it is given, the address keeps the
        moment at which the reader stops, see `address.open_moment`.

    Raises
    ------
    ParameterError
        If the takes are too long for a page.
    """
    look = "dark" if is_dark() else "light"
    page = player_html(
        takes,
        title=title,
        look=look,
        embedded=True,
        playing=playing,
        at_s=at_s,
        clip_from_s=clip_from_s,
        max_bytes=_PLAYER_BYTES,
    )
    st.iframe(page, height=height)


def show_table(name: str, content: Any, **options: Any) -> Any:
    """Display a table with its name for screen readers, and return its selection.

    Parameters
    ----------
    name
        Lower-case words that complete "Table of"; unique on the page.
    content, options
        As for `st.dataframe`.
    """
    # Streamlit's tables have no name; a script of the theme makes one of the container's key.
    with st.container(key=f"{TABLE_KEY} {name}"):
        return st.dataframe(content, hide_index=True, **options)


def show_figure(
    chart: go.Figure,
    key: str,
    *,
    select: Sequence[Selection] = (),
    height: int | None = None,
    alt: str = "",
) -> dict[str, Any]:
    """Display a figure in the page's theme, and return plotly's selection event ({} if empty).

    Parameters
    ----------
    chart
        A figure of `deepphase.figures`.
    key
        The widget's key, unique on its page.
    select
        Kinds of selection that rerun the page; none by default.
    height
        Pixels; the figure's own by default.
    alt
        Text for screen readers.
    """
    drawn = themed(chart, dark=is_dark())
    if height is not None:
        drawn.update_layout(height=height)
    drawn.update_layout(autosize=True)
    config = {"displaylogo": False, "responsive": True}
    words = alt or drawn.layout.title.text or key
    if not select:
        st.plotly_chart(drawn, theme=None, key=key, config=config, alt=words)
        return {}
    event = st.plotly_chart(
        drawn,
        theme=None,
        key=key,
        config=config,
        on_select="rerun",
        selection_mode=tuple(select),
        alt=words,
    )
    return dict(event.get("selection", {})) if event else {}


def offer(
    words: str, data: bytes | str | Callable[[], bytes | str], file_name: str, mime: str, key: str
) -> None:
    """Draw a download button; a function as `data` is called when it is pressed."""
    st.download_button(
        words,
        data,
        file_name=file_name,
        mime=mime,
        key=key,
        on_click="ignore",
        icon=":material/download:",
    )


def state_units(unit_m: float, *, glb: bool = True) -> None:
    """Draw the rule for the units of motion files, whose source clips have units of `unit_m`."""
    st.caption(
        f"BVH files are in {unit_in_words(unit_m)}, as the source clips are"
        + ("; GLB files are in metres." if glb else ".")
    )


def offer_figure(
    chart: go.Figure | Callable[[], go.Figure],
    file_name: str,
    key: str,
    words: str = "Figure (HTML)",
) -> None:
    """Draw a download button for the figure, or one made when it is pressed, as an offline page."""
    dark = is_dark()

    def content() -> str:
        drawn = chart() if callable(chart) else chart
        return themed(drawn, dark=dark).to_html(include_plotlyjs=True, full_html=True)

    offer(
        words,
        content,
        f"{file_name}.html",
        "text/html",
        key,
    )


def offer_player(
    takes: Callable[[], Sequence[Take]], file_name: str, key: str, words: str = "Player (HTML)"
) -> None:
    """Draw a download button for the player of these takes as an offline HTML page."""
    offer(
        words, lambda: player_html(takes(), title=file_name), f"{file_name}.html", "text/html", key
    )


def offer_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]] | Callable[[], Iterable[Sequence[object]]],
    file_name: str,
    key: str,
) -> None:
    """Draw a download button for a table, or one made when it is pressed, as CSV."""

    def content() -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows() if callable(rows) else rows)
        return text.getvalue()

    offer("Table (CSV)", content, f"{file_name}.csv", "text/csv", key)
