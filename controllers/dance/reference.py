"""Reference measures of recorded dances, against which generated dances are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from deepphase.errors import CheckpointError
from deepphase.evaluation.dance_body import bandwidth_hz, broken_share, standing_share
from deepphase.evaluation.dance_measures import (
    DanceMeasures,
    DanceScale,
    DanceToSong,
    dance_to_song,
    measure_dance,
)
from deepphase.evaluation.dance_pieces import distinct_pieces, nearest_repeats
from deepphase.evaluation.runs import foot_skating
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.music.features import SongFeatures

# Random shifts of a song over which the chance level is averaged.
_DRAWS = 60
REFERENCE_METERS = (3, 4)
"""Beats per bar for which the rhythm is measured."""


@dataclass(frozen=True)
class DanceReference:
    """Mean measures of recorded dances, and the scale of speed and sliding.

    Parameters
    ----------
    values
        Measure of `dance_values` -> mean over the dances that have it.
    dances, minutes
        Number of dances, and their total length.
    usual_speed, largest_speed, largest_sliding
        See `DanceScale`.
    bandwidth_hz
        Mean of `evaluation.dance_body.bandwidth_hz` over the dances.
    """

    values: Mapping[str, float]
    dances: int
    minutes: float
    usual_speed: float
    largest_speed: float
    largest_sliding: float
    bandwidth_hz: float

    @classmethod
    def of(cls, clips: Sequence[Clip], songs: Sequence[SongFeatures]) -> DanceReference:
        """Measure dances, each to its song."""
        measured = [measure_dance(clip) for clip in clips]
        scale = DanceScale.of(measured)
        blank = cls(
            {},
            len(measured),
            sum(each.seconds for each in measured) / 60.0,
            scale.usual_speed,
            scale.largest_speed,
            scale.largest_sliding,
            float(np.mean([bandwidth_hz(joint_positions(clip), clip.fps) for clip in clips])),
        )
        rows = [
            blank.dance_values(each, _to_song(each, song, clip.source.song_start_s))
            for each, clip, song in zip(measured, clips, songs, strict=True)
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        means = {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}
        return cls(**{**_plain(blank), "values": means})

    def measured(self, clip: Clip, song: SongFeatures, start_s: float) -> dict[str, float]:
        """`dance_values` of a dance whose first frame is at `start_s` of the song."""
        dance = measure_dance(clip)
        return self.dance_values(dance, _to_song(dance, song, start_s))

    def dance_values(self, dance: DanceMeasures, to_song: DanceToSong | None) -> dict[str, float]:
        """Measure -> value; measures against the song are left out if its beats are uncertain."""
        found: dict[str, float] = {}
        if to_song is not None:
            found |= {
                "by_motion": to_song.alignment.by_motion,
                "by_motion_chance": to_song.by_chance.by_motion,
                "by_music": to_song.alignment.by_music,
                "by_music_chance": to_song.by_chance.by_music,
            }
            for beats, rhythm in to_song.rhythms.items():
                if not len(rhythm):
                    continue
                period = "beat" if beats == 1 else f"bar_{beats}"
                found |= {
                    f"{period}_speed": float(rhythm.strength.mean()),
                    f"{period}_speed_shifted": float(rhythm.strength_shifted.mean()),
                    f"{period}_height": float(rhythm.variance.mean()),
                    f"{period}_height_shifted": float(rhythm.variance_shifted.mean()),
                }
        sliding = dance.sliding
        found |= {
            "speed": float(dance.speed.mean()),
            "accents": len(dance.beats) / dance.seconds,
            **dance.jerks,
            "foot_contact": dance.foot_contact,
            "net_turning": dance.net_turning,
            "travel": dance.travel,
            "standing": standing_share(dance.moving, self.usual_speed),
            "broken": broken_share(dance.moving, self.largest_speed),
        }
        if len(sliding):
            found["sliding"] = float(sliding.mean())
            if self.largest_sliding > 0:
                found["skating"] = foot_skating(sliding, self.largest_sliding)
        if dance.turning is not None:
            found["turning"] = dance.turning
        repeats = nearest_repeats(dance.pieces)
        if len(repeats):
            found["repeat"] = float(repeats.mean())
        pieces = distinct_pieces(dance.pieces)
        if pieces:
            found["distinct_pieces"] = pieces
        return found

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> DanceReference:
        """The reference that `as_mapping` wrote; raises CheckpointError if it is invalid."""
        try:
            values = {str(name): float(value) for name, value in content["values"].items()}
            rest: dict[str, Any] = {
                item.name: float(content[item.name]) for item in fields(cls)[1:]
            }
            rest["dances"] = int(rest["dances"])
            return cls(values, **rest)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"the reference measures are invalid: {' '.join(str(error).split())[:200]}",
                hint="train the dancer again",
            ) from None


def _plain(reference: DanceReference) -> dict[str, Any]:
    return {item.name: getattr(reference, item.name) for item in fields(reference)}


def _to_song(dance: DanceMeasures, song: SongFeatures, start_s: float) -> DanceToSong | None:
    if not song.has_beat:
        return None
    return dance_to_song(dance, song.beats_s - start_s, metres=REFERENCE_METERS, draws=_DRAWS)
