"""Look of the pages, figures, tables of measures, the player and download buttons."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from deepphase.apps.reports import page as reports
from deepphase.evaluation.measurement import headlines
from deepphase.figures.theme import DARK, FONT, LIGHT, Look, channel_colour, themed
from deepphase.files import temporary_folder
from deepphase.formats.load import save
from deepphase.formats.reading import unit_in_words
from deepphase.motion.clip import Clip
from deepphase.viewer.page import component_script, player_html
from deepphase.viewer.take import Take

# Key of a container around a table, which the table's name follows.
_TABLE_KEY = "table of"
# Height of a row of a table, pixels.
_ROW_PX = 33
_AT = re.compile(r'"at":[-+.e\d]+,')
# Largest page of a player that browsers load without a pause.
_PLAYER_BYTES = 40_000_000


def browser_component(name: str, script: str, html: str, sends: str = "") -> Callable[..., Any]:
    """A component of the pages: its HTML, a script of the viewer, and NAME.css where it exists.

    It is drawn with `data` and a `key`; `on_sent` is called with what it `sends` before the page
    runs again.
    """
    style = Path(__file__).with_name(f"{name}.css")
    mount = st.components.v2.component(
        f"deepphase_{name}",
        html=html,
        css=style.read_text(encoding="utf-8") if style.exists() else None,
        js=component_script(script),
    )

    def draw(*, key: str, on_sent: Callable[[Any], object] | None = None, **given: Any) -> Any:
        # Streamlit refuses two underscores in a row, as names have.
        key = re.sub("_(?=_)", "_ ", key)

        def sent() -> None:
            if on_sent is not None:
                on_sent(st.session_state[key].get(sends))

        told: dict[str, Any] = {f"on_{sends}_change": sent} if sends else {}
        return mount(key=key, **given, **told)

    return draw


_player = browser_component("player", "player_frame.js", '<div class="players"></div>')


def heading(title: str, words: str) -> None:
    """Draw the title of a page and a short introduction."""
    st.title(title, anchor=False)
    st.markdown(f":gray[{words}]")


def wide_columns(key: str, spec: int | Sequence[float]) -> list[DeltaGenerator]:
    """Columns for figures, stacked in narrow windows; `key` is unique on the page."""
    return st.container(key=f"wide-{key}").columns(spec, gap="medium")


def choose_one(
    label: str, options: Sequence[Any], *, default: Any = None, place: Any = st, **given: Any
) -> Any:
    """Draw buttons of which one is always chosen, at first the first."""
    first = options[0] if default is None else default
    chosen = place.segmented_control(label, options, default=first, required=True, **given)
    # A browser may send that none is chosen.
    return first if chosen is None else chosen


def show_player(
    take: Take,
    *,
    height: int = 640,
    title: str = "",
    playing: bool = False,
    at_s: float = 0.0,
    clip_from_s: float | None = None,
    key: str = "",
) -> str:
    """Display a take from `at_s` on, which begins at `clip_from_s` of its clip, seconds.

    Returns the id of its player in the page.
    """
    id, page = player_page(
        take, dark=is_dark(), title=title, playing=playing, at_s=at_s, clip_from_s=clip_from_s
    )
    clip = None
    if clip_from_s is not None:
        clip = {"name": take.name, "from": clip_from_s, "to": clip_from_s + take.duration_s}
    data = {"id": id, "page": page, "clip": clip, "height": height, "at": at_s}
    _player(data=data, key=f"player {key}")
    return id


class PlayerPlace:
    """The place of a page's one player, which stays until the next one there has drawn."""

    def __init__(self, place: DeltaGenerator) -> None:
        self.place, self.plays = place.container(), False

    def show(self, take: Take, **given: Any) -> None:
        """Display a take as `show_player` does; the second of a run is drawn by the next run.

        So both are one element of the page, which no browser takes away in between.
        """
        if self.plays:
            st.rerun()
        self.plays = True
        with self.place:
            show_player(take, **given)


def player_page(
    take: Take, *, dark: bool, title: str = "", playing: bool, at_s: float,
    clip_from_s: float | None,
) -> tuple[str, str]:  # fmt: skip
    """The name of a player, which is that of the same at another moment, and its HTML."""
    page = player_html(
        [take], title=title or take.name, look="dark" if dark else "light", embedded=True,
        playing=playing, at_s=at_s, clip_from_s=clip_from_s, max_bytes=_PLAYER_BYTES,
    )  # fmt: skip
    timeless = _AT.sub("", page, count=1)
    return hashlib.sha1(timeless.encode(), usedforsecurity=False).hexdigest(), page


def show_table(name: str, content: Any, **options: Any) -> Any:
    """Display a table with its name, "Table of `name`", and return its selection."""
    # Streamlit's tables have no name; a script of the theme makes one of the container's key.
    with st.container(key=f"{_TABLE_KEY} {name}"):
        return st.dataframe(content, hide_index=True, **options)


