"""A run of characters along a wish, recorded: motion, rows, costs, and what was wished."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.progress import Progress
from deepphase.steering.followers import Follower
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.player import Player

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Run:
    """Frames of all characters, in order.

    Parameters
    ----------
    fps
        Frames a second.
    rotations
        (characters, frames, joints, 4) float32 local rotations.
    translations
        (characters, frames, translated joints, 3) float32 metres.
    rows
        (characters, frames) rows of the database.
    jumped
        (characters, frames) bool: the row follows from a jump.
    costs
        (characters, frames) cost of the last search.
    positions, angles
        (characters, frames, 2) m and (characters, frames) rad: the roots.
    wished_positions, wished_angles
        The same of where they would best have been.
    held
        (characters, frames, limbs) bool: feet that were held.
    """

    fps: float
    rotations: Array
    translations: Array
    rows: Array
    jumped: Array
    costs: Array
    positions: Array
    angles: Array
    wished_positions: Array
    wished_angles: Array
    held: Array

    def __len__(self) -> int:
        return self.rows.shape[1]

    @property
    def characters(self) -> int:
        """How many."""
        return len(self.rows)

    def clip(self, playback: Playback, character: int = 0, name: str = "run") -> Clip:
        """The motion of one character."""
        return Clip(
            skeleton=playback.skeleton,
            rotations=quaternions.sign_continuous(self.rotations[character]),
            translations=self.translations[character],
            fps=self.fps,
            translated_joints=playback.translated_joints,
            source=Source(fps=self.fps, notes=("played from a motion database",)),
            name=name,
        )

    def table(self, database: MotionDatabase, character: int = 0) -> list[dict[str, object]]:
        """What played when, one row a stretch without a jump: clip, frames, cost."""
        begins = np.flatnonzero(self.jumped[character])
        begins = np.unique(np.concatenate([[0], begins]))
        ends = np.append(begins[1:], len(self))
        rows = self.rows[character]
        clips = database.clip_of(rows[begins])
        frames = database.frame_of(rows[begins])
        return [
            {
                "from_s": begin / self.fps,
                "to_s": end / self.fps,
                "clip": database.clip_names[clip],
                "frame": int(frame),
                "cost": float(self.costs[character, begin]),
            }
            for begin, end, clip, frame in zip(begins, ends, clips, frames, strict=True)
        ]


def recorded(
    player: Player, follower: Follower, seconds: float, progress: Progress | None = None
) -> Run:
    """Let characters play for some seconds, and record it.

    Raises
    ------
    ParameterError
        Where the seconds are not above 0.
    """
    play, count = player.playback, len(player)
    frames = round(seconds * play.fps) if np.isfinite(seconds) else 0
    if frames < 1:
        raise ParameterError(f"a run of {seconds} s", hint="give seconds above 0")
    run = Run(
        fps=play.fps,
        rotations=np.empty((count, frames, len(play.skeleton), 4), np.float32),
        translations=np.empty((count, frames, len(play.translated_joints), 3), np.float32),
        rows=np.empty((count, frames), np.int64),
        jumped=np.empty((count, frames), bool),
        costs=np.empty((count, frames)),
        positions=np.empty((count, frames, 2)),
        angles=np.empty((count, frames)),
        wished_positions=np.empty((count, frames, 2)),
        wished_angles=np.empty((count, frames)),
        held=np.empty((count, frames, len(play.limbs)), bool),
    )
    for index in range(frames):
        frame = player.step(follower)
        movers = player.movers
        for name in ("rotations", "translations", "rows", "jumped", "costs"):
            getattr(run, name)[:, index] = getattr(frame, name)
        run.positions[:, index], run.angles[:, index] = movers.positions, movers.angles
        run.wished_positions[:, index], run.wished_angles[:, index] = follower.point()
        run.held[:, index] = player.locked
        if progress is not None:
            progress("playing", index + 1, frames, "")
    return run
