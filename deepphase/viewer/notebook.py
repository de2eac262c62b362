"""Objects in notebooks: clips play, phases are a plot, models and sets of clips are tables.

Each function is the `_repr_html_` of some classes; see :func:`deepphase.short_repr.html_by`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.config import SectionedConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import Preparation
from deepphase.figures.excerpt import excerpt
from deepphase.figures.theme import NEUTRAL, channel_colour
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack
from deepphase.viewer.actor import Actor
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Take

if TYPE_CHECKING:
    from deepphase.phase.health import Health
    from deepphase.phase.model import ClipPhases
    from deepphase.steering.run import Run

# Frames times joints and end sites in a page: 33 seconds of 30, with which it has a megabyte.
_MAX_JOINT_FRAMES = 60_000
_MAX_CHARACTERS = 8
_PLAYER_PIXELS = 340
_ROWS = 12
# Size of the plot of phases, pixels; at most so many columns and channels.
_WIDTH, _ROW, _LEFT, _BOTTOM = 760, 30, 58, 22
_COLUMNS, _CHANNELS = 700, 12


def player(motion: Clip | PointTrack) -> str:
    """A page that plays the motion, or the beginning of a long one, in a frame."""
    return _framed([Actor.of(motion)], motion.name)


def result_player(result: Any) -> str:
    """A page that plays the clip of a result."""
    return player(result.clip)


def run_player(run: Run) -> str:
    """A page that plays the first characters of a run."""
    count = min(run.characters, _MAX_CHARACTERS)
    return _framed([Actor.of(run.clip(each, f"character {each}")) for each in range(count)], "run")


def _framed(actors: Sequence[Actor], name: str) -> str:
    """The player's page in a frame, without requests, of at most about a megabyte."""
    joints = sum(actor.positions.shape[1] for actor in actors)
    frames, fps = max(map(len, actors)), actors[0].fps
    shown = min(frames, max(_MAX_JOINT_FRAMES // joints, 2))
    page = player_html([Take.of([each.sliced(0, shown) for each in actors], name)], bare=True)
    note = f"the first {shown / fps:.0f} of {frames / fps:,.0f} s" if shown < frames else ""
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(name)}" loading="lazy" '
        f'style="width:100%;max-width:720px;height:{_PLAYER_PIXELS}px;border:0"></iframe>'
        + (f"<div>{note}</div>" if note else "")
    )


