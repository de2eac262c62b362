"""Sources of dances: trained dancers and motion databases, from files, and the shipped dancer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import deepphase as dp
from deepphase.controllers.dance.dancing import LOCKED_BAND, generate_dances
from deepphase.evaluation.dance import DanceReference
from deepphase.matching.music.fitted_tempo import CLOSELY, dance_in_tempo
from deepphase.matching.music.song_tracks import DANCES_KEY
from deepphase.motion.resample import low_passed_clip
from deepphase.shipped import SHIPPED
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.work import Progress

DanceRequests = Sequence[tuple[dp.music.SongFeatures, DanceRequest]]


@dataclass(frozen=True, eq=False)
class DanceSource:
    """A trained dancer or a motion database that dances to songs."""

    dances: Callable[[DanceRequests, Progress | None], list[DanceResult]]
    reference: DanceReference | None
    made_with: Mapping[str, Any]
    credit: str = ""  # Whose dances they are, for pages

    def dance(
        self, song: dp.music.SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """A dance to a song; raises ParameterError if the song ends before its start."""
        return self.dances([(song, request)], progress)[0]

    @classmethod
    def from_dancer(cls, dancer: dp.controllers.Dancer, name: str) -> DanceSource:
        """All dances are made in one batch."""
        return cls(
            lambda requests, progress: generate_dances(dancer, requests, progress=progress),
            dancer.reference,
            {"dancer": name, "network": dancer.controller.name},
        )

    @classmethod
    def from_database(
        cls,
        database: dp.matching.MotionDatabase,
        name: str,
        warn: Callable[[str], None] | None = None,
    ) -> DanceSource:
        """`warn` is called with the reason if the index of the database cannot be used."""

        def dances(requests: DanceRequests, progress: Progress | None) -> list[DanceResult]:
            searcher = dp.matching.open_searcher(database, progress=progress, note=warn)
            made = (database, dp.matching.Playback.from_database(database, progress), searcher)
            return [
                dp.matching.dance_with_database(*made, song, request, progress=progress)
                for song, request in requests
            ]

        return cls._of_rows(database, name, dances)

    @classmethod
    def shipped(cls) -> DanceSource:
        """The shipped dancer, in the tempo of any song."""
        model = SHIPPED["dancer"]
        matcher = dp.matching.Matcher.load(model.path)
        rows = (matcher.database, matcher.motion, matcher.searcher)

        def dances(requests: DanceRequests, progress: Progress | None) -> list[DanceResult]:
            dance = partial(
                dp.matching.dance_with_database, *rows, following=CLOSELY, progress=progress
            )
            results = [dance_in_tempo(rows[0], dance, *each) for each in requests]
            encode = dp.shipped_model().encode
            return [replace(each, phases=encode(each.clip).parameters) for each in results]

        own = cls._of_rows(matcher.database, model.path.name, dances)
        made_with = {**own.made_with, "motion": model.motion}
        return replace(own, made_with=made_with, credit=f"The dancer learnt from {model.motion}.")

    @classmethod
    def _of_rows(
        cls,
        database: dp.matching.MotionDatabase,
        name: str,
        dances: Callable[[DanceRequests, Progress | None], list[DanceResult]],
    ) -> DanceSource:
        """What `dances` makes out of the rows of a database, in the band of its dances."""
        content = database.made_with.get(DANCES_KEY)
        reference = DanceReference.from_mapping(content) if isinstance(content, Mapping) else None

        def in_band(requests: DanceRequests, progress: Progress | None) -> list[DanceResult]:
            results = dances(requests, progress)
            if reference is None:
                return results
            band = LOCKED_BAND * reference.bandwidth_hz
            return [replace(own, clip=low_passed_clip(own.clip, band)) for own in results]

        model = {k: v for k, v in database.made_with.items() if k == "model_sha256"}
        return cls(in_band, reference, {"database": name, **model})
