"""Bar tracking: the metre of a song and the first beats of its bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.music.beats import NO_BEATS, Beats, OnsetReturns, follow_tempo, has_sounds, lay_beats
from deepphase.music.spectra import Spectra

METERS = (3, 4)
"""Beats per bar that can be distinguished."""

# Beats after which returns are looked at: whole bars of all metres.
_LAGS = 12

# Bars needed to estimate the metre.
_FEWEST_BARS = 3
# How much a bar of another length costs, in standard deviations of a beat's accent: a beat too
# many or too few shifts all bars behind it.
_SLIP = 8.0
# What chord changes, bass onsets, bass and onsets add to a beat's accent.
_ACCENT = np.array([0.65, 0.65, 0.35, 0.0])
# Deviations (of change, bass onset, bass, onset; of bands) below which beats sound alike: frames
# cut one and the same sound at different places.
_AUDIBLE_DIFFERENCES, _AUDIBLE_DB = (0.02, 0.15, 0.03, 0.15), 3.0
# Share of the accents' rise and fall, and of what returns after a bar, that is as clear as can be.
_CLEAR_ACCENT, _CLEAR_RETURN = 1.2, 0.35
# What the strength of first beats adds to what returns after a bar.
_STRENGTH = 0.25


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of a song."""

    beats_per_bar: int
    downbeats: Array  # (bars,) index of the beat that each whole or last bar begins with
    # 0 to 1: how much clearer this metre and these first beats are than the others.
    confidence: float


@dataclass(frozen=True, eq=False)
class BarEvidence:
    """What beats sound like, as far as bars follow from it."""

    # (13,) autocorrelation of what beats sound like, by lag in beats; 0 beyond the beats.
    returns: Array
    places: Mapping[int, Array]  # Metre -> (beats,) each beat's place in its bar, 0 the first
    strength: Mapping[int, float]

    @classmethod
    def from_beats(cls, beats_s: Array, spectra: Spectra, fps: float) -> BarEvidence:
        """The evidence of beats (beats,) in seconds; `fps` is the rate of the spectra."""
        accent, sound = _beat_sounds(beats_s, spectra, fps)
        alike = not accent.std() > 1e-6
        places, strength = {}, {}
        for metre in METERS:
            places[metre], found = _places(accent, metre)
            strength[metre] = 0.0 if alike else found
        return cls(_returns(sound), places, strength)

    def repeats(self, metre: int) -> float:
        """How much of the sound returns after one to four bars, in the mean."""
        return float(np.mean(self.returns[metre::metre]))

    @property
    def alternation(self) -> float:
        """How much more a beat sounds like the next but one than like those beside that."""
        return max(0.0, float(self.returns[2] - max(self.returns[1], self.returns[3])))

    def score(self, metre: int) -> float:
        """How well bars of a metre fit."""
        return self.repeats(metre) + _STRENGTH * self.strength[metre]


def find_bars(evidence: BarEvidence) -> Bars | None:
    """The metre by which sound returns, and its first beats; None of few beats or beats alike."""
    beats = len(evidence.places[METERS[0]])
    if beats < _FEWEST_BARS * max(METERS) or not any(evidence.strength.values()):
        return None
    scores = {metre: evidence.score(metre) for metre in METERS}
    metre = max(scores, key=lambda key: scores[key])
    other = min(scores.values())
    downbeats = np.flatnonzero(evidence.places[metre] == 0)
    if not len(downbeats):
        return None
    # What few bars show by chance.
    chance = 1 / np.sqrt(len(downbeats))
    clear_return = np.clip((scores[metre] - other - 0.25 * chance) / _CLEAR_RETURN, 0, 1)
    clear_accent = np.clip((evidence.strength[metre] - chance) / _CLEAR_ACCENT, 0, 1)
    # Of synthetic songs whose confidence is 0.5 or more, 99 % have the right bars.
    confidence = (clear_return * clear_accent) ** 0.25
    return Bars(metre, downbeats, float(confidence))


