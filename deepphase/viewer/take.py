"""Takes of the player: actors with phases, manifold, curves and song on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from plotly.colors import sample_colorscale

from deepphase.arrays import Array, brief_repr
from deepphase.errors import FormatError, ParameterError
from deepphase.figures.theme import CYCLIC, SEQUENTIAL, Colouring, percentile_range
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack
from deepphase.phase.parameters import PhaseParameters
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.actor import Actor, check_array, check_times

Motion = Clip | PointTrack

# Colours of a scale, fine enough that steps are invisible.
_SHADES = 64
# Rate of a take without data, Hz.
_DEFAULT_FPS = 60.0
# Suffix -> MIME type of the formats that browsers play.
_MIME = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".webm": "audio/webm",
}


@dataclass(frozen=True, eq=False)
class Channels:
    """The phase channels of every frame, (frames, channels) each.

    `interior` (frames,) flags frames whose whole window lies inside the clip; `joint_shares`
    (channels, joints of the first actor): share of each joint's movement that a channel follows.
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
    """Points (points, 2 or 3) of a phase manifold, and the path (frames, 2 or 3) of this take.

    `explained`: share of the variance on each axis; `colours` (points, 3) uint8, red, green and
    blue, of the quantity `colour_title`, as in "Frequency (Hz)"; see `point_colours`.
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
    """The weights (frames, experts) of a mixture of experts, which add up to 1."""

    weights: Array
    fps: float
    start_s: float = 0.0

    def __post_init__(self) -> None:
        check_times("gating weights", self.fps, self.start_s)
        check_array("gating weights", self.weights, "frames", "experts")


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over time: (frames,) or (frames, lines), with a name for each line if several."""

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
    """A moment that a search compared, as in "walk_01 at 2.50 s".

    `terms` (features,) are squared distances, which add up to the square of the cost; `mark` is a
    word for what became of it, as "playing".
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


@dataclass(frozen=True, eq=False)
class PlayerSong:
    """Sound of a take, in a file of a MIME type. While it plays, the player's time follows it.

    `beats` and `downbeats` are seconds in the song. A `spectrogram` (bands, columns) has loudness
    in any unit, low bands first, between the frequencies `band_hz`; its columns divide
    `duration_s` evenly. A duration of 0 is read from the file by the page.
    """

    data: bytes
    mime: str
    name: str = "song"
    duration_s: float = 0.0
    beats: Array = field(default_factory=lambda: np.zeros(0))
    downbeats: Array = field(default_factory=lambda: np.zeros(0))
    spectrogram: Array | None = None
    band_hz: tuple[float, float] | None = None
    start_s: float = 0.0

    def __post_init__(self) -> None:
        for what in ("beats", "downbeats"):
            moments = getattr(self, what)
            check_array(f"{self.name}: {what}", moments, len(moments))
        check_array(f"{self.name}: spectrogram", self.spectrogram, "bands", "columns")

    @classmethod
    def from_file(cls, path: str | Path, **given: Any) -> PlayerSong:
        """Read a sound file; `given` sets further fields."""
        path = Path(path)
        mime = _MIME.get(path.suffix.lower())
        if mime is None:
            raise FormatError(
                f"browsers play no {path.suffix or 'files without a suffix'}",
                hint=f"convert it to one of {', '.join(_MIME)}",
                path=path,
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from None
        if not data:
            hint = "choose a file that holds sound"
            raise FormatError("this is an empty file", hint=hint, path=path)
        return cls(data, mime, **({"name": path.stem} | given))


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
    def from_motions(
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
            named = [(motion.name, motion) for motion in motions]
        else:
            named = list(motions.items())
        actors = [
            replace(motion, name=label, ghost=motion.ghost or (ghost and number == 0))
            if isinstance(motion, Actor)
            else Actor.from_motion(motion, name=label, ghost=ghost and number == 0)
            for number, (label, motion) in enumerate(named)
        ]
        name = name or named[0][1].name
        if sequence:
            starts = np.cumsum([0.0, *(len(actor) / actor.fps for actor in actors)]).tolist()
            spans = zip(actors, starts[:-1], starts[1:], strict=True)
            parts = {"markers": [Marker(each.name, *span) for each, *span in spans]} | parts
            if len({(actor.positions.shape[1:], actor.feet) for actor in actors}) == 1:
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
        lengths: list[tuple[Channels | ManifoldCloud | Gating | Curve | None, int]] = [
            *((curve, len(curve.values)) for curve in self.curves),
            (self.channels, len(self.channels.parameters.phase) if self.channels else 0),
            (self.manifold, len(self.manifold.path) if self.manifold else 0),
            (self.gating, len(self.gating.weights) if self.gating else 0),
        ]
        return [(part.fps, part.start_s, length) for part, length in lengths if part is not None]


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
