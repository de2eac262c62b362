"""Songs to dance to: made by formula, or from the reader's own disk."""

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
from deepphase.music.features import MIN_CONFIDENCE, SongFeatures, features_of
from deepphase.synthetic.song import make_song

_MADE, _FILE = "Made", "Your own"
_SHORTEST_S, _MAX_MADE_SONG_S, _USUAL_S = 4, 120, 20
_MOST_SEED = 9999
_SWING = {"Straight": 0.5, "Swing": 2 / 3}


def choose_song() -> OpenSong | None:
    """Draw the choosers of a song; None where there is none yet, which the page has said.

    Raises FormatError where a file is no song.
    """
    kind = st.segmented_control(
        "Song", [_MADE, _FILE], default=_MADE, required=True, key="song kind"
    )
    if kind == _FILE:
        return _of_file()
    columns = st.columns(2)
    bpm = columns[0].slider("Tempo (beats/min)", 70, 160, 104, key="song tempo")
    seed = columns[1].number_input("Song number", 0, _MOST_SEED, 50, key="song seed",
        help="Another number, another key, other chords and drums",
    )  # fmt: skip
    columns = st.columns(2)
    beats = columns[0].segmented_control(
        "Beats in a bar", [3, 4], default=4, required=True, key="song metre"
    )
    swing = columns[1].segmented_control(
        "Off-beats", list(_SWING), default="Straight", required=True, key="song swing"
    )
    seconds = st.slider(
        "Song's seconds", _SHORTEST_S, _MAX_MADE_SONG_S, _USUAL_S, key="song seconds"
    )
    return made_song(
        int(seed), float(seconds), float(bpm), int(beats or 4), _SWING[swing or "Straight"]
    )


def _of_file() -> OpenSong | None:
    file = st.file_uploader(
        "Sound file", type=list(SONG_UPLOAD_SUFFIXES), max_upload_size=MAX_SONG_MB, key="song file",
        help="Nobody else hears it; it is forgotten with this page.",
    )  # fmt: skip
    if file is None:
        st.info(
            f"Drop a song here: {', '.join(SONG_UPLOAD_SUFFIXES)}, up to {MAX_SONG_MB} MB.",
            icon=":material/music_note:",
        )
        return None
    return uploaded_song(file.name, bytes(file.getbuffer()))


def choose_part(song: OpenSong, usual_lock: float | None, about: str) -> DanceRequest:
    """Draw the choosers of a dance to a song.

    Parameters
    ----------
    usual_lock
        How firmly playback is held to the beat by default; None where there is no choice.
    about
        Changes with who dances.
    """
    length = song.features.duration_s
    start = 0.0
    if length > _SHORTEST_S + 1:
        start = st.slider(
            "From (s)", 0.0, float(int(length - _SHORTEST_S)), 0.0, step=0.5,
            key=f"start {song.key}", help=f"The song has {length:.1f} s",
        )  # fmt: skip
    most = min(length - start, float(_MAX_MADE_SONG_S))
    seconds = most
    if most > _SHORTEST_S + 1:
        seconds = st.slider(
            "Seconds", float(_SHORTEST_S), float(round(most, 1)), min(round(most, 1), 30.0),
            step=0.5, key=f"seconds {song.key} {start}",
        )  # fmt: skip
    columns = st.columns(2)
    seed = columns[0].number_input(
        "Seed", 0, _MOST_SEED, 0, key="dance seed", help="Another seed, another dance"
    )
    lock = None
    if usual_lock is not None:
        lock = columns[1].slider(
            "Held to the beat (%)", 0, 100, round(100 * usual_lock), step=5, key=f"lock {about}",
            help="How firmly: playback is up to a tenth faster or slower than captured",
        )  # fmt: skip
    return DanceRequest(
        start, min(seconds, length - start), int(seed), None if lock is None else lock / 100
    )


def show_song_facts(song: OpenSong) -> None:
    """What was heard of a song, in a line."""
    heard = song.features
    parts = [plain(heard.name), f"{heard.duration_s:.1f} s"]
    if heard.beat_confidence >= MIN_CONFIDENCE:
        parts.append(f"{heard.tempo_bpm:.0f} beats a minute")
        if heard.beats_per_bar:
            parts.append(f"{heard.beats_per_bar} in a bar")
    else:
        parts.append("no beat that can be told")
    st.caption(" · ".join(parts))


MAX_SONG_MB = 32
SONG_UPLOAD_SUFFIXES = ("wav", "ogg", "flac", "mp3")
_LONGEST_S = 600.0
# Songs whose features are kept for all sessions together.
_KEPT = 12
# Samples that are encoded at once.
_PIECE = 1 << 16
# First bytes -> what browsers call such files by.
_CONTENT = {b"RIFF": ".wav", b"OggS": ".ogg", b"fLaC": ".flac"}
_OTHERS = ".mp3"


@dataclass(frozen=True, eq=False)
class OpenSong:
    """A song that is open.

    Parameters
    ----------
    key
        Changes with its content.
    features
        What it sounds like.
    content
        Its bytes as a sound file.
    """

    key: Hashable
    features: SongFeatures
    content: bytes

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """Its file under a name of ours, in the session's own folder, for a while."""
        suffix = next((s for begin, s in _CONTENT.items() if self.content.startswith(begin)), None)
        path = session().folder / f"song-{secrets.token_hex(8)}{suffix or _OTHERS}"
        try:
            path.write_bytes(self.content)
            yield path
        finally:
            path.unlink(missing_ok=True)


@st.cache_resource(max_entries=_KEPT, show_spinner="Making the song")
def made_song(seed: int, seconds: float, bpm: float, beats_per_bar: int, swing: float) -> OpenSong:
    """A song by formula; see :func:`deepphase.synthetic.song.make_song`."""
    import soundfile

    song = make_song(seed, seconds, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar, swing=swing)
    file, rate = io.BytesIO(), song.sample_rate
    with soundfile.SoundFile(file, "w", rate, 1, format="OGG", subtype="VORBIS") as encoder:
        # Vorbis takes all that it is given onto the stack.
        for start in range(0, len(song.samples), _PIECE):
            encoder.write(song.samples[start : start + _PIECE])
    content = file.getvalue()
    name = f"made song {bpm:g} bpm"
    return OpenSong(content_key(content), features_of(song.samples, name=name), content)


def uploaded_song(file: str, content: bytes) -> OpenSong:
    """The song in a file that a reader sent.

    Raises
    ------
    FormatError
        Where it is no sound, damaged, or longer than a page is for.
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
        heard = _heard(content_key(content), content)
    except FormatError as error:
        raise FormatError(error.fact, hint=error.hint, path=Path(name)) from None
    # What is kept for all is the sound; the name is this reader's.
    return OpenSong(heard.sha256, replace(heard, name=name), content)


@st.cache_resource(max_entries=_KEPT, show_spinner="Listening to the song")
def _heard(key: str, _content: bytes) -> SongFeatures:
    sound = decoded(_content, "song")
    return features_of(sound.samples, name="song", sha256=key)


def _check_length(name: str, content: bytes) -> None:
    """A small file can hold hours: that is told by its front, before it is decoded."""
    import soundfile

    try:
        seconds = soundfile.info(io.BytesIO(content)).duration
    except soundfile.LibsndfileError:
        # Who decodes it says why.
        return
    if seconds > _LONGEST_S:
        raise FormatError(
            f"{seconds / 60:.0f} minutes of sound, more than {_LONGEST_S / 60:g}",
            hint="cut it: a dance on this page takes up to two minutes",
            path=Path(name),
        )
