"""A body that follows a clip of another: its phases and codes, in its own rhythm and size.

At any moment the database is searched for frames whose codes, phase and speed are nearest to those
of the clip, now and some time ahead. What is found plays at a rate that brings its phase to the
clip's (Li et al. 2024 call this frequency-scaled motion matching), and differences decay by
inertialization.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.phase.shared_frames import SharedFrames
from deepphase.steering.foot_lock import FootLock
from deepphase.steering.inertialization import (
    angular_velocities,
    from_rotation_vectors,
    rotation_offsets,
)
from deepphase.steering.springs import decayed

# Seconds between two searches, and the times ahead at which frames are compared.
_SEARCH_S, _AHEAD_S = 0.2, (0.0, 0.25, 0.5)
# A jump must be nearer by this share of the distance of the frames that would play on.
_BETTER = 0.25
# Squared distance of a frame with another code, beside that of the codes' values.
_OTHER_CODE = 0.25
_HALFLIFE_S = 0.12
# Rates at which frames play, and how fast a phase that is late is caught up with, in 1/s.
_RATES, _CATCH_UP = (0.5, 2.0), 1.0
# How fast the body turns to the clip's heading: 1/s, and rad/s at most.
_TURNING, _FASTEST_TURN = 0.7, 0.8


@dataclass(frozen=True, eq=False)
class Followed:
    """A body that follows a clip.

    Parameters
    ----------
    clip
        Its motion, at the database's rate.
    rows
        (frames,) the row that plays at each frame.
    jumps
        Number of jumps between rows that do not follow one another.
    same_codes
        Share of frames with the clip's code, or with one that stands in for it.
    stand_ins
        Codes of the clip that the database lacks, and those that stand in for them
        (`SharedFrames.stand_ins`).
    phase_error
        Cycles: median distance of its phase from the clip's, of frames that move.
    """

    clip: Clip
    rows: Array
    jumps: int
    same_codes: float
    phase_error: float
    stand_ins: Mapping[int, tuple[int, ...]]


def follow(
    database: MotionDatabase,
    playback: Playback,
    own: SharedFrames,
    clip: SharedFrames,
    root: RootTrajectory,
    name: str,
) -> Followed:
    """Play a database along the shared frames of a clip of another body.

    Parameters
    ----------
    own
        Frames of all clips of the database, in the order of its rows.
    clip, root
        Frames of the clip at the database's rate, and its root trajectory.
    name
        Name of the new clip.

    Raises
    ------
    ParameterError
        Where the frames are not those of the database.
    """
    if len(own) != len(database):
        raise ParameterError(
            f"the database has {len(database)} rows, and {len(own)} frames were encoded",
            hint="build the database at 60 Hz",
        )
    stand_ins = clip.stand_ins(own)
    count = 1 + max(int(own.codes.max()), int(clip.codes.max()))
    accepted = np.eye(count, dtype=bool)
    for code, others in stand_ins.items():
        accepted[code, list(others)] = True
    follower = _Follower(database, playback, own, accepted)
    frames = len(clip)
    rows = np.empty(frames, np.int64)
    joints = np.empty((frames, len(playback.skeleton), 4), np.float32)
    places = np.empty((frames, len(playback.translated_joints), 3), np.float32)
    every, jumps = max(round(_SEARCH_S * database.fps), 1), 0
    follower.angle = float(root.angles[0])
    for frame in range(frames):
        if frame % every == 0 or follower.ended:
            jumps += follower.search(clip, frame)
        rows[frame] = follower.row
        joints[frame], places[frame] = follower.pose()
        follower.step(clip, frame, float(root.angles[frame]))
    source = playback.source
    made = Clip(
        playback.skeleton,
        quaternions.sign_continuous(joints),
        places,
        database.fps,
        translated_joints=playback.translated_joints,
        source=source,
        name=name,
    )
    apart = np.abs(wrapped(own.phase[rows] - clip.phase))
    return Followed(
        made,
        rows,
        jumps - 1,
        float(accepted[clip.codes, own.codes[rows]].mean()),
        float(np.median(apart[clip.moving])) if clip.moving.any() else 0.0,
        stand_ins,
    )


class _Follower:
    """State of a body that follows: the place in the database, and what is left of jumps.

    Parameters
    ----------
    accepted
        (codes, codes) bool: codes of the database that each code of the clip may be played by.
    """

    def __init__(
        self, database: MotionDatabase, playback: Playback, own: SharedFrames, accepted: Array
    ) -> None:
        self._playback, self._own, self._fps = playback, own, database.fps
        self._accepted = accepted
        _, self._stops = database.ranges_of(np.arange(len(database)))
        self._offered = np.flatnonzero(database.offered & database.interior)
        self._position, self._rate = -1.0, 1.0
        self._place, self.angle = np.zeros(2), 0.0
        self._turns = self._turning = np.zeros((len(playback.skeleton), 3))
        self._shifts = self._shifting = np.zeros((len(playback.translated_joints), 3))
        self._last: list[tuple[Array, Array]] = []
        self._local = playback.skeleton.offsets.astype(np.float32)[None].copy()
        self._foot_lock = FootLock(playback.limb_solver, 1)

    @property
    def row(self) -> int:
        """The row that plays."""
        return int(self._position)

    @property
    def ended(self) -> bool:
        """Whether the clip that plays has no further frame."""
        return self._position + self._rate + 1 >= self._stops[self.row]

    def search(self, clip: SharedFrames, frame: int) -> bool:
        """Jump to the nearest row, if it is much nearer than the one that plays."""
        distances = np.zeros(len(self._offered), np.float32)
        going = 0.0
        last = len(clip) - 1
        for ahead_s in _AHEAD_S:
            wanted = min(frame + round(ahead_s * self._fps), last)
            ahead = wanted - frame
            there = self._ahead(self._offered, ahead)
            distances += self._apart(there, clip, wanted)
            if self._position >= 0:
                there = self._ahead(np.array([self.row]), round(ahead * self._rate))
                going += float(self._apart(there, clip, wanted)[0])
        best = int(distances.argmin())
        plays = self._position >= 0 and not self.ended
        if plays and distances[best] > (1.0 - _BETTER) * going:
            return False
        self._jump(float(self._offered[best]))
        return True

    def _apart(self, rows: Array, clip: SharedFrames, frame: int) -> Array:
        """Squared distances of rows from a frame of the clip."""
        squares = np.square(self._own.places[rows] - clip.places[frame]).sum(1)
        return squares + _OTHER_CODE * ~self._accepted[clip.codes[frame], self._own.codes[rows]]

    def _ahead(self, rows: Array, frames: int) -> Array:
        return np.minimum(rows + frames, self._stops[rows] - 1)

    def _jump(self, position: float) -> None:
        before, self._position = self._last, position
        if len(before) < 2:
            return
        seconds = 1.0 / self._fps
        (old_turns, old_places), (turns, places) = before
        now, after = self._stored(position), self._stored(position + self._rate)
        self._turns, self._turning = rotation_offsets(
            turns,
            angular_velocities(old_turns, turns, seconds),
            now[0],
            angular_velocities(now[0], after[0], seconds),
        )
        self._shifts = places - now[1]
        self._shifting = (places - old_places - after[1] + now[1]) / seconds

    def _stored(self, position: float) -> tuple[Array, Array]:
        """Rotations and translations of a row or between two rows, in root space."""
        play, low = self._playback, int(position)
        high = min(low + 1, int(self._stops[low]) - 1)
        share = position - low
        first, second = play.rotations[np.array([low, high])]
        second = np.where((first * second).sum(-1, keepdims=True) < 0, -second, second)
        turns = quaternions.normalized((1.0 - share) * first + share * second)
        places = (1.0 - share) * play.translations[low] + share * play.translations[high]
        return turns, places

    def pose(self) -> tuple[Array, Array]:
        """Local rotations and translations, the root's in the world and feet locked."""
        turns, places = self._stored(self._position)
        turns = quaternions.multiply(from_rotation_vectors(self._turns), turns)
        places = places + self._shifts
        self._last = [*self._last[-1:], (turns.copy(), places.copy())]
        turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), np.array(self.angle))
        turns[0] = quaternions.multiply(turn, turns[0])
        places[0] = quaternions.rotate(turn, places[0])
        places[0, ::2] += self._place
        self._local[0, self._playback.translated_joints] = places
        locked = turns[None].astype(np.float32)
        left = np.array([[np.cos(self.angle), 0.0, -np.sin(self.angle)]])
        contacts = self._playback.contacts[np.array([self.row])]
        self._foot_lock.apply(locked, self._local, contacts, left, 1.0 / self._fps)
        return locked[0], places

    def step(self, clip: SharedFrames, frame: int, heading: float) -> None:
        """Go on by one frame."""
        own, row, seconds = self._own, self.row, 1.0 / self._fps
        late = float(wrapped(clip.phase[frame] - own.phase[row]))
        slowest = np.maximum(own.frequency[row], 0.2)
        rate = (clip.frequency[frame] + _CATCH_UP * late) / slowest
        # Where nothing strides there is no rhythm to follow.
        moving = float(clip.moving[frame])
        self._rate = float(np.clip(1.0 + moving * (rate - 1.0), *_RATES))
        left, ahead, turned = self._playback.steps[row] * self._rate
        sine, cosine = np.sin(self.angle), np.cos(self.angle)
        self._place += [cosine * left + sine * ahead, cosine * ahead - sine * left]
        off = np.angle(np.exp(1j * (heading - self.angle)))
        turn = float(np.clip(_TURNING * off, -_FASTEST_TURN, _FASTEST_TURN))
        self.angle += float(turned) + moving * seconds * turn
        self._position = min(self._position + self._rate, float(self._stops[row] - 1))
        self._turns, self._turning = decayed(self._turns, self._turning, _HALFLIFE_S, seconds)
        self._shifts, self._shifting = decayed(self._shifts, self._shifting, _HALFLIFE_S, seconds)
