"""Choosers of the pages, the files behind them, and the address, which names what is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

from deepphase.apps.dashboard.parts import folder, session
from deepphase.apps.dashboard.parts.folder import FoundFile, Stamp
from deepphase.apps.dashboard.parts.messages import error_sentence, plain
from deepphase.apps.dashboard.parts.session import Session, unused_name
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError

# Key of the widgets that choose a clip, and the part of the address that says which.
CLIP_KEY = "clip"
MOMENT_KEY, _MOMENT_CLIP = "at", "clip of the moment"
# The part that the player writes where the reader stops (see `keepMoment` of the player's page).
STOPPED_KEY = "now"
# The page, and page and clip of the address when a clip was last shown.
_PAGE, _READS_ON, _LAST = "page", "page reads on", "last address"
_SHOWN, _SUGGESTED = "shown clip", "suggested moment"
_NO_CLIP = "no other clip"
_WRITTEN = "written address: {}"
# Length of the part of a clip that players and figures show, and editors change.
SHOWN_S = 60.0
# Folder, in that which the program was started on, of what is trained on the pages.
TRAININGS_FOLDER = "trainings"
MAX_FILE_MB = 64
# Opened files in the cache of all sessions.
_OPENED = 24
# Session state: key of a chooser -> id of the entry that it shall show.
_TO_CHOOSE = "to choose"
Opened = TypeVar("Opened")
Opened_co = TypeVar("Opened_co", covariant=True)


def open_address(page: str, *, reads_on: bool = False) -> None:
    """Take the moment at which a reader stopped from the address that a link or Back led to."""
    st.session_state[_PAGE], st.session_state[_READS_ON] = page, reads_on
    if is_opened():
        st.session_state.pop(_MOMENT_CLIP, None)
        if STOPPED_KEY in st.query_params:
            st.query_params[MOMENT_KEY] = st.query_params.pop(STOPPED_KEY)


def is_opened() -> bool:
    """Whether a link, a reload or Back led to the address, and no clip of it was shown yet."""
    return st.session_state.get(_LAST) != _page_and_clip()


def _page_and_clip() -> tuple[str, str | None]:
    return st.session_state[_PAGE], st.query_params.get(CLIP_KEY)


def named_by_address(key: str) -> str | None:
    """The value of a key in the address, where a link or Back has changed it; else None."""
    given = st.query_params.get(key)
    return given if given != st.session_state.get(_WRITTEN.format(key)) else None


def write_address(key: str, value: str | None) -> None:
    """Let the address name the value of a key; None removes the key."""
    # Streamlit's own binding leaves out a first choice: Back would lead to what was chosen last.
    if value is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != value:
        st.query_params[key] = value
    st.session_state[_WRITTEN.format(key)] = value


def clip_chooser(names: Sequence[str], place: Any, label: str = "Clip") -> int:
    """Draw the chooser of a clip, and return its index; the address names the clip."""
    if is_opened() or st.session_state.get(CLIP_KEY) not in names:
        st.session_state[CLIP_KEY] = names[shown_index(names)]
        say_unknown(names, place)
    # Not bound to the address by Streamlit; see `write_address`.
    chosen = place.selectbox(label, names, key=CLIP_KEY)
    keep_clip(chosen)
    return names.index(chosen)


def say_unknown(names: Sequence[str], place: Any = st) -> None:
    """Say so where the address names another clip than these; called before one is kept in it."""
    asked = st.query_params.get(CLIP_KEY)
    if asked is not None and asked not in names:
        place.caption(f"These clips have no {plain(asked)}, which the address names.")


def other_clip_chooser(
    names: Sequence[str], index: int, place: Any, words: str | None = None
) -> int | None:
    """Draw the chooser of a clip beside another one, and return its index; None without one."""
    others = [name for name in names if name != names[index]]
    other = place.selectbox(
        "Compared with", [_NO_CLIP, *others], key="compared clip", bind="query-params", help=words
    )
    return None if other == _NO_CLIP else names.index(other)


class Span(NamedTuple):
    """The part of a clip that a page shows, and the second of the clip at which it opens."""

    start_s: float
    stop_s: float
    at_s: float

    @classmethod
    def around(cls, store: ClipStore, index: int, at_s: float) -> Span:
        """The part of a clip around a moment that a page opens with."""
        length_s = float(store.lengths[index]) / store.fps
        latest = max(0.0, round(length_s - SHOWN_S, 1))
        start_s = min(max(0.0, float(int(at_s - SHOWN_S / 4))), latest)
        return cls(start_s, min(length_s, start_s + SHOWN_S), at_s)

    def frames(self, fps: float) -> slice:
        """The frames of the clip at a rate, Hz."""
        return slice(round(self.start_s * fps), round(self.stop_s * fps))

    @property
    def player(self) -> dict[str, Any]:
        """Arguments of `show_player`."""
        at_s = max(0.0, self.at_s - self.start_s)
        return {"at_s": at_s, "clip_from_s": self.start_s, "playing": True}


def choose_span(store: ClipStore, index: int, key: str, place: Any = st) -> Span:
    """The part of a clip around the address's moment that a page shows; long clips get a slider."""
    length_s = float(store.lengths[index]) / store.fps
    usual = Span.around(store, index, moment_of(store.names[index]))
    latest = round(length_s - SHOWN_S, 1)
    if latest <= 0:
        return usual
    words = f"From (s): {SHOWN_S:g} of {length_s:,.0f} s are shown"
    key = f"from {key} {store.names[index]} {usual.at_s}"
    start_s = place.slider(words, 0.0, latest, usual.start_s, step=1.0, key=key)
    return Span(start_s, min(length_s, start_s + SHOWN_S), usual.at_s)


