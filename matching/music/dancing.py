"""Dances to songs from a motion database, whose playback follows the beat, also at tempi that the
dances of a database do not have: time is stretched between both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, make_smoothing_spline

from deepphase.arrays import Array, wrapped
from deepphase.evaluation.dance import body_of_clip, foot_strikes, mean_joint_speed, motion_beats
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.music_search import LEAST_S, VARIETY, MusicSearch
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.player import Player
from deepphase.matching.player.settings import PlayerSettings
from deepphase.matching.search.request import Searcher
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import at_frames, values_at_frames
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.bars import Bars
from deepphase.music.beats import Beats, beat_position
from deepphase.music.features import SongFeatures, rhythm_blocks, stretched
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.steering.goal_sources import RootStates
from deepphase.steering.run import Frame, rollout
from deepphase.work import Progress


class Following(NamedTuple):
    """How a dance follows a song."""

    max_change: float = 0.1  # Of the playback rate, as a share of the captured speed
    settling_s: float = 0.5  # In which a phase difference would be made up
    smoothing_s: float = 0.15  # Time constant of the rate
    least_s: float = LEAST_S  # From one jump to the next, where the clip does not end


LOOSELY = Following()
# Minimum length of (sin, cos), which is the confidence, for a row to have a beat.
_MIN_LENGTH = 0.5


def beat_phases(database: MotionDatabase) -> tuple[Array, Array] | None:
    """Beat phase and beat frequency of the rows of a database, in their own songs.

    Returns `phase, frequency` (rows,) each: Cycles in [-0.5, 0.5), and Hz; 0 Hz in rows without a
    clear beat. None if the database has no beat feature at the current frame.
    """
    feature = next(
        (
            feature
            for feature in database.layout.of_kind("track")
            if feature.track == "beat_cycle" and 0.0 in feature.offsets_s and feature.weight > 0
        ),
        None,
    )
    if feature is None:
        return None
    first = database.layout.slices[feature.name].start + 2 * feature.offsets_s.index(0.0)
    place = slice(first, first + 2)
    scale, mean = database.normalisation.scale[place], database.normalisation.mean[place]
    cycle = np.asarray(database.features[:, place]) / scale + mean
    phase = wrapped(np.arctan2(cycle[:, 0], cycle[:, 1]) / (2 * np.pi))
    has_beat = np.hypot(*cycle.T) > _MIN_LENGTH
    frequency = np.zeros(len(phase))
    frequency[:-1] = wrapped(np.diff(phase)) * database.fps
    ends = database.range_stops - 1
    frequency[ends] = frequency[np.maximum(ends - 1, database.range_starts)]
    return phase, np.where(has_beat & (frequency > 0), frequency, 0.0)


class PlaybackSync:
    """Playback rate, 1 unless it `runs`, that keeps a database's beats on the beats of a song."""

    def __init__(
        self,
        database: MotionDatabase,
        song: SongFeatures,
        notes: list[str],
        following: Following = LOOSELY,
    ) -> None:
        self._following, self._rate = following, 1.0
        self._seconds = 1.0 / database.fps
        self._song = np.asarray(song.beats_s, np.float64)
        phases = beat_phases(database)
        if phases is None:
            notes.append("the database has no beat feature: playback does not follow the beat")
        if not song.has_beat:
            notes.append("no reliable beat in this song: playback does not follow the beat")
            phases = None
        self._phase: Array = phases[0] if phases else np.zeros(0)
        self._frequency: Array = phases[1] if phases else np.zeros(0)
        self.runs = phases is not None

    def rate(self, row: int, time_s: float) -> float:
        """Frames of the database per frame of the song, about 1."""
        if not self.runs:
            return 1.0
        most = self._following.max_change
        change = float(np.clip(self._desired_change(row, time_s), -most, most))
        share = 1.0 - math.exp(-self._seconds / self._following.smoothing_s)
        self._rate += share * (1.0 + change - self._rate)
        return self._rate

    def _desired_change(self, row: int, time_s: float) -> float:
        """Change of the rate that matches the song's tempo and settles the phase difference."""
        own_hz = float(self._frequency[row])
        half = 0.5 * self._seconds
        before, beat, after = beat_position(self._song, time_s + np.array([-half, 0.0, half]))
        song_hz = float(after - before) / self._seconds
        if not (own_hz > 0 and song_hz > 0):
            return 0.0
        # Beat trackers may find one waltz at 87 beats a minute and another at 174: the phases are
        # compared at the faster of both tempi.
        octave = round(math.log2(song_hz / own_hz))
        own_beats, song_beats = 2.0 ** max(octave, 0), 2.0 ** max(-octave, 0)
        difference = float(wrapped(np.asarray(song_beats * beat - own_beats * self._phase[row])))
        own_hz, song_hz = own_beats * own_hz, song_beats * song_hz
        return song_hz / own_hz - 1.0 + difference / (own_hz * self._following.settling_s)


