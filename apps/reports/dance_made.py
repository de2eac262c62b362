"""A dance that was made to a song, by whatever made it: what files, page and measures need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from controllers.dance_reference import DanceReference
from deepphase.figures.player.take import Curve, Gating, Marker
from deepphase.motion.clip import Clip
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress


@dataclass(frozen=True, eq=False)
class Dance:
    """A motion to a song.

    Parameters
    ----------
    clip
        The motion; its first frame is at `start_s` of the song.
    song
        What the song sounds like.
    start_s
        Seconds.
    phases
        (frames, channels) each; None where what made it has none.
    gating
        Weights of experts, where there are some.
    curves, markers
        What else the player shows over time.
    notes
        What deserves to be said, in words.
    anew_s
        Seconds at which it began anew because it had come to a halt; None where nothing sees to it.
    reference
        What recorded dances measure: the scale. Without it measures stand alone.
    made_with
        What made it, as plain values that a report keeps.
    """

    clip: Clip
    song: SongFeatures
    start_s: float
    phases: PhaseParameters | None = None
    gating: Gating | None = None
    curves: Sequence[Curve] = ()
    markers: Sequence[Marker] = ()
    notes: tuple[str, ...] = ()
    anew_s: tuple[float, ...] | None = None
    reference: DanceReference | None = None
    made_with: Mapping[str, Any] = field(default_factory=dict)


class DanceMaker(Protocol):
    """What makes dances."""

    def dance(self, song: SongFeatures, wish: DanceWish, progress: Progress | None = None) -> Dance:
        """A dance to a song.

        Raises ParameterError where the song is over before the start.
        """
        ...
