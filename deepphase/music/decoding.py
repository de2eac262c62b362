"""Decoding of sound files: checks for missing data, decoding of both halves in parallel, messages.

Decoders read what is there and do not report what is missing. Decoding takes most of the time of
feature extraction."""

from __future__ import annotations

import io
import os
import re
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from deepphase.arrays import Array

# Sizes that mean "not known", as programs that write into a pipe leave them.
_UNKNOWN = (0, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000, 0xFFFFF000)

# Kilobits a second of MPEG 1 and of MPEG 2 and 2.5, layer III; samples a second of MPEG 1.
_KBITS_1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBITS_2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MPEG_RATES = (44_100, 48_000, 32_000)


def truncation(content: bytes) -> str:
    """What a file's bytes promise and lack, in words: RIFF, Ogg (RFC 3533), MP3 (ISO 11172-3)."""
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return _missing_wav(content)
    if content[:4] == b"OggS":
        return _missing_ogg(content)
    start = _id3_bytes(content)
    if start or (content[:1] == b"\xff" and _mp3_frame_bytes(content, 0)):
        return _missing_mp3(content, start)
    return ""


def _missing_wav(content: bytes) -> str:
    at = 12
    while at + 8 <= len(content):
        name = content[at : at + 4]
        (size,) = struct.unpack_from("<I", content, at + 4)
        if name == b"data":
            there = len(content) - at - 8
            if size in _UNKNOWN or there >= size:
                return ""
            return f"{there:,} bytes of samples where its header says {size:,}"
        at += 8 + size + (size & 1)
    return "it ends before its samples"


def _missing_ogg(content: bytes) -> str:
    last = content.rfind(b"OggS")
    head = content[last : last + 27]
    if len(head) < 27 or len(content) < last + 27 + head[26]:
        return "its last page is not whole"
    body = sum(content[last + 27 : last + 27 + head[26]])
    if len(content) < last + 27 + head[26] + body:
        return "its last page is not whole"
    return _lost_page(content) if head[5] & 4 else "its last page does not say that it is the last"


def _lost_page(content: bytes) -> str:
    """Pages of a stream are numbered: decoders go on behind a gap as if nothing had been there."""
    numbers: dict[bytes, int] = {}
    at = content.find(b"OggS")
    while at >= 0 and at + 27 <= len(content):
        stream = content[at + 14 : at + 18]
        (number,) = struct.unpack_from("<I", content, at + 18)
        before = numbers.get(stream)
        if before is not None and number > before + 1:
            lost = number - before - 1
            return f"{lost} of its pages {'is' if lost == 1 else 'are'} lost behind page {before}"
        numbers[stream] = number
        segments = content[at + 26]
        body = sum(content[at + 27 : at + 27 + segments])
        at = content.find(b"OggS", at + 27 + segments + body)
    return ""


def _id3_bytes(content: bytes) -> int:
    """Length of the ID3v2 tag that a file begins with."""
    if content[:3] != b"ID3" or len(content) < 10:
        return 0
    size = 0
    for byte in content[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _mp3_frame_bytes(content: bytes, at: int) -> int:
    """Bytes of the layer III frame whose head is here; 0 where there is none."""
    head = content[at : at + 4]
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return 0
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    bits, rate = head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or layer != 1 or bits in (0, 15) or rate == 3:
        return 0
    padding = head[2] >> 1 & 1
    if version == 3:
        return 144_000 * _KBITS_1[bits] // _MPEG_RATES[rate] + padding
    slower = 2 if version == 2 else 4
    return 72_000 * _KBITS_2[bits] // (_MPEG_RATES[rate] // slower) + padding


def _missing_mp3(content: bytes, start: int) -> str:
    if start >= len(content):
        return "it ends within its tag"
    at = start
    # Encoders leave zeros between the tag and the first frame.
    while at < min(len(content), start + 65_536) and not _mp3_frame_bytes(content, at):
        at += 1
    if first := _mp3_frame_bytes(content, at):
        said = _said_bytes(content[at : at + first])
        if said and said > len(content) - at:
            return f"{len(content) - at:,} bytes of sound where its header says {said:,}"
    while size := _mp3_frame_bytes(content, at):
        if at + size > len(content):
            return f"its last frame has {len(content) - at} of {size} bytes"
        at += size
    return ""


def _said_bytes(frame: bytes) -> int:
    """The count of bytes in the Xing or Info head of a first frame; 0 where it has none."""
    for mark in (b"Xing", b"Info"):
        at = frame[:200].find(mark)
        if at < 0 or len(frame) < at + 16:
            continue
        (flags,) = struct.unpack_from(">I", frame, at + 4)
        if flags & 2:
            (said,) = struct.unpack_from(">I", frame, at + 8 + 4 * (flags & 1))
            return int(said)
    return 0


LOUDEST = 1e9
"""Beyond it (float files may hold anything) numbers are not sound."""

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
    """(samples,) mono of a file whose halves are decoded at once; None where that is not sure."""
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
    """(count,) samples from `start` on, mono; None where there are fewer or they are not sound."""
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as file:
        file.seek(start)
        # In one go: between two, libsndfile would find its place again and hide what is missing.
        piece = file.read(count, dtype="float32", always_2d=True)
    return mixed(piece) if len(piece) == count and is_sound(piece) else None


_STDERR = 2
# "[src/libmpg123/layer3.c:III_get_side_info():202] error: big_values too large!", and what follows
# a bad frame header.
_MESSAGE = re.compile(
    rb"\[[^\]]*libmpg123[^\]]*\]|(Note|Warning): .*|\s*(This is most probably|You should).*"
)
_ERROR = re.compile(rb"\[[^\]]*libmpg123[^\]]*\] error: (.*)")
# First bytes of the formats whose decoders print nothing.
_DECODED_SILENTLY = (b"RIFF", b"OggS", b"fLaC")
# Standard error belongs to the whole process: one decoding at a time redirects it.
_lock = threading.RLock()


@contextmanager
def decoder_errors(content: bytes) -> Iterator[list[str]]:
    """Context of a decoding whose messages are not printed: yields a list, then of its errors."""
    errors: list[str] = []
    if content[:4] in _DECODED_SILENTLY:
        yield errors
        return
    with _lock, tempfile.TemporaryFile() as file:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        try:
            saved = os.dup(_STDERR)
        except OSError:  # a process without standard error prints nothing
            yield errors
            return
        try:
            os.dup2(file.fileno(), _STDERR)
            yield errors
        finally:
            with suppress(OSError, ValueError, AttributeError):
                sys.stderr.flush()
            os.dup2(saved, _STDERR)
            os.close(saved)
            file.seek(0)
            for line in file:
                if found := _ERROR.match(line):
                    errors.append(found[1].decode("utf-8", "replace").strip(" .!"))
                elif not _MESSAGE.match(line):
                    os.write(_STDERR, line)
