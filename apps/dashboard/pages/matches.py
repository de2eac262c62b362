"""Page Matches: the nearest moments to a chosen moment, by phase and by pose."""

from __future__ import annotations

import streamlit as st

from apps.dashboard.parts.address import clip_chooser, moment_of, put_moment
from apps.dashboard.parts.collection import OpenClips, needed_model, open_clips
from apps.dashboard.parts.databases import (
    BY_PHASE,
    BY_POSE,
    PHASE,
    Answer,
    Searched,
    find,
    matched_take,
    moment_file,
    names_of,
    searched,
    table_of,
)
from apps.dashboard.parts.encodings import all_phases
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.widgets import (
    offer,
    offer_figure,
    offer_player,
    offer_table,
    show_figure,
    show_player,
)
from deepphase.errors import ParameterError
from deepphase.figures.match_distances import match_distances

# Title of a pose -> feature layout of configs/matching.
_POSES = {"All joints": "full_pose", "Feet and spine": "reduced_pose"}
_MAX_MATCHES, _PLAYER_HEIGHT = 5, 720
_SECONDS = (1.0, 6.0)


def page() -> None:
    """Draw the page."""
    heading(
        "Matches",
        "Choose a moment of a clip: its nearest moments play beside it, aligned where they were "
        "matched, once by phase and once by pose. A match by phase has the same timing; a match "
        "by pose has the same posture, and may move on differently.",
    )
    clips = open_clips()
    model = needed_model(clips)
    if clips.store.fps != model.extractor.fps:
        raise ParameterError(
            f"{clips.name} has {clips.store.fps:g} frames a second, the model "
            f"{model.extractor.fps:g}",
            hint=f"prepare the clips with `deepphase prepare --fps {model.extractor.fps:g}`, or "
            "choose another model",
        )
    index, frame, seconds, k, pose, elsewhere = _controls(clips)
    all_phases(clips, model)
    by_phase = searched(clips, model, PHASE, "phases")
    by_pose = searched(clips, model, _POSES[pose], "poses")
    answer = find(
        by_phase,
        by_pose,
        model.extractor.signals,
        clips.store.names[index],
        frame,
        k,
        elsewhere=elsewhere,
    )
    if not answer.found:
        st.info(
            "No frame is far enough from this moment to be a match: allow matches in the same "
            "clip, or open a collection with more clips.",
            icon=":material/search_off:",
        )
        return
    _show(by_phase, answer, seconds)


def _controls(clips: OpenClips) -> tuple[int, int, float, int, str, bool]:
    store = clips.store
    columns = st.columns([3, 4], gap="medium", vertical_alignment="bottom")
    index = clip_chooser(store.names, place=columns[0])
    last = int(store.lengths[index]) - 1
    at_s = 0.0
    if last > 0:
        key = f"moment {clips.id} {index}"
        given_s = moment_of(store.names[index])
        at_s = columns[1].slider(
            "Moment (s)",
            0.0,
            last / store.fps,
            min(given_s or last // 2 / store.fps, last / store.fps),
            step=1 / store.fps,
            format="%.2f",
            key=key,
            on_change=lambda: put_moment(float(st.session_state[key])),
        )
    columns = st.columns([2, 2, 3, 3], gap="medium", vertical_alignment="bottom")
    k = columns[0].slider("Matches", 1, _MAX_MATCHES, 4, key="matches")
    seconds = columns[1].slider("Seconds", *_SECONDS, 2.0, step=0.5, key="seconds")
    with columns[2]:
        pose = st.segmented_control(
            "Pose", list(_POSES), default="All joints", required=True, key="pose"
        )
    elsewhere = False
    if len(store) > 1:
        elsewhere = columns[3].toggle("Only in other clips", key="elsewhere")
    return index, min(round(at_s * store.fps), last), seconds, k, pose or "All joints", elsewhere


def _show(searched_: Searched, answer: Answer, seconds: float) -> None:
    database = searched_.database
    left, right = wide_columns("matches", [3, 2])
    take = matched_take(database, answer, seconds)
    columns, rows = table_of(answer)
    chart = match_distances(
        answer.sets(),
        answer.others,
        ("Distance in phase (standardised unit)", "Distance in pose (standardised unit)"),
    )
    with left:
        show_player([take], height=_PLAYER_HEIGHT, title=take.name)
        offer_player(lambda: [take], "matches", "player html")
        _export(searched_, answer, seconds)
    with right:
        _table(answer)
        offer_table(columns, rows, "matches", "matches csv")
        show_figure(chart, "distances")
        offer_figure(chart, "match_distances", "distances html")
        _summary(answer)


def _table(answer: Answer) -> None:
    found = answer.found
    st.dataframe(
        {
            "Match": [each.name for each in found],
            "Clip": [each.moment.clip for each in found],
            "At": [each.moment.time_s for each in found],
            "Phase": [each.phase_distance for each in found],
            "Pose": [each.pose_distance for each in found],
            "Joints": [100 * each.joint_distance_m for each in found],
        },
        hide_index=True,
        height=35 * (len(found) + 1) + 3,
        column_config={
            "At": st.column_config.NumberColumn(format="%.2f s"),
            "Phase": st.column_config.NumberColumn(
                format="%.2f", help="Distance of the phase manifolds, standardised units"
            ),
            "Pose": st.column_config.NumberColumn(
                format="%.2f", help="Distance of positions and velocities, standardised units"
            ),
            "Joints": st.column_config.NumberColumn(
                format="%.1f cm",
                help="Mean distance between corresponding joints, both bodies at the origin facing "
                "the same way",
            ),
        },
    )


def _summary(answer: Answer) -> None:
    """Draw the mean distance between joints for each search, in centimetres."""
    means = {}
    for by in (BY_PHASE, BY_POSE):
        found = answer.of(by)
        if found:
            means[by] = 100 * sum(each.joint_distance_m for each in found) / len(found)
    if len(means) == 2:
        st.caption(
            f"Joints are {means[BY_PHASE]:.1f} cm apart on average where phases match, "
            f"{means[BY_POSE]:.1f} cm where poses do: the search by phase does not use the pose."
        )


def _export(searched_: Searched, answer: Answer, seconds: float) -> None:
    """Draw the export of one match as a motion file."""
    found = answer.found
    names = names_of(found)
    columns = st.columns([3, 1, 1], vertical_alignment="bottom")
    chosen = columns[0].selectbox(
        "Export what follows", range(len(found)), format_func=names.__getitem__, key="exported"
    )
    each = found[min(chosen, len(found) - 1)]
    for column, format_, mime in (
        (columns[1], "bvh", "text/plain"),
        (columns[2], "glb", "model/gltf-binary"),
    ):
        with column:
            offer(
                format_.upper(),
                lambda format_=format_: moment_file(  # type: ignore[misc]
                    searched_.database, each.moment.row, seconds, format_
                ),
                f"match_{each.by}_{each.rank}.{format_}",
                mime,
                f"match {format_}",
            )
    st.caption(f"{seconds:g} s of {plain(each.moment.clip)}, from {each.moment.time_s:.2f} s on.")