PLAYING = PlayerSettings(search_interval_s=0.2, transition_halflife_s=0.15)
"""Settings of the player for dances."""

# Metres around the origin in which a dance moves freely.
_ROOM_M = 1.5


class DanceGoals:
    """Goal source of a dance: it stays near the origin, faces anywhere, and advances the song.

    Attributes: `time_s, rate`: Current time in the song, and playback rate. `row`: row that is
    played; the caller sets it before every step.
    """

    def __init__(self, policy: MusicSearch, clock: PlaybackSync, start_s: float) -> None:
        self._policy, self._clock = policy, clock
        self._target = np.zeros((1, 2)), np.zeros(1)
        self.time_s, self.rate, self.row = start_s, 1.0, 0

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`: advances the song by a frame at the current playback rate."""
        self.rate = self._clock.rate(self.row, self.time_s)
        self.time_s += seconds / self.rate
        self._policy.time_s = self.time_s
        distance = np.linalg.norm(root_states.positions, axis=1, keepdims=True)
        inside = root_states.positions * np.minimum(1.0, _ROOM_M / np.maximum(distance, 1e-9))
        self._target = inside, root_states.angles
        return np.zeros(1, bool)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`: the current position and facing at all offsets."""
        count = (len(which), len(offsets_s))
        return (
            np.broadcast_to(root_states.positions[which, None], (*count, 2)),
            np.broadcast_to(root_states.angles[which, None], count),
        )

    def target(self) -> tuple[Array, Array]:
        return self._target

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
    following: Following = LOOSELY,
    progress: Progress | None = None,
) -> DanceResult:
    """Generate a dance to a song.

    The tracks of the result are the row of each frame, the cost of its last search and the playback
    rate; its marks are the clips that were played.

    Parameters
    ----------
    database, playback, searcher
        Motion database, its motion, and the search over its rows.
    song
        Features of the song.
    request
        Part of the song, seed and variety.
    following
        How closely the rate follows the beat, and how long pieces are.
    progress
        Called with the number of frames done.

    Raises
    ------
    ParameterError
        If the song ends before the start, or a number is out of range.
    """
    fps, start_s = database.fps, request.start_s
    notes: list[str] = []
    frames = request.frames(song, fps, notes)
    clock = PlaybackSync(database, song, notes, following)
    policy = MusicSearch(
        database,
        searcher,
        song,
        start_s=start_s,
        variety=VARIETY if request.variety is None else request.variety,
        seed=request.seed,
        least_s=following.least_s,
    )
    if not policy.has_music:
        notes.append("the database has no music features: the dance does not depend on the song")
    player = Player(
        database,
        playback,
        policy,
        policy.initial(),
        settings=PLAYING,
    )
    # The first step advances to the start.
    goal_source = DanceGoals(policy, clock, start_s - 1.0 / fps)
    times: list[float] = []
    rates: list[float] = []

    def step(_: int) -> Frame:
        goal_source.row = int(player.rows[0])
        frame = player.step(goal_source)
        policy.mark_played(int(frame.tracks["row"][0]))
        times.append(goal_source.time_s)
        rates.append(goal_source.rate)
        if progress is not None:
            done = min(round((goal_source.time_s - start_s) * fps) + 1, frames)
            progress("generating the dance", done, frames, song.name)
        return frame

    # With a margin of half a frame, since sums of frame times are not exact.
    last_s = start_s + (frames - 1.5) / fps
    longest_s = (1.0 + following.max_change) * frames / fps + 1.0
    run = rollout(player, goal_source, longest_s, step=step, is_over=lambda: times[-1] >= last_s)
    moments = _moments(np.array(times), start_s + np.arange(frames) / fps)
    nearest = np.clip(np.rint(moments), 0, len(run) - 1).astype(np.int64)
    rows, costs = (run.tracks[name][0, nearest] for name in ("row", "cost"))
    assert run.jumped is not None
    speed = np.array(rates)[nearest]
    positions, angles = (values_at_frames(part[0], moments) for part in (run.positions, run.angles))
    # A jump is at the first frame that is shown of what follows it.
    jumps = np.searchsorted(nearest, np.flatnonzero(run.jumped[0]))
    clips = database.clip_of(rows)
    begins = dict.fromkeys([0, *jumps[jumps < frames].tolist()])
    return DanceResult(
        clip=at_frames(run.clip(0, song.name), moments),
        song=song,
        start_s=start_s,
        hips=playback.carrier,
        root=RootTrajectory.from_ground(positions, angles),
        alive=np.ones(frames, bool),
        phases=_phases(database, rows, speed),
        tracks={"row": rows, "cost of the last search": costs, "playback (%)": 100.0 * speed},
        marks=tuple((database.clip_names[int(clips[at])], at / fps) for at in begins),
        notes=tuple(notes),
    )


def _moments(times: Array, wanted: Array) -> Array:
    """(wanted,) frame numbers, with fractions, at which frames at `times` are sampled."""
    frames = np.arange(len(times))
    if len(times) < 2:
        return np.zeros(len(wanted))
    # Without a change of rate frames are used as they are, without interpolation.
    if len(times) == len(wanted) and np.abs(times - wanted).max() < 1e-6:
        return frames.astype(float)
    return CubicSpline(times, frames)(wanted)


def _phases(database: MotionDatabase, rows: Array, rates: Array) -> PhaseParameters | None:
    if database.phases is None:
        return None
    phases = database.phases[rows]
    faster = (phases.frequency * rates[:, None]).astype(np.float32)
    return replace(phases, frequency=faster)


# Percentiles of the rows' tempi between which a song's tempo is taken as it is.
_USUAL = (15.0, 85.0)
# Slower motion than the captured one is calm, faster motion is hasty: so much less does it count.
_CALM = 0.6
_BEATS_PER_BAR = 4
# Seconds from a beat within which moments are drawn to it, the weight of the end of a movement
# where a foot that lands has 1, the least weight, what changes of the rate cost beside the squared
# seconds that are left, and the fewest moments.
_REACH_S, _ENDS, _LEAST, _SMOOTHNESS, _FEWEST = 0.09, 0.5, 1e-3, 0.003, 8
CLOSELY = Following(max_change=0.25, settling_s=0.3, smoothing_s=0.15, least_s=5.0)
"""How a dance follows a song whose tempo is one of its dances' own."""


