"""Dances to songs: what is asked for, and the result of every maker of dances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepphase.arrays import Array, brief_repr
from deepphase.config import ABOVE_0, require_in
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootMotion, RootTrajectory, with_root_motion
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters

LOCKED_BAND = 1.25
"""Multiple of the band of the recorded dances at which dances are low-passed after their feet were
locked. Foot locking adds jerk, which this takes off again."""


@dataclass(frozen=True)
class DanceRequest:
    """Which part of a song is danced to, and how."""

    start_s: float = 0.0  # The song's second at the first frame
    seconds: float | None = None  # Length; to the song's end if not given, and not beyond it
    seed: int = 0  # Random seed of the start pose and of choices between equally good candidates
    # How much the dance varies, from 0 to 2. Trained dancers continue from another training pose
    # every 8 / variety seconds, 5.3 s if not given; databases choose among pieces that cost up to
    # so much more, 0.1 if not given.
    variety: float | None = None

    def __post_init__(self) -> None:
        ranges = {"start_s": (0, 1e9), "seconds": (ABOVE_0, 1e9), "variety": (0, 2)}
        require_in(self, **ranges, seed=(0, math.inf))

    def frames(self, song: SongFeatures, fps: float, notes: list[str]) -> int:
        """Number of frames of a motion to a song, one at least.

        `notes` receives a note if the song ends before the requested length. Raises ParameterError
        if it ends before the start.
        """
        left = song.duration_s - self.start_s
        if left * fps < 1:
            raise ParameterError(
                f"{song.name} has {song.duration_s:.2f} s, the dance starts at {self.start_s:g} s",
                hint="start earlier",
            )
        frames = max(round((left if self.seconds is None else min(self.seconds, left)) * fps), 1)
        if self.seconds is not None and frames < round(self.seconds * fps):
            notes.append(f"the song ends {frames / fps:.1f} s after the start; so does the dance")
        return frames


@brief_repr
@dataclass(frozen=True, eq=False)
class DanceResult:
    """Dance to a song."""

    clip: Clip  # The motion; its first frame is at `start_s` of the song
    song: SongFeatures  # Features of the song
    start_s: float  # Second of the song at the first frame
    # hips, root: Index of the hips in the clip's skeleton, and the root trajectory.
    hips: int
    root: RootTrajectory
    alive: Array  # (frames,) bool: whether the pose is within bounds
    phases: PhaseParameters | None = None  # (frames, channels) each; None without phases
    gating: Array | None = None  # (frames, experts) blend weights; None if the network has none
    # Name, with its unit in brackets -> (frames,) further values.
    tracks: Mapping[str, Array] = field(default_factory=dict)
    # Words and second of moments in the dance, such as jumps.
    marks: tuple[tuple[str, float], ...] = ()
    # Seconds of restarts after a stall; None for databases, which never restart.
    restarts_s: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()  # Remarks for the user, such as a missing beat

    def motion(self, root_motion: RootMotion = "auto") -> Clip:
        """The motion with its travel on this joint, see :func:`with_root_motion`."""
        return with_root_motion(self.clip, self.hips, self.root, root_motion)
