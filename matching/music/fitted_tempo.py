"""Songs at tempi that the dances of a database do not have: time is stretched between both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.interpolate import make_smoothing_spline

from deepphase.arrays import Array
from deepphase.evaluation.dance import body_of_clip, foot_strikes, mean_joint_speed, motion_beats
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.dancing import Following, beat_phases
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import at_frames, values_at_frames
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.bars import Bars
from deepphase.music.beats import Beats
from deepphase.music.features import SongFeatures, rhythm_blocks, stretched
from deepphase.steering.dance import DanceRequest, DanceResult

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
