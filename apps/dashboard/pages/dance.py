"""Page Dance: dances to a made or an uploaded song, by a trained dancer or a dance database."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from apps.dances.report import DANCE_MEASURES
from apps.dashboard.parts.dancers import (
    OpenDance,
    OpenDancer,
    dance_cache,
    dance_of_song,
    dancer_sources,
    film_cache,
    film_of_dance,
)
from apps.dashboard.parts.files import chooser
from apps.dashboard.parts.messages import plain, show_error
from apps.dashboard.parts.result_cache import cancellable_result
from apps.dashboard.parts.songs import (
    ChosenDance,
    OpenSong,
    choose_part,
    choose_song,
    show_song_facts,
)
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.widgets import (
    offer,
    offer_player,
    offer_table,
    show_player,
    show_table,
    state_units,
)
from deepphase.errors import DeepPhaseError
from deepphase.music.containers import has_av

_PLAYER_HEIGHT = 1040
# Measures shown above the table -> their titles.
_HEADLINES = {
    "by_motion": "Moves on the beat",
    "by_motion_chance": "On the beat by chance",
    "speed": "Speed",
    "sliding": "Feet slide",
}
# Begin of the note on the style, which is not a warning.
_STYLE_NOTE = "danced as "
# Speeds below this are shown in centimetres per second.
_SLOW_M_S = 0.1
_UNITS = {"m/s3": "m/s³", "degrees/s": "°/s"}


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
            dance = _dance(opened, song, chosen, key)
            if dance is not None:
                _show(dance)
                _film(dance, song, key)
                _measures(dance)


def _trials(dancer: OpenDancer) -> None:
    """Say how well the dancer followed songs when it was trained."""
    if dancer.trials:
        with st.expander("How well it follows songs", icon=":material/hearing:", expanded=True):
            st.markdown("\n".join(f"- {plain(_title(each))}." for each in dancer.trials))


def _dance(
    dancer: OpenDancer, song: OpenSong, chosen: ChosenDance, key: Hashable
) -> OpenDance | None:
    """The dance, cached or made now; None if it was cancelled or failed."""
    return cancellable_result(
        dance_cache(),
        key,
        lambda progress: dance_of_song(dancer, song, chosen, progress),
        "A dance",
    )


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
        film_cache(), ("film", key), lambda progress: film_of_dance(dance, song, progress), "A film"
    )
    if film is not None:
        offer("Film (MP4)", film, "dance.mp4", "video/mp4", "dance film")


def _show(dance: OpenDance) -> None:
    show_player([dance.take], height=_PLAYER_HEIGHT, title="Dance")
    for note in dance.notes:
        draw = st.info if note.startswith(_STYLE_NOTE) else st.warning
        draw(plain(_title(note)) + ".", icon=":material/info:")
    for finding in dance.findings:
        draw, icon = (
            (st.success, ":material/check_circle:")
            if finding.good
            else (st.warning, ":material/warning:")
        )
        draw(plain(_title(finding.text)) + ".", icon=icon)
    with st.container(horizontal=True):
        for words, suffix, mime in (
            ("BVH", "bvh", "text/plain"),
            ("GLB", "glb", "model/gltf-binary"),
            ("Phases (CSV)", "csv", "text/csv"),
        ):
            if suffix in dance.files:
                offer(words, dance.files[suffix], f"dance.{suffix}", mime, f"dance {suffix}")
        offer_player(lambda: [dance.take], "dance", "dance player")
        offer("Report (ZIP)", dance.report, "dance.zip", "application/zip", "dance report")
    state_units(dance.result.clip.source.unit_m)
    if "csv" in dance.files:
        st.caption("Tables of phases have seconds, cycles and hertz.")


def _measures(dance: OpenDance) -> None:
    """Show the measures of the dance beside those of the recorded dances."""
    if not dance.rows:
        return
    known = {row[0]: row for row in dance.rows}
    headlines = {
        words: known[name.replace("_", " ")]
        for name, words in _HEADLINES.items()
        if name.replace("_", " ") in known
    }
    for column, (words, row) in zip(st.columns(len(headlines)), headlines.items(), strict=True):
        name, unit, value, *recorded = row
        column.metric(
            words, _quantity(value, unit, value),
            f"recorded {_quantity(recorded[0], unit, value)}" if recorded and recorded[0] else None,
            delta_color="off", delta_arrow="off", help=DANCE_MEASURES[name.replace(" ", "_")][1],
        )  # fmt: skip
    with st.expander(
        "All measures, beside those of recorded dances", icon=":material/table_chart:"
    ):
        columns = zip(*dance.rows, strict=True)
        table = {
            _title(each): list(column) for each, column in zip(dance.columns, columns, strict=True)
        }
        table["Measure"] = [_title(row[0]) for row in dance.rows]
        table["Unit"] = [_UNITS.get(row[1], row[1]) for row in dance.rows]
        table["What it is"] = [DANCE_MEASURES[row[0].replace(" ", "_")][1] for row in dance.rows]
        show_table("measures", table, height=36 * (len(dance.rows) + 1))
        offer_table(dance.columns, dance.rows, "measures", "dance measures")


def _quantity(value: str, unit: str, beside: str) -> str:
    """A value with its unit; both it and the value beside it are in cm/s where that is slow."""
    if unit == "m/s" and abs(float(beside)) < _SLOW_M_S:
        value, unit = f"{100 * float(value):.2g}", "cm/s"
    return f"{value} {_UNITS.get(unit, unit)}".strip()


def _title(words: str) -> str:
    return words[:1].upper() + words[1:]
