"""Dances that a trained dancer makes."""

from __future__ import annotations

from dataclasses import dataclass

from apps.reports.dance_made import Dance
from controllers.dancer import Dancer
from controllers.dancing import dances_to
from deepphase.figures.player.take import Gating, Marker
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress


@dataclass(frozen=True, eq=False)
class NetworkDanceMaker:
    """A dancer; see `dance_made.DanceMaker`.

    Parameters
    ----------
    dancer
        As `deepphase train dance` wrote it.
    source
        Name of its file.
    """

    dancer: Dancer
    source: str

    def dance(self, song: SongFeatures, wish: DanceWish, progress: Progress | None = None) -> Dance:
        """A dance to a song."""
        made = dances_to(self.dancer, [(song, wish)], progress=progress)[0]
        fps = made.run.fps
        return Dance(
            clip=made.clip(song.name),
            song=song,
            start_s=wish.start_s,
            phases=made.phases,
            gating=None if made.gating is None else Gating(made.gating, fps),
            curves=[],
            markers=[Marker("begins anew", second, second) for second in made.anew_s],
            notes=made.notes,
            anew_s=made.anew_s,
            reference=self.dancer.reference,
            made_with={
                "dancer": self.source,
                "network": self.dancer.controller.name,
                "seed": wish.seed,
            },
        )
