"""Training of the shipped dancer: learned motion matching on captured dances of CMU.

The folder has salsa and Indian dances as `cmu_dance`, and modern dances as
`cmu_locomotion_dance/05`, each of BVH files. They have no songs: the beats that they are danced to
are found in their movement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, true_runs, wrapped
from deepphase.corpus.clip_store import ClipStore
from deepphase.evaluation.dance import (
    body_of_clip,
    cycle_fit,
    foot_strikes,
    mean_joint_speed,
    motion_beats,
)
from deepphase.features.layout import FeatureLayout
from deepphase.features.moment_kinds import KINDS
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.training import train_matcher
from deepphase.matching.music.dancing import beat_phases
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features, with_songs
from deepphase.matching.player.settings import MomentFilter
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import find_glitches
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.music.audio import SAMPLE_RATE
from deepphase.music.beats import beat_path
from deepphase.music.beats_file import GivenBeats
from deepphase.music.features import SongFeatures, features_of
from deepphase.work import Progress
from tests.studies.shipped.person import levelled, t_poses

_BODY = "salsa/01"
_FPS, _SHORTEST_S, _GLITCH_S = 60.0, 3.0, 0.1
# The files say 120 frames a second. At that rate a salsa's hips fall at 3.4 g and its eight counts
# take 1.5 s: it was captured at half of it.
_SALSA_FPS = 60.0
# Couples danced together: file n and n + 15 have the same counts.
_COUPLES = 15
# Beats a minute, of two counts each, that are looked for in salsa and in other dances.
_SALSA_BPM, _OTHER_BPM = (70.0, 107.0), (64.0, 112.0)
# What eight counts of salsa do to the speeds of both feet: (harmonic, amplitude, phase at the first
# count) of their difference, whose sign changes after four, and of their sum.
_DIFFERENCE = ((1, 0.34, -0.18), (3, 0.70, 2.65))
_SUM = ((2, 0.14, -2.53), (4, 0.27, 2.33), (6, 0.14, -1.0))
# Salsa changes direction so many seconds after the first of two counts. Beats are drawn to the ends
# of movements within some seconds, against a weight, lie a little before them, and are smoothed.
_TURN_S, _DRAWN_S, _WEIGHT, _BEFORE_S, _SMOOTHING = 0.05, 0.12, 0.2, 0.02, 0.4
_TIGHTNESS = 100.0
# Seconds ahead of a row in which movements end within some seconds of a beat, and least share.
_AHEAD_S, _ON_BEAT_S, _SHARE = 6.0, 0.05, 0.55
# Cycles in a bar of salsa, its eight counts, and places in them at which hips are high and speed is
# great; bars ahead of a row that are compared with that, and frames from one row to the next.
_HEIGHT, _SPEED, _BARS, _HOP = ((2, 0.5),), ((1, 0.05), (2, 0.43)), 2, 6
_LAYOUT = {
    "features": [
        {"name": "limb_position", "joints": ["feet", "hands"], "weight": 0.5},
        {"name": "limb_velocity", "joints": ["feet", "hands", "hips"], "weight": 0.5},
        {"name": "trajectory_position", "offsets_s": [0.5, 1.0], "weight": 0.3},
        {"name": "beat_cycle", "kind": "track", "offsets_s": [0.0, 0.5, 1.0], "weight": 1.0},
        {"name": "bar_cycle", "kind": "track", "offsets_s": [0.0, 1.0], "weight": 1.0},
    ]
}


def train_dancer(folder: Path, progress: Progress | None = None) -> Matcher:
    """A dancer of salsa, Indian and modern dances, at the counts of any song."""
    database = dancer_database(folder, progress)
    # Dances are smoothed when they are played: states of twice the spacing are as good.
    moments = MomentFilter(KINDS)
    return train_matcher(database, spacing_s=0.1, moments=moments, progress=progress)


def dancer_database(folder: Path, progress: Progress | None = None) -> MotionDatabase:
    """The dances on one body and their mirror images, as a database that knows their beats."""
    clips, songs = [], {}
    for clip, beats in _dances_with_beats(folder):
        songs[clip.name] = _song(clip, beats)
        clip = replace(clip, source=replace(clip.source, song=clip.name))
        image = mirrored(clip, find_roles(clip.skeleton, clip=clip))
        clips += [clip, replace(image, name=f"{clip.name} mirrored")]
    layout = FeatureLayout.from_mapping(_LAYOUT)
    tracks = ClipSongTracks(ClipStore.from_clips(clips), songs, (), tuple(track_features(layout)))
    database = MotionDatabase.build(tracks.store, layout, tracks=tracks, progress=progress)
    return with_songs(_offered_in_bars(database, songs), tracks, progress)


def _offered_in_bars(database: MotionDatabase, songs: Mapping[str, SongFeatures]) -> MotionDatabase:
    """The database; rows are jumped to that lead to movements on beats and in bars, not to a T."""
    found = beat_phases(database)
    assert found is not None, "the layout has beats"
    good, in_bars = np.zeros(len(database), bool), np.zeros(len(database))
    ahead = round(_AHEAD_S * database.fps)
    for index, start in enumerate(database.range_starts.tolist()):
        clip = database.clip(index)
        rows = start + np.rint(_ends(clip) * database.fps).astype(int)
        apart_s = wrapped(found[0][rows]) / np.maximum(found[1][rows], 0.5)
        score, count = np.zeros((2, len(clip) + ahead))
        score[rows - start] = np.exp(-0.5 * (apart_s / _ON_BEAT_S) ** 2)
        count[rows - start] = 1.0
        held = np.concatenate([t_poses(clip), np.zeros(ahead, bool)]).astype(float)
        # Sums over the rows ahead.
        score, count, held = (
            np.convolve(each, np.ones(ahead), "full")[ahead - 1 :][: len(clip)]
            for each in (score, count, held)
        )
        own = slice(start, start + len(clip))
        good[own] = (score > _SHARE * np.maximum(count, 1.0)) & (held == 0.0)
        in_bars[own] = _in_bars(clip, songs[clip.name.removesuffix(" mirrored")])
    good &= database.offered
    # The half whose next bars are most like salsa's.
    return replace(database, offered=good & (in_bars > np.median(in_bars[good])))


def _in_bars(clip: Clip, song: SongFeatures) -> Array:
    """(frames,) how the hips' height and the speed correlate with the bars ahead, 0 to 1."""
    points, body = body_of_clip(clip)
    signals = points["root"][:, 1], mean_joint_speed(body, clip.fps)
    bars, length = song.blocks["bar_phase"][:, 0], round(_BARS * 240.0 / song.tempo_bpm * clip.fps)
    found = np.zeros(len(clip))
    for first in range(0, len(clip) - length + 1, _HOP):
        near = slice(first, first + length)
        for signal, cycles in zip(signals, (_HEIGHT, _SPEED), strict=True):
            fits = [cycle_fit(signal[near], k * bars[near] - at)[0].real for k, at in cycles]
            found[first : first + _HOP] += 0.5 * max(sum(fits), 0.0) / len(fits) ** 0.5
    return found


