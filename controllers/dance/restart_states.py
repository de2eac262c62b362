"""Initial and restart states of dances: training poses whose music is similar to the song's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.data.initial_states import InitialStates

# Number of states with the most similar music, of which one is chosen.
_CANDIDATES = 24
# Noise on the chosen pose, as a share of the pose noise of the training.
_NOISE_SHARE = 0.5
# A restart chooses among this many candidates with the nearest pose; the last states of a dance
# are not used again.
_NEAREST, _RECENT = 4, 8
# Seconds by which velocities are multiplied to be compared with positions.
_VELOCITY_S = 0.15
# Minimum speed of a restart state, as a share of the median: slower ones would soon stall again.
_MIN_SPEED_SHARE = 0.5


def initial_states(dancer: Dancer, music: Array, seeds: Sequence[int]) -> InitialStates:
    """Initial states of dances.

    Parameters
    ----------
    dancer
        Trained dancer.
    music : (dances, offsets, dims)
        Audio window at the start of each dance.
    seeds
        Random seed of each dance; 0 chooses the state with the most similar music, without noise.
    """
    known = dancer.controller.starts
    distances = _music_distances(dancer, music)
    rows = np.zeros(len(seeds), np.int64)
    noise = np.zeros((len(seeds), known.inputs.shape[1]), np.float32)
    for index, seed in enumerate(seeds):
        candidates = np.argsort(distances[index], kind="stable")[:_CANDIDATES]
        rows[index] = candidates[0]
        if not seed:
            continue
        generator = np.random.default_rng(seed)
        rows[index] = generator.choice(candidates)
        # Dances from the same state differ; the network is trained to correct this much noise.
        noise[index] = _noise(dancer, generator)
    starts = known.select(rows)
    return replace(starts, inputs=starts.inputs + noise)


# Distance of slow states: they sort behind all others.
_SLOW = 1e9


class RestartStates:
    """Restart states of stalled dances: similar music, similar pose, and enough speed.

    Parameters
    ----------
    dancer
        Trained dancer.
    seeds
        Random seed of each dance.
    """

    def __init__(self, dancer: Dancer, seeds: Sequence[int]) -> None:
        self._dancer, self._seeds = dancer, tuple(seeds)
        self._used: list[list[int]] = [[] for _ in seeds]
        known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
        self._blocks = [slices[name] for name in ("joint_position", "joint_velocity")]
        velocities = known.inputs[:, self._blocks[1]].reshape(len(known), -1, 3)
        speed = np.sqrt(np.vecdot(velocities, velocities)).mean(axis=1)
        self._slow = speed < _MIN_SPEED_SHARE * np.median(speed)

    def of(self, dances: Array, music: Array, inputs: Array, stalled: Array) -> InitialStates:
        """States for some dances.

        Parameters
        ----------
        dances : (n,)
            Indices of the dances.
        music : (n, offsets, dims)
            Audio window of each.
        inputs : (n, dims)
            Raw network inputs of each, which hold its pose and velocities.
        stalled : (n,) bool
            Dances that stalled, and would soon stall again from a slow state.
        """
        known = self._dancer.controller.starts
        rows, noise = [], []
        music_distances = _music_distances(self._dancer, music)
        for dance, distances, current, slow in zip(
            dances.tolist(), music_distances, inputs, stalled.tolist(), strict=True
        ):
            used = self._used[dance]
            generator = np.random.default_rng([self._seeds[dance], len(used)])
            # After a stall slow states sort last, and are used only if there are no others.
            far = np.where(self._slow & slow, _SLOW, distances)
            order = np.argsort(far, kind="stable")[:_CANDIDATES]
            unused = np.array([row for row in order if row not in used[-_RECENT:]], np.int64)
            unused = unused if len(unused) else order
            by_pose = np.argsort(self._pose_distances(unused, current), kind="stable")
            used.append(int(generator.choice(unused[by_pose[:_NEAREST]])))
            rows.append(used[-1])
            noise.append(_noise(self._dancer, generator))
        starts = known.select(np.array(rows))
        return replace(starts, inputs=starts.inputs + np.stack(noise))

    def _pose_distances(self, rows: Array, inputs: Array) -> Array:
        """(rows,) squared distances of poses and velocities from those of a body, in m^2."""
        known = self._dancer.controller.starts.inputs[rows]
        position, velocity = (np.square(known[:, b] - inputs[b]).mean(axis=1) for b in self._blocks)
        return np.asarray(position + _VELOCITY_S**2 * velocity)


def _music_distances(dancer: Dancer, music: Array) -> Array:
    """(dances, states) mean squared differences between audio windows and those of the states."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    block = known.inputs[:, slices[MUSIC]]
    return np.stack([np.square(block - each.reshape(1, -1)).mean(axis=1) for each in music])


def _noise(dancer: Dancer, generator: np.random.Generator) -> Array:
    """(dims,) noise on joint positions and velocities."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    scale = _NOISE_SHARE * dancer.controller.config.training.pose_noise
    noise = np.zeros(known.inputs.shape[1], np.float32)
    for name in ("joint_position", "joint_velocity"):
        spread = known.inputs[:, slices[name]].std(axis=0)
        noise[slices[name]] = scale * spread * generator.standard_normal(len(spread))
    return noise
