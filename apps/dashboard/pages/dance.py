"""Page Dance: dances to a made or an uploaded song, by a trained dancer or a dance database."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from deepphase.apps.dashboard.parts.dancers import (
    OpenDance,
    OpenDancer,
    dance_of_song,
    dancer_sources,
)
from deepphase.apps.dashboard.parts.files import chooser
from deepphase.apps.dashboard.parts.messages import plain, show_error
from deepphase.apps.dashboard.parts.result_cache import cancellable_result, shared_cache
from deepphase.apps.dashboard.parts.songs import (
    ChosenDance,
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

_PLAYER_HEIGHT = 1040
# Dances in the cache that all sessions share.
_CACHED_DANCES = 16
# Measures shown above the table -> their titles, and which values are better.
_HEADLINES = {
    "by_motion": ("Moves on the beat", "more"),
    "by_motion_chance": ("On the beat by chance", ""),
    "speed": ("Speed", ""),
    "sliding": ("Feet slide", "less"),
}


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
        song_place, dancer_place = st.container(), st.container()
        try:
            with song_place:
                song = choose_song()
            with dancer_place:
                source = chooser("Dancer", "dancer", dancer_sources())
            opened = source.open()
            if song is not None:
                with song_place:
                    show_song_facts(song)
                chosen = choose_part(song, opened.source.has_lock, source.id)
            _trials(opened)
        except DeepPhaseError as error:
            show_error(error)
    with right:
        if opened is not None and song is not None and chosen is not None:
            _dances(opened, song, chosen)


def _dances(opened: OpenDancer, song: OpenSong, chosen: ChosenDance) -> None:
    """Draw the dance to a song, or of several tries the best, and the choice of another."""
    dances: dict[int, tuple[OpenDance, Hashable]] = {}
    for each in chosen.seeds():
        # With the name, so that no session sees the name of another session's song.
        key: Hashable = (opened.key, song.key, song.features.name, each.key)
        dance = cancellable_result(
            shared_cache("dances", _CACHED_DANCES),
            key,
            lambda progress, each=each: dance_of_song(opened, song, each, progress),  # type: ignore[misc]
            f"Dance {len(dances) + 1} of {chosen.tries}" if chosen.tries > 1 else "A dance",
        )
        if dance is None:
            return
        dances[each.request.seed] = (dance, key)
    ranked = sorted(dances, key=lambda seed: -dances[seed][0].score)
    shown = ranked[0]
    if len(ranked) > 1:
        shown = st.segmented_control(
            "Dances, the one that follows the song best first", ranked, default=ranked[0],
            required=True, key=f"shown {hash((opened.key, song.key, chosen.key))}",
            format_func=lambda seed: _rank_words(seed, dances[seed][0]),
        ) or ranked[0]  # fmt: skip
    dance, key = dances[shown]
    _show(dance)
    show_measures(
        {"this dance": dance.measures},
        _HEADLINES,
        "dance measures",
        reference="recorded dances",
    )


def _rank_words(seed: int, dance: OpenDance) -> str:
    return f"Seed {seed}: {100 * dance.score:+.0f} %"


def _trials(dancer: OpenDancer) -> None:
    """Say how well the dancer followed songs when it was trained."""
    if dancer.trials:
        with st.expander("How well it follows songs", icon=":material/hearing:", expanded=True):
            st.markdown("\n".join(f"- {plain(sentence(each))}." for each in dancer.trials))


def _show(dance: OpenDance) -> None:
    show_player(dance.take, height=_PLAYER_HEIGHT, title="Dance")
    said = [(f":material/info: {plain(sentence(note))}.") for note in dance.result.notes]
    for finding in dance.findings:
        icon = ":green[:material/check_circle:]" if finding.good else ":orange[:material/info:]"
        said.append(f"{icon} {plain(sentence(finding.text))}.")
    if said:
        st.markdown("\n".join(f"- {each}" for each in said))
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
