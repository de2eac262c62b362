"""Who can dance: trained dancers, and motion databases that hear songs."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from apps.dances.makers import DanceMaker, DatabaseDanceMaker, NetworkDanceMaker
from apps.dances.report import dance_report, dance_take
from apps.dashboard.parts.collection import open_folder
from apps.dashboard.parts.demo import made_dances
from apps.dashboard.parts.folder import FoundFile, Stamp
from apps.dashboard.parts.result_cache import ResultCache
from apps.dashboard.parts.songs import OpenSong
from controllers.dance.config import MUSIC
from controllers.dance.dancer import Dancer
from deepphase.errors import DeepPhaseError
from deepphase.features.layout import FeatureLayout
from deepphase.figures.player.take import Take
from deepphase.formats.array_file import read_header
from deepphase.music.dance_request import DanceRequest
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.music.dancing import DEFAULT_LOCK
from matching.music.song_tracks import has_song_tracks

# Dances kept for all sessions together.
_KEPT = 6


@dataclass(frozen=True, eq=False)
class OpenDance:
    """A dance as a page shows it.

    Parameters
    ----------
    take
        For the player, with its sound.
    columns, rows
        Its measures, as texts.
    files
        Suffix, as in "bvh" -> the content of that file.
    report
        The folder that `deepphase dance` writes, as a ZIP file.
    notes
        What deserves to be said, in words.
    """

    take: Take
    columns: list[str]
    rows: list[list[str]]
    files: Mapping[str, bytes]
    report: bytes
    notes: tuple[str, ...]


@st.cache_resource(show_spinner=False)
def dance_cache() -> ResultCache[OpenDance]:
    """One for the whole program."""
    return ResultCache(_KEPT)


def dance_of_song(
    dancer: OpenDancer, song: OpenSong, request: DanceRequest, progress: Progress
) -> OpenDance:
    """Let somebody dance.

    Raises
    ------
    DeepPhaseError
        Where it cannot be danced like that.
    """
    dance = dancer.maker.dance(song.features, request, progress)
    with tempfile.TemporaryDirectory(prefix="deepphase-") as place, song.as_file() as file:
        folder = Path(place)
        report = dance_report(dance, file, folder, progress)
        # Its own texts stand beside the player.
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
    return OpenDance(take, report.columns, report.rows, files, content.getvalue(), dance.notes)


_OPEN_DANCERS, _OPEN_DATABASES, _STATED = 4, 3, 256
_GETTING_READY = "Getting ready to dance"


@dataclass(frozen=True, eq=False)
class OpenDancer:
    """Who dances; `key` changes with their content.

    Parameters
    ----------
    maker
        Makes the dances.
    lock
        How firmly playback is held to the beat by default; None where there is no playback.
    """

    name: str
    key: Hashable
    maker: DanceMaker
    lock: float | None


@dataclass(frozen=True)
class DancerSource:
    """Who can be chosen; `open` raises DeepPhaseError where they cannot be opened."""

    id: str
    name: str
    open: Callable[[], OpenDancer] = field(compare=False)


def dancer_sources() -> list[DancerSource]:
    """Everybody who can dance; the demo last where the folder has others."""
    found = open_folder()
    sources = []
    if found is not None:
        sources = [
            DancerSource(f"file:{each.path}", f"Dancer: {each.name}", _of_file(each))
            for each in found.controllers
            if is_dancer(each)
        ]
        sources += [
            DancerSource(f"database:{each.path}", f"Database: {each.name}", _of_database(each))
            for each in found.databases
            if _has_music(each.stamp)
        ]
    return [*sources, DancerSource("demo", "Made dances (demo)", _demo)]


def is_dancer(file: FoundFile) -> bool:
    """Whether a controller in the folder is one that hears songs."""
    return MUSIC in _tracks(file.stamp)


@st.cache_resource(max_entries=_STATED, show_spinner=False)
def _tracks(stamp: Stamp) -> tuple[str, ...]:
    config = _mapping(_mapping(_stated(stamp).get("config")).get("schema"))
    tracks = config.get("tracks")
    return tuple(map(str, tracks)) if isinstance(tracks, list | tuple) else ()


@st.cache_resource(max_entries=_STATED, show_spinner=False)
def _has_music(stamp: Stamp) -> bool:
    try:
        return has_song_tracks(FeatureLayout.from_mapping(_stated(stamp)["layout"]))
    except (DeepPhaseError, KeyError, TypeError, ValueError):
        return False


def _stated(stamp: Stamp) -> Mapping[str, Any]:
    try:
        return read_header(stamp[0])
    except DeepPhaseError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


@st.cache_resource(max_entries=_OPEN_DANCERS, show_spinner="Opening the dancer")
def _dancer(name: str, stamp: Stamp) -> OpenDancer:
    dancer = Dancer.load(stamp[0])
    return OpenDancer(name, stamp, NetworkDanceMaker(dancer, name), None)


def _of_file(file: FoundFile) -> Callable[[], OpenDancer]:
    return lambda: _dancer(file.name, file.stamp)


@st.cache_resource(show_spinner=False)
def _ready() -> ResultCache[OpenDancer]:
    return ResultCache(_OPEN_DATABASES)


def _of_database(file: FoundFile) -> Callable[[], OpenDancer]:
    def opened(_: object) -> OpenDancer:
        maker = DatabaseDanceMaker(MotionDatabase.load(file.stamp[0]), file.name)
        return OpenDancer(file.name, file.stamp, maker, DEFAULT_LOCK)

    return lambda: _ready().find_or_make(("database", file.stamp), opened, _GETTING_READY)


def _demo() -> OpenDancer:
    return _ready().find_or_make(
        "demo",
        lambda progress: OpenDancer(
            "made dances",
            "demo",
            DatabaseDanceMaker(made_dances(progress), "made dances"),
            DEFAULT_LOCK,
        ),
        _GETTING_READY,
    )
