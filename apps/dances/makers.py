"""Makers of dances from trained dancers and from motion databases, with one kind of result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepphase.apps.dances.databases import dance_reference
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import LOCKED_BAND, NetworkDance, generate_dances
from deepphase.controllers.dance.reference import DanceReference
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.dancing import DEFAULT_LOCK, dance_with_database
from deepphase.matching.music.music_search import DanceSettings
from deepphase.matching.player.playback import Playback
from deepphase.matching.search.searcher import Searcher, open_searcher
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed_clip
from deepphase.motion.root_motion import RootMotion, with_root_motion
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.viewer.take import Curve, Gating, Marker


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


class DanceMaker(ABC):
    """Base class of everything that makes dances to songs."""

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """Make a dance to a song.

        Raises
        ------
        ParameterError
            If the song ends before the start.
        """
        return self.dances([(song, request)], progress)[0]

    @abstractmethod
    def dances(
        self,
        requests: Sequence[tuple[SongFeatures, DanceRequest]],
        progress: Progress | None = None,
    ) -> list[DanceResult]:
        """Dances to several songs."""


@dataclass(frozen=True, eq=False)
class NetworkDanceMaker(DanceMaker):
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

    def dances(
        self,
        requests: Sequence[tuple[SongFeatures, DanceRequest]],
        progress: Progress | None = None,
    ) -> list[DanceResult]:
        """See `DanceMaker.dances`: all in one batch."""
        made = generate_dances(self.dancer, requests, progress=progress)
        return [
            self._result(dance, *request) for dance, request in zip(made, requests, strict=True)
        ]

    def _result(self, made: NetworkDance, song: SongFeatures, request: DanceRequest) -> DanceResult:
        fps = made.run.fps
        return DanceResult(
            clip=made.clip(song.name),
            song=song,
            start_s=request.start_s,
            hips=int(made.run.spec.joint_indices[0]),
            root=made.root,
            phases=made.phases,
            gating=None if made.gating is None else Gating(made.gating, fps),
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
class DatabaseDanceMaker(DanceMaker):
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

    def dances(
        self,
        requests: Sequence[tuple[SongFeatures, DanceRequest]],
        progress: Progress | None = None,
    ) -> list[DanceResult]:
        """See `DanceMaker.dances`: one after the other."""
        searcher = open_searcher(self.database, progress=progress, note=self.warn)
        playback = Playback.of_database(self.database, progress)
        return [
            self._result(searcher, playback, song, request, progress) for song, request in requests
        ]

    def _result(
        self,
        searcher: Searcher,
        playback: Playback,
        song: SongFeatures,
        request: DanceRequest,
        progress: Progress | None,
    ) -> DanceResult:
        made = dance_with_database(
            self.database,
            playback,
            searcher,
            song,
            request,
            settings=None if request.variety is None else DanceSettings(variety=request.variety),
            progress=progress,
        )
        fps, reference = made.clip.fps, dance_reference(self.database)
        clip = made.clip
        if reference is not None:
            clip = low_passed_clip(clip, LOCKED_BAND * reference.bandwidth_hz)
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
            clip=clip,
            song=song,
            start_s=request.start_s,
            hips=made.hips,
            root=made.root,
            phases=made.phases,
            curves=curves,
            markers=markers,
            notes=made.notes,
            reference=reference,
            made_with={
                "database": self.source,
                **{k: v for k, v in self.database.made_with.items() if k == "model_sha256"},
                "seed": request.seed,
                "lock": DEFAULT_LOCK if request.lock is None else request.lock,
            },
        )
