"""Songs of the page Dance: made by formula, or uploaded."""

from __future__ import annotations

import io
import secrets
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from apps.dashboard.parts.collection import content_key
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.session import session
from apps.dashboard.parts.uploads import safe_name
from deepphase.errors import FormatError
from deepphase.music.audio import decoded
from deepphase.music.dance_request import DanceRequest
from deepphase.music.decoder_messages import decoder_errors
from deepphase.music.features import SongFeatures, features_of
from deepphase.synthetic.song import make_song

_MADE, _FILE = "Made", "Your own"
_MIN_SONG_S, _MAX_MADE_SONG_S, _DEFAULT_SONG_S = 4, 120, 20
_MAX_SEED = 9999
_SWING = {"Straight": 0.5, "Swing": 2 / 3}


def choose_song() -> OpenSong | None:
    """Draw the controls that choose a song; None, with a notice, if no file is uploaded yet.

    Raises FormatError if a file is not a song.
    """
    kind = st.segmented_control(
        "Song", [_MADE, _FILE], default=_MADE, required=True, key="song kind"
    )
    if kind == _FILE:
        return _upload_control()
    columns = st.columns(2)
    bpm = columns[0].slider("Tempo (beats/min)", 70, 160, 104, key="song tempo")
    seed = columns[1].number_input("Song number", 0, _MAX_SEED, 50, key="song seed",
        help="Each number gives another key, other chords and other drums",
    )  # fmt: skip
    columns = st.columns(2)
    beats = columns[0].segmented_control(
        "Beats in a bar", [3, 4], default=4, required=True, key="song metre"
    )
    swing = columns[1].segmented_control(
        "Off-beats", list(_SWING), default="Straight", required=True, key="song swing"
    )
    seconds = st.slider(
        "Length of the song (s)", _MIN_SONG_S, _MAX_MADE_SONG_S, _DEFAULT_SONG_S, key="song seconds"
    )
    return made_song(
        int(seed), float(seconds), float(bpm), int(beats or 4), _SWING[swing or "Straight"]
    )


def _upload_control() -> OpenSong | None:
    file = st.file_uploader(
        "Sound file", type=list(SONG_UPLOAD_SUFFIXES), max_upload_size=MAX_SONG_MB, key="song file",
        help="Files are private and are removed when this browser tab closes.",
    )  # fmt: skip
    if file is None:
        st.info(
            f"Drop a song here: {', '.join(SONG_UPLOAD_SUFFIXES)}, up to {MAX_SONG_MB} MB.",
            icon=":material/music_note:",
        )
        return None
    return uploaded_song(file.name, bytes(file.getbuffer()))


def choose_part(song: OpenSong, usual_lock: float | None, about: str) -> DanceRequest:
    """Draw the controls that choose a part of a song and how it is danced to.

    Parameters
    ----------
    usual_lock
        Default strength, from 0 to 1, with which playback follows the beat; None for dancers
        without that setting.
    about
        Id of the dancer, so that each dancer keeps a setting of its own.
    """
    length = song.features.duration_s
    start = 0.0
    if length > _MIN_SONG_S + 1:
        start = st.slider(
            "From (s)", 0.0, float(int(length - _MIN_SONG_S)), 0.0, step=0.5,
            key=f"start {song.key}", help=f"The song is {length:.1f} s long",
        )  # fmt: skip
    most = min(length - start, float(_MAX_MADE_SONG_S))
    seconds = most
    if most > _MIN_SONG_S + 1:
        seconds = st.slider(
            "Seconds", float(_MIN_SONG_S), float(round(most, 1)), min(round(most, 1), 30.0),
            step=0.5, key=f"seconds {song.key} {start}",
        )  # fmt: skip
    columns = st.columns(2)
    seed = columns[0].number_input(
        "Seed", 0, _MAX_SEED, 0, key="dance seed", help="Each seed gives another dance"
    )
    lock = None
    if usual_lock is not None:
        lock = columns[1].slider(
            "Held to the beat (%)", 0, 100, round(100 * usual_lock), step=5, key=f"lock {about}",
            help="At 100 %, playback is up to a tenth faster or slower than captured",
        )  # fmt: skip
    return DanceRequest(
        start, min(seconds, length - start), int(seed), None if lock is None else lock / 100
    )


