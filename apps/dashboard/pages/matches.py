"""Page Matches: the nearest moments to a chosen moment, by phase and by pose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, encodings, widgets
from deepphase.apps.dashboard.parts.choosers import Span
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.dashboard.parts.messages import shared_cache
from deepphase.apps.reports.matches_page import row_actor
from deepphase.arrays import Array, wrapped
from deepphase.errors import ParameterError
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.figures.theme import NEUTRAL, channel_colour
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.moments import Moment, following, nearest_moments
from deepphase.matching.search.request import Searcher
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.roles import body_parts, find_roles
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import ComparedCosts, CostComparison, CostOption, Marker, Take
from deepphase.work import Progress

BY_PHASE, BY_POSE = "phase", "pose"
# Smallest time between two matches of one clip, and between the query and a match.
_APART_S, _OWN_S = 0.5, 1.0
# Seconds played before the moment.
BEFORE_S = 0.5
# Channels whose parts of a distance are named; the strongest.
_CHANNELS = 5
# Size of the random sample of frames that stand for all others, and its seed.
_OTHERS, _SEED = 1_500, 7
_COLOURS = {BY_PHASE: channel_colour(0), BY_POSE: channel_colour(1)}
# Search -> unit of its distance.
_UNITS = {BY_PHASE: "%", BY_POSE: "cm"}
# Databases in the cache that all sessions share: three layouts of three pairs of clips and model.
_CACHED_DATABASES = 9
# Layouts that the search by phase compares, and the block of the second for posture.
PHASE, PHASE_POSTURE, _SLOW_POSE = "phase", "phase_posture", "slow_pose_position"
# Layouts that the search by pose compares, in which distances are lengths.
POSES = {
    "All joints": FeatureLayout(Feature("pose_position", joints=("all",))),
    "Feet and spine": FeatureLayout(Feature("pose_position", joints=("feet", "spine"))),
}
# What is shown -> searches.
_SHOWN = {"Phase": (BY_PHASE,), "Pose": (BY_POSE,), "Both": (BY_PHASE, BY_POSE)}
_MAX_MATCHES, _PLAYER_HEIGHT = 5, 720


class Searched(NamedTuple):
    """A database with its searcher."""

    database: MotionDatabase
    searcher: Searcher


def searched(read: Encodings, layout: str | FeatureLayout, what: str) -> Searched:
    """A database to search, as of "phases"; the page shows the progress of building it."""
    return shared_cache("databases to search", _CACHED_DATABASES).find_or_make(
        (read.key, str(layout)),
        lambda progress: build_searched(read, layout, progress),
        f"Building the database of {what}",
    )


def build_searched(
    read: Encodings, layout: str | FeatureLayout, progress: Progress | None = None
) -> Searched:
    """The database of a layout."""
    phases = encodings.known_phases(read) if layout in (PHASE, PHASE_POSTURE) else None
    database = MotionDatabase.build(read.store, layout, phases, progress=progress)
    return Searched(database, open_searcher(database, "exact", progress=progress))


@dataclass(frozen=True, eq=False)
class MatchedMoment:
    """A match of a search, "phase" or "pose", and its rank there, from 1.

    `distances` are by search; `terms` (features,) are parts of the square of its own search's
    distance, see `Answer.features`; `furthest` is the joint whose positions differ most.
    """

    by: str
    rank: int
    moment: Moment
    distances: Mapping[str, float]
    terms: Array
    furthest: str
    furthest_m: float
    cycles_apart: float

    @property
    def name(self) -> str:
        """Name in the player and in the table."""
        return f"{self.by} {self.rank}"

    @property
    def where(self) -> str:
        """Its clip and time."""
        return f"{self.moment.clip} at {self.moment.time_s:.2f} s"


@dataclass(frozen=True, eq=False)
class Answer:
    """The matches of the query of a row of the database."""

    row: int
    found: tuple[MatchedMoment, ...]
    features: Mapping[str, tuple[str, ...]]

    def of(self, *searches: str) -> list[MatchedMoment]:
        """The matches by phase, by pose, or by both."""
        return [match for match in self.found if match.by in searches]


def find(
    phase: Searched, pose: Searched, clip: str, frame: int, k: int, *, elsewhere: bool = False
) -> Answer:
    """The k nearest moments in phase and the k nearest in pose; with `elsewhere` of other clips."""
    searches = {BY_PHASE: phase, BY_POSE: pose}
    row = phase.database.row_of(clip, frame)
    rows = np.unique(np.random.default_rng(_SEED).integers(0, len(phase.database), _OTHERS))
    joints = pose.database.layout.features[0].joints
    # (rows, features) differences of rows from the query in both layouts.
    apart = {
        by: lambda rows, features=own.database.features: features[rows] - features[row]
        for by, own in searches.items()
    }
    usual = float(np.median(np.linalg.norm(apart[BY_PHASE](rows), axis=1)))
    # Of distances in features to those that are shown. A block has one scale.
    scales = {
        BY_PHASE: 100.0 / max(usual, 1e-9),
        BY_POSE: 100.0 / float(pose.database.normalisation.scale[0]) / len(joints) ** 0.5,
    }
    columns = {BY_PHASE: _phase_columns(phase.database), BY_POSE: _part_columns(pose.database)}
    found = []
    for by, own in searches.items():
        database = own.database
        left_out = database.ranges_of(row) if elsewhere else database.neighbourhood(row, _OWN_S)
        moments = nearest_moments(
            database, own.searcher, database.features[row], k,
            apart_s=_APART_S, excluded=np.array(left_out),
        )  # fmt: skip
        for rank, moment in enumerate(moments, start=1):
            away = {which: scales[which] * apart[which](moment.row) for which in searches}
            by_joint = np.linalg.norm(away[BY_POSE].reshape(-1, 3), axis=1) * len(joints) ** 0.5
            most = int(by_joint.argmax())
            squares = np.square(away[by], dtype=np.float64)
            found.append(
                MatchedMoment(
                    by,
                    rank,
                    moment,
                    {which: float(np.linalg.norm(values)) for which, values in away.items()},
                    np.array([squares[chosen].sum() for chosen in columns[by].values()]),
                    joints[most],
                    float(by_joint[most]) / 100.0,
                    _cycles_apart(phase.database, row, moment.row),
                )
            )
    return Answer(row, tuple(found), {by: tuple(own) for by, own in columns.items()})


def _phase_columns(database: MotionDatabase) -> dict[str, Array]:
    """Strong channel, the others, and posture where it is compared -> columns of the features."""
    slices = database.layout.slices
    manifold = slices["phase_manifold"]
    places = np.arange(manifold.start, manifold.stop).reshape(-1, 2)
    squares = database.features[:: max(1, len(database) // _OTHERS), manifold] ** 2
    strength = squares.reshape(len(squares), -1, 2).sum((0, 2))
    strongest = np.argsort(-strength)[:_CHANNELS]
    columns = {f"channel {channel}": places[channel] for channel in sorted(strongest)}
    if len(columns) < len(places):
        columns["other channels"] = np.delete(places, strongest, axis=0).ravel()
    if _SLOW_POSE in slices:
        columns["posture"] = np.r_[slices[_SLOW_POSE]]
    return columns


def _part_columns(database: MotionDatabase) -> dict[str, Array]:
    """Part of the body -> columns of its joints' positions."""
    clip = database.clip(0)
    of_joint = body_parts(clip.skeleton, find_roles(clip.skeleton, clip=clip))
    joints = database.layout.features[0].joints
    parts = np.repeat([of_joint[clip.skeleton.index(joint)] for joint in joints], 3)
    return {part: np.flatnonzero(parts == part) for part in dict.fromkeys(parts.tolist())}


