"""Page Data: a table of the open clips, a player, and the upload of motion files."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from apps.dashboard.parts.address import (
    CLIP_KEY,
    choose_part,
    moment_of,
    remember_clip,
    shown_clip,
)
from apps.dashboard.parts.clip_table import ClipRow, clip_rows, filtered, filters, ground_contacts
from apps.dashboard.parts.collection import OpenClips, choose_own_clip, open_clips
from apps.dashboard.parts.messages import error_sentence, plain, show_error, working
from apps.dashboard.parts.session import plain_file_name, session
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.uploads import MAX_MOTION_MB, MOTION_SUFFIXES, UploadResult, read_upload
from apps.dashboard.parts.widgets import (
    offer_motion,
    offer_player,
    offer_table,
    show_player,
    show_table,
    state_units,
)
from apps.reports.player_takes import takes_of_clips
from deepphase.errors import DeepPhaseError
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles

# Collections of up to so many frames get their contacts measured at once, in about a second.
_MAX_AUTO_FRAMES = 40_000
_TABLE_HEIGHT, _PLAYER_HEIGHT = 352, 830
# Label filters in the row above the table.
_MAX_FILTERS = 3


def page() -> None:
    """Draw the page."""
    heading(
        "Data",
        "The clips of the open collection. Choose a row and it plays; add your own motion files "
        "below, and every page shows them.",
    )
    left, right = wide_columns("data", [5, 6])
    try:
        clips = open_clips()
    except DeepPhaseError as error:
        show_error(error)
        clips = None
    with left:
        row = None if clips is None else _table(clips)
        _uploader()
    with right:
        if clips is not None and row is not None:
            _played(clips, row)


def _table(clips: OpenClips) -> ClipRow | None:
    """Draw the filters, the table and its buttons; return the chosen row."""
    rows = clip_rows(clips.store)
    known = filters(clips.store)
    columns = st.columns(1 + min(len(known), _MAX_FILTERS))
    words = columns[0].text_input("Find a clip", placeholder="name", key="find")
    wanted = {
        name: column.multiselect(plain(name), values, key=f"label {name}", placeholder="any")
        for column, (name, values) in zip(columns[1:], known.items(), strict=False)
    }
    shown = filtered(rows, words, wanted)
    if not shown:
        st.info(
            "No clip matches the filters: remove words or labels.", icon=":material/filter_alt_off:"
        )
        return None
    contacts = ground_contacts(clips)
    missing = [row.index for row in rows if not contacts.known(row.index)]
    if missing and clips.store.frames <= _MAX_AUTO_FRAMES:
        with working("Measuring ground contacts") as progress:
            contacts.measure(missing, progress)
        missing = []
    labels = [name for name in clips.store.label_names if name in known]
    labels += [name for name in clips.store.label_names if name not in known]
    headings = ["Clip", "Seconds", "On the ground", *labels, "Captured at", "File"]
    content = [
        _cells(row, labels, contacts.share(row.index) if not missing else None) for row in shown
    ]
    table = {name: [cells[at] for cells in content] for at, name in enumerate(headings)}
    event = show_table(
        "clips",
        table,
        height=min(_TABLE_HEIGHT, 37 * (len(shown) + 1)),
        on_select="rerun",
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [_given_row(shown)]}},
        key=f"table {clips.id} {words} {wanted}",
        column_config={
            "Seconds": st.column_config.NumberColumn("Length", format="%.1f s"),
            "On the ground": st.column_config.NumberColumn(
                "Ground",
                help="Share of frames and feet in which a foot stands on the ground",
                format="%.0f %%",
            ),
            "Captured at": st.column_config.NumberColumn("Captured", format="%.0f fps"),
        },
    )
    chosen = event["selection"]["rows"] or [0]
    row = shown[min(chosen[0], len(shown) - 1)]
    if row.name != (st.query_params.get(CLIP_KEY) or shown[0].name):
        st.query_params[CLIP_KEY] = row.name
    remember_clip(row.name)
    with st.container(horizontal=True):
        units = {"On the ground": "On the ground (%)", "Captured at": "Captured at (frames/s)"}
        offer_table([units.get(each, each) for each in headings], content, "clips", "clips csv")
        if missing and st.button("Measure ground contacts", icon=":material/footprint:"):
            with working("Measuring ground contacts") as progress:
                contacts.measure(missing, progress)
            st.rerun()
    return row


def _given_row(shown: Sequence[ClipRow]) -> int:
    """Place of the clip that the address names, or the page before showed; 0 without one."""
    given = st.query_params.get(CLIP_KEY) or shown_clip()
    return next((place for place, row in enumerate(shown) if row.name == given), 0)


def _cells(row: ClipRow, labels: Sequence[str], contact: float | None) -> list[object]:
    given: list[object] = [row.labels.get(name, "") for name in labels]
    percent = None if contact is None else round(100 * contact, 1)
    return [row.name, round(row.seconds, 2), percent, *given, row.captured_fps, row.file]


def _played(clips: OpenClips, row: ClipRow) -> None:
    at_s = moment_of(row.name)
    start_s, stop_s = choose_part(row.seconds, at_s, f"{clips.id} {row.index}")
    clip = clips.store.clip(row.index)
    start, stop = (round(at * clip.fps) for at in (start_s, stop_s))
    (take,) = takes_of_clips([clip.sliced(start, min(stop, len(clip)))])
    show_player(
        take,
        height=_PLAYER_HEIGHT,
        title=row.name,
        playing=True,
        at_s=max(at_s - start_s, 0.0),
        clip_from_s=start_s,
    )
    with st.container(horizontal=True):
        offer_motion(lambda: clip, plain_file_name(row.name), "clip")
        offer_player(take, plain_file_name(row.name), "player html")
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
