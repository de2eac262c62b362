"""Sources of dances: trained dancers and motion databases, from files, and synthetic dances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import LOCKED_BAND, generate_dances
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.errors import DeepPhaseError
from deepphase.evaluation.dance import DanceReference
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.dancing import dance_with_database
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features
from deepphase.matching.player.playback import Playback
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed_clip
from deepphase.music.features import SongFeatures, features_of
from deepphase.phase.extractor import PhaseExtractor
from deepphase.progress import Progress
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import Song, make_song

# Keys of a database's header.
_SONGS, _REFERENCE = "songs", "dances"
# Number of dances of a database of which the reference is measured.
_MEASURED = 12

DanceRequests = Sequence[tuple[SongFeatures, DanceRequest]]


@dataclass(frozen=True, eq=False)
class DanceSource:
    """A trained dancer or a motion database that dances to songs."""

    dances: Callable[[DanceRequests, Progress | None], list[DanceResult]]
    reference: DanceReference | None
    made_with: Mapping[str, Any]
    has_lock: bool

    def dance(
        self, song: SongFeatures, request: DanceRequest, progress: Progress | None = None
    ) -> DanceResult:
        """A dance to a song; raises ParameterError if the song ends before its start."""
        return self.dances([(song, request)], progress)[0]

    @classmethod
    def from_dancer(cls, dancer: Dancer, name: str) -> DanceSource:
        """All dances are made in one batch."""
        return cls(
            lambda requests, progress: generate_dances(dancer, requests, progress=progress),
            dancer.reference,
            {"dancer": name, "network": dancer.controller.name},
            has_lock=False,
        )

    @classmethod
    def from_database(
        cls, database: MotionDatabase, name: str, warn: Callable[[str], None] | None = None
    ) -> DanceSource:
        """`warn` is called with the reason if the index of the database cannot be used."""
        content = database.made_with.get(_REFERENCE)
        reference = DanceReference.from_mapping(content) if isinstance(content, Mapping) else None

        def dances(requests: DanceRequests, progress: Progress | None) -> list[DanceResult]:
            searcher = open_searcher(database, progress=progress, note=warn)
            made = (database, Playback.of_database(database, progress), searcher)
            results = [
                dance_with_database(*made, song, request, progress=progress)
                for song, request in requests
            ]
            if reference is None:
                return results
            band = LOCKED_BAND * reference.bandwidth_hz
            return [replace(own, clip=low_passed_clip(own.clip, band)) for own in results]

        model = {k: v for k, v in database.made_with.items() if k == "model_sha256"}
        return cls(dances, reference, {"database": name, **model}, has_lock=True)


def with_songs(
    database: MotionDatabase, clips: ClipSongTracks, progress: Progress | None = None
) -> MotionDatabase:
    """The database with the names and hashes of its songs, and a `DanceReference` of its dances."""
    count = len(clips.store)
    chosen = np.unique(np.linspace(0, count - 1, min(_MEASURED, count)).round()).astype(int)
    measured = [clip for clip in map(clips.store.clip, chosen.tolist()) if clip.duration >= 1.0]
    if progress is not None:
        progress("measuring the dances", 0, 1, "")
    songs = clips.as_mapping()
    before = database.made_with.get(_SONGS)
    if isinstance(before, Mapping):
        songs["songs"] = {**before.get("songs", {}), **songs["songs"]}
    header: dict[str, object] = {_SONGS: songs}
    if measured and _REFERENCE not in database.made_with:
        # Bodies without arms or legs cannot be measured.
        with suppress(DeepPhaseError):
            features = [clips.songs[clip.source.song] for clip in measured]
            header[_REFERENCE] = DanceReference.from_clips(measured, features).as_mapping()
    if progress is not None:
        progress("measuring the dances", 1, 1, "")
    return replace(database, made_with={**database.made_with, **header})


def known_songs(database: MotionDatabase) -> list[str]:
    """Files of the songs of a database's clips; none if it was built without songs."""
    songs = database.made_with.get(_SONGS)
    return [*songs.get("songs", ())] if isinstance(songs, Mapping) else []


def find_dance_source(folder: Path) -> tuple[Path | None, Path | None]:
    """The newest database of dances of a folder, or else its newest dancer.

    Databases repeat less than dancers do and never restart, see docs/measurements/dance.md; that
    is why they come first. Of dancer and database one is None, or both are.
    """
    files = [path for path in folder.iterdir() if path.is_file()]
    files.sort(key=lambda path: (path.suffix == ".dancer", -path.stat().st_mtime, path.name))
    for path in files:
        # A damaged or foreign file is not a reason not to dance with another.
        with suppress(DeepPhaseError):
            if path.suffix == ".dancer":
                Dancer.load(path)
                return path, None
            is_database = path.suffix in (".db", ".database")
            if is_database and known_songs(MotionDatabase.load(path, verify=False)):
                return None, path
    return None, None


_LAYOUT = "dance_music"
SYNTHETIC_DANCES = (
    "synthetic dances of this package, on the beats but of few figures; a dancer of your own "
    "dances (train dance) has their steps, and follows bars as recorded waltzes do (.80, recorded "
    ".79)"
)
"""Whose dances they are, for a command that dances with them."""
# (beats a minute, beats in a bar) of the songs, in the range of danced tempi.
SONGS = ((88, 4), (97, 4), (106, 4), (115, 4), (126, 4), (94, 3), (108, 3), (122, 3))
_SONG_S = 20.0


def synthetic_dances(
    songs: Sequence[tuple[int, int]], seconds: float, *, seed: int = 0
) -> Iterator[tuple[Song, Clip]]:
    """A song of each tempo and metre, as in `SONGS`, and a dance to it."""
    for number, (bpm, beats_per_bar) in enumerate(songs, start=seed):
        song = make_song(number, seconds, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar)
        yield song, dance(song, number).clip


def made_dances(
    model: PhaseExtractor,
    progress: Progress,
    songs: Sequence[tuple[int, int]] = SONGS,
    *,
    file: Path | None = None,
) -> MotionDatabase:
    """A motion database of synthetic dances, each to a song of another tempo."""
    clips, features = [], {}
    for number, (song, clip) in enumerate(synthetic_dances(songs, _SONG_S)):
        bpm, beats_per_bar = songs[number]
        name = f"{bpm} beats a minute, {beats_per_bar} a bar"
        clips.append(replace(clip, name=name, source=replace(clip.source, song=name)))
        features[name] = features_of(song.samples, name=name)
        progress("making dances, analysing songs", number + 1, len(songs), name)
    layout = FeatureLayout.load(_LAYOUT)
    store = ClipStore.from_clips(clips)
    if file is not None:
        store.save(file)
        store = open_store(file)
    tracks = ClipSongTracks(store, features, (), tuple(track_features(layout)))
    database = MotionDatabase.build(tracks.store, layout, model, tracks=tracks, progress=progress)
    return with_songs(database, tracks, progress)
