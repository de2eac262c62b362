"""A dance that was made to a song, by whatever made it: what files, page and measures need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from apps.dances.databases import dances_of
from controllers.dance.dancer import Dancer
from controllers.dance.dancing import generate_dances
from controllers.dance.reference import DanceReference
from deepphase.figures.player.take import Curve, Gating, Marker
from deepphase.motion.clip import Clip
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.music.dancing import DEFAULT_LOCK, dance_with_database
from matching.player.playback import Playback
from matching.search.searcher import open_searcher


@dataclass(frozen=True, eq=False)
class DatabaseDanceMaker:
    """A database; see `dance_made.DanceMaker`.

    Parameters
    ----------
    database
        As `deepphase match build` wrote it.
    source
        Name of its file.
    warn
        Is told why an index was not used.
    """

    database: MotionDatabase
    source: str
    warn: Callable[[str], None] | None = None

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """A dance to a song."""
        searcher = open_searcher(self.database, progress=progress, note=self.warn)
        playback = Playback.of_database(self.database, progress)
        made = dance_with_database(
            self.database, playback, searcher, song, request, progress=progress
        )
        fps = made.clip.fps
        curves = [
            Curve("cost of the last search", "", made.costs, fps),
            Curve("speed of playback", "%", 100.0 * made.rates, fps),
        ]
        names, rows = self.database.clip_names, made.rows
        begins = [0, *(round(each * fps) for each in made.jumps_s)]
        markers = []
        for begin in dict.fromkeys(begins):
            name = names[int(self.database.clip_of(rows[begin]))]
            markers.append(Marker(name, begin / fps, begin / fps))
        return DanceResult(
            clip=made.clip,
            song=song,
            start_s=request.start_s,
            phases=made.phases,
            curves=curves,
            markers=markers,
            notes=made.notes,
            reference=dances_of(self.database),
            made_with={
                "database": self.source,
                **{k: v for k, v in self.database.made_with.items() if k == "model_sha256"},
                "seed": request.seed,
                "lock": DEFAULT_LOCK if request.lock is None else request.lock,
            },
        )


@dataclass(frozen=True, eq=False)
class NetworkDanceMaker:
    """A dancer; see `dance_made.DanceMaker`.

    Parameters
    ----------
    dancer
        As `deepphase train dance` wrote it.
    source
        Name of its file.
    """

    dancer: Dancer
    source: str

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """A dance to a song."""
        made = generate_dances(self.dancer, [(song, request)], progress=progress)[0]
        fps = made.run.fps
        return DanceResult(
            clip=made.clip(song.name),
            song=song,
            start_s=request.start_s,
            phases=made.phases,
            gating=None if made.gating is None else Gating(made.gating, fps),
            curves=[],
            markers=[Marker("begins anew", second, second) for second in made.restarts_s],
            notes=made.notes,
            restarts_s=made.restarts_s,
            reference=self.dancer.reference,
            made_with={
                "dancer": self.source,
                "network": self.dancer.controller.name,
                "seed": request.seed,
            },
        )


@dataclass(frozen=True, eq=False)
class DanceResult:
    """A motion to a song.

    Parameters
    ----------
    clip
        The motion; its first frame is at `start_s` of the song.
    song
        What the song sounds like.
    start_s
        Seconds.
    phases
        (frames, channels) each; None where what made it has none.
    gating
        Weights of experts, where there are some.
    curves, markers
        What else the player shows over time.
    notes
        What deserves to be said, in words.
    anew_s
        Seconds at which it began anew because it had come to a halt; None where nothing sees to it.
    reference
        What recorded dances measure: the scale. Without it measures stand alone.
    made_with
        What made it, as plain values that a report keeps.
    """

    clip: Clip
    song: SongFeatures
    start_s: float
    phases: PhaseParameters | None = None
    gating: Gating | None = None
    curves: Sequence[Curve] = ()
    markers: Sequence[Marker] = ()
    notes: tuple[str, ...] = ()
    restarts_s: tuple[float, ...] | None = None
    reference: DanceReference | None = None
    made_with: Mapping[str, Any] = field(default_factory=dict)


class DanceMaker(Protocol):
    """What makes dances."""

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """A dance to a song.

        Raises ParameterError where the song is over before the start.
        """
        ...
