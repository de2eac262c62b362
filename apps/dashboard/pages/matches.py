"""Page Matches: the nearest moments to a chosen moment, by phase and by pose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import address, widgets
from deepphase.apps.dashboard.parts.address import Span
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
)
from deepphase.apps.dashboard.parts.encodings import Encodings, open_encodings, reads_all
from deepphase.apps.dashboard.parts.messages import plain
from deepphase.errors import ParameterError
from deepphase.figures.similarity import match_distances
from deepphase.matching.search.moments import following

# What is shown -> searches.
_SHOWN = {"Phase": (BY_PHASE,), "Pose": (BY_POSE,), "Both": (BY_PHASE, BY_POSE)}
_MAX_MATCHES, _PLAYER_HEIGHT = 5, 720


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

    @property
    def phase_words(self) -> str:
        """What the search by phase compares."""
        return "phase and posture" if self.posture else "phase"


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Matches",
        "Choose a moment of a clip: the moments nearest to it stand over it, and play on from "
        "there. A match by phase has the same timing; a match by pose has the same posture, and "
        "may move on differently.",
    )
    read = open_encodings()
    store, fps = read.store, read.extractor.fps
    if store.fps != fps:
        raise ParameterError(
            f"{read.clips.name} has {store.fps:g} frames a second, the model {fps:g}",
            hint=f"prepare the clips with `deepphase prepare --fps {fps:g}`, or choose another "
            "model",
        )
    chosen = _controls(read)
    if not reads_all(read, chosen.clip):
        at_s, length_s = chosen.frame / store.fps, float(store.lengths[chosen.clip]) / store.fps
        span = Span(max(0.0, at_s - BEFORE_S), min(at_s + chosen.seconds, length_s), at_s)
        widgets.show_player(read.take(chosen.clip, span), height=_PLAYER_HEIGHT)
        return
    by_phase = searched(read, PHASE_POSTURE if chosen.posture else PHASE, "phases")
    by_pose = searched(read, POSES[chosen.pose], "poses")
    answer = find(
        by_phase,
        by_pose,
        store.names[chosen.clip],
        chosen.frame,
        chosen.matches,
        elsewhere=chosen.elsewhere,
    )
    if answer.found:
        _show(by_phase, answer, chosen)
        return
    st.info(
        "No frame is far enough from this moment to be a match: allow matches in the same clip, or "
        "open a collection with more clips.",
        icon=":material/search_off:",
    )


def _controls(read: Encodings) -> _Controls:
    store = read.store
    columns = widgets.wide_columns("moment", [3, 4])
    index = address.clip_chooser(store.names, columns[0])
    last = int(store.lengths[index]) - 1
    at_s = 0.0
    if last > 0:
        key = f"moment {read.clips.id} {index}"
        usual_s = address.moment_of(store.names[index]) or last // 2 / store.fps
        at_s = columns[1].slider(
            "Moment (s)", 0.0, last / store.fps, min(usual_s, last / store.fps),
            step=1 / store.fps, format="%.2f", key=key,
            on_change=lambda: address.put_moment(float(st.session_state[key])),
        )  # fmt: skip
    pose, posture, elsewhere = next(iter(POSES)), True, False
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        shown = widgets.choose_one("Nearest in", list(_SHOWN), key="nearest")
        if shown != "Pose":
            posture = st.toggle(
                "With posture", True, key="posture",
                help="Search by phase and by the slow pose: positions of hips, chest, head, hands "
                "and feet after a low-pass filter of half a second",
            )  # fmt: skip
        if shown != "Phase":
            pose = widgets.choose_one("Joints", list(POSES), key="pose")
        matches = st.slider("Matches", 1, _MAX_MATCHES, 4, key="matches", width=170)
        seconds = st.slider("Seconds", 1.0, 6.0, 2.0, step=0.5, key="seconds", width=170)
        if len(store) > 1:
            elsewhere = st.toggle("Only in other clips", key="elsewhere")
    frame = min(round(at_s * store.fps), last)
    return _Controls(index, frame, seconds, shown, matches, pose, posture, elsewhere)


def _show(by_phase: Searched, answer: Answer, chosen: _Controls) -> None:
    st.caption(_ranking(chosen))
    take = matched_take(by_phase.database, answer, _SHOWN[chosen.shown], chosen.seconds)
    widgets.show_player(take, height=_PLAYER_HEIGHT, at_s=BEFORE_S)
    left, right = widgets.wide_columns("matches", [5, 4])
    axes = (f"Distance in {chosen.phase_words} (%)", "Distance in pose (cm)")
    with left:
        chart = match_distances(answer.distances(), answer.others, axes)
        widgets.show_figure(chart, "distances", file="match_distances")
    with right:
        _table(answer, chosen)
        widgets.offer_player(take, "matches")
        _export(by_phase, answer, chosen.seconds)


def _ranking(chosen: _Controls) -> str:
    """Say by what distance the shown matches are ranked."""
    phase = (
        f"distance in {chosen.phase_words}, in % of that between this moment and a usual one: 0 "
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
    """Draw the table of the matches of both searches, and their means."""
    found = answer.found
    table = {
        "Match": [match.name for match in found],
        "At (s)": [round(match.moment.time_s, 3) for match in found],
        "Phase (%)": [round(match.distances[BY_PHASE], 2) for match in found],
        "Pose (cm)": [round(match.distances[BY_POSE], 2) for match in found],
        "Timing (cycles)": [round(match.cycles_apart, 4) for match in found],
        "Clip": [match.moment.clip for match in found],
        "Furthest": [f"{match.furthest} {100 * match.furthest_m:.0f} cm" for match in found],
    }
    helps = {
        "Phase (%)": f"Distance in {chosen.phase_words}, by which the first rows are ranked",
        "Pose (cm)": "Distance of the joints, by which the last rows are ranked",
        "Timing (cycles)": "Mean difference of the phases over channels, weighted by amplitude, "
        "cycles",
    }
    formats = {
        "At (s)": ("%.2f s", 64),
        "Phase (%)": ("%.1f %%", 62),
        "Pose (cm)": ("%.1f cm", 66),
        "Timing (cycles)": ("%.3f", 58),
    }
    columns = {
        name: st.column_config.NumberColumn(
            name.partition(" (")[0], format=text, width=width, help=helps.get(name)
        )
        for name, (text, width) in formats.items()
    }
    text = st.column_config.TextColumn
    columns["Match"] = text(width=62)
    columns["Furthest"] = text(help="The joint that differs most, and its distance")
    widgets.show_table(
        "matches", table, height=widgets.table_height(len(found)), column_config=columns
    )
    widgets.offer_table(list(table), list(zip(*table.values(), strict=True)), "matches")
    parts = []
    for by, name in ((BY_PHASE, chosen.phase_words), (BY_POSE, BY_POSE)):
        cycles = np.mean([match.cycles_apart for match in answer.of(by)])
        apart = np.mean([match.distances[BY_POSE] for match in answer.of(by)])
        parts.append(
            f"nearest in {name}: {cycles:.3f} cycles apart in timing, {apart:.1f} cm in pose"
        )
    st.caption(f"On average, {'; '.join(parts)}.")


def _export(by_phase: Searched, answer: Answer, seconds: float) -> None:
    """Draw the export of one match as a motion file."""
    found, database = answer.found, by_phase.database
    names = [f"{match.name}: {match.where}" for match in found]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Export what follows", range(len(found)), format_func=names.__getitem__, key="exported"
        )
        match = found[min(chosen, len(found) - 1)]
        widgets.offer_motion(
            lambda: following(database, match.moment.row, seconds),
            f"match_{match.by}_{match.rank}",
            database.clip(0).source.unit_m,
        )
    st.caption(f"{seconds:g} s of {plain(match.moment.clip)}, from {match.moment.time_s:.2f} s on.")