def phase_plot(phases: ClipPhases) -> str:
    """A plot: one row for each channel, whose height is the phase and whose opacity the amplitude.

    References
    ----------
    Starke et al. 2022, fig. 5.
    """
    part = excerpt(len(phases), phases.fps, _COLUMNS)
    parameters = phases.parameters[part.frames]
    strength = parameters.amplitude.mean(axis=0)
    order = np.argsort(-strength, kind="stable")[:_CHANNELS].tolist()
    strongest = float(parameters.amplitude.max(initial=0.0)) or 1.0
    times = phases.time[part.frames]
    across = _LEFT + (_WIDTH - _LEFT - 8) * (times - times[0]) / max(float(np.ptp(times)), 1e-9)
    height = _ROW * len(order) + _BOTTOM
    parts = []
    for row, channel in enumerate(order):
        base = _ROW * (row + 1)
        tops = base - (_ROW - 5) * (parameters.phase[:, channel] + 0.5)
        # A new area begins where the phase wraps.
        wraps = np.flatnonzero(np.diff(parameters.phase[:, channel]) < -0.5) + 1
        for some in np.split(np.arange(len(times)), wraps):
            points = [f"{across[each]:.1f},{tops[each]:.1f}" for each in some]
            share = float(parameters.amplitude[some, channel].mean()) / strongest
            parts.append(
                f'<path d="M{across[some[0]]:.1f},{base} L{" ".join(points)} '
                f'L{across[some[-1]]:.1f},{base}Z" fill="{channel_colour(channel)}" '
                f'fill-opacity="{min(max(share, 0.05), 1):.2f}"/>'
            )
        frequency = float(np.median(parameters.frequency[:, channel]))
        parts.append(f'<text x="0" y="{base - 8}">{channel}: {frequency:.1f} Hz</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        time = times[0] + share * float(np.ptp(times))
        anchor = "end" if share == 1.0 else "start"
        place = _LEFT + share * (_WIDTH - _LEFT - 8)
        parts.append(
            f'<text x="{place:.0f}" y="{height - 6}" text-anchor="{anchor}">{time:.1f} s</text>'
        )
    left = phases.parameters.channels - len(order)
    note = "height: phase; opacity: amplitude; frequency: median" + (
        f"; {left} weaker channels are left out" if left else ""
    )
    drawn = (
        f'<svg viewBox="0 0 {_WIDTH} {height}" style="width:100%;max-width:{_WIDTH}px" '
        f'font-size="11" font-family="sans-serif" fill="{NEUTRAL}" role="img">'
        f"{''.join(parts)}</svg>"
    )
    notes = ", ".join(filter(None, (note, part.note)))
    return f"<div>{escape(repr(phases))}</div>{drawn}<div>{notes}</div>"


def phase_model(model: Any) -> str:
    """A table of a phase model or a baseline, with its measures on held-out clips."""
    signals = model.signals
    joints = getattr(signals, "joints", ())
    rows = {
        "phases": getattr(model, "METHOD", "") or model.config.network.preset,
        "channels": model.channels,
        "window": f"{model.window / model.fps:.2f} s at {model.fps:g} Hz",
        "reads": f"{signals.KIND}, {len(joints) or len(signals.names)} of them",
    }
    for each in getattr(model, "skeletons", ()):
        rows[f"trained on {each.name}"] = "; ".join(each.health.words()[:1])
    return _table(type(model).__name__, rows.items(), health_words(model.health))


def health(health: Health) -> str:
    """A table of the measures of a phase model."""
    return _table("Health", [], health_words(health))


def health_words(health: Health | None) -> list[str]:
    """Measures and findings as sentences."""
    return [] if health is None else health.words()


def store(store: ClipStore) -> str:
    """A table of the clips of a store."""
    rows = [
        (name, f"{length / store.fps:.1f} s", ", ".join(map("=".join, labels.items())))
        for name, length, labels in zip(store.names, store.lengths, store.labels, strict=True)
    ]
    return _table(repr(store)[1:-1], rows)


def preparation(made: Preparation) -> str:
    """A table of the skeleton groups of a store, and what was left out."""
    rows = [(each.name, f"{each.clips:,} clips", f"{each.minutes:.1f} min") for each in made.groups]
    return _table(repr(made)[1:-1], rows, [f"left out: {each}" for each in made.left_out])


def controller(controller: Any) -> str:
    """A table of a controller, with the measures of its training that are numbers."""
    schema = controller.schema
    rows: dict[str, object] = {
        "skeleton": f"{len(controller.skeleton)} joints",
        "rate": f"{controller.fps:g} Hz",
        "inputs and outputs": f"{schema.inputs.dims} and {schema.outputs.dims} values",
        "phase channels": schema.channels,
        "labels": ", ".join(schema.label_values),
    }
    measured = {
        name.replace("_", " "): f"{value:.4g}"
        for name, value in controller.health.items()
        if isinstance(value, int | float)
    }
    given = {name: value for name, value in rows.items() if value}
    return _table(f"Controller {controller.name}", (given | measured).items())


def database(database: Any) -> str:
    """A table of the features of a motion database."""
    rows = [(each.name, f"weight {each.weight:g}") for each in database.layout.features]
    return _table(repr(database)[1:-1], rows)


def config(config: SectionedConfig) -> str:
    """A table of all values of a config."""
    rows = [
        (f"{section}.{name}", value)
        for section, values in config.as_mapping().items()
        for name, value in values.items()
    ]
    return _table(type(config).__name__, rows, most=len(rows))


def _table(
    title: str,
    rows: Iterable[Sequence[object]] | Mapping[str, object],
    sentences: Sequence[str] = (),
    *,
    most: int = _ROWS,
) -> str:
    """A table with a title above and sentences below it; long ones are cut.

    Parameters
    ----------
    rows
        The cells of each row.
    most
        Rows and sentences that are shown at most.
    """
    listed = [list(map(str, row)) for row in rows]
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell[:200])}</td>" for cell in row) + "</tr>"
        for row in listed[:most]
    )
    more = f"<div>and {len(listed) - most:,} more</div>" if len(listed) > most else ""
    below = "".join(f"<li>{escape(each[:300])}</li>" for each in sentences[:most])
    return (
        f"<div><b>{escape(title)}</b></div>"
        + (f"<table>{body}</table>{more}" if body else "")
        + (f"<ul>{below}</ul>" if below else "")
    )
