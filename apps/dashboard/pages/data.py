"""Page Data: a table of the open clips, a player, and the upload of motion files."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.address import (
    choose_span,
    keep_clip,
    moment_of,
    shown_index,
)
from deepphase.apps.dashboard.parts.collection import (
    BY_KEY,
    OpenClips,
    choose_own_clip,
    first_words,
    open_clips,
)
from deepphase.apps.dashboard.parts.folder import FoundFolder, look_again, open_folder
from deepphase.apps.dashboard.parts.messages import error_sentence, plain, show_error, working
from deepphase.apps.dashboard.parts.session import plain_file_name, session
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.uploads import (
    MAX_MOTION_MB,
    MOTION_SUFFIXES,
    UploadResult,
    read_upload,
)
from deepphase.apps.dashboard.parts.widgets import (
    offer_motion,
    offer_player,
    offer_table,
    show_player,
    show_table,
    state_units,
)
from deepphase.apps.reports.player_takes import takes_of_clips
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.folder_settings import FILE, FolderSettings, save_settings
from deepphase.errors import DeepPhaseError, SkeletonError
from deepphase.formats.reading import LARGEST_FLOOR_M, METRES_PER_UNIT, unit_in_words
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.orientation import AXES
from deepphase.motion.roles import find_roles
from deepphase.progress import Progress

# Collections of up to so many frames get their contacts measured at once, in about a second.
_MAX_AUTO_FRAMES = 40_000
_TABLE_HEIGHT, _PLAYER_HEIGHT = 352, 830
# Collections in the cache of contacts that all sessions share.
_CACHED_STORES = 8
# A label with more values gets no filter, and one with fewer gets one even if every clip differs.
_MAX_VALUES, _FEW_VALUES = 200, 13
# Files named that could not be read.
_MAX_LEFT_OUT = 20
# Label filters in the row above the table.
_MAX_FILTERS = 3


def page() -> None:
    """Draw the page."""
    clips: OpenClips | None = None
    problem: DeepPhaseError | None = None
    try:
        clips = open_clips()
    except DeepPhaseError as error:
        problem = error
    heading(
        "Data",
        f"The clips of the open collection. {first_words(clips) if clips else ''}Choose a row and "
        "it plays; add your own motion files below, and every page shows them.",
    )
    left, right = wide_columns("data", [5, 6])
    if problem is not None:
        show_error(problem)
    with left:
        chosen = None if clips is None else _table(clips)
        if clips is not None and clips.store.left_out:
            _left_out(clips.store)
        found = open_folder()
        if found is not None and found.motion:
            _folder_settings(found, clips)
        _uploader()
    with right:
        if clips is not None and chosen is not None:
            _played(clips, chosen)
    if clips is not None and clips.store.frames <= _MAX_AUTO_FRAMES:
        # Behind the player, which waits for nothing.
        _measure_missing(clips)


def _measure_missing(clips: OpenClips) -> None:
    """Measure contacts that are not known, and draw the page with them."""
    contacts = _contacts(clips)
    missing = [index for index in range(len(clips.store)) if not contacts.known(index)]
    if missing:
        with working("Measuring ground contacts") as progress:
            contacts.measure(missing, progress)
        st.rerun()


def _table(clips: OpenClips) -> int | None:
    """Draw the filters, the table and its buttons; return the index of the chosen clip."""
    store = clips.store
    known = _filters(store)
    columns = st.columns(1 + min(len(known), _MAX_FILTERS))
    words = columns[0].text_input("Find a clip", placeholder="name", key="find")
    wanted = {
        name: column.multiselect(plain(name), values, key=f"label {name}", placeholder="any")
        for column, (name, values) in zip(columns[1:], known.items(), strict=False)
    }
    parts = words.lower().split()
    shown = [
        index
        for index, (name, labels) in enumerate(zip(store.names, store.labels, strict=True))
        if all(part in name.lower() for part in parts)
        and all(labels.get(label, "") in values for label, values in wanted.items() if values)
    ]
    if not shown:
        st.info(
            "No clip matches the filters: remove words or labels.", icon=":material/filter_alt_off:"
        )
        return None
    contacts = _contacts(clips)
    missing = [index for index in range(len(store)) if not contacts.known(index)]
    labels = [name for name in store.label_names if name in known]
    labels += [name for name in store.label_names if name not in known]
    headings = ["Clip", "Seconds", "On the ground", *labels, "Floor", "Captured at", "File"]
    content = [
        [
            store.names[index],
            round(_seconds(store, index), 2),
            None if missing else _percent(contacts.share(index)),
            *(store.labels[index].get(name, "") for name in labels),
            None if missing else contacts.floor(index),
            float(store.sources[index].fps),
            store.sources[index].path,
        ]
        for index in shown
    ]
    table = {name: [cells[at] for cells in content] for at, name in enumerate(headings)}
    event = show_table(
        "clips",
        table,
        height=min(_TABLE_HEIGHT, 37 * (len(shown) + 1)),
        on_select="rerun",
        selection_mode="single-row-required",
        selection_default={
            "selection": {"rows": [shown_index([store.names[index] for index in shown])]}
        },
        key=f"table {clips.id} {words} {wanted}",
        column_config={
            "Seconds": st.column_config.NumberColumn("Length", format="%.1f s"),
            "On the ground": st.column_config.NumberColumn(
                "Ground",
                help="Share of frames and feet in which a foot stands on the ground",
                format="%.0f %%",
            ),
            "Floor": st.column_config.NumberColumn(
                help="Height in the file of the floor that the feet stand on", format="%.2f m"
            ),
            "Captured at": st.column_config.NumberColumn("Captured", format="%.0f fps"),
        },
    )
    chosen = event["selection"]["rows"] or [0]
    index = shown[min(chosen[0], len(shown) - 1)]
    name = store.names[index]
    keep_clip(name)
    with st.container(horizontal=True):
        units = {"On the ground": "On the ground (%)", "Floor": "Floor (m)"}
        units |= {"Captured at": "Captured at (frames/s)"}
        offer_table([units.get(each, each) for each in headings], content, "clips", "clips csv")
        if (
            missing
            and store.frames > _MAX_AUTO_FRAMES
            and st.button("Measure ground contacts", icon=":material/footprint:")
        ):
            _measure_missing(clips)
    return index


def _left_out(store: ClipStore) -> None:
    """Name the files that could not be read, and why."""
    files = store.left_out
    words = "1 file was" if len(files) == 1 else f"{len(files):,} files were"
    with st.expander(f"{words} left out", icon=":material/warning:"):
        for file in files[:_MAX_LEFT_OUT]:
            st.caption(f"{plain(file['file'])}: {plain(file['reason'])}")


def _folder_settings(found: FoundFolder, clips: OpenClips | None) -> None:
    """Draw what is known of the folder's motion files, and let the user correct it."""
    settings = found.settings
    sources = () if clips is None else clips.store.sources
    read_up = _most_usual(source.up for source in sources)
    read_unit = _most_usual(unit_in_words(source.unit_m) for source in sources)
    words = f"Folder: up {read_up}, in {read_unit}" if sources else "Folder: up axis, unit, floor"
    with (
        st.expander(f"{words}; change them, or names of labels", icon=":material/rule_settings:"),
        st.form("folder settings", border=False),
    ):
        up_column, unit_column, floor_column = st.columns(3)
        up = up_column.selectbox(
            "Up axis",
            [None, *AXES],
            index=0 if settings.up is None else 1 + AXES.index(settings.up),
            format_func=lambda axis: axis or f"found: {read_up}",
        )
        units = list(METRES_PER_UNIT)
        given = settings.unit if settings.unit is None or settings.unit in units else None
        unit = unit_column.selectbox(
            "Unit",
            [None, *units],
            index=0 if given is None else 1 + units.index(str(given)),
            format_func=lambda each: each or f"found: {read_unit}",
        )
        floor = floor_column.number_input(
            "Floor (m)", -LARGEST_FLOOR_M, LARGEST_FLOOR_M, settings.floor, step=0.01,
            format="%.2f", placeholder="as in the files",
            help="Height of the floor in the files, which becomes 0: the table above has the one "
            "that the feet of each clip stand on",
        )  # fmt: skip
        shown = list(settings.labels) or []
        known = {name: found_as for found_as, name in settings.labels.items()}
        if clips is not None:
            shown = [known.get(name, name) for name in clips.store.label_names]
        names = {
            label: st.text_input(
                f"Name of {plain(label)}", settings.labels.get(label, label), max_chars=40
            ).strip()
            for label in shown
        }
        st.caption(f"They are kept in the folder, in {FILE}; commands know them, too.")
        if not st.form_submit_button("Keep and read again", icon=":material/save:"):
            return
        renamed = {label: name for label, name in names.items() if name and name != label}
        try:
            save_settings(found.path, FolderSettings(up, unit, renamed, floor))
        except DeepPhaseError as error:
            show_error(error)
            return
    look_again()
    st.rerun()