def shown_clip() -> str:
    """Name of the clip that the session's last page showed; empty without one."""
    return str(st.session_state.get(_SHOWN, ""))


def shown_index(names: Sequence[str]) -> int:
    """Index of the clip that the address names, or the last page showed; 0 without one."""
    given = (st.query_params.get(CLIP_KEY), shown_clip())
    return next((names.index(name) for name in given if name in names), 0)


def remember_clip(name: str) -> None:
    """Keep the clip that this page shows, for the next one."""
    if shown_clip() not in ("", name):
        st.query_params.pop(STOPPED_KEY, None)
    st.session_state[_SHOWN] = name


def keep_clip(name: str) -> None:
    """Keep the clip that this page shows in the address, and for the next page."""
    remember_clip(name)
    if st.query_params.get(CLIP_KEY) != name:
        st.query_params[CLIP_KEY] = name
    st.session_state[_LAST] = _page_and_clip()


def choose_clip(name: str) -> None:
    """Choose another clip, from the next run on."""
    for part in (CLIP_KEY, MOMENT_KEY, STOPPED_KEY):
        st.query_params.pop(part, None)
    st.session_state[_SHOWN] = name
    st.session_state.pop(_SUGGESTED, None)


def put_moment(seconds: float) -> None:
    """Keep a moment of the chosen clip in the address."""
    st.query_params.pop(STOPPED_KEY, None)
    st.query_params[MOMENT_KEY] = f"{seconds:.2f}"
    st.session_state[_MOMENT_CLIP] = shown_clip()


def suggest_moment(clip: str, seconds: float, count: int) -> None:
    """Show one of `count` clips, which opens at a moment where the address has none."""
    if shown_clip() not in (clip, "") and st.query_params.get(CLIP_KEY) == shown_clip():
        st.query_params.pop(CLIP_KEY)
    remember_clip(clip)
    st.session_state[_SUGGESTED] = (clip, seconds, count)


def takes_suggestion(names: Sequence[str]) -> bool:
    """Whether no clip of these names is chosen: a page that opens may show a suggested one.

    So may a page of which nothing was chosen, where the first suggestion was of fewer clips.
    """
    shown, address = shown_clip(), st.query_params
    suggested, _, count = st.session_state.get(_SUGGESTED, ("", 0.0, 0))
    opens = is_opened() and CLIP_KEY not in address
    grew = count < len(names) and st.session_state[_READS_ON]
    grew = grew and MOMENT_KEY not in address and STOPPED_KEY not in address
    return shown not in names or (shown == suggested and (opens or grew))


def moment_of(clip: str) -> float:
    """Seconds of the address's moment; the suggested one, else 0, without one of this clip."""
    given = st.query_params.get(MOMENT_KEY)
    if given is None:
        suggested, seconds, _ = st.session_state.get(_SUGGESTED, ("", 0.0, 0))
        return seconds if suggested == clip else 0.0
    # A moment that came with the address belongs to the clip that came with it.
    if st.session_state.setdefault(_MOMENT_CLIP, clip) != clip:
        st.query_params.pop(MOMENT_KEY)
        st.session_state.pop(_MOMENT_CLIP)
        return 0.0
    return seconds_of(given)


