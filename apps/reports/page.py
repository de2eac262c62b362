"""HTML reports that open offline, tables of measures, and the files beside them."""

from __future__ import annotations

import base64
import csv
import gzip
import html
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from deepphase.arrays import Array
from deepphase.evaluation.measurement import Measure, headlines
from deepphase.figures.theme import DARK, LIGHT, template
from deepphase.files import atomic_write
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.gltf.writer import save_gltf
from deepphase.motion.clip import Clip
from deepphase.packages import version
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.run import Run
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Take

_FORMAT, _VERSION = "deepphase.report", 1
_FOLDER = Path(__file__).parent
MOTION_SUFFIXES = (".bvh", ".glb")
# Height of the player above the title, and in pixels of figures that have none.
_PLAYER_HEIGHT, _FIGURE_HEIGHT = "clamp(540px, 80vh, 780px)", 560
# The page may load nothing from the network, whatever a name or a figure holds. plotly's WebGL
# compiles its drawing functions and needs 'unsafe-eval'.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; media-src blob:; worker-src blob:"
)
_UNITS = {"m/s2": "m/s²", "m/s3": "m/s³", "deg/s": "°/s", "degrees/s": "°/s"}
# Label of a motion -> its measures.
Columns = Mapping[str, Sequence[Measure]]


def measures_by_name(columns: Columns) -> dict[str, dict[str, Measure]]:
    """Name of a measure -> label of each motion that has it -> its measure."""
    found: dict[str, dict[str, Measure]] = {}
    for label, measures in columns.items():
        for measure in measures:
            found.setdefault(measure.name, {})[label] = measure
    return found


def measure_table(
    columns: Columns, reference: str = "the data"
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of texts: title, unit, value of each motion, that of the data, sentence."""
    rows, has_data = [], any(m.data is not None for own in columns.values() for m in own)
    for own in measures_by_name(columns).values():
        first = next(iter(own.values()))
        values = [number_text(own[label].value) if label in own else "" for label in columns]
        data = [number_text(first.data)] if has_data else []
        words = "" if first.sentence == first.title else first.sentence
        rows.append([first.title, first.unit, *values, *data, words])
    data = [reference] if has_data else []
    return ["measure", "unit", *columns, *data, "definition"], rows


def headline_table(
    columns: Columns, reference: str = "the data"
) -> tuple[list[str], list[list[str]]]:
    """The three measures that matter most: each value with its verdict, and what is good."""
    known, rows = measures_by_name(columns), []
    for name in headlines(columns):
        own, cells = known[name], []
        for label in columns:
            each = own.get(label)
            words = [] if each is None else [quantity(each.value, each.unit), each.verdict]
            cells.append(", ".join(filter(None, words)))
        first = next(iter(own.values()))
        fixed = first.data is None and first.limit is not None
        sign = {"less": "up to ", "more": "from "}[first.better] if fixed else ""
        rows.append(
            [first.title, *cells, f"{sign}{quantity(first.limit, first.unit, first.value)}"]
        )
    return ["measure", *columns, reference], rows


def measure_entries(
    measures: Sequence[Measure], count: int, by: Mapping[str, str], *, key: str = "data"
) -> list[dict[str, Any]]:
    """Entries of one motion, of `count` frames or characters, for report.json.

    `by` has the names and values by which it differs from others; `key` names the data's value.
    """
    return [
        {
            "name": each.name,
            "definition": each.sentence,
            "value": each.value if math.isfinite(each.value) else None,
            **({} if math.isfinite(each.value) else {"text": "never"}),
            "unit": each.unit,
            "better": each.better,
            "n": each.n or count,
            "by": dict(by),
            **({} if each.interval_95 is None else {"interval_95": list(each.interval_95)}),
            **({} if each.data is None else {key: each.data}),
        }
        for each in measures
    ]


def number_text(value: float | None) -> str:
    """A measure with three digits; empty for None."""
    if value is None:
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def quantity(value: float | None, unit: str, beside: float | None = None) -> str:
    """A value with its unit, in centimetres where it, or what it is `beside`, is small."""
    if value is None:
        return ""
    size = abs(value if beside is None else beside)
    if unit in ("m", "m/s") and size < 0.1:
        value, unit = 100 * value, f"c{unit}"
    return f"{number_text(value)} {_UNITS.get(unit, unit)}".strip()


def save_report(
    folder: Path,
    made_with: Mapping[str, Any],
    data: Mapping[str, Any],
    seed: int,
    measures: Sequence[Mapping[str, Any]],
    **more: Any,
) -> None:
    """Write FOLDER/report.json."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "made_with": {"deepphase": version(), **made_with},
        "data": dict(data),
        "seeds": [seed],
        "measures": list(measures),
        **more,
    }
    with atomic_write(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())


