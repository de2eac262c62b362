"""Motion of a matcher: its body, the values of poses, the kept states of rows with their exact
search, and the poses that are decompressed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from deepphase.arrays import Array, ComputedRows
from deepphase.evaluation.motion_measures import USUAL_PERCENTILE
from deepphase.matching.player.playback import Playback, supports
from deepphase.matching.player.settings import CONSTANTS
from deepphase.matching.player.trajectory_queries import FacingCoverage
from deepphase.matching.search.exact import ExactSearcher
from deepphase.matching.search.request import Searcher, SearchRequest
from deepphase.motion import quaternions
from deepphase.motion.clip import Source
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.quaternions import from_six_numbers, six_numbers
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, subtree_mask


class RootPoses(NamedTuple):
    """Poses of frames in root space, with their motion to the next frame."""

    # rotations, translations: (..., joints, 4) and (..., translated joints, 3) float32, as those of
    # a `Playback`.
    rotations: Array
    translations: Array
    # steps, slips: (..., 3) and (..., limbs, 2) float32: motion of the root and of feet, as of a
    # `Playback`.
    steps: Array
    slips: Array


@dataclass(frozen=True)
class PoseValues:
    """Order of the values of a pose.

    They are rotations (body, 6), the rotated x and y axes; translations (moved, 3) m; and
    velocities in root space: of the root (3), m/s, m/s and rad/s, and of feet (limbs, 2), m/s.
    """

    joints: int  # Joints of the skeleton
    body: tuple[int, ...]  # Joints from the carrier down, of which rotations are
    translated: int  # Number of translated joints
    moved: tuple[int, ...]  # Those of them that are in the body
    limbs: int  # Number of limbs that end in feet
    fps: float  # Frames per second

    @classmethod
    def from_body(cls, body: Playback | MatcherBody, fps: float) -> PoseValues:
        """The values of a body's poses, from its hips down."""
        joints = np.flatnonzero(subtree_mask(body.skeleton, body.roles.hips)).tolist()
        translated = body.translated_joints.tolist()
        moved = tuple(index for index, joint in enumerate(translated) if joint in joints)
        limbs = len(body.limbs)
        return cls(len(body.skeleton), tuple(joints), len(translated), moved, limbs, fps)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Name -> its values."""
        sizes = {
            "rotations": 6 * len(self.body),
            "translations": 3 * len(self.moved),
            "velocity": 3,
            "slips": 2 * self.limbs,
        }
        stops = np.cumsum(list(sizes.values())).tolist()
        return {
            name: slice(stop - size, stop)
            for (name, size), stop in zip(sizes.items(), stops, strict=True)
        }

    @property
    def dims(self) -> int:
        """Number of values."""
        return self.slices["slips"].stop

    def values(self, poses: RootPoses) -> Array:
        """(..., dims) float32 values of poses."""
        shape = poses.steps.shape[:-1]
        parts = (
            six_numbers(poses.rotations[..., list(self.body), :]),
            poses.translations[..., list(self.moved), :],
            poses.steps * self.fps,
            poses.slips * self.fps,
        )
        return np.concatenate([each.reshape(*shape, -1) for each in parts], -1, dtype=np.float32)

    def poses(self, values: Array) -> RootPoses:
        """The poses of values (frames, dims)."""
        count, slices = len(values), self.slices
        rotations = np.empty((count, self.joints, 4), np.float32)
        if len(self.body) < self.joints:
            rotations[:] = quaternions.IDENTITY
        six = values[:, slices["rotations"]].reshape(count, -1, 6)
        rotations[:, list(self.body)] = from_six_numbers(six)
        translations = np.zeros((count, self.translated, 3), np.float32)
        translations[:, list(self.moved)] = values[:, slices["translations"]].reshape(count, -1, 3)
        return RootPoses(
            rotations,
            translations,
            values[:, slices["velocity"]] / np.float32(self.fps),
            values[:, slices["slips"]].reshape(count, -1, 2) / np.float32(self.fps),
        )


@dataclass(frozen=True, eq=False)
class MatcherBody:
    """The body of a matcher, and what was measured in all of the database's motion."""

    # skeleton, translated_joints, source: As of a `Playback`.
    skeleton: Skeleton
    description: Mapping[str, str]  # Role -> joint name, as `find_roles` takes a description
    translated_joints: Array
    usual_acceleration: float  # As of a `Playback`
    # top_speed, travelling_speed: m/s: 99th percentile of all rows, and median of those in
    # locomotion.
    top_speed: float
    travelling_speed: float
    covered: tuple[bool, ...]  # (8,) bool: as of `FacingCoverage`
    source: Source = Source()  # noqa: RUF009 (frozen)

    @classmethod
    def from_playback(
        cls, playback: Playback, description: Mapping[str, str], playable: Array
    ) -> MatcherBody:
        """The body of a database's motion, of which the rows `playable` (rows,) are played."""
        return cls(
            playback.skeleton,
            dict(description),
            playback.translated_joints,
            playback.usual_acceleration,
            playback.top_speed,
            playback.travelling_speed,
            tuple(playback.facing_coverage(playable).covered.tolist()),
            playback.source,
        )

    @cached_property
    def roles(self) -> Roles:
        """Roles of the joints."""
        return find_roles(self.skeleton, description=dict(self.description))

    @cached_property
    def limbs(self) -> LegChains:
        """Limbs that end in feet."""
        return LegChains.from_skeleton(self.skeleton, self.roles).on_floor(
            self.skeleton, self.roles
        )


