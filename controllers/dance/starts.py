"""States that dances start and restart from: training poses whose music is like the song's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.corpus.clip_store import ClipStore
from deepphase.evaluation.dance import body_of_clip, mean_joint_speed
from deepphase.motion.clip import Clip

STALL_SHARE, STALL_S = 0.2, 2.0
"""A dance has stalled if its mean speed over so many seconds is below this share of the recorded
dances' usual speed: a frozen body that jitters counts as stalled, too."""

# Seconds of the recorded dance after a start that are looked at, longer than from one change of the
# pose to the next.
_AHEAD_S = 6.0
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
# Slower states have this distance, behind all others.
_MIN_SPEED_SHARE, _SLOW = 0.5, 1e9


def lasting_starts(starts: InitialStates, store: ClipStore, usual_speed: float) -> InitialStates:
    """The starts after which the recorded dance does not halt; all if none would remain.

    Recorded dances hold a pose at times, and at their ends. A dance that starts shortly before
    halts as well, and would be restarted.
    """
    names = np.array(starts.names)
    lasting = np.ones(len(starts), bool)
    for name, clip in zip(store.names, store, strict=True):
        rows = np.flatnonzero(names == name)
        if len(rows):
            lasting[rows] = _lasts(clip, starts.frames[rows], STALL_SHARE * usual_speed)
    return starts.select(np.flatnonzero(lasting)) if lasting.any() else starts


def _lasts(clip: Clip, frames: Array, stalled: float) -> Array:
    """(n,) bool: whether the clip moves in all windows that begin within six seconds."""
    speed = mean_joint_speed(body_of_clip(clip)[1], clip.fps)
    window, ahead = round(STALL_S * clip.fps), round(_AHEAD_S * clip.fps)
    summed = np.concatenate([[0.0], np.cumsum(speed)])
    found = []
    for frame in frames.tolist():
        # At an end of the clip the last window is shorter.
        begins = np.arange(frame, min(frame + ahead - window, len(speed) - 1) + 1)
        ends = np.minimum(begins + window, len(speed))
        means = (summed[ends] - summed[begins]) / np.maximum(ends - begins, 1)
        found.append(bool((means[ends - begins > window // 2] >= stalled).all()))
    return np.array(found, bool)


def initial_states(dancer: Dancer, music: Array, seeds: Sequence[int]) -> InitialStates:
    """Initial states of dances."""
    known = dancer.controller.starts
    distances = _music_distances(dancer, music)
    rows = np.zeros(len(seeds), np.int64)
    noise = np.zeros((len(seeds), known.inputs.shape[1]), np.float32)
    for index, seed in enumerate(seeds):
        candidates = np.argsort(distances[index], kind="stable")[:_CANDIDATES]
        rows[index] = candidates[0]
        if seed:
            generator = np.random.default_rng(seed)
            rows[index] = generator.choice(candidates)
            # Dances from the same state differ; the network learnt to correct this much noise.
            noise[index] = _noise(dancer, generator)
    starts = known.select(rows)
    return replace(starts, inputs=starts.inputs + noise)


class RestartStates:
    """Restart states of stalled dances: similar music, similar pose, and enough speed."""

    def __init__(self, dancer: Dancer, seeds: Sequence[int]) -> None:
        self._dancer, self._seeds = dancer, tuple(seeds)
        self._used: list[list[int]] = [[] for _ in seeds]
        known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
        self._blocks = [slices[name] for name in ("joint_position", "joint_velocity")]
        velocities = known.inputs[:, self._blocks[1]].reshape(len(known), -1, 3)
        speed = np.sqrt(np.vecdot(velocities, velocities)).mean(axis=1)
        self._slow = speed < _MIN_SPEED_SHARE * np.median(speed)

    def choose(self, dances: Array, music: Array, inputs: Array, stalled: Array) -> InitialStates:
        """States for some dances.

        `dances` (n,) indices of the dances. `music` (n, offsets, dims) audio window of each.
        `inputs` (n, dims) raw network inputs of each, which hold its pose and velocities. `stalled`
        (n,) bool dances that stalled, and would soon stall again from a slow state.
        """
        known = self._dancer.controller.starts
        rows, noise = [], []
        for dance, distances, current, avoids_slow in zip(
            dances.tolist(),
            _music_distances(self._dancer, music),
            inputs,
            stalled.tolist(),
            strict=True,
        ):
            used = self._used[dance]
            generator = np.random.default_rng([self._seeds[dance], len(used)])
            far = np.where(self._slow & avoids_slow, _SLOW, distances)
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
    return np.stack([np.square(block - row.reshape(1, -1)).mean(axis=1) for row in music])


def _noise(dancer: Dancer, generator: np.random.Generator) -> Array:
    """(dims,) noise on joint positions and velocities."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    scale = _NOISE_SHARE * dancer.controller.config.training.pose_noise
    noise = np.zeros(known.inputs.shape[1], np.float32)
    for name in ("joint_position", "joint_velocity"):
        spread = known.inputs[:, slices[name]].std(axis=0)
        noise[slices[name]] = scale * spread * generator.standard_normal(len(spread))
    return noise
