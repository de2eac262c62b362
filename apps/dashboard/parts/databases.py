"""Moments of the open clips that are nearest to one in phase and in pose, and their take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.apps.dashboard.parts.encodings import Encodings, known_phases
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.reports.matches_page import row_actor
from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.figures.theme import NEUTRAL, channel_colour
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.moments import Moment, nearest_moments
from deepphase.matching.search.request import Searcher
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.roles import body_parts, find_roles
from deepphase.progress import Progress
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import ComparedCosts, CostComparison, CostOption, Marker, Take

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


@dataclass(frozen=True, eq=False)
class Searched:
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
    phases = known_phases(read) if layout in (PHASE, PHASE_POSTURE) else None
    database = MotionDatabase.build(read.store, layout, phases, progress=progress)
    return Searched(database, open_searcher(database, "exact", progress=progress))


@dataclass(frozen=True, eq=False)
class MatchedMoment:
    """A match of a search, "phase" or "pose", and its rank there, from 1.

    `terms` (features,) are parts of the square of its own search's distance, see
    `Answer.features`; `furthest` is the joint whose positions differ most.
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

    @property
    def distance(self) -> float:
        """The distance that its search ranks by."""
        return self.distances[self.by]


@dataclass(frozen=True, eq=False)
class Answer:
    """The matches of the query of a row of the database."""

    row: int
    found: tuple[MatchedMoment, ...]
    features: Mapping[str, tuple[str, ...]]
    others: Array  # (frames, 2) distances in phase and pose of a random sample of frames

    def of(self, *searches: str) -> list[MatchedMoment]:
        """The matches by phase, by pose, or by both."""
        return [match for match in self.found if match.by in searches]

    def distances(self) -> dict[str, tuple[Array, list[str]]]:
        """Search -> distances of its matches in phase and in pose, and where they are."""
        return {
            f"nearest in {by}": (
                np.array([list(match.distances.values()) for match in found]).reshape(-1, 2),
                [match.where for match in found],
            )
            for by in (BY_PHASE, BY_POSE)
            for found in [self.of(by)]
        }


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
    others = {by: np.linalg.norm(differences(rows), axis=1) for by, differences in apart.items()}
    # Of distances in features to those that are shown. A block has one scale.
    scales = {
        BY_PHASE: 100.0 / max(float(np.median(others[BY_PHASE])), 1e-9),
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
    shown = np.stack([scales[by] * values for by, values in others.items()], axis=1)
    return Answer(row, tuple(found), {by: tuple(own) for by, own in columns.items()}, shown)


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
    """A take of the query with the matches of one search, or of both, over it as ghosts.

    Those of one search have the parts of their distances beside them.
    """
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
    return Take.of(
        actors,
        f"{database.clip(index).name} at {frame / database.fps:.2f} s",
        markers=[Marker("matched moment", BEFORE_S, BEFORE_S)],
        costs=costs,
    )
