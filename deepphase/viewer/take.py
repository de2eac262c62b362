"""Takes of the player: actors with phases, manifold, curves and song on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from plotly.colors import sample_colorscale

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.colouring import Colouring
from deepphase.figures.theme import CYCLIC, SEQUENTIAL, percentile_range
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack
from deepphase.phase.parameters import PhaseParameters
from deepphase.short_repr import brief_repr
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.actor import Actor
from deepphase.viewer.checks import check_array, check_times
from deepphase.viewer.song import PlayerSong

Motion = Clip | PointTrack

# Colours of a scale, fine enough that steps are invisible.
_SHADES = 64
# Rate of a take without data, Hz.
_DEFAULT_FPS = 60.0


@dataclass(frozen=True, eq=False)
class Channels:
    """The phase channels of every frame.

    Parameters
    ----------
    parameters
        (frames, channels) each.
    fps
        Frames a second.
    interior
        (frames,) bool: frames whose whole window lies inside the clip; None for all frames.
    start_s
        Time of the take at the first frame, seconds.
    joint_shares
        (channels, joints of the first actor) share of each joint's movement that a channel follows;
        None if unknown.
    """

    parameters: PhaseParameters
    fps: float
    interior: Array | None = None
    start_s: float = 0.0
    joint_shares: Array | None = None

    def __post_init__(self) -> None:
        check_times("phase channels", self.fps, self.start_s)
        check_array("phases", self.parameters.phase, "frames", "channels")
        check_array("interior", self.interior, len(self.parameters.phase))
        channels = self.parameters.phase.shape[1]
        check_array("joint shares", self.joint_shares, channels, "joints")


@dataclass(frozen=True, eq=False)
class ManifoldCloud:
    """Points of a phase manifold, and the path of this take among them.

    Parameters
    ----------
    points
        (points, 2 or 3) the cloud; may be empty.
    path
        (frames, 2 or 3) position of each frame of the take.
    fps
        Frames a second of the path.
    explained
        (2 or 3,) share of the variance on each axis, for the labels of the axes.
    colours
        (points, 3) uint8, red, green and blue; None for grey. See `point_colours`.
    colour_title
        Quantity of the colours, as in "Frequency (Hz)".
    start_s
        Time of the take at the path's first frame, seconds.
    """

    points: Array
    path: Array
    fps: float
    explained: Array
    colours: Array | None = None
    colour_title: str = ""
    start_s: float = 0.0

    def __post_init__(self) -> None:
        check_times("a manifold path", self.fps, self.start_s)
        axes = 2 if self.path.shape[-1] == 2 else 3
        check_array("manifold path", self.path, "frames", axes)
        check_array("manifold points", self.points, len(self.points), axes)
        check_array("shares of variance", np.asarray(self.explained), axes)
        check_array("colours", self.colours, len(self.points), 3)


@dataclass(frozen=True, eq=False)
class Gating:
    """The weights of a mixture of experts.

    Parameters
    ----------
    weights
        (frames, experts) from 0 to 1; they add up to 1.
    """

    weights: Array
    fps: float
    start_s: float = 0.0

    def __post_init__(self) -> None:
        check_times("gating weights", self.fps, self.start_s)
        check_array("gating weights", self.weights, "frames", "experts")


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over time.

    Parameters
    ----------
    name, unit
        As in "speed" and "m/s"; the unit is empty for a quantity without one.
    values
        (frames,) or (frames, lines).
    lines
        (lines,) name of each line; empty for a single line.
    """

    name: str
    unit: str
    values: Array
    fps: float
    lines: tuple[str, ...] = ()
    start_s: float = 0.0

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        values = values[:, None] if values.ndim == 1 else values
        object.__setattr__(self, "values", values)
        check_times(self.name, self.fps, self.start_s)
        check_array(f"{self.name}: values", values, "frames", "lines")
        if self.lines and len(self.lines) != values.shape[1]:
            raise ParameterError(
                f"{self.name}: there are {len(self.lines)} names for {values.shape[1]} lines"
            )


@dataclass(frozen=True)
class Marker:
    """A labelled time span, or a moment (as of a transition) if its start is its end."""

    label: str
    start_s: float
    stop_s: float


@dataclass(frozen=True, eq=False)
class CostOption:
    """A moment that a search compared.

    Parameters
    ----------
    name
        As in "walk_01 at 2.50 s".
    terms
        (features,) squared distances, which add up to the square of the cost.
    mark
        A word for what became of it, as "playing"; empty for most.
    """

    name: str
    terms: Array
    mark: str = ""
    actor: str = ""


@dataclass(frozen=True, eq=False)
class ComparedCosts:
    """The moments, at least one, that a search compared, and what was decided and why."""

    time_s: float
    text: str
    options: Sequence[CostOption]


@dataclass(frozen=True, eq=False)
class CostComparison:
    """Searches over a take in rising order of time, with the names and the unit of the terms."""

    features: tuple[str, ...]
    searches: Sequence[ComparedCosts]
    unit: str = ""


