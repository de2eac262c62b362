"""Captured detail of a trained controller, from its training samples."""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import DetailRows, detail_columns, root_values
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_rows import balanced_rows
from deepphase.controllers.runtime.body_pose import BodyPoses, CharacterFeet
from deepphase.controllers.runtime.controller import Controller
from deepphase.features.feature import TRAJECTORY_BLOCKS, complex_of, pairs
from deepphase.motion.resample import low_passed
from deepphase.steering.foot_lock import FootLockSettings
from deepphase.work import Progress, report

# Rows a second: above half of it lies the noise of the capture. Captured feet are smoothed up to
# this frequency.
_ROWS_HZ, _CUTOFF_HZ = 30.0, 10.0
# Seconds of a stretch, and of the shortest one.
_STRETCH_S, _SHORTEST_S = 4.0, 1.0
# Residuals of the root lose their mean over this time, in seconds: goals move the root.
_ROOT_MEAN_S = 1.0
# Components of the keys, and weight of the trajectory: moments are to go where the goal does.
_COMPONENTS, _TRAJECTORY_WEIGHT = 24, 2.0
# Larger residuals are clipped: this quantile of each value's is 127 units.
_LARGEST = 0.9995
_LEAST_UNIT = 1e-9
_TOUCHING = 0.5
# Feet on the floor are at most as high as this share of their heights there.
_STANDING = 0.9
# Rows that are compared, and the share of them within the reach.
_COMPARED, _WITHIN = 500, 0.9