def _cycles_apart(database: MotionDatabase, one: int, other: int) -> float:
    """Mean difference of the phases of two rows over channels, weighted by amplitude."""
    phases = database.phases
    assert phases is not None, "the layout has phases"
    weights = phases.amplitude[one] + phases.amplitude[other]
    apart = np.abs(wrapped(phases.phase[other] - phases.phase[one]))
    return float(np.average(apart, weights=weights + 1e-9))


def matched_take(
    database: MotionDatabase, answer: Answer, searches: Sequence[str], seconds: float
) -> Take:
    """A take of the query with the matches of one search, or of both, over it as ghosts."""
    index, frame = int(database.clip_of(answer.row)), int(database.frame_of(answer.row))
    found = answer.of(*searches)

    def actor(row: int, name: str, colour: str) -> Actor:
        return row_actor(
            database, row, before_s=BEFORE_S, seconds=seconds, place=np.zeros(3), name=name,
            colour=colour,
        )  # fmt: skip

    actors = [actor(answer.row, "query", NEUTRAL)]
    for match in found:
        # Ghosts of one search have colours of their own.
        colour = _COLOURS[match.by] if len(searches) > 1 else channel_colour(match.rank - 1)
        actors.append(replace(actor(match.moment.row, match.name, colour), ghost=True))
    costs = None
    if len(searches) == 1 and found:
        (by,) = searches
        options = [CostOption(m.where, m.terms, str(m.rank), actor=m.name) for m in found]
        text = "Nearest first. A click brings a match forward."
        compared = ComparedCosts(0.0, text, options)
        costs = CostComparison(answer.features[by], [compared], unit=_UNITS[by])
    return Take.from_motions(
        actors,
        f"{database.clip(index).name} at {frame / database.fps:.2f} s",
        markers=[Marker("matched moment", BEFORE_S, BEFORE_S)],
        costs=costs,
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

    @property
    def phase_words(self) -> str:
        """What the search by phase compares."""
        return "phase and posture" if self.posture else "phase"


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Matches",
        "The moments nearest to a chosen moment stand over it: in phase they have the same "
        "timing, in pose the same posture.",
    )
    read = encodings.open_encodings()
    store, fps = read.store, read.extractor.fps
    if store.fps != fps:
        raise ParameterError(
            f"{read.clips.name} has {store.fps:g} frames a second, the model {fps:g}",
            hint=f"prepare the clips with `deepphase prepare --fps {fps:g}`, or choose another "
            "model",
        )
    chosen = _controls(read)
    if not encodings.reads_all(read, chosen.clip):
        span = Span.around(store, chosen.clip, chosen.frame / store.fps)
        take = read.opening_take(chosen.clip, span)
        widgets.show_player(take, height=_PLAYER_HEIGHT, **span.player)
        return
    by_phase = searched(read, PHASE_POSTURE if chosen.posture else PHASE, "phases")
    by_pose = searched(read, POSES[chosen.pose], "poses")
    clip, elsewhere = store.names[chosen.clip], chosen.elsewhere
    answer = find(by_phase, by_pose, clip, chosen.frame, chosen.matches, elsewhere=elsewhere)
    if answer.found:
        _show(by_phase, answer, chosen)
    else:
        st.info(
            "No frame is far enough from this moment to be a match: allow matches in the same "
            "clip, or open a collection with more clips.",
            icon=":material/search_off:",
        )