def _most_usual(values: Iterable[str]) -> str:
    counts = Counter(values).most_common()
    return ", ".join(value for value, _ in counts[:3]) or "nothing yet"


def _seconds(store: ClipStore, index: int) -> float:
    return float(store.lengths[index] / store.fps)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


class GroundContacts:
    """Feet of each clip on the ground, measured clip by clip."""

    def __init__(self, store: ClipStore) -> None:
        self._store = store
        # Share of feet and frames on the ground, and the floor; None for a body without feet.
        self._known: dict[int, tuple[float, float] | None] = {}
        self._lock = threading.Lock()

    def known(self, index: int) -> bool:
        """Whether the clip is measured already."""
        return index in self._known

    def share(self, index: int) -> float | None:
        """Share over all feet and frames of a clip, 0 to 1; None for a body without feet."""
        found = self._measured(index)
        return found and found[0]

    def floor(self, index: int) -> float | None:
        """Height of the floor under the feet of a clip, metres; None for a body without feet."""
        found = self._measured(index)
        return found and found[1]

    def _measured(self, index: int) -> tuple[float, float] | None:
        with self._lock:
            if index not in self._known:
                self._known[index] = _on_ground(self._store, index)
            return self._known[index]

    def measure(self, indices: Sequence[int], progress: Progress | None = None) -> None:
        """Measure some clips; what was measured before an interruption stays."""
        for done, index in enumerate(indices, start=1):
            self.share(index)
            if progress is not None:
                progress("clips", done, len(indices), "")