def captured_detail(
    controller: Controller,
    data: ControllerData,
    minutes: float,
    *,
    balance: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> DetailRows | None:
    """Detail of a trained controller; None for 0 minutes and where there are no residuals."""
    network, schema = controller.network.network, controller.schema
    if not minutes or network.is_recurrent or network.is_stochastic:
        return None
    stretches = _stretches(data, minutes * 60.0 * schema.fps, balance, seed)
    if not stretches:
        return None
    reader = _Reader(controller)
    parts = []
    for done, (start, stop) in enumerate(stretches, start=1):
        parts.append(reader.read(data, slice(start, stop)))
        if done % 50 == 0 or done == len(stretches):
            report(progress, "detail", done, len(stretches))
    residuals, feet, touching, inputs = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    units = np.quantile(np.abs(residuals), _LARGEST, axis=0) / 127.0
    units = np.maximum(units, _LEAST_UNIT).astype(np.float32)
    projection, bias = _components(controller, inputs)
    keys = inputs @ projection + bias
    stops = np.cumsum([len(part[0]) for part in parts])
    styles = [""] * len(stretches)
    if schema.config.label:
        begins = np.array(stretches)[:, 0]
        styles = [schema.label_values[each] for each in data.samples.label_values(begins)]
    return DetailRows(
        residuals=np.clip(np.round(residuals / units), -127, 127).astype(np.int8),
        units=units,
        feet=reader.on_floor(feet, touching).astype(np.float16),
        keys=keys.astype(np.float16),
        projection=projection,
        bias=bias,
        stops=stops,
        styles=tuple(styles),
        step=reader.step,
        reach=_reach(keys, stops, seed),
    )


def _stretches(
    data: ControllerData, frames: float, balance: float, seed: int
) -> list[tuple[int, int]]:
    """First samples of stretches and those after their last, drawn from the training samples."""
    samples, fps = data.samples, data.schema.fps
    learnt = np.zeros(len(samples), bool)
    learnt[data.split.train] = True
    every = []
    longest, shortest = round(_STRETCH_S * fps), round(_SHORTEST_S * fps)
    for start, stop in zip(samples.run_starts.tolist(), samples.run_stops.tolist(), strict=True):
        for first in range(start, stop, longest):
            last = min(first + longest, stop)
            if last - first >= shortest and learnt[first:last].all():
                every.append((first, last))
    if not every:
        return []
    table = np.array(every)
    rows = balanced_rows(samples, np.unique(data.split.train), balance, seed)
    of_row = np.searchsorted(table[:, 0], rows, side="right") - 1
    of_row = of_row[(of_row >= 0) & (rows < table[of_row, 1])]
    drawn = np.random.default_rng(seed).permutation(of_row)
    order = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    kept = np.searchsorted(np.cumsum(np.diff(table[order], axis=1)[:, 0]), frames) + 1
    return [every[each] for each in np.sort(order[:kept]).tolist()]


class _Reader:
    """Reads residuals, feet and inputs of stretches of samples."""

    def __init__(self, controller: Controller) -> None:
        self._network, self._schema = controller.network, controller.schema
        self._columns = detail_columns(controller.schema)
        self._roots = root_values(controller.schema)
        self._poses = BodyPoses(controller.skeleton, controller.schema)
        self._feet = CharacterFeet(controller.skeleton, controller.schema, 1)
        self.step = max(round(controller.fps / _ROWS_HZ), 1)

    def read(self, data: ControllerData, rows: slice) -> tuple[Array, Array, Array, Array]:
        """Residuals (rows, values), feet (rows, limbs, 3) and contacts, and inputs with gate."""
        samples, fps = data.samples, self._schema.fps
        inputs, gate, outputs = (
            np.asarray(each[rows]) for each in (samples.inputs, samples.gate, samples.outputs)
        )
        with torch.inference_mode():
            made = self._network(torch.from_numpy(inputs), torch.from_numpy(gate)).numpy()
        residuals = (outputs - made)[:, self._columns].astype(np.float64)
        root = residuals[:, : self._roots]
        frames = max(round(_ROOT_MEAN_S * fps), 1)
        root -= uniform_filter1d(root, frames, axis=0, mode="nearest")
        feet = self._feet_of(inputs, outputs)
        every = slice(None, None, self.step)
        known = np.concatenate([inputs, gate], axis=1)
        contacts = outputs[every, self._schema.outputs.slices["contact"]][:, self._feet.columns]
        return _knots(residuals, self.step), feet[every], contacts > _TOUCHING, known[every]

    def on_floor(self, feet: Array, touching: Array) -> Array:
        """Feet (rows, limbs, 3), of which those that swing are as slow and low as on the floor."""
        made = feet.copy()
        most = FootLockSettings().largest_follow_speed(self._feet.longest)
        speeds = np.maximum(np.linalg.norm(feet[..., :2], axis=-1, keepdims=True), 1e-9)
        made[..., :2] *= np.where(touching[..., None], 1.0, np.minimum(most / speeds, 1.0))
        for limb, on in enumerate(touching.T):
            if on.any():
                high = np.quantile(feet[on, limb, 2], _STANDING)
                made[~on, limb, 2] = np.minimum(feet[~on, limb, 2], high)
        return made

    def _feet_of(self, inputs: Array, outputs: Array) -> Array:
        """(frames, limbs, 3) velocities of the tips and their heights."""
        schema, fps = self._schema, self._schema.fps
        slices = schema.outputs.slices
        before = self._tips(inputs[:1], schema.inputs.slices)
        tips = np.concatenate([before, self._tips(outputs, slices)])
        turns = np.cumsum(np.append(0.0, outputs[:, slices["root_turn"]][:, 0] / fps))
        steps = complex_of(outputs[:, slices["root_velocity"]])[:, 0] / fps
        facing = np.exp(-1j * turns)
        places = np.append(0.0, np.cumsum(steps * facing[:-1]))
        ground = places[:, None] + (tips[..., 0] + 1j * tips[..., 2]) * facing[:, None]
        smooth = low_passed(pairs(ground), _CUTOFF_HZ, fps)
        velocity = complex_of(np.diff(smooth, axis=0).reshape(len(steps), -1) * fps)
        velocity = pairs(velocity / facing[:-1, None])
        return np.concatenate([velocity, tips[1:, :, 1:2]], axis=-1)

    def _tips(self, rows: Array, slices: dict[str, slice]) -> Array:
        """(rows, limbs, 3) metres in root space."""
        hips = rows[:, slices["joint_position"]][:, :3]
        pose = self._poses.read(rows[:, slices["joint_rotation"]], hips)
        count = len(rows)
        rotations, translations = self._poses.in_world(
            pose, np.zeros(count, np.complex128), np.zeros(count)
        )
        return self._feet.tips(rotations, self._poses.local_positions(translations))


def _knots(values: Array, step: int) -> Array:
    """Every `step`-th row, so that lines between them are nearest to values (frames, values)."""
    frames = np.arange(len(values)) / step
    knots = np.arange(int(frames[-1]) + 1)
    # Beyond the last knot its value is held.
    hats = np.maximum(1.0 - np.abs(np.minimum(frames, knots[-1])[:, None] - knots), 0.0)
    return np.linalg.lstsq(hats, values, rcond=None)[0]


def _reach(keys: Array, stops: Array, seed: int) -> float:
    """Distance to the nearest row of another stretch that most rows (rows, components) have."""
    stretch = np.repeat(np.arange(len(stops)), np.diff(stops, prepend=0))
    some = np.random.default_rng(seed).permutation(len(keys))[:_COMPARED]
    apart = np.vecdot(keys, keys) - 2.0 * keys[some] @ keys.T
    apart += np.vecdot(keys[some], keys[some])[:, None]
    apart[stretch[some][:, None] == stretch] = np.inf
    nearest = np.sqrt(np.maximum(apart.min(axis=1), 0.0))
    # One stretch is compared with itself alone.
    return max(float(np.quantile(nearest, _WITHIN)), 1e-3) if len(stops) > 1 else 1e3


def _components(controller: Controller, rows: Array) -> tuple[Array, Array]:
    """Projection and bias of principal components of normalised inputs and gates (rows, dims)."""
    network = controller.network
    parts = [
        np.concatenate(
            [network.get_buffer(f"{name}_{kind}").numpy() for name in ("inputs", "gate")]
        )
        for kind in ("mean", "scale")
    ]
    mean, scale = (each.astype(np.float64) for each in parts)
    for name in TRAJECTORY_BLOCKS:
        if name in controller.schema.inputs:
            scale[controller.schema.inputs.slices[name]] *= _TRAJECTORY_WEIGHT
    values = (rows - mean) * scale
    centre = values.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(values - centre, rowvar=False))
    axes = axes[:, ::-1][:, :_COMPONENTS]
    projection = scale[:, None] * axes
    bias = -(mean * scale + centre) @ axes
    return projection.astype(np.float32), bias.astype(np.float32)
