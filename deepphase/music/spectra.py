"""Short-time spectra of a song, and the features computed from them.

Of librosa only filters are used that it does not compile: a program that reads one song would
otherwise compile for half a minute on a new machine, and for seconds in every process. The rest is
librosa's arithmetic in NumPy.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.music.audio import HOP, SAMPLE_RATE

MEL_BANDS, MFCC, PITCH_CLASSES = 27, 20, 12
MEL_RANGE_HZ = (30.0, 11_000.0)

# Samples of a window: 67 ms, bins of 15 Hz. A frame's window lies around its moment.
_WINDOW = 2048
# Bands that onsets and cepstra are read off; those below 200 Hz are the bass.
_FINE_BANDS = 64
_BASS_HZ = 200.0
_RANGE_DB = 80.0
# Onsets are rises of log(1 + this * power / loudest): what lies 40 dB below hardly counts.
_ONSET_GAIN = 1e4
# Rises are measured over this many frames: a window reaches two frames ahead, so that a rise over
# one frame would lie before the sound (SuperFlux, Böck and Widmer 2013, takes two as well).
_LAG = 2
# Frames of one matrix product: power and bins of them fit the cache. Threads that make them: what
# they find does not depend on how many there are.
_FRAMES_AT_ONCE, _THREADS = 128, 2
# Frames that the tuning is estimated on, pitches that it is estimated of, and the share of a
# frame's loudest bin that they have.
_TUNING_FRAMES = 200
_PITCH_RANGE_HZ, _PEAK_SHARE = (80.0, 2000.0), 0.1
# Octave that chroma are mostly read off and its width, both in octaves; halftones from A to C.
_CHROMA_OCTAVE, _CHROMA_OCTAVES, _C_OVER_A = 5.0, 2.0, 3


@dataclass(frozen=True, eq=False)
class Spectra:
    """Spectral features of each frame; all float32 and finite."""

    mel_db: Array  # (frames, 27) dB below the song's loudest, from -80 to 0
    mfcc: Array  # (frames, 20) cepstral coefficients of 64 mel bands in dB
    chroma: Array  # (frames, 12) from C on, the loudest 1; 0 in silence
    flux: Array  # (frames,) rise of the magnitudes over two frames, as a share of their mean sum
    # (frames,) rise of loudness over two frames and all mel bands, 1 at the song's strong onsets.
    onset_strength: Array
    # bass_onset_strength, bass: (frames,) the same below 200 Hz, and the loudness there, as a share
    # of the song's loudest.
    bass_onset_strength: Array
    bass: Array
    zero_crossing_rate: Array  # (frames,) sign changes a sample
    tuning: float  # Halftones from 440 Hz tuning, in [-0.5, 0.5)


def short_time_spectra(samples: Array) -> Spectra:
    """The spectra of a song (samples,): frame i is around i * HOP; the level has no effect."""
    import scipy.fft

    frames = -(-len(samples) // HOP)
    peak = float(np.abs(samples).max())
    padded = np.zeros((frames - 1) * HOP + _WINDOW, np.float32)
    padded[_WINDOW // 2 : _WINDOW // 2 + len(samples)] = samples / peak if peak else samples
    # A song that breaks off is not an onset: its end is mirrored.
    behind = len(padded) - _WINDOW // 2 - len(samples)
    mirrored = padded[_WINDOW // 2 : _WINDOW // 2 + len(samples)][: -behind - 1 : -1]
    padded[len(padded) - behind : len(padded) - behind + len(mirrored)] = mirrored
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::HOP]
    taper, mel, fine = _filters()
    tuning = _tuning(windows, taper)
    bank = np.concatenate([mel, fine, _chroma_filter(round(tuning, 2))]).T
    banded = np.empty((frames, bank.shape[1]), np.float32)
    flux = np.empty(frames, np.float32)
    total = np.empty(frames, np.float32)

    def read_off(start: int) -> None:
        earlier = min(start, _LAG)
        part = slice(start, start + _FRAMES_AT_ONCE)
        bins = scipy.fft.rfft(windows[start - earlier : part.stop] * taper, axis=1)
        power = bins.real**2 + bins.imag**2
        np.matmul(power[earlier:], bank, out=banded[part])
        magnitude = np.sqrt(power, out=power)
        total[part] = magnitude[earlier:].sum(axis=1)
        rise = magnitude[earlier:].copy()
        rise[_LAG - earlier :] -= magnitude[:-_LAG]
        flux[part] = np.maximum(rise, 0, out=rise).sum(axis=1)

    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(read_off, range(0, frames, _FRAMES_AT_ONCE)))
    mel_power, fine_power, chroma = np.split(banded, [MEL_BANDS, MEL_BANDS + _FINE_BANDS], axis=1)
    loudest, top = fine_power.max(), chroma.max(axis=1, keepdims=True)
    loudness = np.log1p(fine_power * (_ONSET_GAIN / loudest if loudest > 0 else 0.0))
    bass_bands = int((fine_centres() < _BASS_HZ).sum())
    return Spectra(
        _decibels(mel_power),
        scipy.fft.dct(_decibels(fine_power), axis=1, norm="ortho")[:, :MFCC].astype(np.float32),
        np.where(top > 1e-9, chroma / np.maximum(top, 1e-9), 0).astype(np.float32),
        # Of a song that is mostly silent the mean says nothing.
        flux / max(float(total.mean()), 0.1 * float(total.max()), 1e-12),
        _onsets(loudness),
        _onsets(loudness[:, :bass_bands]),
        loudness[:, :bass_bands].mean(axis=1) / np.float32(np.log1p(_ONSET_GAIN)),
        _zero_crossing_rate(padded, frames),
        tuning,
    )


@lru_cache(maxsize=1)
def _filters() -> tuple[Array, Array, Array]:
    """The window (samples,), and mel filters (27, bins) and (64, bins)."""
    import librosa
    import scipy.signal

    taper = scipy.signal.get_window("hann", _WINDOW).astype(np.float32)
    mel, fine = (
        librosa.filters.mel(
            sr=SAMPLE_RATE, n_fft=_WINDOW, n_mels=bands, fmin=MEL_RANGE_HZ[0], fmax=MEL_RANGE_HZ[1]
        )
        for bands in (MEL_BANDS, _FINE_BANDS)
    )
    return taper, mel, fine


def fine_centres() -> Array:
    """(64,) Hz: the middle of each fine band."""
    import librosa

    edges = librosa.mel_frequencies(
        n_mels=_FINE_BANDS + 2, fmin=MEL_RANGE_HZ[0], fmax=MEL_RANGE_HZ[1]
    )
    return edges[1:-1]


@lru_cache(maxsize=101)
def _chroma_filter(tuning: float) -> Array:
    """(12, bins) from C on, as `librosa.filters.chroma`: Gaussians around pitches (Ellis 2007)."""
    bins = np.fft.rfftfreq(_WINDOW, 1 / SAMPLE_RATE)
    halftones = PITCH_CLASSES * np.log2(bins[1:] / _concert_octave_hz(tuning))
    # Bin 0 has no pitch: it lies one and a half octaves below bin 1.
    halftones = np.concatenate([[halftones[0] - 1.5 * PITCH_CLASSES], halftones])
    # The bin behind the last one gives its width.
    above = PITCH_CLASSES * np.log2(len(bins) / (len(bins) - 1))
    widths = np.maximum(np.append(np.diff(halftones), above), 1.0)
    half = PITCH_CLASSES / 2
    away = np.mod(halftones - np.arange(PITCH_CLASSES)[:, None] + half, PITCH_CLASSES) - half
    weights = np.exp(-0.5 * (2 * away / widths) ** 2)
    weights /= np.linalg.norm(weights, axis=0)
    octaves = halftones / PITCH_CLASSES
    weights *= np.exp(-0.5 * ((octaves - _CHROMA_OCTAVE) / _CHROMA_OCTAVES) ** 2)
    return np.roll(weights, -_C_OVER_A, axis=0).astype(np.float32)


def _concert_octave_hz(tuning: float) -> float:
    """Frequency from which octaves are counted: the A of 27.5 Hz, and halftones from it."""
    return 27.5 * 2.0 ** (tuning / PITCH_CLASSES)


def _tuning(windows: Array, taper: Array) -> float:
    """Halftones from 440 Hz tuning, by peaks of frames over the song (`librosa.piptrack`)."""
    import scipy.fft

    step = max(len(windows) // _TUNING_FRAMES, 1)
    magnitude = np.abs(scipy.fft.rfft(windows[::step] * taper, axis=1))
    before, middle, after = magnitude[:, :-2], magnitude[:, 1:-1], magnitude[:, 2:]
    frequencies = np.arange(1, magnitude.shape[1] - 1) * (SAMPLE_RATE / _WINDOW)
    inside = (frequencies >= _PITCH_RANGE_HZ[0]) & (frequencies < _PITCH_RANGE_HZ[1])
    threshold = _PEAK_SHARE * magnitude.max(axis=1, keepdims=True)
    peaks = np.where(magnitude > threshold, magnitude, 0.0)
    peak = inside & (peaks[:, 1:-1] > peaks[:, :-2]) & (peaks[:, 1:-1] >= peaks[:, 2:])
    slope, bend = 0.5 * (after - before)[peak], (after + before - 2 * middle)[peak]
    shift = np.where(np.abs(slope) < np.abs(bend), -slope / np.where(bend == 0, 1.0, bend), 0.0)
    strengths = middle[peak] + 0.5 * slope * shift
    if not (strengths > 0).any():
        return 0.0
    strong = strengths >= np.median(strengths[strengths > 0])
    pitches = np.broadcast_to(frequencies, peak.shape)[peak] + shift * (SAMPLE_RATE / _WINDOW)
    halftones = np.mod(PITCH_CLASSES * np.log2(pitches[strong] / _concert_octave_hz(0.0)), 1.0)
    halftones = np.where(halftones >= 0.5, halftones - 1.0, halftones)
    counts, edges = np.histogram(halftones, np.linspace(-0.5, 0.5, 101))
    return float(edges[np.argmax(counts)])


def _decibels(power: Array) -> Array:
    """Decibels below the largest value, to -80; all -80 in silence."""
    loudest = max(float(power.max()), 1e-30)
    return 10 * np.log10(
        np.maximum(power / np.float32(loudest), np.float32(10 ** (-_RANGE_DB / 10)))
    )


def _onsets(loudness: Array) -> Array:
    """(frames,) mean rise of loudness (frames, bands), 1 at the strong onsets of the song."""
    before = np.concatenate([np.zeros_like(loudness[:_LAG]), loudness])[: len(loudness)]
    rise = np.maximum(loudness - before, 0).mean(axis=1)
    # Where sounds are rare, one in a hundred frames may have none.
    strong = max(float(np.quantile(rise, 0.99)), 0.3 * float(rise.max()), 1e-6)
    return rise / np.float32(strong)


def _zero_crossing_rate(padded: Array, frames: int) -> Array:
    """(frames,) sign changes a sample in each window."""
    negative = np.signbit(padded)
    changes = np.zeros(frames - 1 + _WINDOW // HOP, np.float32)
    crossed = negative[1:] != negative[:-1]
    crossed = np.append(crossed, False)
    changes[:] = crossed.reshape(-1, HOP).sum(axis=1)
    summed = np.convolve(changes, np.ones(_WINDOW // HOP), mode="valid")
    return (summed / _WINDOW).astype(np.float32)
