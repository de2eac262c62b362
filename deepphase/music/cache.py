"""Cache of song features in the user's cache folder, by the hash of the files' bytes.

A file that is damaged, foreign or of another version is written again; nothing depends on one. The
version also rises when the computation of the features changes.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from deepphase.config import checked_count, checked_number
from deepphase.errors import CheckpointError, DeepPhaseError
from deepphase.files import user_cache
from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.music.audio import decoded, sound_bytes
from deepphase.music.beats_file import beats_beside, read_beats
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, SongFeatures, features_of

FORMAT, VERSION = "deepphase.song_features", 8

CACHE_VARIABLE = "DEEPPHASE_CACHE"
"""The environment variable that names another cache folder; empty for no cache."""

MOST_BYTES = 500_000_000
"""Bytes of all kept songs: those that were not used for the longest time make room."""

_SUFFIX = ".song"
_TYPES = {"blocks.*": "F32", "*": "F64"}
_NUMBERS: tuple[str, ...] = ("duration_s", "fps", "beats_per_bar", "tempo_bpm")
_NUMBERS += ("beat_confidence", "bar_confidence", "tempo_confidence")


def cache_folder() -> Path | None:
    """Where features of songs are kept; None where there shall be no cache."""
    folder = os.environ.get(CACHE_VARIABLE)
    if folder is not None:
        return Path(folder) / "songs" if folder else None
    return user_cache() / "songs"


def song_features(
    path: str | Path,
    *,
    beats: str | Path | None = None,
    bpm: float | None = None,
    cache: bool = True,
) -> SongFeatures:
    """The features of a sound file, whatever its format, rate and channels.

    Parameters
    ----------
    beats
        File of the song's beats, see `read_beats`. If not given, the file of the same stem with
        the suffix .beats beside the song; where there is none, beats are detected.
    bpm
        About how many beats a minute the song has, where beats are detected at half or twice the
        tempo that people count; not read where there is a file of beats.
    cache
        Look in the user's cache first, and keep the features there.

    Raises
    ------
    FormatError
        Where the file is not sound, damaged, cut off, too short (a frame) or too long (an hour),
        or the beats cannot be read or do not fit the song.
    ParameterError
        For a tempo that no song has.
    """
    path = Path(path)
    beats = beats or beats_beside(path)
    own_beats = None if beats is None else read_beats(beats)
    content = sound_bytes(path)
    sha256 = hashlib.sha256(content).hexdigest()
    folder = cache_folder() if cache else None
    key = sha256[:32]
    if own_beats is not None:
        key, bpm = f"{key}-{own_beats.sha256[:16]}", None
    elif bpm is not None:
        key = f"{key}-{bpm:g}"
    kept = None if folder is None else folder / f"{key}-{VERSION}{_SUFFIX}"
    if kept is not None:
        # A cache that cannot be used is not a reason to fail: what it holds is made again.
        with suppress(DeepPhaseError, OSError, KeyError, TypeError, ValueError):
            features = _read(kept, sha256, path)
            with suppress(OSError):
                os.utime(kept)
            return features
    samples = decoded(content, path)
    features = features_of(
        samples, name=path.stem, source=str(path), sha256=sha256, beats=own_beats, bpm=bpm
    )
    if kept is not None:
        # Neither is a folder that cannot be written.
        with suppress(CheckpointError):
            _write(features, kept)
            _make_room(kept.parent, kept)
    return features


def _write(features: SongFeatures, path: Path) -> None:
    downbeats = features.downbeats_s
    arrays = {f"blocks.{name}": block for name, block in features.blocks.items()}
    arrays["beats_s"] = features.beats_s
    arrays["downbeats_s"] = np.zeros(0) if downbeats is None else downbeats
    header = {
        "song_sha256": features.sha256,
        **{name: getattr(features, name) for name in _NUMBERS},
        "other_tempi": list(features.other_tempi),
        "values": {name: list(kind.values) for name, kind in SONG_FEATURE_KINDS.items()},
        "units": {name: kind.unit for name, kind in SONG_FEATURE_KINDS.items()},
    }
    write_arrays(path, arrays, header, format=FORMAT, version=VERSION)


def _read(path: Path, sha256: str, song: Path) -> SongFeatures:
    """Features of a kept file; raises where it is not whole or of another song."""
    arrays, header = read_arrays(path, format=FORMAT, version=VERSION, types=_TYPES)
    values = {name: list(kind.values) for name, kind in SONG_FEATURE_KINDS.items()}
    blocks = {name: arrays[f"blocks.{name}"] for name in SONG_FEATURE_KINDS}
    frames = len(arrays["blocks.mel"])
    is_ours = header["version"] == VERSION and header["song_sha256"] == sha256
    is_ours &= header["values"] == values and header["fps"] == FPS
    if not is_ours or any(
        block.shape != (frames, len(values[name])) for name, block in blocks.items()
    ):
        raise CheckpointError(
            "the file holds features of another version or song", hint="delete it", path=path
        )
    metre = header["beats_per_bar"]
    return SongFeatures(
        blocks,
        checked_number(header["duration_s"], "duration_s", 0.0),
        arrays["beats_s"],
        None if metre is None else arrays["downbeats_s"],
        None if metre is None else checked_count(metre, "beats_per_bar", 1),
        checked_number(header["tempo_bpm"], "tempo_bpm", 0.0),
        checked_number(header["beat_confidence"], "beat_confidence"),
        checked_number(header["bar_confidence"], "bar_confidence"),
        song.stem,
        str(song),
        sha256,
        tempo_confidence=checked_number(header["tempo_confidence"], "tempo_confidence"),
        other_tempi=tuple(checked_number(tempo, "other_tempi") for tempo in header["other_tempi"]),
    )


def _make_room(folder: Path, newest: Path) -> None:
    """Remove the songs that were not used for the longest time, until the others fit."""
    kept = []
    for file in folder.glob(f"*{_SUFFIX}"):
        # Another process may be making room as well.
        with suppress(OSError):
            state = file.stat()
            kept.append((file == newest, state.st_mtime, state.st_size, file))
    room = MOST_BYTES
    for _, _, size, file in sorted(kept, reverse=True):
        room -= size
        if room < 0 and file != newest:
            with suppress(OSError):
                file.unlink()