def bar_position(bars: Bars, beat: Array) -> Array:
    """Bars since the first whole bar at positions in beats (...,), linear between downbeats."""
    number = np.arange(len(bars.downbeats))
    inside = np.interp(beat, bars.downbeats, number)
    first, last = bars.downbeats[0], bars.downbeats[-1]
    before = (beat - first) / bars.beats_per_bar
    after = number[-1] + (beat - last) / bars.beats_per_bar
    return np.where(beat < first, before, np.where(beat > last, after, inside))


def _beat_sounds(beats_s: Array, spectra: Spectra, fps: float) -> tuple[Array, Array]:
    """(beats,) standardised accent of each beat, and (beats, values) what it sounds like."""
    frames = len(spectra.flux)
    at = np.clip(np.rint(beats_s * fps).astype(int), 0, frames - 1)
    around = np.clip(at[:, None] + np.arange(-2, 4), 0, frames - 1)
    bass_onset = spectra.bass_onset_strength[around].max(axis=1)
    onset = spectra.onset_strength[around].max(axis=1)
    # From one beat to the next: what sounds, chords and bass among it.
    period = max(int(np.median(np.diff(at))), 2)
    during = np.clip(at[:, None] + np.arange(1, period), 0, frames - 1)
    chroma = spectra.chroma[during].mean(axis=1)
    chroma /= np.maximum(np.linalg.norm(chroma, axis=1, keepdims=True), 1e-6)
    change = 1 - np.sum(chroma * np.roll(chroma, 1, axis=0), axis=1)
    change[0] = np.median(change)
    bass = spectra.bass[during].mean(axis=1)
    columns = _standardised(
        np.stack([change, bass_onset, bass, onset], axis=1), np.array(_AUDIBLE_DIFFERENCES)
    )
    mel = _standardised(spectra.mel_db[around].max(axis=1), np.array(_AUDIBLE_DB))
    # All mel bands together weigh as much as the four.
    sound = np.concatenate([columns, mel * np.sqrt(4 / mel.shape[1])], axis=1)
    return columns @ _ACCENT, sound


def _standardised(values: Array, least: Array) -> Array:
    """Columns (beats, columns) with mean 0 and deviation 1, or less where they hardly differ."""
    values = np.asarray(values, np.float64) - values.mean(axis=0)
    return np.clip(values / np.maximum(values.std(axis=0), least), -3, 3)


def _returns(sound: Array) -> Array:
    """(13,) autocorrelation of what beats (beats, values) sound like, by lag in beats."""
    power = max(float(np.mean(sound * sound)), 1e-9)
    found = np.zeros(_LAGS + 1)
    found[0] = 1.0
    for lag in range(1, min(_LAGS, len(sound) - 1) + 1):
        found[lag] = np.mean(sound[lag:] * sound[:-lag]) / power
    return found


def _places(accent: Array, metre: int) -> tuple[Array, float]:
    """(beats,) each beat's place in its bar (Viterbi), 0 the first; how much stronger it is."""
    beats = len(accent)
    total = np.where(np.arange(metre) == 0, accent[0], 0.0)
    came = np.zeros((beats, metre), int)
    for beat in range(1, beats):
        onward = np.roll(total, 1)
        best = int(total.argmax())
        slips = total[best] - _SLIP > onward
        came[beat] = np.where(slips, best, np.roll(np.arange(metre), 1))
        total = np.where(slips, total[best] - _SLIP, onward)
        total[0] += accent[beat]
    places = np.zeros(beats, int)
    places[-1] = total.argmax()
    for beat in range(beats - 1, 0, -1):
        places[beat - 1] = came[beat, places[beat]]
    first = places == 0
    if first.all() or not first.any():
        return places, 0.0
    return places, float(accent[first].mean() - accent[~first].mean())


