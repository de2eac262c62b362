"""Motion databases of the open clips, built once for all sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.apps.dashboard.parts.collection import OpenClips, OpenModel
from deepphase.apps.dashboard.parts.encodings import encodings, known_phases
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.reports.matches_page import row_actor
from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.figures.theme import NEUTRAL, channel_colour
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.moments import Moment, nearest_moments
from deepphase.matching.search.searcher import Searcher, open_searcher
from deepphase.phase.signals import JointVelocities
from deepphase.progress import Progress
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Marker, Take

BY_PHASE, BY_POSE = "phase", "pose"
# Smallest time between two matches of one clip, and between the query and a match.
_APART_S, _OWN_S = 0.5, 1.0
# Seconds played before the moment; metres between the bodies of a row and between rows.
_BEFORE_S, _BESIDE_M, _BEHIND_M = 0.5, 1.3, 2.2
# Size of the random sample of frames that stand for all others, and its seed.
_OTHERS, _SEED = 1_500, 7
# Seconds before and after a moment that its facing is smoothed over.
_AROUND_S = 1.0
COLOURS = {BY_PHASE: channel_colour(0), BY_POSE: channel_colour(1)}


@dataclass(frozen=True, eq=False)
class MatchedMoment:
    """A match of a search.

    Parameters
    ----------
    by, rank
        Search that found it, "phase" or "pose", and its rank there, from 1.
    moment
        Clip, frame and database row of the match.
    phase_distance, pose_distance
        Distances from the query in both databases, in standardised units.
    joint_distance_m
        Metres: mean distance between the corresponding joints of both poses in root space.
    furthest, furthest_m
        The joint whose positions differ most, and metres between them.
    cycles_apart
        Cycles: mean difference of the phases over channels, weighted by amplitude.
    """

    by: str
    rank: int
    moment: Moment
    phase_distance: float
    pose_distance: float
    joint_distance_m: float
    furthest: str
    furthest_m: float
    cycles_apart: float

    @property
    def name(self) -> str:
        """Name in the player and in the table."""
        return f"{self.by} {self.rank}"


@dataclass(frozen=True, eq=False)
class Answer:
    """The matches of one query.

    Parameters
    ----------
    row
        Row of the query, the same in both databases.
    found
        Matches by phase, then by pose, each nearest first.
    others
        (frames, 2) distances in phase and pose of a random sample of frames.
    """

    row: int
    found: tuple[MatchedMoment, ...]
    others: Array

    def of(self, by: str) -> list[MatchedMoment]:
        """The matches by phase, or by pose."""
        return [each for each in self.found if each.by == by]

    def distances(self) -> dict[str, tuple[Array, list[str]]]:
        """Search -> distances of its matches in phase and in pose, and where they are."""
        return {
            f"nearest in {by}": (
                np.array([[e.phase_distance, e.pose_distance] for e in found]).reshape(-1, 2),
                [f"{e.moment.clip} at {e.moment.time_s:.2f} s" for e in found],
            )
            for by, found in ((BY_PHASE, self.of(BY_PHASE)), (BY_POSE, self.of(BY_POSE)))
        }


def find(
    phase: Searched,
    pose: Searched,
    signals: JointVelocities,
    clip: str,
    frame: int,
    k: int,
    *,
    elsewhere: bool = False,
) -> Answer:
    """The k nearest moments in phase and the k nearest in pose.

    Parameters
    ----------
    phase, pose
        Databases of the same clips.
    signals
        Reader of the poses whose joints are compared.
    clip, frame
        Query: name of a clip, and a frame at the rate of the databases.
    elsewhere
        Whether to search only other clips than the query's.
    """
    row = phase.database.row_of(clip, frame)
    own_clip = phase.database.ranges_of(row)
    queries = {by: each.database.features[row] for by, each in ((BY_PHASE, phase), (BY_POSE, pose))}
    query_pose = _pose_at(phase.database, signals, row)
    found = []
    for by, each in ((BY_PHASE, phase), (BY_POSE, pose)):
        own = np.array(own_clip) if elsewhere else each.database.neighbourhood(row, _OWN_S)
        moments = nearest_moments(
            each.database, each.searcher, queries[by], k, apart_s=_APART_S, excluded=own
        )
        for rank, moment in enumerate(moments, start=1):
            in_phase, in_pose = (
                float(np.linalg.norm(other.database.features[moment.row] - queries[which]))
                for which, other in ((BY_PHASE, phase), (BY_POSE, pose))
            )
            pose_there = _pose_at(phase.database, signals, moment.row)
            apart = np.linalg.norm(pose_there - query_pose, axis=-1)
            most = int(apart.argmax())
            found.append(
                MatchedMoment(
                    by,
                    rank,
                    moment,
                    in_phase,
                    in_pose,
                    float(apart.mean()),
                    signals.joints[most],
                    float(apart[most]),
                    _cycles_apart(phase.database, row, moment.row),
                )
            )
    rows = np.unique(np.random.default_rng(_SEED).integers(0, len(phase.database), _OTHERS))
    others = np.stack(
        [
            np.linalg.norm(each.database.features[rows] - queries[by], axis=1)
            for by, each in ((BY_PHASE, phase), (BY_POSE, pose))
        ],
        axis=1,
    )
    return Answer(row, tuple(found), others)


def _cycles_apart(database: MotionDatabase, one: int, other: int) -> float:
    """Mean difference of the phases of two rows over channels, weighted by amplitude."""
    phases = database.phases
    if phases is None:
        raise ParameterError(
            "the database has no phases to compare", hint="build it with a phase model"
        )
    weights = phases.amplitude[one] + phases.amplitude[other]
    apart = np.abs(wrapped(phases.phase[other] - phases.phase[one]))
    return float(np.average(apart, weights=weights + 1e-9))


def matched_take(database: MotionDatabase, answer: Answer, seconds: float) -> Take:
    """A take with the query in front, a row of matches by phase, and behind it one by pose."""
    index, frame = int(database.clip_of(answer.row)), int(database.frame_of(answer.row))
    query = database.clip(index)

    def actor(row: int, place: tuple[float, float], name: str, colour: str) -> Actor:
        return row_actor(
            database,
            row,
            before_s=_BEFORE_S,
            seconds=seconds,
            place=np.array([place[0], 0.0, place[1]]),
            name=name,
            colour=colour,
        )

    actors = [actor(answer.row, (0.0, 0.0), "query", NEUTRAL)]
    for depth, by in ((1, BY_PHASE), (2, BY_POSE)):
        row = answer.of(by)
        for column, each in enumerate(row):
            across = (column - (len(row) - 1) / 2) * _BESIDE_M
            place = (across, -depth * _BEHIND_M)
            actors.append(actor(each.moment.row, place, each.name, COLOURS[by]))
    return Take.of(
        actors,
        f"{query.name} at {frame / database.fps:.2f} s",
        markers=[Marker("matched moment", _BEFORE_S, _BEFORE_S)],
        note="In front the query, behind it the moments nearest in phase, then those in pose",
    )


def table_of(answer: Answer) -> dict[str, list[object]]:
    """Heading -> values of the matches: by what they were found, their distances and places."""
    found = answer.found
    return {
        "Match": [each.name for each in found],
        "At (s)": [round(each.moment.time_s, 3) for each in found],
        "Phase (standardised unit)": [round(each.phase_distance, 4) for each in found],
        "Pose (standardised unit)": [round(each.pose_distance, 4) for each in found],
        "Timing (cycles)": [round(each.cycles_apart, 4) for each in found],
        "Joints (cm)": [round(100 * each.joint_distance_m, 2) for each in found],
        "Clip": [each.moment.clip for each in found],
        "Furthest": [f"{each.furthest} {100 * each.furthest_m:.0f} cm" for each in found],
    }


def _pose_at(database: MotionDatabase, signals: JointVelocities, row: int) -> Array:
    """(joints, 3) metres in root space at a row."""
    clip = database.clip(int(database.clip_of(row)))
    frame, around = int(database.frame_of(row)), round(_AROUND_S * database.fps)
    start = max(frame - around, 0)
    part = clip.sliced(start, min(frame + around + 1, len(clip)))
    return signals.poses(part)[frame - start]


# Databases in the cache that all sessions share: three layouts of three pairs of clips and model.
_CACHED_DATABASES = 9
PHASE, PHASE_POSTURE = "phase", "phase_posture"
"""Layouts that the search by phase compares."""


@dataclass(frozen=True, eq=False)
class Searched:
    """A database with its searcher."""

    database: MotionDatabase
    searcher: Searcher


def searched(clips: OpenClips, model: OpenModel, layout: str, what: str) -> Searched:
    """A database to search; the page shows the progress of building it.

    Parameters
    ----------
    layout
        Feature layout of configs/matching.
    what
        Words for what is searched, as in "phases".

    Raises
    ------
    ParameterError
        If clips, model and layout do not fit.
    """
    return shared_cache("databases to search", _CACHED_DATABASES).find_or_make(
        (clips.key, model.key, layout),
        lambda progress: build_searched(clips, model, layout, progress),
        f"Building the database of {what}",
    )


def build_searched(
    clips: OpenClips, model: OpenModel, layout: str, progress: Progress | None = None
) -> Searched:
    """The database of a layout; arguments as of `searched`."""
    read = encodings(clips, model)
    phases = known_phases(read) if layout in (PHASE, PHASE_POSTURE) else None
    database = MotionDatabase.build(read.store, layout, phases, progress=progress)
    return Searched(database, open_searcher(database, "exact", progress=progress))