def _dances_with_beats(folder: Path) -> Iterator[tuple[Clip, Array]]:
    """Pieces of the dances on one body, and seconds of their beats; each fourth begins a bar."""
    body = load(folder / f"cmu_dance/{_BODY}.bvh")
    salsa = {int(path.stem): path for path in sorted((folder / "cmu_dance/salsa").glob("*.bvh"))}
    for number in sorted(salsa):
        if number > _COUPLES:
            continue
        couple = [replace(load(salsa[n]), fps=_SALSA_FPS) for n in (number, number + _COUPLES)]
        for clip, pulses in zip(couple, _salsa_pulses(couple), strict=True):
            beats = _drawn(pulses, _ends(clip))
            yield from _pieces(clip, f"salsa {clip.name}", body, beats)
    for style, path in (("indian", "cmu_dance/indian"), ("modern", "cmu_locomotion_dance/05")):
        for file in sorted((folder / path).glob("*.bvh")):
            clip = resample(load(file), _FPS)
            yield from _pieces(clip, f"{style} {file.stem}", body, _step_beats(clip))


def dances_with_songs(folder: Path, kind: str) -> Iterator[tuple[Clip, SongFeatures]]:
    """The dances of a kind, such as "salsa", each with a silent song of its beats."""
    for clip, beats in _dances_with_beats(folder):
        if clip.name.startswith(kind):
            yield clip, _song(clip, beats)


def _pieces(clip: Clip, name: str, body: Clip, beats: Array) -> Iterator[tuple[Clip, Array]]:
    """The parts of a dance between glitches, and their beats in whole bars."""
    clip = levelled(retarget(clip, body).clip)
    good = np.ones(len(clip), bool)
    around = round(_GLITCH_S * clip.fps)
    for glitch in find_glitches(clip):
        good[max(glitch.first - around, 0) : glitch.last + around + 1] = False
    pieces = [run for run in true_runs(good) if run[1] - run[0] > _SHORTEST_S * clip.fps]
    for number, (start, stop) in enumerate(pieces):
        own = f"{name} {number + 1}" if len(pieces) > 1 else name
        part = replace(clip.sliced(start, stop), name=own, labels={})
        yield part, beats - start / clip.fps


def _song(clip: Clip, beats: Array) -> SongFeatures:
    """Silence with the beats of a dance, four for each bar."""
    inside = (beats >= 0) & (beats <= clip.duration)
    numbers = 1 + np.arange(len(beats))[inside] % 4
    lines = tuple(range(len(numbers)))
    given = GivenBeats(beats[inside], numbers, lines, Path(clip.name), "")
    silence = np.zeros(int((clip.duration + 1.0) * SAMPLE_RATE), np.float32)
    return features_of(silence, name=clip.name, beats=given)


