"""Who can dance: trained dancers, and motion databases that hear songs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from apps.pages.parts.collection import open_folder
from apps.pages.parts.demo_dances import made_dances
from apps.pages.parts.folder import FoundFile, Stamp
from apps.pages.parts.result_cache import ResultCache
from apps.reports.dance_by_database import DatabaseDanceMaker
from apps.reports.dance_by_network import NetworkDanceMaker
from apps.reports.dance_made import DanceMaker
from controllers.dance_config import MUSIC
from controllers.dancer import Dancer
from deepphase.errors import DeepPhaseError
from deepphase.features.layout import FeatureLayout
from deepphase.formats.array_file import read_header
from matching.dancing import LOCK
from matching.database import MotionDatabase
from matching.song_tracks import is_of_songs

_OPEN_DANCERS, _OPEN_DATABASES, _TOLD = 4, 3, 256
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
            if _hears(each.stamp)
        ]
    return [*sources, DancerSource("demo", "Made dances (demo)", _demo)]


def is_dancer(file: FoundFile) -> bool:
    """Whether a controller in the folder is one that hears songs."""
    return MUSIC in _tracks(file.stamp)


@st.cache_resource(max_entries=_TOLD, show_spinner=False)
def _tracks(stamp: Stamp) -> tuple[str, ...]:
    config = _mapping(_mapping(_told(stamp).get("config")).get("schema"))
    tracks = config.get("tracks")
    return tuple(map(str, tracks)) if isinstance(tracks, list | tuple) else ()


@st.cache_resource(max_entries=_TOLD, show_spinner=False)
def _hears(stamp: Stamp) -> bool:
    try:
        return is_of_songs(FeatureLayout.from_mapping(_told(stamp)["layout"]))
    except (DeepPhaseError, KeyError, TypeError, ValueError):
        return False


def _told(stamp: Stamp) -> Mapping[str, Any]:
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
        return OpenDancer(file.name, file.stamp, maker, LOCK)

    return lambda: _ready().known_or_made(("database", file.stamp), opened, _GETTING_READY)


def _demo() -> OpenDancer:
    return _ready().known_or_made(
        "demo",
        lambda progress: OpenDancer(
            "made dances",
            "demo",
            DatabaseDanceMaker(made_dances(progress), "made dances"),
            LOCK,
        ),
        _GETTING_READY,
    )
