"""Page Data: a table of the open clips, a player, and the upload of motion files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, collection, messages, session, widgets
from deepphase.apps.dashboard.parts.collection import OpenClips
from deepphase.apps.dashboard.parts.folder import FoundFolder, look_again, open_folder
from deepphase.apps.dashboard.parts.messages import error_sentence, plain, shown_errors, working
from deepphase.apps.dashboard.parts.session import UploadResult, read_upload
from deepphase.apps.reports.player import in_words
from deepphase.arrays import counted
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import SETTINGS_FILE, FolderSettings, save_settings
from deepphase.errors import SkeletonError
from deepphase.formats.reading import (
    CHECK,
    CORRECTED,
    LARGEST_FLOOR_M,
    METRES_PER_UNIT,
    is_warning,
    unit_in_words,
    warnings_of,
)
from deepphase.motion.clip import FASTEST_FPS, SLOWEST_FPS, Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.orientation import AXES
from deepphase.motion.roles import find_roles
from deepphase.work import Progress

# Collections of up to so many frames get their contacts measured at once, in about a second.
_MAX_AUTO_FRAMES = 40_000
_TABLE_HEIGHT, _PLAYER_HEIGHT = 352, 830
# Pixels of a letter of a name, and of the widest column of names.
_LETTER_PX, _WIDEST_NAME_PX = 7.8, 290
# Collections in the cache of contacts that all sessions share.
_CACHED_STORES = 8
# A label with more values gets no filter, and one with fewer gets one even if every clip differs.
_MAX_VALUES, _FEW_VALUES = 200, 13
# Files named that could not be read.
_MAX_LEFT_OUT = 20
# Label filters in the row above the table.
_MAX_FILTERS = 3
# Session state: clips whose contacts are asked for, and uploads that are not read.
_ASKED, _LEFT = "contacts asked", "uploads left"
# Key of the upload of motion files, and the option of commands that doubts of a rate name.
_UPLOADER, _GIVES_RATE = "motion files", "--file-fps"
# Column of the table, as it is named in the downloaded one -> how it is shown.
_COLUMNS = {
    "Seconds": st.column_config.NumberColumn("Length", format="%.1f s"),
    "On the ground (%)": st.column_config.NumberColumn(
        "Ground",
        help="Share of frames and feet in which a foot stands on the ground",
        format="%.0f %%",
    ),
    "Floor (m)": st.column_config.NumberColumn(
        "Floor", help="Height in the file of the floor that the feet stand on", format="%.2f m"
    ),
    "Captured at (frames/s)": st.column_config.NumberColumn("Captured", format="%.0f fps"),
}


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Data",
        "The clips of the open collection. Choose a row and "
        "it plays; add your own motion files below, and every page shows them.",
    )
    left, right = widgets.wide_columns("data", [5, 6])
    clips = chosen = None
    with left:
        with shown_errors():
            clips = collection.open_clips()
            chosen = _table(clips)
            if chosen is not None:
                _doubts(clips, clips.store.clip(chosen))
            _left_out(clips.store)
        found = open_folder()
        if found is not None and found.motion:
            _folder_settings(found, clips)
        _uploader()
    if clips is None:
        return
    if chosen is not None:
        with right:
            _played(clips, chosen)
    if clips.store.frames <= _MAX_AUTO_FRAMES or st.session_state.get(_ASKED) == clips.key:
        # Behind the player, which waits for nothing.
        _measure_missing(clips)


def _contacts() -> messages.ResultCache[list[tuple[float | None, float | None]]]:
    """Of collections, the % of feet and frames on the ground of each clip, and its floor, m."""
    return messages.shared_cache("contacts", _CACHED_STORES)


def _measure_missing(clips: OpenClips) -> None:
    """Measure contacts that are not known, and draw the page with them."""
    store = clips.store

    def measured(progress: Progress) -> list[tuple[float | None, float | None]]:
        found = []
        for index in range(len(store)):
            found.append(_on_ground(store.clip(index)))
            progress("clips", index + 1, len(store), "")
        return found

    if _contacts().find(clips.key) is None:
        _contacts().find_or_make(clips.key, measured, "Measuring ground contacts")
        st.rerun()


def _on_ground(clip: Clip) -> tuple[float | None, float | None]:
    try:
        contacts = foot_contacts(clip, find_roles(clip.skeleton, clip=clip))
    except SkeletonError:
        return None, None
    return round(100 * float(np.mean(contacts.flags)), 1), round(float(contacts.floor), 2) + 0.0


def _table(clips: OpenClips) -> int | None:
    """Draw the filters, the table and its buttons; return the index of the chosen clip."""
    store = clips.store
    known = _filters(store)
    columns = st.columns(1 + min(len(known), _MAX_FILTERS))
    words = columns[0].text_input("Find a clip", placeholder="name", key="find")
    wanted = {
        name: column.multiselect(
            plain(in_words(name)), values, key=f"label {name}", placeholder="any"
        )
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
    contacts = _contacts().find(clips.key)
    labels = sorted(store.label_names, key=lambda name: name not in known)
    names = [store.names[index] for index in shown]
    choosers.say_unknown(store.names)
    measured = [] if contacts is None else [contacts[index] for index in shown]
    table: dict[str, list[Any]] = {
        "Clip": names,
        "Seconds": [round(float(store.lengths[index]) / store.fps, 2) for index in shown],
        "On the ground (%)": [share for share, _ in measured],
        **{name: [store.labels[index].get(name, "") for index in shown] for name in labels},
        "Floor (m)": [floor for _, floor in measured],
        "Captured at (frames/s)": [float(store.sources[index].fps) for index in shown],
        "File": [store.sources[index].path for index in shown],
    }
    width = min(_LETTER_PX * max(map(len, names)) + 22, _WIDEST_NAME_PX)
    # Without what is not measured, or not of these bodies.
    table = {name: values for name, values in table.items() if values.count(None) < len(values)}
    event = widgets.show_table(
        "clips", table, height=min(_TABLE_HEIGHT, widgets.table_height(len(shown))),
        column_config=_COLUMNS
        | {name: in_words(name) for name in labels}
        | {"Clip": st.column_config.TextColumn(width=round(width))},
        selection_default={"selection": {"rows": [choosers.shown_index(names)]}},
        selection_mode="single-row-required", on_select="rerun",
        key=f"table {hash(clips.key)} {words} {wanted}",
    )  # fmt: skip
    row = min((event["selection"]["rows"] or [0])[0], len(shown) - 1)
    choosers.keep_clip(names[row])
    widgets.scroll_table("clips", row)
    with st.container(horizontal=True):
        widgets.offer_table(table, "clips")
        if contacts is None and store.frames > _MAX_AUTO_FRAMES:
            st.button(
                "Measure ground contacts", icon=":material/footprint:",
                on_click=lambda: st.session_state.update({_ASKED: clips.key}),
            )  # fmt: skip
    return shown[row]


def _filters(store: ClipStore) -> dict[str, list[str]]:
    """Labels that distinguish clips -> their sorted values."""
    found = {}
    for name in store.label_names:
        values = sorted({labels[name] for labels in store.labels if name in labels})
        if 2 <= len(values) <= _MAX_VALUES and len(values) < max(len(store), _FEW_VALUES):
            found[name] = values
    return found


def _left_out(store: ClipStore) -> None:
    """Name the files that could not be read, and why, if there are any."""
    files = store.left_out
    if not files:
        return
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
        columns = st.columns(3)

        def choose(place: int, label: str, values: list[str], given: Any, read: str) -> Any:
            """One of the values, or None for what was read from the files."""
            options = [None, *values]
            at = options.index(given) if given in options else 0
            return columns[place].selectbox(
                label, options, index=at, format_func=lambda value: value or f"found: {read}"
            )

        up = choose(0, "Up axis", list(AXES), settings.up, read_up)
        unit = choose(1, "Unit", list(METRES_PER_UNIT), settings.unit, read_unit)
        floor = columns[2].number_input(
            "Floor (m)", -LARGEST_FLOOR_M, LARGEST_FLOOR_M, settings.floor, step=0.01,
            format="%.2f", placeholder="as in the files",
            help="Height of the floor in the files, which becomes 0: the table above has the one "
            "that the feet of each clip stand on",
        )  # fmt: skip
        shown = list(settings.labels)
        if clips is not None:
            known = {name: found_as for found_as, name in settings.labels.items()}
            shown = [known.get(name, name) for name in clips.store.label_names]
        names = {
            label: st.text_input(
                f"Name of {plain(label)}", settings.labels.get(label, label), max_chars=40
            ).strip()
            for label in shown
        }
        st.caption(f"Saved in {SETTINGS_FILE} in the folder. Commands use it too.")
        if not st.form_submit_button("Keep and read again", icon=":material/save:"):
            return
        renamed = {label: name for label, name in names.items() if name and name != label}
        with shown_errors():
            save_settings(found.path, FolderSettings(up, unit, renamed, floor, settings.rates))
            look_again()
            st.rerun()


def _most_usual(values: Iterable[str]) -> str:
    counts = Counter(values).most_common(3)
    return ", ".join(value for value, _ in counts) or "nothing yet"


def _played(clips: OpenClips, index: int) -> None:
    store = clips.store
    clip, name = store.clip(index), store.names[index]
    span = choosers.choose_span(store, index, clips.id)
    take = collection.opening_take(store, index, span)
    widgets.show_player(take, height=_PLAYER_HEIGHT, **span.player)
    with st.container(horizontal=True):
        widgets.offer_motion(lambda: clip, session.plain_file_name(name), clip.source.unit_m)
        widgets.offer_player(take, session.plain_file_name(name))
    with st.expander(f"Skeleton: {len(clip.skeleton)} joints", icon=":material/accessibility:"):
        _skeleton(clip)


def _doubts(clips: OpenClips, clip: Clip) -> None:
    """Say what is in doubt of the clip that plays, and let the user give the rate of its file."""
    found, own = open_folder(), session.session()
    file, notes = PurePosixPath(clip.source.path).name, warnings_of(clip)
    rates: Mapping[str, float] | None = None
    if found is not None and clips.id.startswith("motion"):
        rates = found.settings.rates
    elif clips.id.startswith("uploads"):
        held = [session.safe_name(each.name) for each in st.session_state.get(_UPLOADER) or []]
        rates = own.rates if file in held else None
    for note in notes:
        words = widgets.sentence(note.removeprefix(CHECK).removeprefix(CORRECTED))
        st.warning(plain(words if rates is None else words.replace(_GIVES_RATE, "the field below")))
    if rates is None or not (file in rates or any(_GIVES_RATE in note for note in notes)):
        return
    alike = {
        PurePosixPath(source.path).name
        for source in clips.store.sources
        if source.fps == clip.source.fps and any(_GIVES_RATE in note for note in source.notes)
    } - {file}
    with st.form(f"rate of {file}", border=False), st.container(horizontal=True):
        rate = st.number_input(
            f"Frames a second of {plain(file)}", SLOWEST_FPS, FASTEST_FPS, None,
            placeholder="as the file says",
        )  # fmt: skip
        others = alike and st.checkbox(f"And {counted(len(alike), 'file')} in doubt like it")
        if not st.form_submit_button("Read again", icon=":material/refresh:"):
            return
    changed = {file, *(alike if others else ())}
    given = {name: fps for name, fps in rates.items() if name not in changed}
    given |= {} if rate is None else dict.fromkeys(changed, rate)
    with shown_errors():
        if rates is own.rates:
            own.rates = given
        elif found is not None:
            save_settings(found.path, replace(found.settings, rates=given))
            look_again()
        st.rerun()


def _skeleton(clip: Clip) -> None:
    """Draw the table of joints with their parents, roles and mirror partners."""
    skeleton = clip.skeleton
    roles = find_roles(skeleton, clip=clip)
    known = {
        getattr(roles, name): name.replace("_", " ")
        for name in roles.__dataclass_fields__
        if isinstance(getattr(roles, name), int) and not name.endswith("_end")
    }
    names, joints = skeleton.names, range(len(skeleton))
    table = {
        "Joint": list(names),
        "Parent": [names[parent] if parent >= 0 else "" for parent in skeleton.parents],
        "Role": [known.get(joint, "") for joint in joints],
        "Mirror partner": [names[p] if p != joint else "" for joint, p in enumerate(roles.pairs)],
    }
    widgets.show_table("joints", table)
    st.caption(f"Recognised as a {plain(roles.kind)}.")
    for words in roles.notes:
        st.caption(plain(words))


def _uploader() -> None:
    """Draw the upload of motion files; each file is read once, and its result is shown."""
    own = session.session()
    files = st.file_uploader(
        "Add your motion files", type=list(session.MOTION_SUFFIXES), accept_multiple_files=True,
        max_upload_size=session.MAX_MOTION_MB, key=_UPLOADER,
        help="Files are private and are removed when this browser tab closes. Units, up axis and "
        "rate are read or inferred.",
    )  # fmt: skip
    outcomes: dict[str, UploadResult] = st.session_state.setdefault("upload results", {})
    known = {id: own.rates.get(result.file) == result.rate for id, result in outcomes.items()}
    left: set[str] = st.session_state.setdefault(_LEFT, set())
    fresh = [file for file in files or [] if not known.get(file.file_id, file.file_id in left)]
    if fresh:
        ids = [file.file_id for file in fresh]
        with working("Reading your files", lambda: left.update(ids)) as progress:
            for done, file in enumerate(fresh, start=1):
                if file.file_id in known:
                    own.remove_clips(outcomes[file.file_id].file)
                outcomes[file.file_id] = read_upload(own, file.name, bytes(file.getbuffer()))
                progress("files", done, len(fresh), "")
        added = [clip for file in fresh for clip in outcomes[file.file_id].clips]
        if added:
            collection.choose_own_clip(added[-1].name)
            st.rerun()
    for file in files or []:
        if file.file_id in outcomes:
            _outcome(outcomes[file.file_id])
    if any(file.file_id not in outcomes for file in files or []):
        st.button("Read the other files", icon=":material/play_arrow:", on_click=left.clear)
    if own.clips and st.button("Remove my files", icon=":material/delete:"):
        own.remove_clips()
        st.rerun()


def _outcome(result: UploadResult) -> None:
    if result.error is not None:
        st.error(f"Refused. {error_sentence(result.error)}", icon=":material/block:")
        return
    parts = [
        f"{plain(clip.name)}: {clip.duration:.1f} s, {len(clip.skeleton)} joints"
        for clip in result.clips
    ]
    st.success("; ".join(parts), icon=":material/check:")
    for note in sorted(result.notes, key=is_warning, reverse=True)[:6]:
        (st.warning if is_warning(note) else st.caption)(plain(note))