# Tempi of the levels over the tempo that was followed; and beats a minute that are counted.
_LEVELS = (1, 2, 1 / 2, 3 / 2, 2 / 3, 4 / 3, 3 / 4, 3, 1 / 3)
_SLOWEST_BPM, _FASTEST_BPM = 42.0, 235.0
_USUAL_BPM, _USUAL_OCTAVES = 110.0, 0.45
_FEWEST_BEATS = 4
# Levels whose tempi differ by less than this share are one.
_SAME_TEMPO = 0.04
# What a level's score is worth against another: its terms are not independent, and levels whose
# beats coincide sound alike (half, double, a third, three times; then three for two and the like).
_OF_MULTIPLE, _OF_OTHER = 0.15, 0.4
# What speaks against counting every second beat, if every third one sounds alike.
_IN_THREES = 4.0
# What speaks for three beats in place of two, by how much more of the bass returns after a beat,
# and from which difference on.
_BASS_SPEAKS, _BASS_DIFFERS = 8.0, 0.3
# The same between a tempo and its double or half, for either.
_BASS_OF_MULTIPLE = 1.5
# Kick and snare alternate from beat to beat, and not at half the tempo: what that adds to the log
# odds of the faster, by how much more beats alternate there, from which difference on, and from
# which tempo of the slower on.
_ALTERNATION, _ALTERNATE_ALIKE, _SLOWEST_HALF = 6.0, 0.2, 60.0
# Another tempo is told from this probability on, and where the song speaks for it nearly as much
# as for the one that is counted (log odds): people's habit alone decides between these.
_TOLD, _AS_WELL = 0.2, 0.35
# Faster tempi are seldom counted: half and a third of them are always told.
_SELDOM_COUNTED_BPM = 170.0
# Half the tempo is told sooner where only there the bass returns, and mainly what alternates speaks
# against it, as loud off-beats do; twice the tempo where it fits nearly as well and some of the
# bass returns after half a beat, not much less than after a whole, as in triplets, or where most
# sounds return there, too; a third or two thirds of it where more of the bass does, and hardly less
# of all sounds.
_BASS_RETURNS, _HALF_AS_WELL = 0.85, 0.8
_TWICE_AS_WELL, _MOST_SOUNDS = np.array([(2.0, 0.33, 0.37), (3.2, 0.25, 0.49)]), 0.65
_MORE_BASS, _LESS_SOUND = 0.3, 0.1
# Beats are between those that were laid if the bass is so much louder there, and audible.
_LOUDER_BASS, _LOUD_BASS = 1.6, 0.5
# As much of the onsets returns after a beat, as a share of the level of which most does: a song of
# few sounds has other levels whose beats are silent at times.
_LEAST_RETURN = 0.4
# Weights of a level's evidence, in the order of `_Level.evidence`.
_LEVEL_WEIGHTS = np.array(
    [2.59, 0.37, 0.87, 4.81, 1.89, -1.32, -4.48, -2.46, 2.3, -5.41, 1.28, 0.64, 2.77]
)
# Log odds of a beat: what returns after one to four beats in the mean, of all bands and of the
# bass; what so few beats show by chance; how well bars fit; and a constant.
_BEAT_WEIGHTS = np.array([13.6, 9.5, -9.9, 7.0])
_BEAT_CONSTANT = -2.9


@dataclass(frozen=True, eq=False)
class _Level:
    """Beats at one level, and what speaks for it."""

    beats_s: Array
    tempo_bpm: float
    returns: Array  # (2, 4) what returns after one to four beats, of all bands and of the bass.
    evidence: Array  # (13,), see `_LEVEL_WEIGHTS`.
    bars: BarEvidence

    @property
    def beat_probability(self) -> float:
        score = max(self.bars.score(metre) for metre in METERS)
        chance = 1 / np.sqrt(len(self.beats_s))
        values = np.array([*self.returns.mean(axis=1), chance, score])
        return float(1 / (1 + np.exp(-(_BEAT_WEIGHTS @ values + _BEAT_CONSTANT))))