def _salsa_pulses(couple: list[Clip]) -> list[Array]:
    """(pulses,) seconds of each second count of a couple's dancers, four for eight counts."""
    feet = [_foot_speeds(clip) for clip in couple]
    length = min(each.shape[1] for each in feet)
    signals = [(_normal(each[0] - each[1]), _normal(each[0] + each[1])) for each in feet]
    tempi = np.arange(*_SALSA_BPM, 0.125)
    score = np.zeros(len(tempi))
    for pair in signals:
        for signal, harmonics in zip(pair, (_DIFFERENCE, _SUM), strict=True):
            for harmonic, amplitude, _ in harmonics:
                score += amplitude * _power(signal, harmonic * tempi / 240.0)
    bpm = float(tempi[score.argmax()])
    reach = np.arange(-round(120.0 / bpm * _FPS), round(120.0 / bpm * _FPS) + 1) / _FPS
    # The window is as long as eight counts.
    waves = [np.hanning(len(reach)) * _waves(each, reach, bpm) for each in (_DIFFERENCE, _SUM)]
    alternating = [np.correlate(each[0][:length], waves[0], "same") for each in signals]
    fit = sum(np.correlate(each[1][:length], waves[1], "same") for each in signals)
    fit = np.maximum(fit + np.abs(alternating).sum(axis=0), 0.0)
    frames = beat_path(fit, np.full(length, bpm / 2.0), _FPS, _TIGHTNESS)
    index = np.arange(len(frames))
    line = np.polyval(np.polyfit(index, frames, 1), index)
    bars = (line + gaussian_filter1d(frames - line, 1.0)) / _FPS
    pulses = []
    for each in alternating:
        # Eight counts begin where the difference of the feet fits with its own sign.
        first = int((each[frames] * (-1.0) ** index).sum() < 0)
        pulses.append(_TURN_S + _filled(bars[first:], 120.0 / bpm, length / _FPS, 2))
    return pulses


def _waves(harmonics: tuple[tuple[int, float, float], ...], seconds: Array, bpm: float) -> Array:
    angle = 2.0 * np.pi * bpm / 240.0 * seconds
    return np.sum([size * np.cos(k * angle + phase) for k, size, phase in harmonics], axis=0)


def _ends(clip: Clip) -> Array:
    """Seconds of the ends of movements: the minima of the speed."""
    return motion_beats(mean_joint_speed(body_of_clip(clip)[1], clip.fps), clip.fps)


def _drawn(pulses: Array, ends: Array) -> Array:
    """Beats near pulses at the ends of movements."""
    apart = ends[:, None] - pulses
    weights = np.exp(-0.5 * (apart / _DRAWN_S) ** 2)
    moved = (apart * weights).sum(axis=0) / (weights.sum(axis=0) + _WEIGHT)
    return pulses + gaussian_filter1d(moved, _SMOOTHING) - _BEFORE_S


def _step_beats(clip: Clip) -> Array:
    """Seconds of the beats of a dance by its steps and the ends of its movements."""
    flags = foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).flags[:, :2]
    ends = _ends(clip)
    moments = np.concatenate([foot_strikes(flags, _FPS), ends])
    tempi = np.arange(*_OTHER_BPM, 0.5)
    score = np.abs(np.exp(2j * np.pi * np.outer(tempi / 60.0, moments)).sum(axis=1))
    bpm = float(tempi[score.argmax()])
    onsets = np.zeros(len(clip))
    np.add.at(onsets, np.minimum(np.rint(moments * _FPS).astype(int), len(clip) - 1), 1.0)
    frames = beat_path(gaussian_filter1d(onsets, 2.0), np.full(len(clip), bpm), _FPS, _TIGHTNESS)
    return _drawn(_filled(frames / _FPS, 60.0 / bpm, clip.duration, 1), ends)


def _filled(beats: Array, period_s: float, duration_s: float, parts: int) -> Array:
    """Beats, each divided into parts, that go on to both ends of a clip, from a first of four."""
    lead = -(-int(beats[0] / period_s * parts + 1) // 4) * 4 // parts
    before = beats[0] - period_s * np.arange(lead, 0, -1)
    after = np.arange(beats[-1] + period_s, duration_s + 2.0 * period_s, period_s)
    beats = np.concatenate([before, beats, after])
    index = np.arange((len(beats) - 1) * parts) / parts
    return np.interp(index, np.arange(len(beats)), beats)


def _foot_speeds(clip: Clip) -> Array:
    """(2, frames) m/s."""
    points = body_of_clip(clip)[0]
    feet = np.stack([points["left_foot"], points["right_foot"]])
    return np.linalg.norm(np.gradient(feet, axis=1), axis=-1) * clip.fps


def _normal(signal: Array) -> Array:
    return (signal - signal.mean()) / signal.std()


def _power(signal: Array, hertz: Array) -> Array:
    """Power of a signal at frequencies."""
    window = np.hanning(len(signal))
    times = np.arange(len(signal)) / _FPS
    waves = np.exp(-2j * np.pi * np.outer(hertz, times))
    return np.abs(waves @ (signal * window)) ** 2 / window.sum() ** 2