def seconds_of(text: str) -> float:
    """The moment that a text of the address names; 0 where it names none."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


@dataclass(frozen=True)
class ListedSource(Generic[Opened_co]):
    """An entry of a chooser; `stamp` is that of its file, None without one."""

    id: str
    name: str
    open: Callable[[], Opened_co] = field(compare=False)
    stamp: Stamp | None = None


def choose(key: str, id: str) -> None:
    """Make the chooser of a key show another entry, from the next run on."""
    st.session_state.setdefault(_TO_CHOOSE, {})[key] = id


def chooser(
    label: str, key: str, sources: Sequence[ListedSource[Opened]], *, addressed: bool = False
) -> ListedSource[Opened]:
    """Draw the chooser of one of several sources, at first of the first one."""
    known = {source.id: source for source in sources}
    requested = st.session_state.get(_TO_CHOOSE, {}).pop(key, None)
    if requested is None and addressed:
        requested = named_by_address(key)
    if requested in known:
        st.session_state[key] = requested
    elif st.session_state.get(key) not in known:
        st.session_state[key] = next(iter(known))
    chosen = st.selectbox(label, list(known), format_func=lambda id: known[id].name, key=key)
    if addressed:
        write_address(key, chosen if len(known) > 1 else None)
    return known[chosen]


def keep_file(save: Callable[[Path], object], name: str, suffix: str) -> FoundFile:
    """Save what was trained in the open folder, else for the session; `suffix` as in ".model"."""
    root = folder.writable_folder()
    if root is None:
        path = session.session().new_path(suffix)
        save(path)
        return session.session().add_file(path, name)
    place = root / TRAININGS_FOLDER
    place.mkdir(exist_ok=True)
    taken = [file.stem for file in place.iterdir() if file.suffix == suffix]
    path = place / f"{unused_name(session.plain_file_name(name, 'training'), taken)}{suffix}"
    save(path)
    folder.look_again()
    return FoundFile.described(path, path.relative_to(root).as_posix())


@dataclass(frozen=True)
class FileKind(Generic[Opened]):
    """A kind of file that pages open: its name, as in "editor", and how one is loaded."""

    name: str
    load: Callable[[FoundFile], Opened]

    @property
    def suffix(self) -> str:
        """As in ".editor"."""
        return f".{self.name}"

    def files(self, accepts: Callable[[FoundFile], bool] | None = None) -> list[FoundFile]:
        """Files of the kind, or that `accepts` takes: of this session, then of the folder."""
        found = folder.open_folder()
        accepts = accepts or (lambda file: file.format == f"deepphase.{self.name}")
        return list(filter(accepts, [*session.session().files, *(found.files if found else ())]))

    def open(self, file: FoundFile) -> Opened:
        """Open a file, once for all sessions. Raises as `load`."""
        return _opened(self.name, file.stamp, file, self.load)

    def source(self, file: FoundFile, words: str = "") -> ListedSource[Opened]:
        """The entry of a file, with words before its name."""
        return ListedSource(file.id, f"{words}{file.title}", lambda: self.open(file), file.stamp)

    def sources(self, words: str = "") -> list[ListedSource[Opened]]:
        """The entries of all files."""
        return [self.source(file, words) for file in self.files()]

    def read_upload(self, own: Session, name: str, content: bytes) -> FoundFile:
        """Add an uploaded file, which is not trusted, to a session."""
        with own.uploaded(content, self.suffix) as path:
            self.load(FoundFile.described(path, session.safe_name(name)))
            kept = own.new_path(self.suffix)
            path.rename(kept)
        return own.add_file(kept, session.safe_name(name))

    def offer_upload(self, label: str, help_: str, key: str, where: str) -> None:
        """Draw a file uploader and its outcome; `where` the chooser of `key` is, as in "above"."""
        file = st.file_uploader(
            label, max_upload_size=MAX_FILE_MB, key=f"{self.name} upload", help=help_
        )
        if file is None:
            return
        # Id of an upload -> the file that was added, or why it was not.
        outcomes: dict[str, FoundFile | DeepPhaseError] = st.session_state.setdefault(
            f"{self.name} uploads", {}
        )
        if file.file_id not in outcomes:
            try:
                added = self.read_upload(session.session(), file.name, bytes(file.getbuffer()))
                outcomes[file.file_id] = added
                choose(key, added.id)
                st.rerun()
            except DeepPhaseError as error:
                outcomes[file.file_id] = error
        outcome = outcomes[file.file_id]
        if isinstance(outcome, DeepPhaseError):
            words = f"Refused. {plain(file.name)}: {error_sentence(outcome)}"
            st.error(words, icon=":material/block:")
        else:
            st.success(f"{plain(outcome.name)} can be chosen {where}.", icon=":material/check:")


@st.cache_resource(max_entries=_OPENED, show_spinner="Opening the file", show_time=True)
def _opened(
    kind: str, stamp: Stamp, _file: FoundFile, _load: Callable[[FoundFile], Opened]
) -> Opened:
    return _load(_file)