def find_rhythm(
    spectra: Spectra, fps: float, bpm: float | None = None
) -> tuple[Beats, Bars | None]:
    """Beats and bars of a song; `bpm` is about how many beats a minute there are, if known.

    The confidence of the beats is the probability that there is a beat (noise, speech and sounds at
    random times have none, and each is as likely), times the one that people count this tempo, and
    not half or twice of it, or two beats for three. That of the bars is at most the first of these.
    """
    onsets, bass = spectra.onset_strength, spectra.bass_onset_strength
    if not has_sounds(onsets):
        return NO_BEATS, None
    returns = OnsetReturns.from_onsets(onsets, bass, fps, _SLOWEST_BPM)
    tempo = follow_tempo(returns, len(onsets), fps, bpm)
    levels = []
    for ratio in _LEVELS if bpm is None else (1,):
        if _SLOWEST_BPM <= ratio * np.median(tempo) <= _FASTEST_BPM:
            beats_s = _on_bass(lay_beats(onsets, ratio * tempo, fps), bass, fps)
            if len(beats_s) >= _FEWEST_BEATS:
                levels.append(_level(beats_s, spectra, returns, fps))
    if not levels:
        return NO_BEATS, None
    # Of all bands or of the bass: a kick and a snare that is far louder are two beats.
    most = _LEAST_RETURN * np.max([level.returns[:, 0] for level in levels], axis=0)
    levels = [level for level in levels if (level.returns[:, 0] >= most).any()] or levels
    levels, shares, others = _shares(levels)
    chosen = int(shares.argmax())
    level, bars = levels[chosen], find_bars(levels[chosen].bars)
    share = min(float(shares[chosen]), 1.0 - _TOLD if others else 1.0)
    confidence = level.beat_probability * share
    beats = Beats(level.beats_s, level.tempo_bpm, confidence, share, others)
    if bars is not None:
        bars = replace(bars, confidence=bars.confidence * level.beat_probability)
    return beats, bars


def _on_bass(beats_s: Array, bass: Array, fps: float) -> Array:
    """The beats, or the moments between them where the bass is: loud off-beats attract beats."""
    if len(beats_s) < _FEWEST_BEATS:
        return beats_s
    half = 0.5 * np.diff(beats_s)
    between = np.concatenate(
        [[beats_s[0] - half[0]], beats_s[:-1] + half, [beats_s[-1] + half[-1]]]
    )
    on, off = (_loudness_at(bass, moments, fps) for moments in (beats_s, between[1:-1]))
    if off < max(_LOUDER_BASS * on, _LOUD_BASS):
        return beats_s
    return between[(between >= 0) & (between < len(bass) / fps)]


