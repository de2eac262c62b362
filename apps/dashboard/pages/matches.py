"""Page Matches: the nearest moments to a chosen moment, by phase and by pose."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from deepphase.apps.dashboard.parts.address import clip_chooser, moment_of, put_moment
from deepphase.apps.dashboard.parts.collection import OpenClips, open_clips, open_model
from deepphase.apps.dashboard.parts.databases import (
    BY_PHASE,
    BY_POSE,
    PHASE,
    PHASE_POSTURE,
    Answer,
    Searched,
    find,
    matched_take,
    searched,
    table_of,
)
from deepphase.apps.dashboard.parts.encodings import all_phases
from deepphase.apps.dashboard.parts.messages import plain
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    offer_motion,
    offer_player,
    offer_table,
    show_figure,
    show_player,
    show_table,
    state_units,
)
from deepphase.errors import ParameterError
from deepphase.figures.similarity import match_distances
from deepphase.matching.search.moments import following

# Title of a pose -> feature layout of configs/matching.
_POSES = {"All joints": "full_pose", "Feet and spine": "reduced_pose"}
_WITH_POSTURE = PHASE_POSTURE, "phases and posture"
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
    model = open_model(clips)
    if clips.store.fps != model.extractor.fps:
        raise ParameterError(
            f"{clips.name} has {clips.store.fps:g} frames a second, the model "
            f"{model.extractor.fps:g}",
            hint=f"prepare the clips with `deepphase prepare --fps {model.extractor.fps:g}`, or "
            "choose another model",
        )
    chosen = _controls(clips)
    all_phases(clips, model)
    by_phase = searched(clips, model, *(_WITH_POSTURE if chosen.posture else (PHASE, "phases")))
    by_pose = searched(clips, model, _POSES[chosen.pose], "poses")
    answer = find(
        by_phase,
        by_pose,
        model.extractor.signals,
        clips.store.names[chosen.clip],
        chosen.frame,
        chosen.matches,
        elsewhere=chosen.elsewhere,
    )
    if not answer.found:
        st.info(
            "No frame is far enough from this moment to be a match: allow matches in the same "
            "clip, or open a collection with more clips.",
            icon=":material/search_off:",
        )
        return
    _show(by_phase, answer, chosen)


class _Controls(NamedTuple):
    """What the page's controls ask for."""

    clip: int
    frame: int
    seconds: float
    matches: int
    pose: str
    posture: bool
    elsewhere: bool


def _controls(clips: OpenClips) -> _Controls:
    store = clips.store
    columns = wide_columns("moment", [3, 4])
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
    columns = st.columns([4, 4, 6, 4, 5], gap="medium", vertical_alignment="bottom")
    k = columns[0].slider("Matches", 1, _MAX_MATCHES, 4, key="matches")
    seconds = columns[1].slider("Seconds", *_SECONDS, 2.0, step=0.5, key="seconds")
    with columns[2]:
        pose = st.segmented_control(
            "Pose", list(_POSES), default="All joints", required=True, key="pose"
        )
    posture = columns[3].toggle(
        "With posture",
        key="posture",
        help="Search by phase and by the slow pose: positions of hips, chest, head, hands and feet "
        "after a low-pass filter of half a second",
    )
    elsewhere = False
    if len(store) > 1:
        elsewhere = columns[4].toggle("Only in other clips", key="elsewhere")
    frame = min(round(at_s * store.fps), last)
    return _Controls(index, frame, seconds, k, pose or "All joints", posture, elsewhere)


def _show(searched_: Searched, answer: Answer, chosen: _Controls) -> None:
    database = searched_.database
    left, right = wide_columns("matches", [5, 4])
    take = matched_take(database, answer, chosen.seconds)
    chart = match_distances(
        answer.distances(),
        answer.others,
        (
            f"Distance in {_searched_by(chosen)} (standardised unit)",
            "Distance in pose (standardised unit)",
        ),
    )
    with left:
        show_player(take, height=_PLAYER_HEIGHT, title=take.name)
        offer_player(take, "matches", "player html")
        _export(searched_, answer, chosen.seconds)
    with right:
        _table(answer, chosen)
        show_figure(chart, "distances", file="match_distances")
        _summary(answer, chosen)


def _searched_by(chosen: _Controls) -> str:
    return "phase and posture" if chosen.posture else "phase"


def _table(answer: Answer, chosen: _Controls) -> None:
    table = table_of(answer)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    show_table(
        "matches",
        table,
        height=35 * (len(answer.found) + 1) + 3,
        column_config={
            "Match": text(width=62),
            "At (s)": number("At", format="%.2f s", width=64),
            "Phase (standardised unit)": number(
                "Phase",
                format="%.2f",
                width=58,
                help=f"Distance in {_searched_by(chosen)}, by which the first rows are sorted",
            ),
            "Pose (standardised unit)": number(
                "Pose",
                format="%.2f",
                width=58,
                help="Distance of positions and velocities, by which the last rows are sorted",
            ),
            "Timing (cycles)": number(
                "Timing",
                format="%.3f",
                width=58,
                help="Mean difference of the phases over channels, weighted by amplitude, cycles",
            ),
            "Joints (cm)": number(
                "Joints",
                format="%.1f cm",
                width=66,
                help="Mean distance between corresponding joints, both bodies at the origin facing "
                "the same way",
            ),
            "Furthest": text(help="The joint that differs most, and its distance"),
        },
    )
    offer_table(list(table), zip(*table.values(), strict=True), "matches", "matches csv")


def _summary(answer: Answer, chosen: _Controls) -> None:
    """Say why the first match of each search was found, and what both searches give on average."""
    both = [(by, found) for by in (BY_PHASE, BY_POSE) if (found := answer.of(by))]
    for by, found in both:
        first = found[0]
        st.caption(
            f"**{first.name}** is nearest in {by}: its phases are {first.cycles_apart:.3f} cycles "
            f"from the query's, its joints {100 * first.joint_distance_m:.1f} cm, most of all "
            f"{plain(first.furthest)} ({100 * first.furthest_m:.0f} cm)."
        )
    if len(both) == 2:
        means = [sum(e.pose_distance for e in found) / len(found) for _, found in both]
        used = "uses the slow pose alone" if chosen.posture else "does not use the pose"
        st.caption(
            f"The distance in pose, of positions and velocities, is {means[0]:.2f} on average "
            f"where phases match, {means[1]:.2f} where poses do: the search by phase {used}."
        )


def _export(searched_: Searched, answer: Answer, seconds: float) -> None:
    """Draw the export of one match as a motion file."""
    found = answer.found
    names = [f"{e.name}: {e.moment.clip} at {e.moment.time_s:.2f} s" for e in found]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Export what follows", range(len(found)), format_func=names.__getitem__, key="exported"
        )
        each = found[min(chosen, len(found) - 1)]
        offer_motion(
            lambda: following(searched_.database, each.moment.row, seconds),
            f"match_{each.by}_{each.rank}",
            "match",
        )
    st.caption(f"{seconds:g} s of {plain(each.moment.clip)}, from {each.moment.time_s:.2f} s on.")
    state_units(searched_.database.clip(0).source.unit_m)
