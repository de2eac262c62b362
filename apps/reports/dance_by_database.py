"""Dances that are played out of a motion database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.reports.dance_made import Dance
from apps.reports.database_songs import dances_of
from deepphase.figures.player.take import Curve, Marker
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress
from matching.dancing import LOCK, dance_to
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.search import open_searcher


@dataclass(frozen=True, eq=False)
class DatabaseDanceMaker:
    """A database; see `dance_made.DanceMaker`.

    Parameters
    ----------
    database
        As `deepphase match build` wrote it.
    source
        Name of its file.
    warn
        Is told why an index was not used.
    """

    database: MotionDatabase
    source: str
    warn: Callable[[str], None] | None = None

    def dance(self, song: SongFeatures, wish: DanceWish, progress: Progress | None = None) -> Dance:
        """A dance to a song."""
        searcher = open_searcher(self.database, progress=progress, note=self.warn)
        playback = Playback.of_database(self.database, progress)
        made = dance_to(self.database, playback, searcher, song, wish, progress=progress)
        fps = made.clip.fps
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
        return Dance(
            clip=made.clip,
            song=song,
            start_s=wish.start_s,
            phases=made.phases,
            curves=curves,
            markers=markers,
            notes=made.notes,
            reference=dances_of(self.database),
            made_with={
                "database": self.source,
                **{k: v for k, v in self.database.made_with.items() if k == "model_sha256"},
                "seed": wish.seed,
                "lock": LOCK if wish.lock is None else wish.lock,
            },
        )
