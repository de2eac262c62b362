"""Dances by trained dancers and motion databases, from files or shipped, and their report: motion
files, player with sound, page and measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import deepphase as dp
from deepphase.apps.reports import page as reports
from deepphase.apps.reports.player import part_of_song
from deepphase.evaluation.dance import (
    DANCE_MEASURES,
    DanceFinding,
    DanceReference,
    dance_findings,
    measure_dance,
)
from deepphase.evaluation.measurement import Measure, measures_of
from deepphase.matching.music.dancing import CLOSELY, dance_in_tempo
from deepphase.matching.music.song_tracks import DANCES_KEY
from deepphase.motion.resample import low_passed_clip
from deepphase.motion.root_trajectory import RootMotion
from deepphase.shipped import SHIPPED
from deepphase.steering.dance import LOCKED_BAND, DanceRequest, DanceResult
from deepphase.viewer.take import Channels, Curve, Gating, Marker, Take
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
        from deepphase.controllers.dance.dancing import generate_dances

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


_RESTARTS = ("1/min", "less", "restarts of the dance because it had stalled")


def dance_stem(song: str) -> str:
    """The stem of a dance's files: the song's name, in characters that every program accepts."""
    return re.sub(r"[^\w.-]", "_", song).strip("._")[:80] or "dance"


def dance_report(
    dance: DanceResult,
    source: DanceSource,
    request: DanceRequest,
    song: Path,
    folder: Path,
    root_motion: RootMotion = "auto",
) -> tuple[Path, list[Measure], tuple[DanceFinding, ...]]:
    """Write all files of a dance into a folder, index.html last; return it with the measures."""
    stem = dance_stem(dance.song.name)
    values: dict[str, float] = {}
    if dance.clip.duration >= 1.0:
        values |= measure_dance(dance.clip, dance.song, dance.start_s)
    if dance.restarts_s is not None:
        values["restarts"] = len(dance.restarts_s) / (dance.clip.duration / 60.0)
    recorded = {} if source.reference is None else source.reference.values
    measures = measures_of({**DANCE_MEASURES, "restarts": _RESTARTS}, values, recorded)
    findings = dance_findings(values, recorded)
    files = reports.write_motion(dance.motion(root_motion), folder, stem)
    if dance.phases is not None:
        name = f"{stem}.phases.csv"
        table = reports.frame_table(dance.clip.fps, reports.phase_columns(dance.phases))
        reports.write_table(folder / name, list(table), zip(*table.values(), strict=True))
        files.append((name, "phase, frequency and amplitude of every channel and frame"))
    reports.save_report(
        folder,
        {**source.made_with, "seed": request.seed},
        {
            "song": dance.song.name,
            "song_sha256": dance.song.sha256,
            "start_s": dance.start_s,
            "seconds": dance.clip.duration,
            "fps": dance.clip.fps,
            "tempo_bpm": dance.song.tempo_bpm,
            "beat_confidence": dance.song.beat_confidence,
            "beats_per_bar": dance.song.beats_per_bar,
        },
        request.seed,
        reports.measure_entries(
            measures, len(dance.clip), {"song": dance.song.name}, key="recorded"
        ),
        notes=list(dance.notes),
    )
    page = reports.Page(
        f"A dance to “{dance.song.name}”", f"{dance.song.rhythm}. {source.credit}".strip()
    )
    page.add_takes([dance_take(dance, song)])
    page.add_list([finding.text for finding in findings] + list(dance.notes))
    page.add_measures({"this dance": measures}, reference="recorded dances")
    page.add_files(files)
    return page.write(folder / "index.html"), measures, findings


def dance_take(dance: DanceResult, song: Path) -> Take:
    """Take of the player for a dance, with its sound."""
    clip = dance.clip
    curves = []
    for name, values in dance.tracks.items():
        title, _, unit = name.removesuffix(")").partition(" (")
        if values.dtype.kind == "f":
            curves.append(Curve(title, unit, values, clip.fps))
    return Take.from_motions(
        {"dancer": clip},
        dance.song.name,
        channels=None if dance.phases is None else Channels(dance.phases, clip.fps),
        gating=None if dance.gating is None else Gating(dance.gating, clip.fps),
        curves=curves,
        markers=[Marker(words, second, second) for words, second in dance.marks],
        song=part_of_song(song, dance.song, dance.start_s, clip.duration),
        note=" ".join(dance.notes),
    )