def scroll_table(name: str, row: int) -> None:
    """Scroll the table of a name to a row that is out of view, once after each choice."""
    # Streamlit's tables cannot be scrolled; the table may be drawn after this.
    place = f".st-key-{_TABLE_KEY} {name}".replace(" ", "-") + " .dvn-scroller"
    script = f"""<script>(() => {{
      const top = {_ROW_PX * row}, began = Date.now();
      const scroll = () => {{
        const part = document.querySelector("{place}");
        const filled = part?.scrollHeight > top;
        if (!filled) return Date.now() - began < 30000 && setTimeout(scroll, 100);
        if (top < part.scrollTop || top + {2 * _ROW_PX} > part.scrollTop + part.clientHeight)
          part.scrollTop = top - {_ROW_PX};
      }};
      scroll();
    }})();</script>"""
    st.html(script, unsafe_allow_javascript=True)


def table_height(rows: int) -> int:
    """Pixels of a table that shows all of its rows."""
    return _ROW_PX * (rows + 1) + 3


def show_figure(chart: go.Figure, key: str, *, file: str = "", alt: str = "") -> DeltaGenerator:
    """Display a figure in the page's theme; the row below has its download under a file name."""
    dark = is_dark()
    drawn = themed(chart, dark=dark)
    drawn.update_layout(autosize=True)
    config = {"displaylogo": False, "responsive": True}
    words = alt or drawn.layout.title.text or key
    st.plotly_chart(drawn, theme=None, key=key, config=config, alt=words)

    def content() -> str:
        return themed(chart, dark=dark).to_html(include_plotlyjs=True, full_html=True)

    row = st.container(horizontal=True)
    if file:
        with row:
            offer("Figure (HTML)", content, f"{file}.html")
    return row


def show_measures(columns: reports.Columns, reference: str = "the data") -> None:
    """Display the three measures that matter most, and all in a table that can be downloaded."""
    found = reports.measures_by_name(columns)
    if not found:
        return
    if len(columns) == 1:
        names = headlines(columns)
        for column, name in zip(st.columns(len(names) or 1), names, strict=False):
            (measure,) = found[name].values()
            value, unit = measure.value, measure.unit
            column.metric(
                sentence(measure.title), reports.quantity(value, unit), help=measure.sentence
            )
            words = [measure.verdict]
            if measure.data is not None:
                words.append(f"{reference} {reports.quantity(measure.data, unit, value)}")
            # Below it, as the line of a metric is cut off in narrow columns.
            column.caption(sentence("; ".join(filter(None, words))))
    else:
        show_table("comparison", _by_column(*reports.headline_table(columns, reference)))
    headings, rows = reports.measure_table(columns, reference)
    about = f", with those of {reference}" if reference in headings else ""
    with st.expander(f"All measures{about}", icon=":material/table_chart:"):
        table = _by_column(headings, rows)
        show_table("measures", table, height=table_height(len(rows)))
        offer_table(table, "measures")


