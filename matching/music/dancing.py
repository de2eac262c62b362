"""A motion database and a song: the dance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.resample import at_frames
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Frame
from matching.database.database import MotionDatabase
from matching.music.music_search import DanceSettings, MusicSearch
from matching.music.playback_sync import PlaybackSync
from matching.player.playback import Playback
from matching.player.player import Player, PlayerSettings
from matching.search.searcher import Searcher

DEFAULT_LOCK = 1.0
"""How far playback follows the beat where nothing else is told."""

PLAYING = PlayerSettings(search_interval_s=0.2, transition_halflife_s=0.15)
"""How a dance is played."""

# Metres around the origin in which a dance goes where it goes.
_ROOM_M = 1.5


@dataclass(frozen=True, eq=False)
class DatabaseDance:
    """What was danced to a song.

    Parameters
    ----------
    clip
        The motion, at the database's rate; its first frame is at `start_s` of the song.
    start_s
        Seconds.
    rows
        (frames,) row of the database that was danced then.
    jumped
        (frames,) bool: the row follows from a jump.
    costs
        (frames,) cost of the last search.
    rates
        (frames,) how fast the captured motion was played.
    phases
        (frames, channels) each; None where the database has none.
    notes
        What deserves to be said, in words.
    """

    clip: Clip
    start_s: float
    rows: Array
    jumped: Array
    costs: Array
    rates: Array
    phases: PhaseParameters | None
    notes: tuple[str, ...]

    @property
    def jumps_s(self) -> Array:
        """(jumps,) seconds of the dance."""
        return np.flatnonzero(self.jumped) / self.clip.fps


class OnTheSpot:
    """A wish for no way at all: to stay about the origin, facing anywhere. See `GoalSource`.

    Attributes
    ----------
    time_s, rate
        Second of the song now, and how fast it is danced to.
    row
        The row that is danced: the dance tells it.
    """

    def __init__(self, policy: MusicSearch, clock: PlaybackSync, start_s: float) -> None:
        self._policy, self._clock = policy, clock
        self._point = np.zeros((1, 2)), np.zeros(1)
        self.time_s, self.rate, self.row = start_s, 1.0, 0

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`: the song goes on by a frame, which may be short or long."""
        self.rate = self._clock.rate(self.row, self.time_s)
        self.time_s += seconds / self.rate
        self._policy.time_s = self.time_s
        away = np.linalg.norm(root_states.positions, axis=1, keepdims=True)
        room = root_states.positions * np.minimum(1.0, _ROOM_M / np.maximum(away, 1e-9))
        self._point = room, root_states.angles
        return np.zeros(1, bool)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`: where it stands."""
        count = (len(which), len(offsets_s))
        return (
            np.broadcast_to(root_states.positions[which, None], (*count, 2)),
            np.broadcast_to(root_states.angles[which, None], count),
        )

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`."""
        return self._point

    def labels(self) -> list[dict[str, str]]:
        """As `GoalSource.labels`: none."""
        return [{}]


def dance_with_database(
    database: MotionDatabase,
    playback: Playback,
    searcher: Searcher,
    song: SongFeatures,
    request: DanceRequest = DanceRequest(),  # noqa: B008 (frozen)
    *,
    settings: DanceSettings | None = None,
    playing: PlayerSettings | None = None,
    progress: Progress | None = None,
) -> DatabaseDance:
    """Dance to a song from one of its seconds on.

    Parameters
    ----------
    database, playback, searcher
        What is danced, and who searches.
    wish
        Which part of it, and how. Its lock is how far playback is hurried or held back towards
        the beat, from 0 to 1, which is `playback_sync.MOST`; `DEFAULT_LOCK` if not given.
    settings, playing
        How the dance is put together, and how it is played.

    Raises
    ------
    ParameterError
        Where the song is over before the start, or a number is impossible.
    """
    fps, start_s = database.fps, request.start_s
    notes: list[str] = []
    frames = request.frames(song, fps, notes)
    clock = PlaybackSync(
        database, song, DEFAULT_LOCK if request.lock is None else request.lock, notes
    )
    policy = MusicSearch(
        database, searcher, song, start_s=start_s, settings=settings, seed=request.seed
    )
    if not policy.has_music:
        notes.append("the database's features hear no music: any song gives this dance")
    player = Player(
        database,
        playback,
        searcher,
        policy.initial(),
        settings=playing or PLAYING,
        search_policy=policy,
    )
    # The first frame is at the start.
    goal_source = OnTheSpot(policy, clock, start_s - 1.0 / fps)
    shown: list[Frame] = []
    times: list[float] = []
    rates: list[float] = []
    # Half a frame: sums of frame times are not exact.
    while not times or times[-1] < start_s + (frames - 1.5) / fps:
        goal_source.row = int(player.rows[0])
        frame = player.step(goal_source)
        policy.danced(int(frame.tracks["row"][0]))
        shown.append(frame)
        times.append(goal_source.time_s)
        rates.append(goal_source.rate)
        if progress is not None:
            done = min(round((goal_source.time_s - start_s) * fps) + 1, frames)
            progress("dancing", done, frames, song.name)
    moments = _moments(np.array(times), start_s + np.arange(frames) / fps)
    nearest = np.clip(np.rint(moments), 0, len(shown) - 1).astype(np.int64)
    rows = np.array([int(each.tracks["row"][0]) for each in shown])[nearest]
    jumped = np.concatenate([each.jumped for each in shown if each.jumped is not None])
    speed = np.array(rates)[nearest]
    return DatabaseDance(
        clip=at_frames(_clip(shown, playback, song.name), moments),
        start_s=start_s,
        rows=rows,
        jumped=_kept(jumped, nearest),
        costs=np.array([float(each.tracks["cost"][0]) for each in shown])[nearest],
        rates=speed,
        phases=_phases(database, rows, speed),
        notes=tuple(notes),
    )


def _clip(shown: list[Frame], playback: Playback, name: str) -> Clip:
    return Clip(
        skeleton=playback.skeleton,
        rotations=quaternions.sign_continuous(np.concatenate([f.rotations for f in shown])),
        translations=np.concatenate([f.translations for f in shown]).astype(np.float32),
        fps=playback.fps,
        translated_joints=playback.translated_joints,
        source=Source(fps=playback.fps, notes=("played from a motion database",)),
        name=name,
    )


def _moments(times: Array, wanted: Array) -> Array:
    """(wanted,) which of the frames at `times` is to be seen then, with fractions."""
    frames = np.arange(len(times))
    if len(times) < 2:
        return np.zeros(len(wanted))
    # As played: no spline of rounded numbers.
    if len(times) == len(wanted) and np.abs(times - wanted).max() < 1e-6:
        return frames.astype(float)
    return CubicSpline(times, frames)(wanted)


def _kept(jumped: Array, nearest: Array) -> Array:
    """(frames,) the jumps, each at the first frame that shows what follows it."""
    found = np.zeros(len(nearest), bool)
    places = np.searchsorted(nearest, np.flatnonzero(jumped))
    found[places[places < len(nearest)]] = True
    return found


def _phases(database: MotionDatabase, rows: Array, rates: Array) -> PhaseParameters | None:
    if database.phases is None:
        return None
    phases = database.phases[rows]
    faster = (phases.frequency * rates[:, None]).astype(np.float32)
    return replace(phases, frequency=faster)