def _controls(read: Encodings) -> _Controls:
    store = read.store
    columns = st.columns(3, vertical_alignment="bottom")
    index = choosers.clip_chooser(store.names, columns[0])
    last = int(store.lengths[index]) - 1
    at_s = 0.0
    if last > 0:
        key = f"moment {read.clips.id} {index}"
        usual_s = choosers.moment_of(store.names[index]) or last // 2 / store.fps
        at_s = columns[1].slider(
            "Moment (s)", 0.0, last / store.fps, min(usual_s, last / store.fps),
            step=1 / store.fps, format="%.2f", key=key,
            on_change=lambda: choosers.put_moment(float(st.session_state[key])),
        )  # fmt: skip
    pose, posture, elsewhere = next(iter(POSES)), True, False
    # One row: the player begins in the upper part of the screen.
    with columns[2], st.container(horizontal=True, vertical_alignment="bottom"):
        shown = widgets.choose_one("Nearest in", list(_SHOWN), key="nearest")
        with st.popover("More", icon=":material/tune:"):
            if shown != "Pose":
                posture = st.toggle(
                    "With posture", True, key="posture",
                    help="Search by phase and by the slow pose: positions of hips, chest, head, "
                    "hands and feet after a low-pass filter of half a second",
                )  # fmt: skip
            if shown != "Phase":
                pose = widgets.choose_one("Joints", list(POSES), key="pose")
            matches = st.slider("Matches", 1, _MAX_MATCHES, 4, key="matches")
            seconds = st.slider("Seconds", 1.0, 6.0, 2.0, step=0.5, key="seconds")
            if len(store) > 1:
                elsewhere = st.toggle("Only in other clips", key="elsewhere")
    frame = min(round(at_s * store.fps), last)
    return _Controls(index, frame, seconds, shown, matches, pose, posture, elsewhere)