@st.cache_resource(max_entries=_CACHED_STORES, show_spinner=False, hash_funcs=BY_KEY)
def _contacts(clips: OpenClips) -> GroundContacts:
    return GroundContacts(clips.store)


def _filters(store: ClipStore) -> dict[str, list[str]]:
    """Labels that distinguish clips -> their sorted values."""
    found = {}
    for name in store.label_names:
        values = sorted({labels[name] for labels in store.labels if name in labels})
        if 2 <= len(values) <= _MAX_VALUES and len(values) < max(len(store), _FEW_VALUES):
            found[name] = values
    return found


def _on_ground(store: ClipStore, index: int) -> tuple[float, float] | None:
    clip = store.clip(index)
    try:
        contacts = foot_contacts(clip, find_roles(clip.skeleton, clip=clip))
    except SkeletonError:
        return None
    return float(np.mean(contacts.flags)), float(contacts.floor)


def _played(clips: OpenClips, index: int) -> None:
    store = clips.store
    name = store.names[index]
    at_s = moment_of(name)
    start_s, stop_s = choose_span(_seconds(store, index), at_s, f"{clips.id} {index}")
    clip = store.clip(index)
    start, stop = (round(at * clip.fps) for at in (start_s, stop_s))
    (take,) = takes_of_clips([clip.sliced(start, min(stop, len(clip)))])
    show_player(
        take,
        height=_PLAYER_HEIGHT,
        title=name,
        playing=True,
        at_s=max(at_s - start_s, 0.0),
        clip_from_s=start_s,
    )
    with st.container(horizontal=True):
        offer_motion(lambda: clip, plain_file_name(name), "clip")
        offer_player(take, plain_file_name(name), "player html")
    state_units(clip.source.unit_m)
    with st.expander(f"Skeleton: {len(clip.skeleton)} joints", icon=":material/accessibility:"):
        _skeleton(clip)


def _skeleton(clip: Clip) -> None:
    """Draw the table of joints with their parents, roles and mirror partners."""
    skeleton = clip.skeleton
    roles = find_roles(skeleton, clip=clip)
    known = {
        getattr(roles, name): name.replace("_", " ")
        for name in roles.__dataclass_fields__
        if isinstance(getattr(roles, name), int) and not name.endswith("_end")
    }
    parents = [int(parent) for parent in skeleton.parents]
    show_table(
        "joints",
        {
            "Joint": list(skeleton.names),
            "Parent": [skeleton.names[p] if p >= 0 else "" for p in parents],
            "Role": [known.get(joint, "") for joint in range(len(skeleton))],
            "Mirror partner": [
                skeleton.names[pair] if pair != joint else ""
                for joint, pair in enumerate(int(p) for p in roles.pairs)
            ],
        },
    )
    st.caption(f"Recognised as a {plain(roles.kind)}.")
    for words in roles.notes:
        st.caption(plain(words))


def _uploader() -> None:
    """Draw the upload of motion files; each file is read once, and its result is shown."""
    own = session()
    files = st.file_uploader(
        "Add your motion files",
        type=list(MOTION_SUFFIXES),
        accept_multiple_files=True,
        max_upload_size=MAX_MOTION_MB,
        key="motion files",
        help="Files are private and are removed when this browser tab closes. Units, up axis and "
        "rate are read or inferred.",
    )
    outcomes: dict[str, UploadResult] = st.session_state.setdefault("taken", {})
    fresh = [file for file in files or [] if file.file_id not in outcomes]
    if fresh:
        with working("Reading your files") as progress:
            for done, file in enumerate(fresh, start=1):
                outcomes[file.file_id] = read_upload(own, file.name, bytes(file.getbuffer()))
                progress("files", done, len(fresh), "")
        taken = [outcomes[file.file_id] for file in fresh]
        last = next((each.clips[-1] for each in reversed(taken) if each.clips), None)
        if last is not None:
            choose_own_clip(last.name)
            st.rerun()
    for file in files or []:
        _outcome(outcomes[file.file_id])
    if own.clips and st.button("Remove my files", icon=":material/delete:"):
        own.remove_clips()
        st.rerun()


def _outcome(taken: UploadResult) -> None:
    if taken.error is not None:
        st.error(f"Refused. {error_sentence(taken.error)}", icon=":material/block:")
        return
    parts = [
        f"{plain(clip.name)}: {clip.duration:.1f} s, {len(clip.skeleton)} joints"
        for clip in taken.clips
    ]
    st.success("; ".join(parts), icon=":material/check:")
    for note in taken.notes[:6]:
        st.caption(plain(note))
