"""Sources of dances: trained dancers, and motion databases with music features; their dances."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deepphase.apps.dance_sources import DanceSource, made_dances
from deepphase.apps.dashboard.parts.collection import demo_model
from deepphase.apps.dashboard.parts.files import FileKind, ListedSource
from deepphase.apps.dashboard.parts.folder import FoundFile, open_folder
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.dashboard.parts.songs import OpenSong
from deepphase.apps.dashboard.parts.widgets import zip_of
from deepphase.apps.reports.dance_report import dance_report, dance_take
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.health import dance_words
from deepphase.controllers.runtime.controller import FORMAT
from deepphase.errors import DeepPhaseError
from deepphase.evaluation.dance import DanceFinding
from deepphase.evaluation.measurement import Measure, values_by_name
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.file import FORMAT as DATABASE_FORMAT
from deepphase.matching.music.song_tracks import has_song_tracks
from deepphase.matching.player.trajectory_queries import future_offsets
from deepphase.progress import Progress
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take

# Databases in the cache that all sessions share.
_CACHED_DATABASES = 3


@dataclass(frozen=True, eq=False)
class OpenDance:
    """A dance as a page shows it; `report` is a ZIP file of its files and its page."""

    take: Take
    measures: list[Measure]
    findings: Sequence[DanceFinding]
    report: bytes
    result: DanceResult

    @property
    def score(self) -> float:
        """How much more it is on the beat and in the bars than by chance; ranks dances."""
        pairs = (("by_motion", "by_motion_chance"), ("bar_height", "bar_height_shifted"))
        values = values_by_name(self.measures)
        return sum(values[own] - values[chance] for own, chance in pairs if own in values)

    def file(self, suffix: str) -> bytes:
        """Content of the file of the report with a suffix, as in ".bvh"."""
        with zipfile.ZipFile(io.BytesIO(self.report)) as archive:
            return archive.read(next(name for name in archive.namelist() if name.endswith(suffix)))


@dataclass(frozen=True, eq=False)
class OpenDancer:
    """A trained dancer or a dance database; `key` changes with its content."""

    name: str
    key: Hashable
    source: DanceSource
    trials: tuple[str, ...] = ()

    def dance(self, song: OpenSong, request: DanceRequest, progress: Progress) -> OpenDance:
        """Make a dance to a song, with its report and its files."""
        result = self.source.dance(song.features, request, progress)
        with song.as_file() as file:
            with temporary_folder() as folder:
                _, measures, findings = dance_report(result, self.source, request, file, folder)
                report = zip_of(folder)
            # The page shows the notes beside the player, so the take has none.
            take = replace(dance_take(result, file), note="")
        return OpenDance(take, measures, findings, report, result)


def dancer_sources() -> list[ListedSource[OpenDancer]]:
    """The dance databases and dancers of the open folder, then the demo.

    Databases come first, as in `deepphase dance`; see
    `deepphase.apps.dance_sources.find_dance_source`.
    """
    found = open_folder()
    databases = [
        ListedSource(f"database:{file.path}", f"Database: {file.name}", partial(_database, file))
        for file in (found.of_format(DATABASE_FORMAT) if found is not None else [])
        if (layout := _layout(file)) is not None and has_song_tracks(layout)
    ]
    dancers = [DANCERS.source(file, "Dancer: ") for file in DANCERS.files(is_dancer)]
    return [*databases, *dancers, ListedSource("demo", "Made dances (demo)", _demo)]


def is_dancer(file: FoundFile) -> bool:
    """Whether a file is a controller that reads music."""
    tracks = file.entry("config", "schema", "tracks")
    return file.format == FORMAT and isinstance(tracks, list | tuple) and MUSIC in tracks


def follows_goals(file: FoundFile) -> bool:
    """Whether a database in the folder has a trajectory ahead; True if it cannot be read."""
    layout = _layout(file)
    # Opening it says what is wrong.
    return layout is None or bool(len(future_offsets(layout)))


def _layout(file: FoundFile) -> FeatureLayout | None:
    """The layout of a database; None where it is damaged."""
    try:
        return FeatureLayout.from_mapping(file.about["layout"])
    except (DeepPhaseError, KeyError, TypeError, ValueError):
        return None


def _load_dancer(file: FoundFile) -> OpenDancer:
    dancer = Dancer.load(file.path)
    health = dancer.controller.health.get("dance")
    trials = (
        tuple(dance_words(health, dancer.reference.values)) if isinstance(health, Mapping) else ()
    )
    return OpenDancer(file.name, file.stamp, DanceSource.from_dancer(dancer, file.name), trials)


DANCERS = FileKind("dancer", _load_dancer)


def _database(file: FoundFile) -> OpenDancer:
    def opened(_: Progress) -> OpenDancer:
        database = MotionDatabase.load(file.path)
        return OpenDancer(file.name, file.stamp, DanceSource.from_database(database, file.name))

    return _cached(("database", file.stamp), opened)


def _demo() -> OpenDancer:
    def opened(progress: Progress) -> OpenDancer:
        database = made_dances(demo_model(), progress)
        return OpenDancer("made dances", "demo", DanceSource.from_database(database, "made dances"))

    return _cached("demo", opened)


def _cached(key: Hashable, opened: Callable[[Progress], OpenDancer]) -> OpenDancer:
    cache = shared_cache("dances to choose from", _CACHED_DATABASES)
    return cache.find_or_make(key, opened, "Opening the dances")