def show_song_facts(song: OpenSong) -> None:
    """Show name, length, tempo and metre of a song in one line."""
    features = song.features
    parts = [plain(features.name), f"{features.duration_s:.1f} s", features.rhythm]
    st.caption(" · ".join(parts))


MAX_SONG_MB = 32
SONG_UPLOAD_SUFFIXES = ("wav", "ogg", "flac", "mp3")
_MAX_UPLOAD_S = 600.0
# Songs in the caches that all sessions share.
_CACHED_SONGS = 12
# Samples encoded at once.
_BLOCK = 1 << 16
# First bytes of a sound file -> its suffix.
_SUFFIXES = {b"RIFF": ".wav", b"OggS": ".ogg", b"fLaC": ".flac"}
_OTHER_SUFFIX = ".mp3"


@dataclass(frozen=True, eq=False)
class OpenSong:
    """The chosen song.

    Parameters
    ----------
    key
        Cache key; changes with the content.
    features
        Audio features, beats and bars.
    content
        Bytes of a sound file.
    """

    key: Hashable
    features: SongFeatures
    content: bytes

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """A temporary file of the song under a safe name in the folder of the session."""
        suffix = next((s for begin, s in _SUFFIXES.items() if self.content.startswith(begin)), None)
        path = session().folder / f"song-{secrets.token_hex(8)}{suffix or _OTHER_SUFFIX}"
        try:
            path.write_bytes(self.content)
            yield path
        finally:
            path.unlink(missing_ok=True)


@st.cache_resource(max_entries=_CACHED_SONGS, show_spinner="Making the song")
def made_song(seed: int, seconds: float, bpm: float, beats_per_bar: int, swing: float) -> OpenSong:
    """A song by formula; see :func:`deepphase.synthetic.song.make_song`."""
    import soundfile

    song = make_song(seed, seconds, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar, swing=swing)
    file, rate = io.BytesIO(), song.sample_rate
    with soundfile.SoundFile(file, "w", rate, 1, format="OGG", subtype="VORBIS") as encoder:
        # The Vorbis encoder puts each write on the stack, so writes are short.
        for start in range(0, len(song.samples), _BLOCK):
            encoder.write(song.samples[start : start + _BLOCK])
    content = file.getvalue()
    name = f"made song {bpm:g} bpm"
    return OpenSong(content_key(content), features_of(song.samples, name=name), content)


def uploaded_song(file: str, content: bytes) -> OpenSong:
    """The song in an uploaded file.

    Raises
    ------
    FormatError
        If it is no sound, damaged, or longer than the page accepts.
    """
    name = safe_name(file)
    if len(content) > MAX_SONG_MB * 1_000_000:
        raise FormatError(
            f"{len(content) / 1e6:,.0f} MB, more than {MAX_SONG_MB}",
            hint="cut it, or send it as .ogg or .mp3",
            path=Path(name),
        )
    if not content:
        raise FormatError("an empty file, no sound", hint="upload it again", path=Path(name))
    _check_length(name, content)
    try:
        features = _features(content_key(content), content)
    except FormatError as error:
        raise FormatError(error.fact, hint=error.hint, path=Path(name)) from None
    # The cached features are shared by all sessions; the name is this session's.
    return OpenSong(features.sha256, replace(features, name=name), content)


@st.cache_resource(max_entries=_CACHED_SONGS, show_spinner="Reading the song")
def _features(key: str, _content: bytes) -> SongFeatures:
    sound = decoded(_content, "song")
    return features_of(sound.samples, name="song", sha256=key)


def _check_length(name: str, content: bytes) -> None:
    """Refuse long songs by their header, before decoding: a small file can hold hours."""
    import soundfile

    try:
        with decoder_errors(content):
            seconds = soundfile.info(io.BytesIO(content)).duration
    except soundfile.LibsndfileError:
        # Decoding raises the error that says why.
        return
    if seconds > _MAX_UPLOAD_S:
        raise FormatError(
            f"{seconds / 60:.0f} minutes of sound, more than {_MAX_UPLOAD_S / 60:g}",
            hint="cut it: a dance on this page takes up to two minutes",
            path=Path(name),
        )
