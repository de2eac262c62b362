"""Sources of dances: trained dancers, and motion databases with music features."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from apps.dances.databases import dance_styles
from apps.dances.makers import DanceMaker, DanceResult, DatabaseDanceMaker, NetworkDanceMaker
from apps.dances.report import DanceFinding, dance_film, dance_report, dance_take
from apps.dashboard.parts.collection import open_folder
from apps.dashboard.parts.demo import demo_model
from apps.dashboard.parts.folder import FoundFile, Stamp
from apps.dashboard.parts.result_cache import ResultCache
from apps.dashboard.parts.songs import ChosenDance, OpenSong
from apps.demo.dances import made_dances
from controllers.dance.config import MUSIC
from controllers.dance.dancer import Dancer
from controllers.dance.health import dance_words
from deepphase.errors import DeepPhaseError
from deepphase.features.layout import FeatureLayout
from deepphase.formats.array_file import read_header
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take
from matching.database.database import MotionDatabase
from matching.music.dancing import DEFAULT_LOCK
from matching.music.song_tracks import has_song_tracks
from matching.player.trajectory_search import future_offsets

# Dances and films in the caches that all sessions share.
_CACHED_DANCES, _CACHED_FILMS = 6, 3


@dataclass(frozen=True, eq=False)
class OpenDance:
    """A dance as a page shows it.

    Parameters
    ----------
    take
        The dance for the player, with the sound of the song.
    columns, rows
        Table of measures, as texts.
    files
        Suffix, as in "bvh" -> content of that file.
    report
        The folder that `deepphase dance` writes, as a ZIP file.
    notes
        Remarks and warnings about the dance.
    findings
        What its measures say on beats and bars.
    result
        The dance itself.
    """

    take: Take
    columns: list[str]
    rows: list[list[str]]
    files: Mapping[str, bytes]
    report: bytes
    notes: tuple[str, ...]
    findings: tuple[DanceFinding, ...]
    result: DanceResult


@st.cache_resource(show_spinner=False)
def dance_cache() -> ResultCache[OpenDance]:
    """The cache of dances, one for all sessions."""
    return ResultCache(_CACHED_DANCES)


@st.cache_resource(show_spinner=False)
def film_cache() -> ResultCache[bytes]:
    """The cache of films of dances, one for all sessions."""
    return ResultCache(_CACHED_FILMS)


def film_of_dance(dance: OpenDance, song: OpenSong, progress: Progress) -> bytes:
    """An MP4 film of a dance with its sound. Raises DeepPhaseError if it cannot be made."""
    with temporary_folder() as folder, song.as_file() as file:
        dance_film(dance.result, file, folder / "dance.mp4", progress)
        return (folder / "dance.mp4").read_bytes()


def dance_of_song(
    dancer: OpenDancer, song: OpenSong, chosen: ChosenDance, progress: Progress
) -> OpenDance:
    """Make a dance to a song, with its report and its files.

    Raises
    ------
    DeepPhaseError
        If the dancer cannot meet the request.
    """
    dance = dancer.maker.dance(song.features, chosen.request, progress)
    if chosen.stage_m is not None:
        dance = dance.on_stage(*chosen.stage_m)
    with temporary_folder() as folder, song.as_file() as file:
        report = dance_report(dance, file, folder, progress)
        # The page shows the notes beside the player, so the take has none.
        take = dance_take(dance, file)
        files = {
            path.suffix.removeprefix("."): path.read_bytes()
            for path in folder.iterdir()
            if path.suffix in (".bvh", ".glb", ".csv")
        }
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return OpenDance(
        take,
        report.columns,
        report.rows,
        files,
        content.getvalue(),
        dance.notes,
        report.findings,
        dance,
    )


# Entries in the caches of dancers, of databases and of file headers.
_CACHED_DANCERS, _CACHED_DATABASES, _CACHED_HEADERS = 4, 3, 256
_OPENING = "Opening the dances"


@dataclass(frozen=True, eq=False)
class OpenDancer:
    """A trained dancer or a dance database; `key` changes with its content.

    Parameters
    ----------
    maker
        Makes the dances.
    lock
        Default strength, from 0 to 1, with which playback follows the beat; None for networks.
    styles
        Styles of dance to choose from; none if they are not known.
    trials
        Sentences on how dances followed their songs in the trials at the end of the training.
    """

    name: str
    key: Hashable
    maker: DanceMaker
    lock: float | None
    styles: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()


@dataclass(frozen=True)
class DancerSource:
    """A dancer or database to choose; `open` raises DeepPhaseError if it cannot be opened."""

    id: str
    name: str
    open: Callable[[], OpenDancer] = field(compare=False)


def dancer_sources() -> list[DancerSource]:
    """The dance databases and dancers of the open folder, then the demo.

    Databases come first, as in `deepphase dance` (see `apps.dances.sources.dance_source`).
    """
    found = open_folder()
    sources = []
    if found is not None:
        sources = [
            DancerSource(f"database:{each.path}", f"Database: {each.name}", _database_opener(each))
            for each in found.databases
            if _has_music(each.stamp)
        ]
        sources += [
            DancerSource(f"file:{each.path}", f"Dancer: {each.name}", _dancer_opener(each))
            for each in found.controllers
            if is_dancer(each)
        ]
    return [*sources, DancerSource("demo", "Made dances (demo)", _open_demo)]


def is_dancer(file: FoundFile) -> bool:
    """Whether a controller in the folder reads music."""
    return MUSIC in _tracks(file.stamp)


@st.cache_resource(max_entries=_CACHED_HEADERS, show_spinner=False)
def _tracks(stamp: Stamp) -> tuple[str, ...]:
    config = _mapping(_mapping(_header(stamp).get("config")).get("schema"))
    tracks = config.get("tracks")
    return tuple(map(str, tracks)) if isinstance(tracks, list | tuple) else ()


def follows_goals(file: FoundFile) -> bool:
    """Whether a database in the folder has a trajectory ahead; True if it cannot be read."""
    return _has_future(file.stamp)


@st.cache_resource(max_entries=_CACHED_HEADERS, show_spinner=False)
def _has_future(stamp: Stamp) -> bool:
    try:
        return bool(len(future_offsets(FeatureLayout.from_mapping(_header(stamp)["layout"]))))
    except (DeepPhaseError, KeyError, TypeError, ValueError):
        # Opening it says what is wrong.
        return True


@st.cache_resource(max_entries=_CACHED_HEADERS, show_spinner=False)
def _has_music(stamp: Stamp) -> bool:
    try:
        return has_song_tracks(FeatureLayout.from_mapping(_header(stamp)["layout"]))
    except (DeepPhaseError, KeyError, TypeError, ValueError):
        return False


def _header(stamp: Stamp) -> Mapping[str, Any]:
    try:
        return read_header(stamp[0])
    except DeepPhaseError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


@st.cache_resource(max_entries=_CACHED_DANCERS, show_spinner="Opening the dancer")
def _open_dancer(name: str, stamp: Stamp) -> OpenDancer:
    dancer = Dancer.load(stamp[0])
    styles = () if dancer.styles is None else tuple(dancer.styles.names)
    return OpenDancer(name, stamp, NetworkDanceMaker(dancer, name), None, styles, _trials(dancer))


def _trials(dancer: Dancer) -> tuple[str, ...]:
    health = dancer.controller.health.get("dance")
    if not isinstance(health, Mapping):
        return ()
    return tuple(dance_words(health, dancer.reference.values))


def _dancer_opener(file: FoundFile) -> Callable[[], OpenDancer]:
    return lambda: _open_dancer(file.name, file.stamp)


@st.cache_resource(show_spinner=False)
def _database_cache() -> ResultCache[OpenDancer]:
    return ResultCache(_CACHED_DATABASES)


def _database_opener(file: FoundFile) -> Callable[[], OpenDancer]:
    def opened(_: object) -> OpenDancer:
        database = MotionDatabase.load(file.stamp[0])
        maker, known = DatabaseDanceMaker(database, file.name), dance_styles(database)
        styles = () if known is None else tuple(known.names)
        return OpenDancer(file.name, file.stamp, maker, DEFAULT_LOCK, styles)

    return lambda: _database_cache().find_or_make(("database", file.stamp), opened, _OPENING)


def _open_demo() -> OpenDancer:
    return _database_cache().find_or_make(
        "demo",
        lambda progress: OpenDancer(
            "made dances",
            "demo",
            DatabaseDanceMaker(made_dances(demo_model(), progress), "made dances"),
            DEFAULT_LOCK,
        ),
        _OPENING,
    )
