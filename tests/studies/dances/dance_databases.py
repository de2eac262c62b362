"""Databases that dance: the kinds that are compared, and what only the making of a dance knows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import FeatureLayout
from deepphase.formats.load import save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.dancing import DatabaseDance, dance_with_database
from deepphase.matching.music.music_search import DanceSettings
from deepphase.matching.music.song_tracks import ClipSongTracks
from deepphase.matching.player.playback import Playback
from deepphase.matching.search.searcher import Searcher, open_searcher
from deepphase.motion.clip import Clip
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.extractor import PhaseExtractor

KINDS = ("music", "unlocked", "deaf")
LAYOUT = FeatureLayout.load("dance_music")
DEAF = FeatureLayout(*(each for each in LAYOUT if each.kind != "track"))


@dataclass(frozen=True)
class Kind:
    """How a database dances: as shipped, where nothing else is said.

    Parameters
    ----------
    layout
        What its rows are searched by.
    lock
        To the beat; None for the shipped one.
    settings
        How dances are put together; None for the shipped ones.
    """

    layout: FeatureLayout = LAYOUT
    lock: float | None = None
    settings: DanceSettings | None = None


def chosen_kinds(names: Sequence[str], min_improvement: Sequence[float] = ()) -> dict[str, Kind]:
    """The kinds of these names, and one more for each share by which a jump must cost less."""
    every = {"music": Kind(), "unlocked": Kind(lock=0.0), "deaf": Kind(DEAF)}
    kinds = {name: every[name] for name in names}
    for share in min_improvement:
        kinds[f"min_improvement_{share:g}"] = Kind(settings=DanceSettings(min_improvement=share))
    return kinds


class Databases:
    """The databases of clips with songs that kinds need, each built once."""

    def __init__(
        self, heard: ClipSongTracks, kinds: dict[str, Kind], model: PhaseExtractor
    ) -> None:
        self._kinds = kinds
        self._ready: dict[FeatureLayout, tuple[MotionDatabase, Playback, Searcher]] = {}
        for layout in {id(kind.layout): kind.layout for kind in kinds.values()}.values():
            database = MotionDatabase.build(heard.store, layout, model, tracks=heard)
            self._ready[layout] = (
                database,
                Playback.of_database(database),
                open_searcher(database, "exact"),
            )

    def dance(self, name: str, song: SongFeatures, seed: int) -> tuple[DatabaseDance, float]:
        """A dance of a kind, and the seconds that it took."""
        kind = self._kinds[name]
        request = DanceRequest(seed=seed, lock=kind.lock)
        began = time.perf_counter()
        dance = dance_with_database(
            *self._ready[kind.layout], song, request, settings=kind.settings
        )
        return dance, time.perf_counter() - began


def known_clips(heard: ClipSongTracks, left_out: set[str]) -> ClipStore:
    """The clips whose songs are not left out."""
    clips = (heard.store.clip(index) for index in range(len(heard.store)))
    return ClipStore.from_clips([each for each in clips if each.source.song not in left_out])


def pieces(dance: DatabaseDance) -> np.ndarray:
    """Seconds of what was danced as it was captured, in one piece."""
    return np.diff([0.0, *dance.jumps_s, dance.clip.duration])


def write_dance(clip: Clip, folder: Path, songs: Path) -> None:
    """The clip as BVH, and a link to its song beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    save(clip, folder / f"{clip.name}.bvh")
    link = folder / f"{clip.name}{Path(clip.source.song).suffix}"
    link.unlink(missing_ok=True)
    link.symlink_to((songs / clip.source.song).resolve())
