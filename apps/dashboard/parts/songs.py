"""Songs of page Dance: of the folder, made by formula, or uploaded; and the part that is danced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import streamlit as st

from deepphase.apps.dashboard.parts.folder import open_folder, stamp_of
from deepphase.apps.dashboard.parts.messages import shared_cache
from deepphase.apps.dashboard.parts.session import safe_name, session
from deepphase.apps.dashboard.parts.widgets import choose_one
from deepphase.apps.reports.player import ogg_vorbis
from deepphase.errors import FormatError
from deepphase.music.audio import decoded, has_av, stated_duration_s
from deepphase.music.beats_file import BEATS_SUFFIX, GivenBeats, beats_beside, read_beats
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures, features_of
from deepphase.steering.dance import DanceRequest
from deepphase.synthetic.song import make_song

_FOLDER, _MADE, _FILE = "Folder", "Made", "Your own"
_MIN_SONG_S, _MAX_MADE_SONG_S, _DEFAULT_SONG_S = 4, 120, 20
_MAX_SEED = 9999
_SWING = {"Straight": 0.5, "Swing": 2 / 3}
# Dances to one passage, of which the best is shown first.
_TRIES = (1, 2, 4, 8)
MAX_SONG_MB = 32
_SONG_SUFFIXES = ("wav", "ogg", "flac", "mp3")
_CONTAINER_SUFFIXES = ("m4a", "aac", "wma", "mp4", "mov", "mkv", "webm")
_BEATS_SUFFIXES = (BEATS_SUFFIX.removeprefix("."), "txt", "csv")
_MAX_UPLOAD_S = 600.0
# Seconds of a song that are danced to at first.
_FIRST_S = 30.0
# Songs in the caches that all sessions share.
_CACHED_SONGS = 12
# First bytes of a sound file -> its suffix.
_SUFFIXES = {
    b"RIFF": ".wav",
    b"OggS": ".ogg",
    b"fLaC": ".flac",
    b"ID3": ".mp3",
    b"\xff\xfb": ".mp3",
    b"\xff\xf3": ".mp3",
    b"\xff\xf2": ".mp3",
}
# Containers and others, which the player encodes again.
_OTHER_SUFFIX = ".sound"


@dataclass(frozen=True, eq=False)
class OpenSong:
    """The chosen song."""

    key: Hashable
    features: SongFeatures
    content: bytes
    beats_given: bool = False

    def as_file(self) -> AbstractContextManager[Path]:
        """A temporary file of the song under a safe name in the folder of the session."""
        suffix = next((s for begin, s in _SUFFIXES.items() if self.content.startswith(begin)), None)
        return session().uploaded(self.content, suffix or _OTHER_SUFFIX)

    @property
    def facts(self) -> str:
        """Length, tempo and metre in one line, and how reliable they are."""
        features = self.features
        others = " or ".join(f"{tempo:.0f}" for tempo in features.other_tempi)
        begin = "may be counted at" if features.has_beat else "perhaps"
        parts = [f"{features.duration_s:.1f} s", features.rhythm]
        parts += [f"{begin} {others} a minute"] if others else []
        if self.beats_given:
            parts.append("beats as given")
        elif features.has_beat:
            bars = f", in the bars {features.bar_confidence:.0%}" if features.beats_per_bar else ""
            parts.append(f"confidence in the beats {features.beat_confidence:.0%}{bars}")
        return " · ".join(parts)


def choose_song() -> OpenSong | None:
    """Draw the controls that choose a song; None, with a notice, if no file is uploaded yet."""
    songs = _folder_songs()
    kind = choose_one("Song", [*([_FOLDER] if songs else []), _MADE, _FILE], key="song kind")
    if kind == _FOLDER:
        name = st.selectbox("Song of the folder", list(songs), key="song of the folder")
        return folder_song(songs[name], name, _tempo_hint())
    if kind == _FILE:
        return _upload_control()
    columns = st.columns(2)
    bpm = columns[0].slider("Tempo (beats/min)", 70, 160, 104, key="song tempo")
    seed = columns[1].number_input(
        "Song number", 0, _MAX_SEED, 50, key="song seed",
        help="Each number gives another key, other chords and other drums",
    )  # fmt: skip
    columns = st.columns(2)
    beats = choose_one("Beats in a bar", [3, 4], default=4, place=columns[0], key="song metre")
    swing = choose_one("Off-beats", list(_SWING), place=columns[1], key="song swing")
    seconds = st.slider(
        "Length of the song (s)", _MIN_SONG_S, _MAX_MADE_SONG_S, _DEFAULT_SONG_S, key="song seconds"
    )
    return made_song(int(seed), float(seconds), float(bpm), beats, _SWING[swing])


def _folder_songs() -> dict[str, Path]:
    """Name -> sound file of the open folder, in the order of their names."""
    found = open_folder()
    if found is None:
        return {}
    paths = sorted(Path(path) for path, *_ in found.songs)
    return {path.relative_to(found.path).as_posix(): path for path in paths}


def _upload_control() -> OpenSong | None:
    suffixes = upload_suffixes()
    file = st.file_uploader(
        "Sound file", type=suffixes, max_upload_size=MAX_SONG_MB, key="song file",
        help="Files are private and are removed when this browser tab closes.",
    )  # fmt: skip
    beats = st.file_uploader(
        "Beats (optional)", type=list(_BEATS_SUFFIXES), max_upload_size=1, key="beats file",
        help="One time in seconds a line, optionally with the number of the beat in its bar, or "
        "labels of Audacity. Without this file, beats are detected.",
    )  # fmt: skip
    if file is None:
        st.info(
            f"Drop a song here: {', '.join(suffixes)}, up to {MAX_SONG_MB} MB.",
            icon=":material/music_note:",
        )
        return None
    given = None
    if beats is not None:
        with session().uploaded(bytes(beats.getbuffer()), BEATS_SUFFIX, beats.name) as path:
            given = replace(read_beats(path), path=Path(safe_name(beats.name)))
    return uploaded_song(file.name, bytes(file.getbuffer()), given, _tempo_hint())


def _tempo_hint() -> float | None:
    """The control of about how many beats a minute a song has; None if nothing is chosen."""
    return st.number_input(
        "Beats a minute (optional)", 45.0, 220.0, None, step=1.0, key="tempo hint",
        help="Where beats are found at half or twice the tempo that you count",
    )  # fmt: skip


def upload_suffixes() -> list[str]:
    """Suffixes of the songs that can be sent; containers and videos need PyAV."""
    return [*_SONG_SUFFIXES, *(_CONTAINER_SUFFIXES if has_av() else ())]


def choose_part(song: OpenSong, about: str) -> list[DanceRequest]:
    """Draw the controls that choose a part of a song and how it is danced to, once or more."""
    start, stop = _choose_passage(song)
    columns = st.columns(2, vertical_alignment="bottom")
    key = f"dance seed {about}"
    seed = columns[0].number_input(
        "Seed", 0, _MAX_SEED, 0, key=key, help="Each seed gives another dance"
    )
    tries = choose_one(
        "Best of", _TRIES, place=columns[1], key="tries",
        help="So many dances of seeds that follow each other; the one that is most on the beat and "
        "in the bars, beyond chance, is shown, and the others can be chosen",
    )  # fmt: skip

    def again() -> None:
        st.session_state[key] = (int(st.session_state.get(key, 0)) + tries) % _MAX_SEED

    st.button(
        "Dance it again", icon=":material/replay:", on_click=again,
        help="The same passage with seeds that were not danced yet",
    )  # fmt: skip
    variety = None
    if st.toggle("Choose the variety", key="varied"):
        variety = st.slider(
            "Variety", 0.0, 2.0, 0.5, step=0.1, key="variety",
            help="A trained dancer continues from another pose every 8 / variety seconds, 5.3 s "
            "without a choice; a database chooses among pieces that cost up to so much more",
        )  # fmt: skip
    seeds = range(int(seed), int(seed) + tries)
    return [DanceRequest(start, stop - start, number, variety) for number in seeds]


def _choose_passage(song: OpenSong) -> tuple[float, float]:
    """First and last second of the part that is danced to."""
    length = song.features.duration_s
    if length <= _MIN_SONG_S + 1:
        return 0.0, min(length, _MAX_MADE_SONG_S)
    whole, key = round(length, 1), f"passage {song.key}"
    chosen = st.slider(
        "Passage (s)", 0.0, whole, (0.0, min(whole, _FIRST_S)), step=0.5, key=key, format="%.1f",
        help=f"The song is {length:.1f} s long; a dance takes up to {_MAX_MADE_SONG_S} s of it",
    )  # fmt: skip
    start = min(chosen[0], length - _MIN_SONG_S)
    stop = min(max(chosen[1], start + _MIN_SONG_S), start + _MAX_MADE_SONG_S, length)
    if (start, stop) != chosen and stop < whole - 0.1:
        st.caption(f"{start:.1f} to {stop:.1f} s are danced to.")
    return start, stop


def _shared(key: Hashable, make: Callable[[], Any], what: str = "Reading the song") -> Any:
    """What all sessions share of a song, made once."""
    return shared_cache("songs", _CACHED_SONGS).find_or_make(key, lambda _: make(), what)


def made_song(seed: int, seconds: float, bpm: float, beats_per_bar: int, swing: float) -> OpenSong:
    """A song by formula; see :func:`deepphase.synthetic.song.make_song`."""

    def made() -> OpenSong:
        song = make_song(seed, seconds, tempo_bpm=bpm, beats_per_bar=beats_per_bar, swing=swing)
        content = ogg_vorbis(song.samples, song.sample_rate)
        features = features_of(song.samples, name=f"made song {bpm:g} bpm")
        return OpenSong(hashlib.sha256(content).hexdigest(), features, content)

    key = "made", seed, seconds, bpm, beats_per_bar, swing
    return cast(OpenSong, _shared(key, made, "Making the song"))


def folder_song(path: Path, name: str, bpm: float | None = None) -> OpenSong:
    """A song of the open folder, with the beats in the file beside it if there is one."""
    stamp = stamp_of(path)
    _check_size(stamp[2], name)
    found = beats_beside(path)
    beats = None if found is None else stamp_of(found)

    def opened() -> OpenSong:
        content = path.read_bytes()
        _check_length(content, name)
        features = replace(song_features(path, bpm=bpm), name=path.stem)
        return OpenSong((features.sha256, beats, bpm), features, content, beats is not None)

    return cast(OpenSong, _shared((stamp, beats, name, bpm), opened))


def uploaded_song(
    file: str, content: bytes, beats: GivenBeats | None = None, bpm: float | None = None
) -> OpenSong:
    """The song in an uploaded file, with its beats if they are given."""
    name = safe_name(file)
    _check_size(len(content), name)
    if not content:
        raise FormatError(
            "this is an empty file without sound", hint="upload it again", path=Path(name)
        )
    key = (hashlib.sha256(content).hexdigest(), None if beats is None else beats.sha256, bpm)
    try:
        _check_length(content, name)
        about: dict[str, Any] = {"name": "song", "sha256": key[0], "beats": beats, "bpm": bpm}
        features: SongFeatures = _shared(
            key, lambda: features_of(decoded(content, "song"), **about)
        )
    except FormatError as error:
        if error.line is not None:  # of the file of beats
            raise
        raise FormatError(error.fact, hint=error.hint, path=Path(name)) from None
    # The cached features are shared by all sessions; the name is this session's.
    return OpenSong(key, replace(features, name=name), content, beats is not None)


def _check_size(size: int, name: str) -> None:
    if size > MAX_SONG_MB * 1_000_000:
        raise FormatError(
            f"the file has {size / 1e6:,.0f} MB, more than {MAX_SONG_MB}",
            hint="cut it, or send it as .ogg or .mp3",
            path=Path(name),
        )


def _check_length(content: bytes, name: str) -> None:
    """Refuse long songs by their header, before decoding: a small file can hold hours."""
    seconds = stated_duration_s(content, name)
    if seconds > _MAX_UPLOAD_S:
        raise FormatError(
            f"there are {seconds / 60:.0f} minutes of sound, more than {_MAX_UPLOAD_S / 60:g}",
            hint="cut it: a dance on this page takes up to two minutes",
            path=Path(name),
        )
