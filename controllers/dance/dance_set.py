"""Recorded dances with their songs, from which dancers learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.songs import ClipSongs, songs_of_clips
from deepphase.motion.clip import Clip
from deepphase.motion.resample import at_frames
from deepphase.music.features import SongFeatures, stretched
from deepphase.solving.fitting import solve_body
from deepphase.solving.solve import solve_points, track_of
from deepphase.work import Progress, reported

# Range of the tempi of copies. Multiples of the golden ratio modulo 1 are spread evenly, however
# many there are.
_SLOWEST, _FASTEST, _GOLDEN = 0.8, 1.25, 0.618033988749895


@dataclass(frozen=True, eq=False)
class DanceSet(ClipSongs):
    """Dances with rotations, and the songs that they were danced to."""

    # Mean and 95th percentile of the distance between the captured points and the solved skeleton,
    # in metres; None if the clips had rotations.
    residual_m: tuple[float, float] | None = None

    def song(self, clip: Clip) -> SongFeatures:
        """The song of a clip."""
        return self.songs[clip.source.song]

    @classmethod
    def from_store(
        cls,
        store: ClipStore,
        songs: Path | None = None,
        *,
        description: Mapping[str, object] | None = None,
        progress: Progress | None = None,
    ) -> DanceSet:
        """Read the songs of clips, and solve a skeleton for clips that are point tracks."""
        found = songs_of_clips(store, songs, progress)
        solved, residual = with_skeleton(found.store, description=description, progress=progress)
        return cls(solved, found.songs, found.left_out, residual)

    def with_tempo_copies(self, copies: int, held_out: frozenset[str]) -> DanceSet:
        """These dances, and copies of those of the training at other tempi, with their songs.

        The tempi of all copies cover .8 to 1.25 of the song's evenly, on a logarithmic scale.
        """
        clips, songs = [], dict(self.songs)
        chosen = [clip for clip in self.store if clip.source.song not in held_out]
        for copy in range(copies):
            for index, clip in enumerate(chosen):
                place = (copy + index * copies + 0.5) * _GOLDEN % 1.0
                factor = float(_SLOWEST * (_FASTEST / _SLOWEST) ** place)
                frames = np.arange(int((len(clip) - 1) / factor) + 1) * factor
                song = f"{clip.source.song} at tempo {factor:.3f}"
                songs[song] = stretched(self.song(clip), factor)
                start_s = clip.source.song_start_s / factor
                source = replace(clip.source, song=song, song_start_s=start_s)
                name = f"{clip.name} at tempo {factor:.3f} ({copy + 1})"
                clips.append(replace(at_frames(clip, frames), name=name, source=source))
        if not clips:
            return self
        return replace(self, store=ClipStore.from_clips([*self.store, *clips]), songs=songs)


def with_skeleton(
    store: ClipStore,
    *,
    description: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> tuple[ClipStore, tuple[float, float] | None]:
    """Solve one skeleton of constant bone lengths for clips that are point tracks.

    Returns the store, in memory, and `DanceSet.residual_m`; clips that have rotations unchanged,
    and None.
    """
    if any(clip.has_rotations for clip in store):
        return store, None
    body = solve_body([track_of(clip) for clip in store], description)
    clips, residuals = [], []
    for clip in reported(progress, "solving skeletons", store, len(store)):
        solved = solve_points(clip, body)
        clips.append(replace(solved.clip, labels=clip.labels, name=clip.name))
        residuals.append(solved.residuals.ravel())
    every = np.concatenate(residuals)
    spread = float(every.mean()), float(np.percentile(every, 95))
    return ClipStore.from_clips(clips, provenance=store.provenance), spread
