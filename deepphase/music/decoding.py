"""Both halves of a song decoded at once: of all that features take, decoding takes longest."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

Array = np.ndarray

LOUDEST = 1e9
"""Beyond it (float files may hold anything) numbers are no sound."""

# What takes long and is the same from wherever it is decoded. Of plain samples there is nothing to
# gain; MP3 and Opus are rounded, or sound, a little differently.
_FORMATS, _SUBTYPES = ("FLAC",), ("VORBIS",)
# Shorter songs are decoded soon enough; of longer ones both halves would take much memory.
_SHORTEST_S, _MOST_SAMPLES = 15, 60_000_000
# Samples that both halves hold: the first of the second.
_SHARED = 8192


def is_sound(piece: Array) -> bool:
    """Whether samples are all finite, and of a size that sound has."""
    return not len(piece) or bool(piece.max() <= LOUDEST and piece.min() >= -LOUDEST)


def mixed(piece: Array) -> Array:
    """(samples,) float32, the mean over the channels of (samples, channels)."""
    # Channel by channel: along so short an axis NumPy's mean takes twenty times as long.
    total = piece[:, 0].copy()
    for channel in piece.T[1:]:
        total += channel
    total /= piece.shape[1]
    return total


def both_halves(content: bytes, file: Any) -> Array | None:
    """All samples of a sound file, mono, at its own rate.

    Parameters
    ----------
    content
        The file's bytes.
    file
        The same as an open `soundfile.SoundFile`; only what its front says is asked for.

    Returns
    -------
    (samples,) float32: what decoding from the start to the end gives, bit for bit. None where that
    is not sure (the file is damaged, or silent in its middle) or nothing is to be gained: then it
    has to be decoded so.
    """
    import soundfile

    if file.format not in _FORMATS and file.subtype not in _SUBTYPES:
        return None
    if file.frames < _SHORTEST_S * file.samplerate or file.frames * file.channels > _MOST_SAMPLES:
        return None
    middle = file.frames // 2
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(_decode, content, middle, file.frames - middle)
        try:
            first = _decode(content, 0, middle + _SHARED)
            second = waiting.result()
        except soundfile.LibsndfileError:
            return None
    if first is None or second is None:
        return None
    # Where data are missing, decoders go on with what comes next: then the halves do not meet.
    shared = first[middle:]
    if not shared.any() or not np.array_equal(shared, second[:_SHARED]):
        return None
    return np.concatenate([first[:middle], second])


def _decode(content: bytes, start: int, count: int) -> Array | None:
    """(count,) samples from `start` on, mono; None where there are fewer or they are no sound."""
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as file:
        file.seek(start)
        # In one go: between two, libsndfile would find its place again and hide what is missing.
        piece = file.read(count, dtype="float32", always_2d=True)
    return mixed(piece) if len(piece) == count and is_sound(piece) else None