def write_motion(clip: Clip, folder: Path, stem: str) -> list[tuple[str, str]]:
    """Write a motion as BVH and as glb; name and description of each file."""
    save_bvh(clip, folder / f"{stem}.bvh")
    save_gltf(clip, folder / f"{stem}.glb")
    return [(f"{stem}{suffix}", "the motion") for suffix in MOTION_SUFFIXES]


def phase_columns(phases: PhaseParameters) -> dict[str, Array]:
    """Name -> (frames,) values of each channel, from parameters (frames, channels)."""
    names = ("phase", "frequency", "amplitude")
    values = {name: getattr(phases, name).T for name in names}
    return {f"{name}_{i}": own for name in names for i, own in enumerate(values[name])}


def frame_table(fps: float, columns: Mapping[str, Array]) -> dict[str, list[str]]:
    """Columns of values (frames,) as texts, after ``t``, the seconds of each frame."""
    frames = len(next(iter(columns.values())))
    table = {"t": [f"{index / fps:.4f}" for index in range(frames)]}
    for name, values in columns.items():
        if values.dtype.kind in "biu":
            values = values.astype(int)
        table[name] = [
            f"{value:.5f}" if values.dtype.kind == "f" else str(value) for value in values
        ]
    return table


def frame_columns(run: Run, character: int) -> dict[str, list[str]]:
    """Name -> (frames,) texts of one character's frames, the columns of its table.

    Seconds, metres, radians, cycles and Hz; contacts and weights of experts in [0, 1].
    """
    numbers: dict[str, Array] = {
        **dict(zip(("x", "z"), run.positions[character].T, strict=True)),
        "facing": run.angles[character],
    }
    if run.desired_positions is not None and run.desired_angles is not None:
        desired = run.desired_positions[character].T
        numbers |= dict(zip(("desired_x", "desired_z"), desired, strict=True))
        numbers["desired_facing"] = run.desired_angles[character]
    numbers["alive"] = run.alive[character]
    feet = zip(run.spec.feet, run.contacts[character].T, strict=True)
    numbers |= {f"contact_{foot}": contacts for foot, contacts in feet}
    if run.jumped is not None:
        numbers["jumped"] = run.jumped[character]
    tracks = {name: track for name, track in run.tracks.items() if track.ndim == 2}
    numbers |= {name: track[character] for name, track in tracks.items()}
    if run.phases is not None:
        numbers |= phase_columns(run.phases[character])
    if run.gating is not None:
        numbers |= {f"weight_{i}": values for i, values in enumerate(run.gating[character].T)}
    return frame_table(run.fps, numbers)