# States that a row is interpolated from: two before it, and two after.
AROUND = 4


@dataclass(frozen=True, eq=False)
class KeptStates:
    """States (features and latents) of every few rows, between which others are interpolated."""

    features: Array  # (kept, dims) float32, normalised as in the database
    latents: Array  # (kept, latents) float32
    spacing: int  # Rows from one kept state to the next of the same stretch
    counts: Array  # (stretches,) int64 kept states of each stretch; at least two

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.stops[-1])

    @cached_property
    def stops(self) -> Array:
        """(stretches,) row after the last one of each stretch."""
        return np.cumsum((self.counts - 1) * self.spacing + 1)

    @cached_property
    def starts(self) -> Array:
        """(stretches,) first row of each stretch."""
        return np.concatenate([np.zeros(1, np.int64), self.stops[:-1]])

    @cached_property
    def firsts(self) -> Array:
        """(stretches,) first kept state of each stretch."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def rows(self) -> Array:
        """(kept,) row of each kept state, rising."""
        inside = np.arange(len(self.features)) - np.repeat(self.firsts, self.counts)
        return np.repeat(self.starts, self.counts) + self.spacing * inside

    @cached_property
    def weights(self) -> Array:
        """(spacing + 1, 4) float32 weights of the states around a row: a cubic B-spline's."""
        share = np.arange(self.spacing + 1) / self.spacing
        powers = np.stack([share**0, share, share**2, share**3], axis=1)
        basis = [[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]
        return (powers @ np.array(basis) / 6.0).astype(np.float32)

    def stretch_of(self, rows: Array) -> Array:
        """(...) stretch of rows (...)."""
        return np.searchsorted(self.stops, rows, side="right")

    def around(self, rows: Array) -> tuple[Array, Array]:
        """(..., 4) kept states around rows (...), and (...) frames of the rows after the second."""
        stretch = self.stretch_of(rows)
        last = self.counts[stretch] - 1
        second = np.minimum((rows - self.starts[stretch]) // self.spacing, last - 1)
        near = np.clip(second[..., None] + np.arange(-1, AROUND - 1), 0, last[..., None])
        first = self.firsts[stretch]
        return first[..., None] + near, rows - self.starts[stretch] - self.spacing * second

    def read(self, rows: Array, values: Array) -> Array:
        """(..., width) values (kept, width) of the kept states, interpolated at rows (...)."""
        near, frames = self.around(rows)
        return np.einsum("...s,...sw->...w", self.weights[frames], values[near])

    def states(self, rows: Array) -> Array:
        """(..., dims + latents) states of rows (...)."""
        return self.read(rows, self._states)

    @cached_property
    def _states(self) -> Array:
        return np.concatenate([self.features, self.latents], axis=1)


class InterpolatedFeatures(ComputedRows):
    """Features of all rows of kept states, which are interpolated where they are indexed."""

    def __init__(self, kept: KeptStates) -> None:
        super().__init__(kept.features, lambda rows: kept.read(rows, kept.features))
        self.shape = (len(kept), kept.features.shape[1])

    def _read(self, rows: Any) -> Array:
        if isinstance(rows, slice) or np.asarray(rows).dtype == np.bool_:
            rows = np.arange(len(self))[rows]
        return self.transform(np.asarray(rows))


@dataclass(frozen=True, eq=False)
class _Searched:
    """The kept states that an `ExactSearcher` searches."""

    features: Array
    offered_rows: Array

    @property
    def dims(self) -> int:
        return self.features.shape[1]

    def __len__(self) -> int:
        return len(self.features)


class KeptSearcher(Searcher):
    """Exact search of kept states that are `offered` (kept,), with the numbers of their rows."""

    name = "exact"
    exact = True

    def __init__(self, kept: KeptStates, offered: Array) -> None:
        self._rows, self.shape = kept.rows, (len(kept), kept.features.shape[1])
        self._exact = ExactSearcher(_Searched(kept.features, np.flatnonzero(offered)))

    def answered(self, request: SearchRequest) -> tuple[Array, Array]:
        """As `Searcher.answered`."""
        rows, allowed = self._rows, request.allowed
        of_kept = replace(
            request,
            allowed=None if allowed is None else allowed[rows],
            excluded=np.searchsorted(rows, request.excluded),
        )
        distances, found = self._exact.answered(of_kept)
        return distances, np.where(found >= 0, rows[found], -1)


# Rows that stay decompressed: a thousand characters read three thousand in a frame.
_KEPT = 1 << 14
# Rows whose transitions are compared: as good as those of a database, with a quarter of the poses.
_CANDIDATES = 4
# Rows that show how fast legs usually turn.
_RATED_ROWS = 2000


class DecompressedRows:
    """Poses of rows by a function of rows; the last ones that were read stay decompressed."""

    def __init__(self, decompressed: Callable[[Array], RootPoses], count: int) -> None:
        self._decompressed = decompressed
        one = self._decompressed(np.zeros(1, np.int64))
        self._poses = RootPoses(*(np.zeros((_KEPT, *each.shape[1:]), np.float32) for each in one))
        # Place of each row among these, -1 without one; and row of each place.
        self._places = np.full(count, -1, np.int32)
        self._rows = np.full(_KEPT, -1, np.int64)
        self._next = 0
        self._lock = Lock()

    def read(self, name: str, rows: Array) -> Array:
        """(..., ...) values of rows (...): a field of `RootPoses`."""
        flat = rows.reshape(-1)
        with self._lock:
            places = self._places[flat]
            missing = places < 0
            if missing.any():
                new = np.unique(flat[missing])
                if len(new) + len(flat) > _KEPT:
                    some = self._decompressed(flat)
                    return getattr(some, name).reshape(*rows.shape, *getattr(some, name).shape[1:])
                self._write(new)
                places = self._places[flat]
                if (places < 0).any():
                    # Others took the places of rows that are read here, too.
                    self._write(np.unique(flat))
                    places = self._places[flat]
            values = getattr(self._poses, name)[places]
        return values.reshape(*rows.shape, *values.shape[1:])

    def _write(self, rows: Array) -> None:
        places = (self._next + np.arange(len(rows))) % _KEPT
        self._next = (self._next + len(rows)) % _KEPT
        old = self._rows[places]
        self._places[old[old >= 0]] = -1
        self._rows[places], self._places[rows] = rows, places
        for kept, each in zip(self._poses, self._decompressed(rows), strict=True):
            kept[places] = each


@dataclass(frozen=True)
class _Values:
    """Values of rows, to be indexed like an array."""

    read: Callable[[Array], Array]

    def __getitem__(self, rows: Any) -> Array:
        return self.read(np.asarray(rows))


@dataclass(frozen=True, eq=False)
class DecompressedMotion(Playback):
    """Motion of a matcher's rows; `body`: what was measured in the motion of the database."""

    measured: MatcherBody = None  # type: ignore[assignment]  # fields before have defaults
    rows: int = 0  # Number of rows

    @classmethod
    def from_rows(
        cls,
        body: MatcherBody,
        kept: KeptStates,
        contacts: Array,
        fps: float,
        decompressed: Callable[[Array], RootPoses],
    ) -> DecompressedMotion:
        """The motion of the rows of kept states, whose poses are `decompressed`."""
        rows = DecompressedRows(decompressed, len(kept))
        values = {name: _Values(partial(rows.read, name)) for name in RootPoses._fields}
        ranges = zip(kept.starts.tolist(), kept.stops.tolist(), strict=True)
        frames, limbs = CONSTANTS.support_s * fps, body.limbs
        some = np.unique(np.linspace(0, len(kept) - 2, _RATED_ROWS).astype(np.int64))
        some = some[~np.isin(some + 1, kept.starts)]
        legs = np.concatenate([limbs.upper, limbs.middle, limbs.last])
        pair = (decompressed(each).rotations[:, legs] for each in (some, some + 1))
        return cls(
            skeleton=body.skeleton,
            roles=body.roles,
            fps=fps,
            translated_joints=body.translated_joints,
            carrier=body.roles.hips,
            contacts=contacts,
            limbs=limbs,
            usual_acceleration=body.usual_acceleration,
            fastest=np.percentile(fps * quaternions.angle_between(*pair), USUAL_PERCENTILE, axis=0),
            source=body.source,
            support=np.concatenate([supports(contacts[slice(*each)], frames) for each in ranges]),
            measured=body,
            rows=len(kept),
            **values,
        )

    def __len__(self) -> int:
        return self.rows

    @property
    def candidates(self) -> int:
        """Fewer than of a database, since every pose is decompressed."""
        return _CANDIDATES

    @property
    def travelling_speed(self) -> float:
        """Median speed of the database's rows in locomotion, m/s."""
        return self.measured.travelling_speed

    @property
    def top_speed(self) -> float:
        """As of the database's motion."""
        return self.measured.top_speed

    def facing_coverage(self, rows: Array | None = None) -> FacingCoverage:
        """Directions of travel of the rows of the database that are played."""
        return FacingCoverage(np.array(self.measured.covered), self.standing_speed)
