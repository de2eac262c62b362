"""Makers of dances from trained dancers and from motion databases, with one kind of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from apps.dances.databases import dance_reference
from controllers.dance.dancer import Dancer
from controllers.dance.dancing import generate_dances
from controllers.dance.reference import DanceReference
from deepphase.figures.player.take import Curve, Gating, Marker
from deepphase.motion.clip import Clip
from deepphase.motion.root_motion import RootMotion, with_root_motion
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.music.dancing import DEFAULT_LOCK, dance_with_database
from matching.player.playback import Playback
from matching.search.searcher import open_searcher


@dataclass(frozen=True, eq=False)
class DanceResult:
    """Dance to a song, with the data that its files, page and report need.

    Parameters
    ----------
    clip
        The motion; its first frame is at `start_s` of the song.
    song
        Features of the song.
    start_s
        Time in the song at the first frame, in seconds.
    phases
        (frames, channels) each; None if the maker has no phases.
    gating
        Blend weights of experts; None if the network has none.
    curves, markers
        Further curves and markers of the player.
    notes
        Remarks for the user.
    restarts_s
        Times of restarts after a stall, in seconds; None if the maker has no restarts.
    reference
        Reference measures of recorded dances; None if there are none to compare with.
    made_with
        Provenance as plain values, for the report.
    hips, root
        Index of the hips in the clip's skeleton, and the root trajectory of the clip.
    """

    clip: Clip
    song: SongFeatures
    start_s: float
    hips: int
    root: RootTrajectory
    phases: PhaseParameters | None = None
    gating: Gating | None = None
    curves: Sequence[Curve] = ()
    markers: Sequence[Marker] = ()
    notes: tuple[str, ...] = ()
    restarts_s: tuple[float, ...] | None = None
    reference: DanceReference | None = None
    made_with: Mapping[str, Any] = field(default_factory=dict)

    def motion(self, root_motion: RootMotion = "auto") -> Clip:
        """The motion with its travel on this joint, see :func:`with_root_motion`.

        Raises ParameterError if there is no such root motion.
        """
        return with_root_motion(self.clip, self.hips, self.root, root_motion)


class DanceMaker(Protocol):
    """Protocol of everything that makes a dance to a song."""

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """Make a dance to a song.

        Raises
        ------
        ParameterError
            If the song ends before the start.
        """
        ...


@dataclass(frozen=True, eq=False)
class NetworkDanceMaker:
    """Maker of dances from a trained dancer.

    Parameters
    ----------
    dancer
        Trained dancer.
    source
        Name of its file.
    """

    dancer: Dancer
    source: str

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """See `DanceMaker.dance`."""
        made = generate_dances(self.dancer, [(song, request)], progress=progress)[0]
        fps = made.run.fps
        return DanceResult(
            clip=made.clip(song.name),
            song=song,
            start_s=request.start_s,
            hips=int(made.run.spec.joint_indices[0]),
            root=made.root,
            phases=made.phases,
            gating=None if made.gating is None else Gating(made.gating, fps),
            curves=[],
            markers=[Marker("restart", second, second) for second in made.restarts_s],
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
class DatabaseDanceMaker:
    """Maker of dances from a motion database.

    Parameters
    ----------
    database
        Motion database with song tracks.
    source
        Name of its file.
    warn
        Called with the reason if the index of the database cannot be used.
    """

    database: MotionDatabase
    source: str
    warn: Callable[[str], None] | None = None

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """See `DanceMaker.dance`."""
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
            hips=made.hips,
            root=made.root,
            phases=made.phases,
            curves=curves,
            markers=markers,
            notes=made.notes,
            reference=dance_reference(self.database),
            made_with={
                "database": self.source,
                **{k: v for k, v in self.database.made_with.items() if k == "model_sha256"},
                "seed": request.seed,
                "lock": DEFAULT_LOCK if request.lock is None else request.lock,
            },
        )