@brief_repr
@dataclass(frozen=True, eq=False)
class Take:
    """Data that plays together. A page may hold several takes to choose from.

    Parameters
    ----------
    name
        Name in the list of clips.
    actors
        Bodies, all on one time axis.
    channels, manifold, gating, curves, markers, song, costs
        Further data on the same time axis.
    note
        A sentence below the name, for example on the origin of the clip.
    terrain
        The ground around the bodies; None for a flat floor.
    """

    name: str
    actors: Sequence[Actor] = ()
    channels: Channels | None = None
    manifold: ManifoldCloud | None = None
    gating: Gating | None = None
    curves: Sequence[Curve] = ()
    markers: Sequence[Marker] = ()
    song: PlayerSong | None = None
    note: str = ""
    costs: CostComparison | None = None
    terrain: Heightmap | None = None

    @classmethod
    def of(
        cls,
        motions: Motion | Actor | Sequence[Motion | Actor] | Mapping[str, Motion | Actor],
        name: str = "",
        *,
        ghost: bool = False,
        sequence: bool = False,
        **parts: Any,
    ) -> Take:
        """Motions that play together in one place, or one after the other.

        Parameters
        ----------
        motions
            One clip, point track or actor, several, or name in the legend -> one of them.
        name
            Name of the take; that of the first motion by default.
        ghost
            Draw the first body faint, as one that the others are compared with.
        sequence
            Play the motions one after the other, each with a marker of its name: as one body where
            all have the same joints and feet.
        parts
            Further fields of the take, such as `channels`, `song` or `terrain`.
        """
        if isinstance(motions, Motion | Actor):
            motions = [motions]
        if not isinstance(motions, Mapping):
            named = [(each.name, each) for each in motions]
        else:
            named = list(motions.items())
        actors = [
            replace(motion, name=label, ghost=motion.ghost or (ghost and number == 0))
            if isinstance(motion, Actor)
            else Actor.of(motion, name=label, ghost=ghost and number == 0)
            for number, (label, motion) in enumerate(named)
        ]
        name = name or named[0][1].name
        if sequence:
            starts = np.cumsum([0.0, *(len(each) / each.fps for each in actors)]).tolist()
            spans = zip(actors, starts[:-1], starts[1:], strict=True)
            parts = {"markers": [Marker(each.name, *span) for each, *span in spans]} | parts
            if len({(each.positions.shape[1:], each.feet) for each in actors}) == 1:
                actors = [Actor.joined(actors, name=name, start_s=0.0)]
            else:
                pairs = zip(actors, starts, strict=False)
                actors = [replace(each, start_s=start) for each, start in pairs]
        return cls(name, actors, **parts)

    @property
    def fps(self) -> float:
        """Highest rate of the actors, else of the other data, Hz: the step of the arrow keys."""
        rates = [actor.fps for actor in self.actors] or [fps for fps, *_ in self._sampled()]
        return max(rates, default=_DEFAULT_FPS)

    @property
    def duration_s(self) -> float:
        """Seconds until the last part of the take ends."""
        ends = [actor.end_s for actor in self.actors]
        ends += [start + (length - 1) / fps for fps, start, length in self._sampled()]
        ends += [marker.stop_s for marker in self.markers]
        if self.song is not None:
            ends.append(self.song.start_s + self.song.duration_s)
        return max([0.0, *ends])

    def _sampled(self) -> list[tuple[float, float, int]]:
        """Rate, start and length of all data except the actors."""
        lengths: list[tuple[Channels | ManifoldCloud | Gating | Curve, int]] = [
            (curve, len(curve.values)) for curve in self.curves
        ]
        if self.channels is not None:
            lengths.append((self.channels, len(self.channels.parameters.phase)))
        if self.manifold is not None:
            lengths.append((self.manifold, len(self.manifold.path)))
        if self.gating is not None:
            lengths.append((self.gating, len(self.gating.weights)))
        return [(part.fps, part.start_s, length) for part, length in lengths]


def point_colours(colouring: Colouring) -> Array:
    """(points, 3) uint8: the colours of these values or categories in the figures."""
    values = np.asarray(colouring.values)
    if colouring.categorical:
        colours = np.zeros((len(values), 3), np.uint8)
        for chosen, style in colouring.categories():
            colours[chosen] = _rgb(style["marker"]["color"])
        return colours
    low, high = (-0.5, 0.5) if colouring.cyclic else percentile_range(values)
    scale = sample_colorscale(
        CYCLIC if colouring.cyclic else SEQUENTIAL, np.linspace(0, 1, _SHADES).tolist()
    )
    table = np.array([_rgb(colour) for colour in scale])
    place = np.clip((values - low) / (high - low), 0, 1) * (_SHADES - 1)
    return table[place.round().astype(int)].astype(np.uint8)


def _rgb(colour: str) -> tuple[float, ...]:
    if colour.startswith("#"):
        return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return tuple(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
