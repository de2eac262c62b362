"""Songs to dance to: made by formula, or from the reader's own disk."""

from __future__ import annotations

import io
import secrets
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from apps.pages.parts.collection import content_key
from apps.pages.parts.intake import shown_name
from apps.pages.parts.session import session
from deepphase.errors import FormatError
from deepphase.music.audio import decoded
from deepphase.music.features import SongFeatures, features_of
from deepphase.synthetic.song import make_song

MOST_MEGABYTES = 32
SUFFIXES = ("wav", "ogg", "flac", "mp3")
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


def taken_in_song(file: str, content: bytes) -> OpenSong:
    """The song in a file that a reader sent.

    Raises
    ------
    FormatError
        Where it is no sound, damaged, or longer than a page is for.
    """
    name = shown_name(file)
    if len(content) > MOST_MEGABYTES * 1_000_000:
        raise FormatError(
            f"{len(content) / 1e6:,.0f} MB, more than {MOST_MEGABYTES}",
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
