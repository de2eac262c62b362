"""Page Dance: dances to a made or an uploaded song, by a trained dancer or a dance database."""

from __future__ import annotations

import streamlit as st

from deepphase.apps.dashboard.parts import widgets
from deepphase.apps.dashboard.parts.dancers import OpenDance, OpenDancer, dancer_sources
from deepphase.apps.dashboard.parts.files import chooser
from deepphase.apps.dashboard.parts.messages import plain, show_error
from deepphase.apps.dashboard.parts.result_cache import cancellable_result, shared_cache
from deepphase.apps.dashboard.parts.songs import OpenSong, choose_part, choose_song
from deepphase.errors import DeepPhaseError
from deepphase.steering.dance import DanceRequest

_PLAYER_HEIGHT = 1040
# Dances in the cache that all sessions share.
_CACHED_DANCES = 16
# Measures shown above the table -> their titles.
_HEADLINES = {
    "by_motion": "Moves on the beat",
    "by_motion_chance": "On the beat by chance",
    "speed": "Speed",
    "sliding": "Feet slide",
}


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Dance",
        "Choose or drop a song, and get a dance to it: from a trained network, or put together "
        "from captured dances. The player keeps the dance in time with the song.",
    )
    left, right = widgets.wide_columns("dance", [3, 7])
    opened = song = None
    requests: list[DanceRequest] = []
    with left:
        song_place, dancer_place = st.container(), st.container()
        try:
            with song_place:
                song = choose_song()
            with dancer_place:
                source = chooser("Dancer", "dancer", dancer_sources())
            opened = source.open()
            if song is not None:
                song_place.caption(song.facts)
                requests = choose_part(song, opened.source.has_lock, source.id)
            if opened.trials:
                # How well the dancer followed songs when it was trained.
                with st.expander(
                    "How well it follows songs", icon=":material/hearing:", expanded=True
                ):
                    st.markdown(
                        "\n".join(f"- {plain(widgets.sentence(own))}." for own in opened.trials)
                    )
        except DeepPhaseError as error:
            show_error(error)
    with right:
        if opened is not None and song is not None and requests:
            _dances(opened, song, requests)


def _dances(opened: OpenDancer, song: OpenSong, requests: list[DanceRequest]) -> None:
    """Draw the dance to a song, or of several tries the best, and the choice of another."""
    dances: dict[int, OpenDance] = {}
    for request in requests:
        dance = cancellable_result(
            shared_cache("dances", _CACHED_DANCES),
            # With the name, so that no session sees the name of another session's song.
            (opened.key, song.key, song.features.name, request),
            lambda progress, request=request: opened.dance(song, request, progress),  # type: ignore[misc]
            f"Dance {len(dances) + 1} of {len(requests)}" if len(requests) > 1 else "A dance",
        )
        if dance is None:
            return
        dances[request.seed] = dance
    ranked = sorted(dances, key=lambda seed: -dances[seed].score)
    shown = ranked[0]
    if len(ranked) > 1:
        shown = widgets.choose_one(
            "Dances, the one that follows the song best first", ranked,
            key=f"shown {hash((opened.key, song.key, *requests))}",
            format_func=lambda seed: f"Seed {seed}: {100 * dances[seed].score:+.0f} %",
        )  # fmt: skip
    dance = dances[shown]
    _show(dance)
    widgets.show_measures({"this dance": dance.measures}, _HEADLINES, reference="recorded dances")


def _show(dance: OpenDance) -> None:
    widgets.show_player(dance.take, height=_PLAYER_HEIGHT, title="Dance")
    result = dance.result
    lines = [f"- :material/info: {plain(widgets.sentence(note))}." for note in result.notes]
    for finding in dance.findings:
        icon = ":green[:material/check_circle:]" if finding.good else ":orange[:material/info:]"
        lines.append(f"- {icon} {plain(widgets.sentence(finding.text))}.")
    if lines:
        st.markdown("\n".join(lines))
    with st.container(horizontal=True):
        widgets.offer_motion(result.motion, "dance", result.clip.source.unit_m)
        if result.phases is not None:
            widgets.offer(
                "Phases (CSV)", lambda: dance.file(".csv"), "dance.csv",
                help="In seconds, cycles and hertz",
            )  # fmt: skip
        widgets.offer_player(dance.take, "dance")
        widgets.offer("Report (ZIP)", dance.report, "dance.zip")
