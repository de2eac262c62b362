"""Figures, tables of measures, the player and download buttons of all pages."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from deepphase.apps.dashboard.parts.theme import TABLE_KEY, is_dark
from deepphase.apps.reports.page import (
    Columns,
    measure_table,
    measures_by_name,
    number_text,
)
from deepphase.evaluation.measurement import Measure
from deepphase.figures.theme import themed
from deepphase.formats.load import save
from deepphase.formats.reading import unit_in_words
from deepphase.motion.clip import Clip
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.bundle import component_script
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Take

_AT = re.compile(r'"at":[-+.e\d]+,')
_player = st.components.v2.component(
    "deepphase_player",
    html='<div class="players"></div>',
    css=(Path(__file__).parent / "players.css").read_text(encoding="utf-8"),
    js=component_script("player_frame.js"),
)
# Largest page of a player that browsers load without a pause.
_PLAYER_BYTES = 40_000_000
# Measures above a table, and the length in metres below which they are in centimetres.
_MAX_HEADLINES, _CENTIMETRES_BELOW = 4, 0.1
_UNITS = {"m/s2": "m/s²", "m/s3": "m/s³", "deg/s": "°/s", "degrees/s": "°/s"}


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
) -> None:
    """Display the player of a take, which runs in the browser alone, from `at_s` on.

    The last one stays until it has drawn, and some are kept in the browser. `clip_from_s` is the
    second of the take's clip at which the take begins.
    """
    page = player_html(
        [take],
        title=title or take.name,
        look="dark" if is_dark() else "light",
        embedded=True,
        playing=playing,
        at_s=at_s,
        clip_from_s=clip_from_s,
        max_bytes=_PLAYER_BYTES,
    )
    # The same at another moment is the same player, which the browser may have.
    timeless = _AT.sub("", page, count=1)
    id = hashlib.sha1(timeless.encode(), usedforsecurity=False).hexdigest()
    clip = None
    if clip_from_s is not None:
        clip = {"name": take.name, "from": clip_from_s, "to": clip_from_s + take.duration_s}
    data = {"id": id, "page": page, "clip": clip, "height": height, "at": at_s}
    _player(data=data, key=f"player {key}")


def show_table(name: str, content: Any, **options: Any) -> Any:
    """Display a table with its name, "Table of `name`", and return its selection."""
    # Streamlit's tables have no name; a script of the theme makes one of the container's key.
    with st.container(key=f"{TABLE_KEY} {name}"):
        return st.dataframe(content, hide_index=True, **options)


def table_height(rows: int) -> int:
    """Pixels of a table that shows all of its rows."""
    return 35 * (rows + 1) + 3


def show_figure(chart: go.Figure, key: str, *, file: str = "", alt: str = "") -> None:
    """Display a figure in the page's theme, with a download where it has a file name."""
    dark = is_dark()
    drawn = themed(chart, dark=dark)
    drawn.update_layout(autosize=True)
    config = {"displaylogo": False, "responsive": True}
    words = alt or drawn.layout.title.text or key
    st.plotly_chart(drawn, theme=None, key=key, config=config, alt=words)

    def content() -> str:
        return themed(chart, dark=dark).to_html(include_plotlyjs=True, full_html=True)

    if file:
        offer("Figure (HTML)", content, f"{file}.html")


def show_measures(
    columns: Columns,
    titles: Mapping[str, str],
    alone: Sequence[str] = (),
    reference: str = "the data",
) -> None:
    """Display measures: of one motion some as headlines, all in a table that can be downloaded.

    `titles` are those of the headlines by measure; the first four that the motion has are shown,
    one for each title. Measures of `alone` have no value of the reference beside them.
    """
    found = measures_by_name(columns)
    if not found:
        return
    chosen: dict[str, Measure] = {}
    for name in titles if len(columns) == 1 else ():
        if name in found:
            chosen.setdefault(titles[name], next(iter(found[name].values())))
    headlines = list(chosen.items())[:_MAX_HEADLINES]
    for column, (title, measure) in zip(st.columns(len(headlines) or 1), headlines, strict=False):
        words = [f"better: {measure.better}"] if measure.better else []
        if measure.data is not None and measure.name not in alone:
            data = _quantity(measure.data, measure.unit, measure.value)
            words.append(f"{reference.removeprefix('the ')} {data}")
        column.metric(
            title, _quantity(measure.value, measure.unit, measure.value), help=measure.sentence
        )
        # Below it, as the line of a metric is cut off in narrow columns.
        column.caption(sentence("; ".join(words)))
    headings, rows = measure_table(columns, reference)
    about = f", with those of {reference}" if reference in headings else ""
    with st.expander(f"All measures{about}", icon=":material/table_chart:", expanded=not headlines):
        headings = [*headings, "definition"]
        texts = [next(iter(own.values())).sentence for own in found.values()]
        rows = [[*row, text] for row, text in zip(rows, texts, strict=True)]
        cells = [[sentence(row[0]), _UNITS.get(row[1], row[1]), *row[2:]] for row in rows]
        values = zip(*cells, strict=True)
        content = {sentence(name): list(own) for name, own in zip(headings, values, strict=True)}
        show_table("measures", content, height=36 * (len(rows) + 1))
        offer_table(headings, rows, "measures")


def sentence(words: str) -> str:
    """Words with a capital letter at their begin."""
    return words[:1].upper() + words[1:]


def _quantity(value: float, unit: str, beside: float) -> str:
    """A value with its unit; it is in centimetres where that beside it is small."""
    if unit in ("m", "m/s") and abs(beside) < _CENTIMETRES_BELOW:
        value, unit = 100 * value, f"c{unit}"
    return f"{number_text(value)} {_UNITS.get(unit, unit)}".strip()


def offer(
    words: str, data: bytes | str | Callable[[], bytes | str], file_name: str, **options: Any
) -> None:
    """Draw a download button; a function as `data` is called when it is pressed."""
    st.download_button(
        words,
        data,
        file_name=file_name,
        key=f"download {file_name}",
        on_click="ignore",
        icon=":material/download:",
        **options,
    )


def offer_motion(clip: Callable[[], Clip], name: str, unit_m: float) -> None:
    """Draw download buttons for a motion whose source clips have units of `unit_m`."""
    units = (
        f"BVH files are in {unit_in_words(unit_m)}, as the source clips are; GLB files are in "
        "metres."
    )
    for suffix in ("bvh", "glb"):
        file = f"{name}.{suffix}"

        def content(file: str = file) -> bytes:
            return file_bytes(lambda path: save(clip(), path), file)

        offer(suffix.upper(), content, file, help=units)


def offer_player(take: Take | Callable[[], Take], file_name: str) -> None:
    """Draw a download button for the player of a take, or of one made when it is pressed."""

    def content() -> str:
        return player_html([take() if callable(take) else take], title=file_name)

    offer("Player (HTML)", content, f"{file_name}.html")


def offer_table(columns: Sequence[str], rows: Sequence[Sequence[object]], file_name: str) -> None:
    """Draw a download button for a table as CSV."""
    offer("Table (CSV)", lambda: csv_text(columns, rows), f"{file_name}.csv")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as the content of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


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
