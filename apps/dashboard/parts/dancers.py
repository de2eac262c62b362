"""Sources of dances: trained dancers, and motion databases with music features."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deepphase.apps.dances.report import dance_report, dance_take
from deepphase.apps.dances.sources import DanceSource
from deepphase.apps.dashboard.parts.demo import demo_model
from deepphase.apps.dashboard.parts.files import FileKind, ListedSource
from deepphase.apps.dashboard.parts.folder import FoundFile, open_folder
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.dashboard.parts.songs import ChosenDance, OpenSong
from deepphase.apps.dashboard.parts.widgets import zip_of
from deepphase.apps.demo.dances import made_dances
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
from deepphase.steering.dance import DanceResult
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take


@dataclass(frozen=True, eq=False)
class OpenDance:
    """A dance as a page shows it."""

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

    def files(self) -> dict[str, bytes]:
        """Suffix, as in "bvh" -> content of that file of the report."""
        with zipfile.ZipFile(io.BytesIO(self.report)) as archive:
            return {name.rpartition(".")[2]: archive.read(name) for name in archive.namelist()}


def dance_of_song(
    dancer: OpenDancer, song: OpenSong, chosen: ChosenDance, progress: Progress
) -> OpenDance:
    """Make a dance to a song, with its report and its files."""
    dance = dancer.source.dance(song.features, chosen.request, progress)
    with temporary_folder() as folder, song.as_file() as file:
        _, measures, findings = dance_report(dance, dancer.source, chosen.request, file, folder)
        # The page shows the notes beside the player, so the take has none.
        take = replace(dance_take(dance, file), note="")
        return OpenDance(take, measures, findings, zip_of(folder), dance)


# Databases in the cache that all sessions share.
_CACHED_DATABASES = 3
_OPENING = "Opening the dances"


@dataclass(frozen=True, eq=False)
class OpenDancer:
    """A trained dancer or a dance database; `key` changes with its content."""

    name: str
    key: Hashable
    source: DanceSource
    trials: tuple[str, ...] = ()


def dancer_sources() -> list[ListedSource[OpenDancer]]:
    """The dance databases and dancers of the open folder, then the demo.

    Databases come first, as in `deepphase dance`; see
    `deepphase.apps.dances.sources.find_dance_source`.
    """
    found = open_folder()
    databases = found.of_format(DATABASE_FORMAT) if found is not None else []
    return [
        *(
            ListedSource(
                f"database:{each.path}", f"Database: {each.name}", partial(_database, each)
            )
            for each in databases
            if _has_music(each)
        ),
        *(DANCERS.source(each, "Dancer: ") for each in DANCERS.files(is_dancer)),
        ListedSource("demo", "Made dances (demo)", _open_demo),
    ]


def is_dancer(file: FoundFile) -> bool:
    """Whether a file is a controller that reads music."""
    tracks = file.entry("config", "schema", "tracks")
    return file.format == FORMAT and isinstance(tracks, list | tuple) and MUSIC in tracks


def follows_goals(file: FoundFile) -> bool:
    """Whether a database in the folder has a trajectory ahead; True if it cannot be read."""
    layout = _layout(file)
    # Opening it says what is wrong.
    return layout is None or bool(len(future_offsets(layout)))


def _has_music(file: FoundFile) -> bool:
    layout = _layout(file)
    return layout is not None and has_song_tracks(layout)


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
    def opened(_: object) -> OpenDancer:
        database = MotionDatabase.load(file.path)
        return OpenDancer(file.name, file.stamp, DanceSource.from_database(database, file.name))

    return shared_cache("dances to choose from", _CACHED_DATABASES).find_or_make(
        ("database", file.stamp), opened, _OPENING
    )


def _open_demo() -> OpenDancer:
    return shared_cache("dances to choose from", _CACHED_DATABASES).find_or_make(
        "demo",
        lambda progress: OpenDancer(
            "made dances",
            "demo",
            DanceSource.from_database(made_dances(demo_model(), progress), "made dances"),
        ),
        _OPENING,
    )
