"""Clocks of clips: recorded dances, re-timed to the bars of their songs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deepphase.corpus.songs import ClipSongs
from deepphase.evaluation.dance_beats import mean_joint_speed
from deepphase.evaluation.dance_clock import DanceClock, DanceInBars, dance_clocks
from deepphase.evaluation.dance_features import body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import at_frames
from deepphase.motion.roles import find_roles
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress

_UNKNOWN = "bars are unknown, or the hips do not rise and fall by them"


@dataclass(frozen=True, eq=False)
class DanceClocks:
    """Clocks of some dances against the bars of their songs.

    Parameters
    ----------
    clocks
        Clip -> its clock; without clips whose songs have no bars.
    dances
        Number of dances, those without bars included.
    """

    clocks: Mapping[str, DanceClock]
    dances: int

    def retimed(self, clips: Iterable[Clip]) -> list[Clip]:
        """The dances at the rate and offset of their clocks; as they are where it is not clear."""
        return [
            retimed(clip, self.clocks[clip.name]) if self.is_clear(clip.name) else clip
            for clip in clips
        ]

    def is_clear(self, name: str) -> bool:
        """Whether the clock of a clip can be relied on."""
        return name in self.clocks and self.clocks[name].clear

    def words(self) -> list[str]:
        """What the clocks are, and which dances are re-timed, as lines of text."""
        moved = [each for each in self.clocks.values() if each.clear]
        left = self.dances - len(moved)
        if not moved:
            return [f"no dance is re-timed: {_UNKNOWN}"]
        longer = 100.0 * (np.array([each.rate for each in moved]) - 1.0)
        offsets = np.abs([each.offset_s for each in moved])
        lines = [
            f"{len(moved)} of {self.dances} dances are re-timed to the bars of their songs: "
            f"{np.median(longer):+.1f} % longer in the median ({longer.min():+.1f} to "
            f"{longer.max():+.1f} %), moved by {np.median(offsets):.2f} s in the median"
        ]
        if left:
            lines.append(f"{left} dances stay as they are: {_UNKNOWN}")
        return lines

    def as_mapping(self) -> dict[str, Any]:
        """Clip -> rate, offset_s, explained, by_chance and whether it is re-timed (clear)."""
        return {name: asdict(each) for name, each in self.clocks.items()}


def clocks_of_clips(clips: ClipSongs, progress: Progress | None = None) -> DanceClocks:
    """The clock of each dance against the bars of its song, see :func:`dance_clocks`.

    Parameters
    ----------
    clips
        Dances with their songs.
    progress
        Called with the number of clips done.

    Raises
    ------
    SkeletonError
        If a body lacks legs or arms.
    """
    found: dict[str, DanceInBars] = {}
    for number, clip in enumerate(clips.store, start=1):
        song = clips.songs[clip.source.song]
        if song.downbeats_s is not None and song.beats_per_bar is not None and len(clip) > 2:
            found[clip.name] = _in_bars(clip, song)
        if progress is not None:
            progress("comparing dances with bars", number, len(clips.store), clip.name)
    clocks = dict(zip(found, dance_clocks(list(found.values())), strict=True))
    return DanceClocks(clocks, len(clips.store))


def retimed(clip: Clip, clock: DanceClock) -> Clip:
    """A dance played at the rate of its clock, and moved by its offset along the song."""
    count = int(np.floor((len(clip) - 1) * clock.rate)) + 1
    note = (
        f"re-timed to the bars of its song: {100.0 * (clock.rate - 1.0):+.2f} % longer, "
        f"{clock.offset_s:+.2f} s later"
    )
    source = replace(
        clip.source,
        song_start_s=clip.source.song_start_s + clock.offset_s,
        notes=(*clip.source.notes, note),
    )
    return replace(at_frames(clip, np.arange(count) / clock.rate), source=source)


def _in_bars(clip: Clip, song: SongFeatures) -> DanceInBars:
    points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
    body = np.stack([points[name] for name in sorted(points)], axis=1)
    assert song.downbeats_s is not None
    assert song.beats_per_bar is not None
    return DanceInBars(
        mean_joint_speed(body, clip.fps),
        points["root"][:, 1],
        clip.fps,
        np.asarray(song.downbeats_s) - clip.source.song_start_s,
        song.beats_per_bar,
    )