def dance_in_tempo(
    database: MotionDatabase,
    dance: Callable[[SongFeatures, DanceRequest], DanceResult],
    song: SongFeatures,
    request: DanceRequest,
) -> DanceResult:
    """A dance to a song of any tempo by a database whose dances are in bars of four beats.

    The song's beats, or half or twice as many, are brought to a tempo of the database's rows; the
    dance to them is then played as much faster or slower, and a little unevenly, so that feet
    land and movements end on the song's beats. Beats of songs in other bars are taken in fours.

    `dance`: the dance to a song.
    """
    found = beat_phases(database)
    if not song.has_beat or found is None:
        return dance(song, request)
    rates = found[1][found[1] > 0]
    slowest, fastest = 60.0 * np.percentile(rates, _USUAL)

    def rate(octave: int) -> float:
        tempo = song.tempo_bpm * 2.0**octave
        return float(tempo / np.clip(tempo, slowest, fastest))

    def haste(octave: int) -> float:
        change = np.log2(rate(octave))
        return float(max(change, -_CALM * change))

    octave = min((0, -1, 1), key=haste)
    faster = rate(octave)
    seconds = None if request.seconds is None else request.seconds * faster
    asked = replace(request, start_s=request.start_s * faster, seconds=seconds)
    fitted = stretched(_in_fours(song, octave), 1.0 / faster)
    made = dance(replace(fitted, name=song.name), asked)
    notes: list[str] = []
    frames = request.frames(song, made.clip.fps, notes)
    moments = np.minimum(np.arange(frames) * faster, len(made.clip) - 1.0)
    on_beat = _on_beats(at_frames(made.clip, moments), song.beats_s - request.start_s)
    moments = np.interp(on_beat, np.arange(frames), moments)
    nearest = np.rint(moments).astype(np.int64)
    tracks = {name: values[nearest] for name, values in made.tracks.items()}
    tracks["playback (%)"] *= np.diff(moments, append=moments[-1] + faster)
    ground = (made.root.positions[:, ::2], np.unwrap(made.root.angles))
    return replace(
        made,
        clip=at_frames(made.clip, moments),
        song=song,
        start_s=request.start_s,
        root=RootTrajectory.from_ground(*(values_at_frames(values, moments) for values in ground)),
        alive=made.alive[nearest],
        tracks=tracks,
        marks=tuple((words, second / faster) for words, second in made.marks),
        notes=(*(note for note in made.notes if not note.startswith("the song ends")), *notes),
    )