def _show(by_phase: Searched, answer: Answer, chosen: _Controls) -> None:
    take = matched_take(by_phase.database, answer, _SHOWN[chosen.shown], chosen.seconds)
    widgets.show_player(take, height=_PLAYER_HEIGHT, at_s=BEFORE_S)
    st.caption(_ranking(chosen))
    _table(answer, chosen)
    widgets.offer_player(take, "matches")
    _export(by_phase.database, answer.found, chosen.seconds)


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
    """Draw the table of the matches of both searches."""
    found = answer.found
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    by_phase = f"Distance in {chosen.phase_words}, by which the first rows are ranked"
    by_pose = "Distance of the joints, by which the last rows are ranked"
    cycles = "Mean difference of the phases over channels, weighted by amplitude, cycles"
    values = {
        "Match": [match.name for match in found],
        "At (s)": [round(match.moment.time_s, 3) for match in found],
        "Phase (%)": [round(match.distances[BY_PHASE], 2) for match in found],
        "Pose (cm)": [round(match.distances[BY_POSE], 2) for match in found],
        "Timing (cycles)": [round(match.cycles_apart, 4) for match in found],
        "Clip": [match.moment.clip for match in found],
        "Furthest": [f"{match.furthest} {100 * match.furthest_m:.0f} cm" for match in found],
    }
    look = {
        "Match": text(width=62),
        "At (s)": number("At", format="%.2f s", width=64),
        "Phase (%)": number("Phase", format="%.1f %%", width=62, help=by_phase),
        "Pose (cm)": number("Pose", format="%.1f cm", width=66, help=by_pose),
        "Timing (cycles)": number("Timing", format="%.3f", width=58, help=cycles),
        "Clip": text(),
        "Furthest": text(help="The joint that differs most, and its distance"),
    }
    widgets.show_table(
        "matches", values, height=widgets.table_height(len(found)), column_config=look
    )
    widgets.offer_table(values, "matches")


def _export(database: MotionDatabase, found: Sequence[MatchedMoment], seconds: float) -> None:
    """Draw the export of one match as a motion file."""
    names = [f"{match.name}: {match.where}" for match in found]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            f"Export the {seconds:g} s that follow", range(len(found)),
            format_func=names.__getitem__, key="exported",
        )  # fmt: skip
        match = found[min(chosen, len(found) - 1)]
        widgets.offer_motion(
            lambda: following(database, match.moment.row, seconds),
            f"match_{match.by}_{match.rank}",
            database.clip(0).source.unit_m,
        )
