"""Page Dance: dances to a made or an uploaded song, by a trained dancer or a dance database."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from deepphase.apps.dashboard.parts.dancers import (
    OpenDance,
    OpenDancer,
    dance_of_song,
    dancer_sources,
    film_of_dance,
)
from deepphase.apps.dashboard.parts.files import chooser
from deepphase.apps.dashboard.parts.messages import plain, show_error
from deepphase.apps.dashboard.parts.result_cache import cancellable_result, shared_cache
from deepphase.apps.dashboard.parts.songs import (
    OpenSong,
    choose_part,
    choose_song,
    show_song_facts,
)
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    offer,
    offer_motion,
    offer_player,
    sentence,
    show_measures,
    show_player,
    state_units,
)
from deepphase.errors import DeepPhaseError
from deepphase.music.containers import has_av

_PLAYER_HEIGHT = 1040
# Dances and films in the caches that all sessions share.
_CACHED_DANCES, _CACHED_FILMS = 6, 3
# Measures shown above the table -> their titles, and which values are better.
_HEADLINES = {
    "by_motion": ("Moves on the beat", "more is better"),
    "by_motion_chance": ("On the beat by chance", ""),
    "speed": ("Speed", ""),
    "sliding": ("Feet slide", "less is better"),
}
# Begin of the note on the style, which is not a warning.
_STYLE_NOTE = "danced as "


def page() -> None:
    """Draw the page."""
    heading(
        "Dance",
        "Choose or drop a song, and get a dance to it: from a trained network, or put together "
        "from captured dances. The player keeps the dance in time with the song.",
    )
    left, right = wide_columns("dance", [3, 7])
    opened = song = chosen = None
    with left:
        source = chooser("Dancer", "dancer", dancer_sources())
        try:
            song = choose_song()
            opened = source.open()
            if song is not None:
                show_song_facts(song)
                chosen = choose_part(song, opened.lock, opened.styles, source.id)
            _trials(opened)
        except DeepPhaseError as error:
            show_error(error)
    with right:
        if opened is not None and song is not None and chosen is not None:
            # With the name, so that no session sees the name of another session's song.
            key = (opened.key, song.key, song.features.name, chosen)
            dance = cancellable_result(
                shared_cache("dances", _CACHED_DANCES),
                key,
                lambda progress: dance_of_song(opened, song, chosen, progress),
                "A dance",
            )
            if dance is not None:
                _show(dance)
                _film(dance, song, key)
                show_measures(dance.measures, _HEADLINES, "dance measures")


def _trials(dancer: OpenDancer) -> None:
    """Say how well the dancer followed songs when it was trained."""
    if dancer.trials:
        with st.expander("How well it follows songs", icon=":material/hearing:", expanded=True):
            st.markdown("\n".join(f"- {plain(sentence(each))}." for each in dancer.trials))


def _film(dance: OpenDance, song: OpenSong, key: Hashable) -> None:
    """Offer a film of the dance with its sound, drawn when it is asked for."""
    if not has_av():
        st.caption(
            "For a film with sound, press the film button of the player: it records in this "
            "browser, as WebM, from the moment shown."
        )
        return
    if not st.toggle("Film with sound", key="film", help="Draws 30 pictures a second, MP4"):
        return
    film = cancellable_result(
        shared_cache("films", _CACHED_FILMS),
        ("film", key),
        lambda progress: film_of_dance(dance, song, progress),
        "A film",
    )
    if film is not None:
        offer("Film (MP4)", film, "dance.mp4", "video/mp4", "dance film")


def _show(dance: OpenDance) -> None:
    show_player(dance.take, height=_PLAYER_HEIGHT, title="Dance")
    for note in dance.result.notes:
        draw = st.info if note.startswith(_STYLE_NOTE) else st.warning
        draw(plain(sentence(note)) + ".", icon=":material/info:")
    for finding in dance.findings:
        draw, icon = (
            (st.success, ":material/check_circle:")
            if finding.good
            else (st.warning, ":material/warning:")
        )
        draw(plain(sentence(finding.text)) + ".", icon=icon)
    with st.container(horizontal=True):
        offer_motion(dance.result.motion, "dance", "dance")
        if dance.result.phases is not None:
            phases = dance.files()["csv"]
            offer("Phases (CSV)", phases, "dance.csv", "text/csv", "dance csv")
        offer_player(dance.take, "dance", "dance player")
        offer("Report (ZIP)", dance.report, "dance.zip", "application/zip", "dance report")
    state_units(dance.result.clip.source.unit_m)
    if dance.result.phases is not None:
        st.caption("Tables of phases have seconds, cycles and hertz.")