def _on_beats(clip: Clip, beats: Array) -> Array:
    """(frames,) frames to show, with fractions, so that feet land and movements end on beats."""
    frames = np.arange(len(clip), dtype=np.float64)
    if clip.duration < 1.0:
        return frames
    flags = foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).flags[:, :2]
    ends = motion_beats(mean_joint_speed(body_of_clip(clip)[1], clip.fps), clip.fps)
    strikes = foot_strikes(flags, clip.fps)
    moments, first = np.unique(np.concatenate([strikes, ends]), return_index=True)
    weights = np.where(first < len(strikes), 1.0, _ENDS)
    inside = (moments > 0.0) & (moments < clip.duration)
    moments, weights = moments[inside], weights[inside]
    if len(moments) < _FEWEST:
        return frames
    apart = beats[np.abs(beats - moments[:, None]).argmin(axis=1)] - moments
    weights = np.maximum(weights * np.exp(-0.5 * (apart / _REACH_S) ** 2), _LEAST)
    # The first and the last frame stay where they are.
    times = np.concatenate([[0.0], moments, [clip.duration]])
    weights = np.concatenate([[1.0 / _LEAST], weights, [1.0 / _LEAST]])
    later = make_smoothing_spline(times, np.pad(apart, 1), weights, lam=_SMOOTHNESS)
    seconds = frames / clip.fps
    return np.interp(seconds, np.maximum.accumulate(seconds + later(seconds)), frames)


def _in_fours(song: SongFeatures, octave: int) -> SongFeatures:
    """The song in bars of four beats, which are half or twice as many at an octave of -1 or 1."""
    if octave == 0 and song.beats_per_bar == _BEATS_PER_BAR:
        return song
    beats = song.beats_s
    first = 0 if song.downbeats_s is None else int(np.abs(beats - song.downbeats_s[0]).argmin())
    if octave < 0:
        beats, first = beats[first % 2 :: 2], first // 2
    elif octave > 0:
        beats = np.interp(np.arange(2 * len(beats) - 1) / 2, np.arange(len(beats)), beats)
        first *= 2
    downbeats = np.arange(first % _BEATS_PER_BAR, len(beats), _BEATS_PER_BAR)
    tempo = song.tempo_bpm * 2.0**octave
    bars = Bars(_BEATS_PER_BAR, downbeats, 1.0)
    blocks = rhythm_blocks(Beats(beats, tempo, song.beat_confidence), bars, len(song))
    kept = {name: np.asarray(values, np.float32) for name, values in blocks.items()}
    return replace(
        song,
        blocks={**song.blocks, **kept},
        beats_s=beats,
        downbeats_s=beats[downbeats],
        beats_per_bar=_BEATS_PER_BAR,
        tempo_bpm=tempo,
        bar_confidence=1.0,
    )
