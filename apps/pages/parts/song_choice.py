"""The choosers of page Dance: which song, which part of it, how it is danced."""

from __future__ import annotations

import streamlit as st

from apps.pages.parts.songs import MOST_MEGABYTES, SUFFIXES, OpenSong, made_song, taken_in_song
from apps.pages.parts.telling import plain
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SURE

_MADE, _FILE = "Made", "Your own"
_SHORTEST_S, _LONGEST_S, _USUAL_S = 4, 120, 20
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
    seconds = st.slider("Song's seconds", _SHORTEST_S, _LONGEST_S, _USUAL_S, key="song seconds")
    return made_song(
        int(seed), float(seconds), float(bpm), int(beats or 4), _SWING[swing or "Straight"]
    )


def _of_file() -> OpenSong | None:
    file = st.file_uploader(
        "Sound file", type=list(SUFFIXES), max_upload_size=MOST_MEGABYTES, key="song file",
        help="Nobody else hears it; it is forgotten with this page.",
    )  # fmt: skip
    if file is None:
        st.info(
            f"Drop a song here: {', '.join(SUFFIXES)}, up to {MOST_MEGABYTES} MB.",
            icon=":material/music_note:",
        )
        return None
    return taken_in_song(file.name, bytes(file.getbuffer()))


def choose_part(song: OpenSong, usual_lock: float | None, about: str) -> DanceWish:
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
    most = min(length - start, float(_LONGEST_S))
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
    return DanceWish(
        start, min(seconds, length - start), int(seed), None if lock is None else lock / 100
    )


def tell_song(song: OpenSong) -> None:
    """What was heard of a song, in a line."""
    heard = song.features
    parts = [plain(heard.name), f"{heard.duration_s:.1f} s"]
    if heard.beat_confidence >= SURE:
        parts.append(f"{heard.tempo_bpm:.0f} beats a minute")
        if heard.beats_per_bar:
            parts.append(f"{heard.beats_per_bar} in a bar")
    else:
        parts.append("no beat that can be told")
    st.caption(" · ".join(parts))
