"""Where characters have been: the past samples of their trajectories, and their labels then.

Places and velocities on the ground are complex numbers x + i z. A root that faces `angle` sees a
vector of the world as vector * exp(i angle), and faces i exp(-i angle) itself.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from controllers.schema import ControllerSchema

Array = np.ndarray


class RecordedPast:
    """The last frames of roots in the world, as many as the schema's past samples reach back.

    Before a run begins the past is what the start's own samples say, with a cubic between them.

    Parameters
    ----------
    schema
        Whose `offsets_s` the samples are at.
    places, angles
        (characters, samples) complex metres and radians: the whole trajectory, in the world.
    velocities
        (characters, samples) complex m/s in the world; None where the start does not tell them.
    label
        (characters, values) one-hot label until now; no values where there is none.
    """

    def __init__(
        self,
        schema: ControllerSchema,
        places: Array,
        angles: Array,
        velocities: Array | None,
        label: Array,
    ) -> None:
        offsets = np.array(schema.config.offsets_s)
        moments = offsets[offsets < 0.0] * schema.fps
        self._fps = schema.fps
        self._nearest = np.round(moments).astype(np.int64)
        self._before = np.floor(moments + 1e-3).astype(np.int64)
        share = moments - self._before
        self._share = None if (np.abs(share) < 1e-3).all() else share[:, None]
        length = max(2, 2 - int(self._before.min(initial=0)))
        self._frames = length
        times = np.maximum(np.arange(1 - length, 1) / schema.fps, offsets[0])
        place = CubicSpline(offsets, places, axis=1)
        self._places = place(times).T.copy()  # (frames, characters), as all of these
        self._angles = CubicSpline(offsets, angles, axis=1)(times).T.copy()
        moving = place.derivative() if velocities is None else CubicSpline(offsets, velocities, 1)
        self._velocities = moving(times).T.copy()
        self._labels = np.repeat(label[None], length, axis=0)
        self._now = length - 1
        self._recorded = 0

    @property
    def place(self) -> Array:
        """(characters,) complex metres: the roots now."""
        return self._places[self._now]

    @property
    def angle(self) -> Array:
        """(characters,) radians: their facing now."""
        return self._angles[self._now]

    @property
    def velocity(self) -> Array:
        """(characters,) complex m/s: theirs now."""
        return self._velocities[self._now]

    @property
    def rate(self) -> Array:
        """(characters,) rad/s of the last frame."""
        return (self.angle - self._angles[self._now - 1]) * self._fps

    def record(self, places: Array, angles: Array, velocities: Array, label: Array) -> None:
        """One frame more: its velocity as predicted, until the next frame tells it."""
        last, before = self._now, (self._now - 1) % self._frames
        self._now = now = (self._now + 1) % self._frames
        if self._recorded:
            # As the data's velocities are: by central differences.
            self._velocities[last] = 0.5 * self._fps * (places - self._places[before])
        self._places[now], self._angles[now] = places, angles
        self._velocities[now], self._labels[now] = velocities, label
        self._recorded += 1

    def seen(self) -> tuple[Array, Array, Array, Array]:
        """The past samples from where the root is now.

        Returns
        -------
        places, directions, velocities : (characters, past samples) complex
        labels : (characters, past samples, values)
        """
        nearest = (self._now + self._nearest) % self._frames
        places, angles = self._between(self._places), self._between(self._angles)
        turn = np.exp(1j * self.angle)
        return (
            ((places - self.place) * turn).T,
            (1j * np.exp(1j * (self.angle - angles))).T,
            (self._velocities[nearest] * turn).T,
            self._labels[nearest].swapaxes(0, 1),
        )

    def _between(self, values: Array) -> Array:
        before = values[(self._now + self._before) % self._frames]
        if self._share is None:
            return before
        behind = values[(self._now + self._before + 1) % self._frames]
        return before + self._share * (behind - before)
