"""Page Matches: the nearest moments to a chosen moment, by phase and by pose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.address import clip_chooser, moment_of, put_moment
from deepphase.apps.dashboard.parts.channel_views import excerpt_take
from deepphase.apps.dashboard.parts.collection import (
    OpenClips,
    OpenModel,
    open_clips,
    open_model,
)
from deepphase.apps.dashboard.parts.databases import (
    BEFORE_S,
    BY_PHASE,
    BY_POSE,
    PHASE,
    PHASE_POSTURE,
    POSES,
    Answer,
    Searched,
    find,
    matched_take,
    searched,
    table_of,
)
from deepphase.apps.dashboard.parts.encodings import reads_all
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
    table_height,
)
from deepphase.errors import ParameterError
from deepphase.figures.similarity import match_distances
from deepphase.matching.search.moments import following

_WITH_POSTURE = PHASE_POSTURE, "phases and posture"
# What is shown -> searches.
_SHOWN = {"Phase": (BY_PHASE,), "Pose": (BY_POSE,), "Both": (BY_PHASE, BY_POSE)}
_MAX_MATCHES, _PLAYER_HEIGHT = 5, 720
_SECONDS = (1.0, 6.0)


def page() -> None:
    """Draw the page."""
    heading(
        "Matches",
        "Choose a moment of a clip: the moments nearest to it stand over it, and play on from "
        "there. A match by phase has the same timing; a match by pose has the same posture, and "
        "may move on differently.",
    )
    clips = open_clips()
    model = open_model(clips)
    _check_rate(clips, model)
    chosen = _controls(clips)
    if not reads_all(clips, model, chosen.clip):
        at_s = chosen.frame / clips.store.fps
        length_s = float(clips.store.lengths[chosen.clip]) / clips.store.fps
        stop_s = min(at_s + chosen.seconds, length_s)
        take = excerpt_take(clips, model, chosen.clip, max(0.0, at_s - BEFORE_S), stop_s)
        show_player(take, height=_PLAYER_HEIGHT, title=take.name)
        return
    by_phase = searched(clips, model, *(_WITH_POSTURE if chosen.posture else (PHASE, "phases")))
    by_pose = searched(clips, model, POSES[chosen.pose], "poses")
    answer = find(
        by_phase,
        by_pose,
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


def _check_rate(clips: OpenClips, model: OpenModel) -> None:
    if clips.store.fps != model.extractor.fps:
        raise ParameterError(
            f"{clips.name} has {clips.store.fps:g} frames a second, the model "
            f"{model.extractor.fps:g}",
            hint=f"prepare the clips with `deepphase prepare --fps {model.extractor.fps:g}`, or "
            "choose another model",
        )


class _Controls(NamedTuple):
    """What the page's controls ask for."""

    clip: int
    frame: int
    seconds: float
    shown: str
    matches: int
    pose: str
    posture: bool
    elsewhere: bool


def _controls(clips: OpenClips) -> _Controls:
    store = clips.store
    columns = wide_columns("moment", [3, 4])
    index = clip_chooser(store.names, columns[0])
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
    pose, posture, elsewhere = next(iter(POSES)), True, False
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        shown = st.segmented_control(
            "Nearest in", list(_SHOWN), default="Phase", required=True, key="nearest"
        ) or "Phase"  # fmt: skip
        if shown != "Pose":
            posture = st.toggle(
                "With posture", True, key="posture",
                help="Search by phase and by the slow pose: positions of hips, chest, head, hands "
                "and feet after a low-pass filter of half a second",
            )  # fmt: skip
        if shown != "Phase":
            pose = st.segmented_control(
                "Joints", list(POSES), default=pose, required=True, key="pose"
            ) or pose  # fmt: skip
        k = st.slider("Matches", 1, _MAX_MATCHES, 4, key="matches", width=170)
        seconds = st.slider("Seconds", *_SECONDS, 2.0, step=0.5, key="seconds", width=170)
        if len(store) > 1:
            elsewhere = st.toggle("Only in other clips", key="elsewhere")
    frame = min(round(at_s * store.fps), last)
    return _Controls(index, frame, seconds, shown, k, pose, posture, elsewhere)


def _show(searched_: Searched, answer: Answer, chosen: _Controls) -> None:
    database = searched_.database
    st.caption(_ranking(chosen))
    take = matched_take(database, answer, _SHOWN[chosen.shown], chosen.seconds)
    show_player(take, height=_PLAYER_HEIGHT, title=take.name, at_s=BEFORE_S)
    left, right = wide_columns("matches", [5, 4])
    chart = match_distances(
        answer.distances(),
        answer.others,
        (f"Distance in {_searched_by(chosen)} (%)", "Distance in pose (cm)"),
    )
    with left:
        show_figure(chart, "distances", file="match_distances")
    with right:
        _table(answer, chosen)
        _summary(answer, chosen)
        offer_player(take, "matches", "player html")
        _export(searched_, answer, chosen.seconds)


def _searched_by(chosen: _Controls) -> str:
    return "phase and posture" if chosen.posture else "phase"


def _ranking(chosen: _Controls) -> str:
    """Say by what distance the shown matches are ranked."""
    phase = (
        f"distance in {_searched_by(chosen)}, in % of that between this moment and a usual one: 0 "
        "% is the same moment, 100 % one taken by chance"
    )
    joints = "all joints" if chosen.pose == "All joints" else "feet and spine"
    pose = (
        f"distance of {joints} in centimetres (root mean square), both bodies in one place facing "
        "one way"
    )
    by = {"Phase": phase, "Pose": pose, "Both": f"{phase}; or by the {pose}"}
    return f"Ranked by the {by[chosen.shown]}."


def _table(answer: Answer, chosen: _Controls) -> None:
    table = table_of(answer)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    show_table(
        "matches",
        table,
        height=table_height(len(answer.found)),
        column_config={
            "Match": text(width=62),
            "At (s)": number("At", format="%.2f s", width=64),
            "Phase (%)": number(
                "Phase",
                format="%.1f %%",
                width=62,
                help=f"Distance in {_searched_by(chosen)}, by which the first rows are ranked",
            ),
            "Pose (cm)": number(
                "Pose",
                format="%.1f cm",
                width=66,
                help="Distance of the joints, by which the last rows are ranked",
            ),
            "Timing (cycles)": number(
                "Timing",
                format="%.3f",
                width=58,
                help="Mean difference of the phases over channels, weighted by amplitude, cycles",
            ),
            "Furthest": text(help="The joint that differs most, and its distance"),
        },
    )
    offer_table(list(table), zip(*table.values(), strict=True), "matches", "matches csv")


def _summary(answer: Answer, chosen: _Controls) -> None:
    """Say what both searches give."""
    names = {BY_PHASE: _searched_by(chosen), BY_POSE: BY_POSE}
    parts = []
    for by, name in names.items():
        found = answer.of(by)
        cycles = np.mean([each.cycles_apart for each in found])
        apart = np.mean([each.distances[BY_POSE] for each in found])
        parts.append(
            f"nearest in {name}: {cycles:.3f} cycles apart in timing, {apart:.1f} cm in pose"
        )
    st.caption(f"On average, {'; '.join(parts)}.")


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