def _shares(levels: list[_Level]) -> tuple[list[_Level], Array, tuple[float, ...]]:
    """Levels of different tempi; how likely people count each; other tempi that fit as well."""
    scores = [float(_LEVEL_WEIGHTS @ level.evidence) for level in levels]
    kept: list[int] = []
    for index in np.argsort(scores, kind="stable")[::-1].tolist():
        others = np.array([levels[other].tempo_bpm for other in kept])
        if (np.abs(levels[index].tempo_bpm / others - 1.0) >= _SAME_TEMPO).all():
            kept.append(index)
    levels, score = [levels[index] for index in kept], np.array(scores)[kept]
    tempi = np.array([level.tempo_bpm for level in levels])
    ratio = tempi / tempi[0]
    multiple = np.maximum(ratio, 1.0 / ratio)
    is_multiple = np.abs(multiple - np.round(multiple)) < _SAME_TEMPO * multiple
    sound, bass = np.array([level.returns[:, 0] for level in levels]).T
    clear = (bass - bass[0]) - np.clip(bass - bass[0], -_BASS_DIFFERS, _BASS_DIFFERS)
    heard = np.where(is_multiple, _OF_MULTIPLE, _OF_OTHER) * (score - score[0])
    heard += np.where(is_multiple, _BASS_OF_MULTIPLE * clear, _BASS_SPEAKS * np.maximum(clear, 0))
    heard += np.log(np.maximum([level.beat_probability for level in levels], 1e-3))
    after_two, after_three = levels[0].bars.returns[2:4]
    heard[is_multiple & (np.round(1.0 / ratio) == 2)] += _IN_THREES * min(
        0, after_two - after_three
    )
    alternation = np.array([level.bars.alternation for level in levels])
    alternates = np.zeros(len(levels))
    is_half = np.abs(2.0 * tempi / tempi[:, None] - 1.0) < _SAME_TEMPO
    for fast, slow in np.argwhere(is_half & (tempi >= _SLOWEST_HALF)):
        more = alternation[fast] - alternation[slow] - _ALTERNATE_ALIKE
        alternates[fast] += _ALTERNATION * max(more, 0.0)
    heard += alternates
    log_odds = heard - 0.5 * (np.log2(tempi / _USUAL_BPM) / _USUAL_OCTAVES) ** 2
    shares = np.exp(log_odds - log_odds.max())
    shares /= shares.sum()
    chosen = int(shares.argmax())
    less = heard[chosen] - heard
    half, twice, third, two_thirds = (
        np.abs(tempi / (part * tempi[chosen]) - 1.0) < _SAME_TEMPO
        for part in (1 / 2, 2, 1 / 3, 2 / 3)
    )
    slower = (half | third) & (tempi[chosen] > _SELDOM_COUNTED_BPM)
    more_bass, more_sound = bass - bass[chosen], sound - sound[chosen]
    half &= (bass > _BASS_RETURNS) & (bass[chosen] < _BASS_RETURNS)
    half &= less - alternates[chosen] + alternates < _HALF_AS_WELL
    most_less, least_bass, less_bass = _TWICE_AS_WELL[(sound > _MOST_SOUNDS).astype(int)].T
    twice &= (less < most_less) & (bass > least_bass) & (more_bass > -less_bass)
    thirds = (third | two_thirds) & (more_bass > _MORE_BASS) & (more_sound > -_LESS_SOUND)
    fits = (shares >= _TOLD) | (less <= _AS_WELL) | half | twice | thirds | slower
    fits[chosen] = False
    return levels, shares, tuple(tempi[fits].tolist())


def _level(beats_s: Array, spectra: Spectra, returns: OnsetReturns, fps: float) -> _Level:
    tempo_bpm = float(60 / np.median(np.diff(beats_s)))
    lag = 60 * fps / tempo_bpm
    after = returns.at(lag * np.array([1, 2, 3, 4]))
    _, (half, third, dotted) = returns.at(lag * np.array([1 / 2, 1 / 3, 3 / 2]))
    steps = np.diff(beats_s)
    on_thirds = max(
        _loudness_at(spectra.onset_strength, beats_s[:-1] + part * steps, fps)
        for part in (1 / 3, 2 / 3)
    )
    on_beats = _loudness_at(spectra.onset_strength, beats_s, fps)
    bars = BarEvidence.from_beats(beats_s, spectra, fps)
    octaves = np.log2(tempo_bpm / _USUAL_BPM)
    evidence = np.array(
        [
            # People count neither very fast nor very slowly.
            -(octaves**2),
            octaves,
            max(bars.strength.values()),
            after[0, 0],
            after[1, 0],
            half,
            third,
            dotted,
            after[1, 2],
            on_thirds / (on_beats + 1e-6),
            bars.returns[3],
            bars.returns[6],
            max(bars.score(metre) for metre in METERS),
        ]
    )
    return _Level(beats_s, tempo_bpm, after, evidence, bars)


def _loudness_at(onset_strength: Array, times: Array, fps: float) -> float:
    """Mean onset strength around times in seconds."""
    frames = np.rint(times * fps).astype(int)[:, None] + np.arange(-1, 3)
    return float(onset_strength[np.clip(frames, 0, len(onset_strength) - 1)].max(axis=1).mean())