def _by_column(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Heading -> its column, of a table whose first column has names."""
    named = [[sentence(name), *cells] for name, *cells in rows]
    columns = map(list, zip(*named, strict=True))
    return dict(zip(map(sentence, headings), columns, strict=True))


def sentence(words: str) -> str:
    """Words with a capital letter at their begin."""
    return words[:1].upper() + words[1:]


def offer(
    words: str, data: bytes | str | Callable[[], bytes | str], file_name: str, **options: Any
) -> None:
    """Draw a download button; a function as `data` is called when it is pressed."""
    key, icon = f"download {file_name}", ":material/download:"
    options |= {"file_name": file_name, "key": key, "icon": icon}
    st.download_button(words, data, on_click="ignore", **options)


def offer_motion(clip: Callable[[], Clip], name: str, unit_m: float) -> None:
    """Draw download buttons for a motion whose source clips have units of `unit_m`."""
    units = (
        f"BVH files are in {unit_in_words(unit_m)}, as the source clips are; GLB files are in "
        "metres."
    )
    for suffix in ("bvh", "glb"):
        file = f"{name}.{suffix}"
        content = partial(file_bytes, lambda path: save(clip(), path), file)
        offer(suffix.upper(), content, file, help=units)


def offer_player(take: Take | Callable[[], Take], file_name: str) -> None:
    """Draw a download button for the player of a take, or of one made when it is pressed."""

    def content() -> str:
        return player_html([take() if callable(take) else take], title=file_name)

    offer("Player (HTML)", content, f"{file_name}.html")


def offer_table(
    columns: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    file_name: str,
    words: str = "Table",
    **options: Any,
) -> None:
    """Draw a download button for a table, name of a column -> its values, as CSV."""

    def content() -> str:
        own = columns() if callable(columns) else columns
        return reports.csv_text(own, zip(*own.values(), strict=True))

    offer(f"{words} (CSV)", content, f"{file_name}.csv", **options)


def file_bytes(save: Callable[[Path], object], name: str) -> bytes:
    """Content of the file that a function writes under a name."""
    with temporary_folder() as folder:
        save(folder / name)
        return (folder / name).read_bytes()


def zip_of(folder: Path) -> bytes:
    """The files of a folder as the content of a ZIP file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return content.getvalue()


def _colours(look: Look, accent: str) -> dict[str, str]:
    return {
        "primaryColor": accent,
        "backgroundColor": look.page,
        "secondaryBackgroundColor": look.wall,
        "textColor": look.ink,
        "borderColor": look.line,
        "linkColor": accent,
        "grayTextColor": look.soft,
    }


# Settings of Streamlit.
THEME = {
    "theme.font": FONT,
    "theme.headingFont": FONT,
    "theme.baseFontSize": 15,
    "theme.baseRadius": "8px",
    "theme.showWidgetBorder": True,
    **{f"theme.light.{name}": value for name, value in _colours(LIGHT, channel_colour(0)).items()},
    **{f"theme.dark.{name}": value for name, value in _colours(DARK, channel_colour(4)).items()},
}

# Width of printed lines on A4 paper, in pixels of CSS.
_PAPER_PIXELS = 715
# Written into the page, so that its first elements have it too.
STYLE = "<style>" + Path(__file__).with_name("theme.css").read_text(encoding="utf-8") + "</style>"
# Figures of the dark theme are turned to white paper, with their hues.
_DARK_PRINT = """<style>@media print { [data-testid="stPlotlyChart"] .js-plotly-plot,
  [data-testid="stDataFrame"] { filter: invert(1) hue-rotate(180deg) brightness(1.1); } }</style>"""
# Letters of a name that is cut.
_END_LETTERS = 10
# Names tables by the keys of their containers. Figures are drawn for the width that they have on
# the screen: paper gets that width, made smaller.
_SCRIPT = f"""<script>
if (!window.deepphaseLook) {{
  window.deepphaseLook = true;
  const prefix = "st-key-{_TABLE_KEY.replace(" ", "-")}-";
  const inside = '[class*="' + prefix + '"] :is([role="grid"], canvas, .dvn-scroller)' +
    ":not([aria-label])";
  const nameTables = () => {{
    for (const grid of document.querySelectorAll(inside)) {{
      if (grid.tagName === "DIV") grid.setAttribute("role", "group");
      const key = [...grid.closest('[class*="' + prefix + '"]').classList]
        .find((name) => name.startsWith(prefix));
      grid.setAttribute("aria-label", "Table of " + key.slice(prefix.length).replaceAll("-", " "));
    }}
    for (const shown of document.querySelectorAll('[data-testid="stSelectbox"] input')) {{
      shown.title = shown.value;
      const end = shown.scrollWidth > shown.clientWidth ? shown.value.slice(-{_END_LETTERS}) : "";
      if (end) shown.parentElement.dataset.end = end;
      else delete shown.parentElement.dataset.end;
    }}
  }};
  new MutationObserver(nameTables).observe(document.body, {{ childList: true, subtree: true }});
  nameTables();
  addEventListener("beforeprint", () => {{
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const width = main.getBoundingClientRect().width;
    const {{ style }} = document.documentElement;
    style.setProperty("--printed-width", `${{width}}px`);
    style.setProperty("--printed-zoom", Math.min(1, {_PAPER_PIXELS} / width));
  }});
}}
</script>"""
# Logo: a ring, as periodic motion draws it on the manifold, and the name.
_RING = (
    '<circle cx="15" cy="16" r="10" fill="none" stroke="{ring}" stroke-width="4.5" '
    'stroke-linecap="round" stroke-dasharray="52 12" transform="rotate(-60 15 16)"/>'
    '<circle cx="20" cy="7.3" r="3.4" fill="{ring}"/></svg>'
)
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 32" width="{width}" height="32">'
)
_NAME = (
    '<text x="34" y="22" font-family="{font}" font-size="18.5" font-weight="650" fill="{ink}">'
    "deepphase</text>"
)
# The page's icon. Streamlit's own icons need the network.
ICON = (_SVG + _RING).format(width=32, ring=channel_colour(0))


def apply_theme() -> None:
    """Apply scripts, print styles and logo; called once in every run of the script."""
    st.html((_DARK_PRINT if is_dark() else "") + _SCRIPT, unsafe_allow_javascript=True)
    ink = (DARK if is_dark() else LIGHT).ink
    ring = channel_colour(4 if is_dark() else 0)
    logo = (_SVG + _NAME + _RING).format(width=148, ring=ring, font=FONT, ink=ink)
    st.logo(logo, size="large")


def is_dark() -> bool:
    """Whether the browser shows the page in the dark theme."""
    return st.context.theme.type == "dark"
