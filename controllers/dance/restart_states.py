"""Moments that dances begin with: of those whose music is most like what is heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from controllers.dance.config import MUSIC
from controllers.dance.dancer import Dancer
from controllers.data.initial_states import InitialStates
from deepphase.arrays import Array

# A dance begins with one of so many moments whose music is most like the song's there.
_FITTING = 24
# Share of the noise of the training by which the first pose differs, too.
_SHAKEN = 0.5
# A dance that begins anew does so with one of so many moments that are nearest to its pose, and
# not with one of its last ones.
_NEAR, _LAST = 4, 8
# Seconds by which velocities count as places.
_AHEAD_S = 0.15
# Share of the moments' median speed: who is slower there would soon stand again.
_LIVELY = 0.5


def first_starts(dancer: Dancer, music: Array, seeds: Sequence[int]) -> InitialStates:
    """What dances begin with.

    Parameters
    ----------
    music : (dances, offsets, dims)
        What each hears.
    seeds
        Of each dance; 0 for the moment that fits best.
    """
    known = dancer.controller.starts
    apart = _apart(dancer, music)
    rows = np.zeros(len(seeds), np.int64)
    shaken = np.zeros((len(seeds), known.inputs.shape[1]), np.float32)
    for index, seed in enumerate(seeds):
        fitting = np.argsort(apart[index], kind="stable")[:_FITTING]
        rows[index] = fitting[0]
        if not seed:
            continue
        generator = np.random.default_rng(seed)
        rows[index] = generator.choice(fitting)
        # As much as it learnt to come back from: no two dances of one moment are the same.
        shaken[index] = _noise(dancer, generator)
    starts = known.select(rows)
    return replace(starts, inputs=starts.inputs + shaken)


class RestartStates:
    """What dances go on with that came to stand: moments that fit, near to the pose, and lively.

    Parameters
    ----------
    dancer
        Whose moments.
    seeds
        Of each dance.
    """

    def __init__(self, dancer: Dancer, seeds: Sequence[int]) -> None:
        self._dancer, self._seeds = dancer, tuple(seeds)
        self._used: list[list[int]] = [[] for _ in seeds]
        known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
        self._blocks = [slices[name] for name in ("joint_position", "joint_velocity")]
        moving = known.inputs[:, self._blocks[1]].reshape(len(known), -1, 3)
        speed = np.sqrt(np.vecdot(moving, moving)).mean(axis=1)
        self._slow = speed < _LIVELY * np.median(speed)

    def of(self, dances: Array, music: Array, seen: Array) -> InitialStates:
        """Moments for some dances.

        Parameters
        ----------
        dances : (n,)
            Which of them.
        music : (n, offsets, dims)
            What each hears.
        seen : (n, dims)
            Raw inputs of the network: each one's pose and how it moves.
        """
        known = self._dancer.controller.starts
        rows, shaken = [], []
        for dance, apart, inputs in zip(
            dances.tolist(), _apart(self._dancer, music), seen, strict=True
        ):
            used = self._used[dance]
            generator = np.random.default_rng([self._seeds[dance], len(used)])
            # Whoever fits least comes last, and is taken where there is nobody else.
            order = np.argsort(np.where(self._slow, np.inf, apart), kind="stable")[:_FITTING]
            fresh = np.array([row for row in order if row not in used[-_LAST:]], np.int64)
            fresh = fresh if len(fresh) else order
            near = fresh[np.argsort(self._away(fresh, inputs), kind="stable")[:_NEAR]]
            used.append(int(generator.choice(near)))
            rows.append(used[-1])
            shaken.append(_noise(self._dancer, generator))
        starts = known.select(np.array(rows))
        return replace(starts, inputs=starts.inputs + np.stack(shaken))

    def _away(self, rows: Array, inputs: Array) -> Array:
        """(rows,) m^2: how far their poses, and where they move to, are from a body's."""
        known = self._dancer.controller.starts.inputs[rows]
        place, velocity = (np.square(known[:, b] - inputs[b]).mean(axis=1) for b in self._blocks)
        return np.asarray(place + _AHEAD_S**2 * velocity)


def _apart(dancer: Dancer, music: Array) -> Array:
    """(dances, moments) how unlike what is heard the moments' music is."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    block = known.inputs[:, slices[MUSIC]]
    return np.stack([np.square(block - each.reshape(1, -1)).mean(axis=1) for each in music])


def _noise(dancer: Dancer, generator: np.random.Generator) -> Array:
    """(dims,) a little noise on pose and movement."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    noise = _SHAKEN * dancer.controller.config.training.pose_noise
    shaken = np.zeros(known.inputs.shape[1], np.float32)
    for name in ("joint_position", "joint_velocity"):
        spread = known.inputs[:, slices[name]].std(axis=0)
        shaken[slices[name]] = noise * spread * generator.standard_normal(len(spread))
    return shaken
