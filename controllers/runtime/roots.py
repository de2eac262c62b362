"""Roots of running characters: their history, and those of bodies that stand."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from deepphase.arrays import Array
from deepphase.controllers.schema.schema import ControllerSchema

_GOAL_M_S = 0.1
"""A goal stands if the desired trajectory ends slower than this, metres a second."""
_BODY_M_S = 0.15
"""A body stands if its root is predicted to move slower than this, metres a second."""
_DRIFT_S, _FORGET_S = 0.3, 0.1
"""Time constants in seconds: of the mean velocity of a standing body, and of its end."""


class PoseHistory:
    """History of roots in the world over the reach of the schema's past samples.

    Before the first frame it is a cubic spline through the samples of the initial state.

    `places`, `angles` (characters, samples) complex metres and radians: the whole trajectory, in
    the world. `velocities` (characters, samples) complex m/s in the world; None if the initial
    state has none.
    """

    def __init__(
        self, schema: ControllerSchema, places: Array, angles: Array, velocities: Array | None
    ) -> None:
        offsets = np.array(schema.config.offsets_s)
        moments = _past_moments(schema)
        self._fps = schema.fps
        self._nearest = past_frames(schema)
        self._before = _frames_before(moments)
        share = moments - self._before
        self._share = None if (np.abs(share) < 1e-3).all() else share[:, None]
        times = history_times(schema)
        length = len(times)
        self._frames = length
        place = CubicSpline(offsets, places, axis=1)
        self._places = place(times).T.copy()  # (frames, characters), like all arrays of the history
        self._angles = CubicSpline(offsets, angles, axis=1)(times).T.copy()
        moving = place.derivative() if velocities is None else CubicSpline(offsets, velocities, 1)
        self._velocities = moving(times).T.copy()
        self._now = length - 1
        self._recorded = 0

    @property
    def place(self) -> Array:
        """(characters,) complex metres: current roots."""
        return self._places[self._now]

    @property
    def angle(self) -> Array:
        """(characters,) radians: current facing."""
        return self._angles[self._now]

    @property
    def velocity(self) -> Array:
        """(characters,) complex m/s: current velocity."""
        return self._velocities[self._now]

    @property
    def rate(self) -> Array:
        """(characters,) rad/s: turning rate of the last frame."""
        return (self.angle - self._angles[self._now - 1]) * self._fps

    def record(self, places: Array, angles: Array, velocities: Array) -> None:
        """Add a frame; its velocity is the predicted one until the next frame is known."""
        last, before = self._now, (self._now - 1) % self._frames
        self._now = now = (self._now + 1) % self._frames
        if self._recorded:
            # Central differences, as in the data.
            self._velocities[last] = 0.5 * self._fps * (places - self._places[before])
        self._places[now], self._angles[now] = places, angles
        self._velocities[now] = velocities
        self._recorded += 1

    def samples(self) -> tuple[Array, Array, Array]:
        """The past samples relative to the current root.

        Returns places, directions, velocities : (characters, past samples) complex.
        """
        nearest = (self._now + self._nearest) % self._frames
        places, angles = self._between(self._places), self._between(self._angles)
        turn = np.exp(1j * self.angle)
        return (
            ((places - self.place) * turn).T,
            (1j * np.exp(1j * (self.angle - angles))).T,
            (self._velocities[nearest] * turn).T,
        )

    def _between(self, values: Array) -> Array:
        before = values[(self._now + self._before) % self._frames]
        if self._share is None:
            return before
        after = values[(self._now + self._before + 1) % self._frames]
        return before + self._share * (after - before)


def history_times(schema: ControllerSchema) -> Array:
    """(frames,) seconds from now of the frames of a history, not before the first sample."""
    length = max(2, 2 - int(_frames_before(_past_moments(schema)).min(initial=0)))
    return np.maximum(np.arange(1 - length, 1) / schema.fps, schema.config.offsets_s[0])


def past_frames(schema: ControllerSchema) -> Array:
    """(past samples,) the frame nearest to each past sample, counted from now."""
    return np.round(_past_moments(schema)).astype(np.int64)


def _past_moments(schema: ControllerSchema) -> Array:
    """(past samples,) frames from now, not rounded."""
    offsets = np.array(schema.config.offsets_s)
    return offsets[offsets < 0.0] * schema.fps


def _frames_before(moments: Array) -> Array:
    return np.floor(moments + 1e-3).astype(np.int64)


class StandingRoots:
    """Keeps the roots of standing bodies in their places.

    The predicted velocity of a body that stands is not 0 on average: some centimetres a second,
    which add up to decimetres. Where the goal stands and the body does, the mean of the last
    predicted velocities is taken from them, so that a body sways about its place.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self._drift = np.zeros(count, complex)
        self._learnt = 1.0 - np.exp(-seconds / _DRIFT_S)
        self._kept = np.exp(-seconds / _FORGET_S)

    def steadied(self, velocities: Array, goals_stand: Array) -> Array:
        """Velocities (characters,), complex m/s in root axes, without the drift of standing bodies.

        `goals_stand` is (characters,) bool.
        """
        stands = goals_stand & (np.abs(velocities) < _BODY_M_S)
        mean = self._drift + self._learnt * (velocities - self._drift)
        self._drift = np.where(stands, mean, self._kept * self._drift)
        return velocities - self._drift


def goals_that_stand(desired: Array, step_s: float) -> Array:
    """(characters,) bool: the desired places (characters, samples, 2), m, end at rest."""
    if desired.shape[1] < 2:
        return np.zeros(len(desired), bool)
    last = desired[:, -1] - desired[:, -2]
    return np.asarray(np.vecdot(last, last) < (_GOAL_M_S * step_s) ** 2)
