"""Objects in notebooks: clips and runs play, and phases are a plot.

``import deepphase.viewer.notebook`` in a notebook registers the views in IPython.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from deepphase.figures.theme import NEUTRAL, channel_colour, excerpt
from deepphase.viewer.actor import Actor
from deepphase.viewer.page import player_html
from deepphase.viewer.take import Take

# Frames times joints and end sites in a page: 33 seconds of 30, with which it has a megabyte.
_MAX_JOINT_FRAMES = 60_000
_MAX_CHARACTERS = 8
# Size of the plot of phases, pixels; at most so many columns and channels.
_WIDTH, _ROW, _LEFT, _BOTTOM = 760, 30, 58, 22
_COLUMNS, _CHANNELS = 700, 12


def load_ipython_extension(shell: Any) -> None:
    """Register the views in an IPython shell."""
    formatter = shell.display_formatter.formatters["text/html"]
    for path, view in VIEWS.items():
        formatter.for_type_by_name(*path.rsplit(".", 1), view)


def _player(motion: Any) -> str:
    return _framed([Actor.from_motion(motion)], motion.name)


def _run_player(run: Any) -> str:
    count = min(run.characters, _MAX_CHARACTERS)
    actors = [Actor.from_motion(run.clip(number, f"character {number}")) for number in range(count)]
    return _framed(actors, "run")


def _framed(actors: Sequence[Actor], name: str) -> str:
    """The player's page in a frame, of at most about a megabyte."""
    joints = sum(actor.positions.shape[1] for actor in actors)
    frames, fps = max(map(len, actors)), actors[0].fps
    shown = min(frames, max(_MAX_JOINT_FRAMES // joints, 2))
    take = Take.from_motions([actor.sliced(0, shown) for actor in actors], name)
    page = escape(player_html([take], bare=True))
    note = f"the first {shown / fps:.0f} of {frames / fps:,.0f} s" if shown < frames else ""
    return (
        f'<iframe srcdoc="{page}" title="{escape(name)}" loading="lazy" '
        f'style="width:100%;max-width:720px;height:340px;border:0"></iframe><div>{note}</div>'
    )


def _phase_plot(phases: Any) -> str:
    """One row for each channel, whose height is the phase and whose opacity the amplitude.

    References
    ----------
    Starke et al. 2022, fig. 5.
    """
    part = excerpt(len(phases), phases.fps, _COLUMNS)
    parameters, times = phases.parameters[part.frames], phases.time[part.frames]
    order = np.argsort(-parameters.amplitude.mean(axis=0), kind="stable")[:_CHANNELS].tolist()
    strongest = float(parameters.amplitude.max(initial=0.0)) or 1.0
    span = float(np.ptp(times))
    across = _LEFT + (_WIDTH - _LEFT - 8) * (times - times[0]) / max(span, 1e-9)
    height = _ROW * len(order) + _BOTTOM
    parts = []
    for base, channel in zip(range(_ROW, height, _ROW), order, strict=False):
        tops = base - (_ROW - 5) * (parameters.phase[:, channel] + 0.5)
        # A new area begins where the phase wraps.
        wraps = np.flatnonzero(np.diff(parameters.phase[:, channel]) < -0.5) + 1
        for area in np.split(np.arange(len(times)), wraps):
            points = " ".join(f"{across[frame]:.1f},{tops[frame]:.1f}" for frame in area)
            share = float(parameters.amplitude[area, channel].mean()) / strongest
            parts.append(
                f'<path d="M{across[area[0]]:.1f},{base} L{points} L{across[area[-1]]:.1f},{base}Z"'
                f' fill="{channel_colour(channel)}" fill-opacity="{max(share, 0.05):.2f}"/>'
            )
        frequency = float(np.median(parameters.frequency[:, channel]))
        parts.append(f'<text x="0" y="{base - 8}">{channel}: {frequency:.1f} Hz</text>')
    for place, time in ((_LEFT, times[0]), (_WIDTH - 50, times[-1])):
        parts.append(f'<text x="{place}" y="{height - 6}">{time:.1f} s</text>')
    return (
        f'<div>{escape(repr(phases))}</div><svg viewBox="0 0 {_WIDTH} {height}" font-size="11" '
        f'style="width:100%;max-width:{_WIDTH}px" font-family="sans-serif" fill="{NEUTRAL}" '
        f'role="img">{"".join(parts)}</svg>'
        f"<div>height: phase; opacity: amplitude; frequency: median. {part.note}</div>"
    )


def _result_player(result: Any) -> str:
    return _player(result.clip)


VIEWS: dict[str, Callable[[Any], str]] = {
    "deepphase.motion.clip.Clip": _player,
    "deepphase.motion.point_track.PointTrack": _player,
    "deepphase.synthetic.gait_motion.SyntheticMotion": _result_player,
    "deepphase.edit.editor.EditedMotion": _result_player,
    "deepphase.edit.style.StyledMotion": _result_player,
    "deepphase.steering.run.Run": _run_player,
    "deepphase.phase.parameters.ClipPhases": _phase_plot,
}
"""Class, by its module and name -> its view; nothing of them is imported before it is shown."""

if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()) is not None:
    load_ipython_extension(shell)