def csv_text(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """Content of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file atomically."""
    with atomic_write(path) as file:
        file.write(csv_text(columns, rows).encode())


@dataclass(frozen=True)
class Link:
    """Link in a table to a file beside the page."""

    path: str

    def html(self) -> str:
        """The HTML element; the path is quoted, so that it cannot act as a URL."""
        return f'<a href="./{_escaped(quote(self.path))}">{_escaped(self.path)}</a>'


class Page:
    """A report, assembled from top to bottom, in a light or dark look; all texts are escaped."""

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self._body = [f"<h1>{_escaped(title)}</h1>"]
        self._figures: list[str] = []
        self._opening: list[str] = []
        if lead:
            self._body.append(f'<p class="lead">{_escaped(lead)}</p>')

    def add_text(self, *paragraphs: str, heading: str = "") -> Page:
        """Add paragraphs, under a heading if one is given."""
        return self._add(heading, *(f"<p>{_escaped(text)}</p>" for text in paragraphs))

    def add_list(self, items: Sequence[str], heading: str = "") -> Page:
        """Add a bulleted list of sentences, which need no capital and no full stop."""
        texts = [f"{item[:1].upper()}{item[1:].removesuffix('.')}." for item in items]
        lines = "".join(f"<li>{_escaped(text)}</li>" for text in texts)
        return self._add(heading, f"<ul>{lines}</ul>")

    def add_commands(self, lines: Sequence[str], heading: str = "") -> Page:
        """Add lines to type into a terminal."""
        return self._add(heading, f"<pre><code>{_escaped(chr(10).join(lines))}</code></pre>")

    def add_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        heading: str = "",
        colours: Sequence[str] = (),
        folded: bool = False,
    ) -> Page:
        """Add a table; numbers are aligned to the right. A `folded` one is behind its heading."""
        head = "".join(f"<th>{_escaped(column)}</th>" for column in columns)
        lines = []
        for index, row in enumerate(rows):
            cells = [_cell(value) for value in row]
            if colours and cells:
                dot = f'<span class="dot" style="background:{_escaped(colours[index])}"></span>'
                cells[0] = cells[0].replace(">", f">{dot}", 1)
            lines.append(f"<tr>{''.join(cells)}</tr>")
        table = (
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>"
        )
        if folded:
            summary = f"<summary>{_escaped(heading)}</summary>"
            return self._add("", f"<details>{summary}{table}</details>")
        return self._add(heading, table)

    def add_measures(self, columns: Columns, *, reference: str = "the data") -> Page:
        """Add the three measures that matter most, and a table of all of them to unfold."""
        self.add_table(*headline_table(columns, reference))
        headings, rows = measure_table(columns, reference)
        return self.add_table(headings, rows, heading=f"All {len(rows)} measures", folded=True)

    def add_files(self, files: Sequence[tuple[str, str]]) -> Page:
        """Add the table of files beside the page: name and content."""
        rows = [(Link(name), words) for name, words in files]
        return self.add_table(("File", "Content"), rows, heading="Files", folded=len(rows) > 4)

    def add_takes(self, takes: Sequence[Take]) -> Page:
        """Add the player above the title; ParameterError for takes too large for a browser."""
        player = _escaped(player_html(takes, title=self.title, playing=True))
        self._opening.append(
            f'<iframe class="player" title="{_escaped(self.title)}" '
            f'style="height:{_PLAYER_HEIGHT}" srcdoc="{player}"></iframe>'
        )
        return self

    def add_figure(
        self, chart: go.Figure, heading: str, explanation: str, *, min_width: int = 0
    ) -> Page:
        """Add a figure; below `min_width` pixels it scrolls horizontally."""
        return self.add_choice({"": chart}, heading, explanation, min_width=min_width)

    def add_choice(
        self, charts: Mapping[str, go.Figure], heading: str, explanation: str, *, min_width: int = 0
    ) -> Page:
        """Add figures in one place, with a button for each; zoom and rotation are kept."""
        drawings = [{"name": name, **_drawing(chart)} for name, chart in charts.items()]
        self._figures.append(_packed(drawings))
        height = max(int(chart.layout.height or _FIGURE_HEIGHT) for chart in charts.values())
        return self._add(
            heading,
            f"<p>{_escaped(explanation)}</p>"
            f'<div class="wide"><figure class="plot" id="figure-{len(self._figures)}" role="img" '
            f'style="height:{height}px;min-width:{min_width}px" '
            f'aria-label="{_escaped(heading)}"></figure></div>',
        )

    def write(self, path: str | Path) -> Path:
        """Write the file atomically, and return its path."""
        path = Path(path)
        with atomic_write(path) as file:
            file.write(self.html().encode("utf-8", "replace"))
        return path

    def html(self) -> str:
        """Content of the file."""
        css, script = ((_FOLDER / f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
        parts = [
            '<!DOCTYPE html>\n<html lang="en" data-look="auto">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{_escaped(self.title)}</title>",
            f"<style>\n{css}</style>\n</head>\n<body>\n<main>",
            *self._opening,
            *self._body,
        ]
        if self._figures:
            looks = {"light": template(LIGHT), "dark": template(DARK)}
            plain = {name: look.to_plotly_json() for name, look in looks.items()}
            data = {"templates": _packed(plain)}
            data |= {f"figure-{n}-data": own for n, own in enumerate(self._figures, start=1)}
            parts += [
                '<button class="look" type="button" hidden>Light / dark</button>',
                "<noscript><p>The figures need JavaScript.</p></noscript>",
                "</main>",
                *(
                    f'<script type="application/gzip" id="{name}">{content}</script>'
                    for name, content in data.items()
                ),
                f"<script>{get_plotlyjs()}</script>",
                f"<script>\n{script}</script>",
            ]
        else:
            parts.append("</main>")
        return "\n".join([*parts, "</body>\n</html>\n"])

    def _add(self, heading: str, *elements: str) -> Page:
        if heading:
            self._body.append(f"<h2>{_escaped(heading)}</h2>")
        self._body += elements
        return self


def _packed(content: Any) -> str:
    """JSON, of which the strips of phases take a twentieth compressed, as base64 of gzip."""
    return base64.b64encode(gzip.compress(json.dumps(content).encode(), 6, mtime=0)).decode()


def _drawing(chart: go.Figure) -> dict[str, Any]:
    """Data and layout of a figure, without the template and title that the page provides."""
    drawing: dict[str, Any] = json.loads(chart.to_json())
    layout = drawing["layout"]
    layout.pop("template", None)
    # The title would repeat the heading.
    layout.pop("title", None)
    layout["margin"]["t"] = max(layout["margin"]["t"] - 35, 10)
    return drawing


def _escaped(text: object) -> str:
    return html.escape(str(text), quote=True)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:.3f}</td>'
    return f"<td>{value.html() if isinstance(value, Link) else _escaped(value)}</td>"
