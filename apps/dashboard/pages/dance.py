"""Page Dance: dances to a made or an uploaded song, by a trained dancer or a dance database."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from deepphase.apps.dances import DanceSource, dance_report, dance_take
from deepphase.apps.dashboard.parts import collection, messages, widgets
from deepphase.apps.dashboard.parts.choosers import FileKind, ListedSource, chooser
from deepphase.apps.dashboard.parts.folder import FoundFile, open_folder
from deepphase.apps.dashboard.parts.songs import OpenSong, choose_part, choose_song
from deepphase.apps.reports.page import frame_table, phase_columns
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.health import dance_words
from deepphase.controllers.runtime.controller import FORMAT
from deepphase.evaluation.dance import DanceFinding
from deepphase.evaluation.measurement import Measure, values_by_name
from deepphase.files import temporary_folder
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import FORMAT as DATABASE_FORMAT
from deepphase.matching.music.song_tracks import has_song_tracks
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.viewer.take import Take
from deepphase.work import Progress

_PLAYER_HEIGHT = 1040
# Seconds of a dance that are made before the whole.
_BEGIN_S = 3.0
# Session state: whether a dance was shown.
_SHOWN = "dance shown"
# Dances, and databases, in the caches that all sessions share.
_CACHED_DANCES, _CACHED_DATABASES = 16, 3


@dataclass(frozen=True, eq=False)
class OpenDance:
    """A dance as the page shows it; `report` is a ZIP file of its files and its page."""

    take: Take
    measures: list[Measure]
    findings: Sequence[DanceFinding]
    report: bytes
    result: DanceResult

    @property
    def score(self) -> float:
        """How much more it is on the beat and in the bars than by chance; ranks dances."""
        pairs = (("by_motion", "by_motion_chance"), ("bar_height", "bar_height_shifted"))
        values = values_by_name(self.measures)
        return sum(values[own] - values[chance] for own, chance in pairs if own in values)


@dataclass(frozen=True, eq=False)
class OpenDancer:
    """A trained dancer or a dance database; `key` changes with its content."""

    name: str
    key: Hashable
    source: DanceSource
    trials: tuple[str, ...] = ()

    def begin(self, song: OpenSong, request: DanceRequest) -> Take:
        """The first seconds of a dance to a song, to be seen while the whole is made."""
        result = self.source.dance(song.features, replace(request, seconds=_BEGIN_S))
        with song.as_file() as file:
            return replace(dance_take(result, file), note="")

    def dance(self, song: OpenSong, request: DanceRequest, progress: Progress) -> OpenDance:
        """Make a dance to a song, with its report and its files."""
        result = self.source.dance(song.features, request, progress)
        with song.as_file() as file:
            with temporary_folder() as folder:
                _, measures, findings = dance_report(result, self.source, request, file, folder)
                report = widgets.zip_of(folder)
            # The page shows the notes beside the player, so the take has none.
            take = replace(dance_take(result, file), note="")
        return OpenDance(take, measures, findings, report, result)


def dancer_sources() -> list[ListedSource[OpenDancer]]:
    """Dance databases, which repeat less than dancers and never restart; dancers; the shipped."""
    found = open_folder()
    databases = [
        ListedSource(f"database:{file.path}", f"Database: {file.name}", partial(_database, file))
        for file in (found.of_format(DATABASE_FORMAT) if found is not None else [])
        if (layout := file.layout) is not None and has_song_tracks(layout)
    ]
    files = DANCERS.files(lambda file: file.format == FORMAT and MUSIC in file.tracks)
    dancers = [DANCERS.source(file, "Dancer: ") for file in files]
    shipped = partial(_cached, "shipped", "the shipped dancer", DanceSource.shipped)
    return [*databases, *dancers, ListedSource("shipped", "Dancer (shipped)", shipped)]


def _load_dancer(file: FoundFile) -> OpenDancer:
    dancer = Dancer.load(file.path)
    health = dancer.controller.health.get("dance")
    trials = dance_words(health, dancer.reference.values) if isinstance(health, Mapping) else ()
    source = DanceSource.from_dancer(dancer, file.name)
    return OpenDancer(file.name, file.stamp, source, tuple(trials))


DANCERS = FileKind("dancer", _load_dancer)


def _database(file: FoundFile) -> OpenDancer:
    def opened() -> DanceSource:
        return DanceSource.from_database(MotionDatabase.load(file.path), file.name)

    return _cached(file.stamp, file.name, opened)


def _cached(key: Hashable, name: str, load: Callable[[], DanceSource]) -> OpenDancer:
    return messages.shared_cache("dances to choose from", _CACHED_DATABASES).find_or_make(
        key, lambda _: OpenDancer(name, key, load()), "Opening the dances"
    )


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Dance",
        "Choose or drop a song, and get a dance to it: by a trained network, or put together "
        "from captured dances.",
    )
    left, right = widgets.wide_columns("dance", [3, 7])
    bar, place = right.container(key="waits"), widgets.PlayerPlace(right)
    collection.play_open_clip(place, _PLAYER_HEIGHT, _SHOWN)
    opened = song = None
    requests: list[DanceRequest] = []
    with left, messages.shown_errors():
        song = choose_song()
        if song is not None:
            st.caption(song.facts)
        source = chooser("Dancer", "dancer", dancer_sources())
        opened = source.open()
        if song is not None:
            requests = choose_part(song, source.id)
        if opened.trials:
            # How well the dancer followed songs when it was trained.
            with st.expander("How well it follows songs", icon=":material/hearing:", expanded=True):
                st.markdown(_listed(opened.trials))
        if opened.source.credit:
            st.caption(messages.plain(opened.source.credit))
    with right:
        if opened is not None and song is not None and requests:
            st.session_state[_SHOWN] = True
            _dances(opened, song, requests, bar, place)


def _listed(texts: Sequence[str], icons: Sequence[str] = ()) -> str:
    """Texts as a list of sentences, with icons before them."""
    marks = [f"{icon} " for icon in icons] or [""] * len(texts)
    sentences = [f"{messages.plain(widgets.sentence(text))}." for text in texts]
    return "\n".join(f"- {mark}{text}" for mark, text in zip(marks, sentences, strict=True))


def _dances(
    opened: OpenDancer,
    song: OpenSong,
    requests: list[DanceRequest],
    bar: DeltaGenerator,
    place: widgets.PlayerPlace,
) -> None:
    """Draw the dance to a song, or of several tries the best, and the choice of another."""
    dances: dict[int, OpenDance] = {}
    cache = messages.shared_cache("dances", _CACHED_DANCES)
    for request in requests:
        # With the name, so that no session sees the name of another session's song.
        key = (opened.key, song.key, song.features.name, request)
        long = request.seconds is not None and request.seconds > 2 * _BEGIN_S
        if long and not dances and cache.find(key) is None:
            with messages.shown_errors():
                _play(opened.begin(song, request), place)
        number = f" {len(dances) + 1} of {len(requests)}" if len(requests) > 1 else ""
        with bar:
            dance = messages.cancellable_result(
                cache, key, partial(opened.dance, song, request), f"Making the dance{number}"
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
    _show(dance, place)
    widgets.show_measures({"this dance": dance.measures}, "recorded dances")


def _play(take: Take, place: widgets.PlayerPlace) -> None:
    place.show(take, height=_PLAYER_HEIGHT, title="Dance", playing=True)


def _show(dance: OpenDance, place: widgets.PlayerPlace) -> None:
    _play(dance.take, place)
    result = dance.result
    note, good = ":material/info:", ":green[:material/check_circle:]"
    icons = [good if finding.good else f":orange[{note}]" for finding in dance.findings]
    texts = [*result.notes, *(finding.text for finding in dance.findings)]
    if texts:
        st.markdown(_listed(texts, [*[note] * len(result.notes), *icons]))
    with st.container(horizontal=True):
        widgets.offer_motion(result.motion, "dance", result.clip.source.unit_m)
        if (phases := result.phases) is not None:
            widgets.offer_table(
                lambda: frame_table(result.clip.fps, phase_columns(phases)), "dance", "Phases",
                help="In seconds, cycles and hertz",
            )  # fmt: skip
        widgets.offer_player(dance.take, "dance")
        widgets.offer("Report (ZIP)", dance.report, "dance.zip")
