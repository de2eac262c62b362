"""Animation curves of a rig's controls, with few keys that an animator can edit, and their file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from deepphase.arrays import Array, true_runs
from deepphase.atomic_write import atomic_write
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.header_values import checked_rate
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.rigs.body_rig import BodyRig
from deepphase.short_repr import brief_repr

FORMAT, VERSION = "deepphase.keys", 1
_PLACEMENT, _HEIGHT = ("x", "z", "turn", "y"), "y"
_MAX_BYTES, _MAX_FRAMES = 500_000_000, 10_000_000
# Poses at which the Jacobian of the rig is computed, and rounds in which keys are added.
_JACOBIAN_POSES, _ROUNDS = 5, 40
# Tolerance of each control in the first pass, as a multiple of the allowed error of joints.
_INITIAL_TOLERANCE = 2.0
# In a frame with too large an error, every group gets a key whose deviation is at least this share
# of the largest one.
_KEYED_SHARE = 0.3
# Lower bound in metres of how far a unit of a control moves joints; the others keep few keys.
_LEAST_M = 0.01


@brief_repr
@dataclass(frozen=True, eq=False)
class RigKeys:
    """Values of a rig's controls in every frame, and the placement of the character."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array  # (frames, controls)
    placement: RootTrajectory  # of the character on the ground below it
    fps: float
    # Frames of the keys of each group of controls (`key_groups`), between which curves are cubic;
    # None for a key in every frame
    rows: Mapping[str, Array] | None = None

    @classmethod
    def from_rig(
        cls, rig: BodyRig, values: Array, placement: RootTrajectory, fps: float
    ) -> RigKeys:
        """Keys of values (frames, controls) of a rig."""
        units = tuple(control.unit for control in rig.controls)
        return cls(rig.names, units, values, placement, fps)

    @property
    def key_count(self) -> int:
        """Number of keys on the curves of controls that move."""
        moving = np.ptp(self.values, axis=0) > 1e-6
        if self.rows is None:
            return int(moving.sum()) * len(self.values)
        groups = key_groups(self.names)
        return sum(int(moving[own].sum()) * len(self.rows[name]) for name, own in groups)

    @property
    def drawn(self) -> Array:
        """(frames, controls) values of the curves through the keys."""
        if self.rows is None:
            return self.values
        values = self.values.copy()
        for name, own in key_groups(self.names):
            rows, curves = self.rows[name], self.values[:, own]
            values[:, own] = hermite(rows, curves[rows], key_slopes(curves)[rows], len(values))
        return values

    def values_of(self, rig: BodyRig) -> Array:
        """(frames, controls) of the curves in the order of a rig; controls without curves rest.

        Raises
        ------
        ParameterError
            If the rig lacks a control.
        """
        values = np.repeat(rig.rest[None], len(self.values), axis=0)
        values[:, [rig.index(name) for name in self.names]] = self.drawn
        return np.asarray(np.clip(values, rig.lower, rig.upper))

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all. Controls that never move have one value.

        Curves with few keys have the frames of these keys, and slopes there. The placement is in
        every frame.
        """
        curves: dict[str, dict[str, Any]] = {}
        values, slopes = (np.round(part, 6) for part in (self.values, key_slopes(self.values)))
        for group, own in key_groups(self.names):
            for column in own:
                curve = values[:, column]
                entry: dict[str, Any] = {"unit": self.units[column], "values": curve.tolist()}
                if (curve == curve[0]).all():
                    entry["values"] = curve[:1].tolist()
                elif self.rows is not None:
                    rows = self.rows[group]
                    entry |= {
                        "frames": rows.tolist(),
                        "values": curve[rows].tolist(),
                        "slopes": slopes[rows, column].tolist(),
                    }
                curves[self.names[column]] = entry
        x, y, z = self.placement.positions.T
        ground = {"x": x, "z": z, "turn": self.placement.angles}
        if np.abs(y).max() >= 1e-6:
            ground[_HEIGHT] = y
        content = {
            "format": FORMAT,
            "version": VERSION,
            "fps": self.fps,
            "frames": len(self.values),
            "placement": {name: np.round(curve, 6).tolist() for name, curve in ground.items()},
            "controls": {name: curves[name] for name in self.names},
        }
        with atomic_write(Path(path)) as file:
            file.write(json.dumps(content, indent=1).encode())

    @classmethod
    def load(cls, path: str | Path) -> RigKeys:
        """Read a JSON file of `save`, which may have been edited: one value holds for all frames.

        Raises
        ------
        FormatError
            If it is no such file, or curves have other lengths.
        """
        path = Path(path)
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise ValueError("too large")
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["version"] > VERSION:
                raise ValueError(f"not {FORMAT} of version {VERSION}, or of an earlier one")
            fps, frames = checked_rate(content["fps"]), int(content["frames"])
            if not 1 <= frames <= _MAX_FRAMES:
                raise ValueError(f"{frames} frames")
            curves, ground = content["controls"], {_HEIGHT: [0.0]} | content["placement"]
            x, z, turn, y = (_values(ground[name], frames, name) for name in _PLACEMENT)
            return cls(
                tuple(curves),
                tuple(str(curve["unit"]) for curve in curves.values()),
                np.stack([_curve(curve, frames, name) for name, curve in curves.items()], axis=1),
                RootTrajectory.from_ground(np.stack([x, z], axis=1), turn, y),
                fps,
            )
        except (OSError, KeyError, TypeError, ValueError, AttributeError, DeepPhaseError) as error:
            raise FormatError(
                f"this is not a file of keys: {' '.join(str(error).split())[:200]}",
                hint="`deepphase rig-controls` writes such files",
                path=path,
            ) from None


def key_groups(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Names of bones or handles, and the columns of their controls."""
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        groups.setdefault(name.rpartition(".")[0] or name, []).append(column)
    return list(groups.items())


def _curve(curve: Mapping[str, Any], frames: int, name: str) -> Array:
    """(frames,) of a curve with a value a frame, or with keys at some frames."""
    if "frames" not in curve:
        return _values(curve["values"], frames, name)
    rows = np.asarray(curve["frames"], np.float64)
    values = np.asarray(curve["values"], np.float64)
    slopes = np.asarray(curve.get("slopes", np.nan), np.float64)
    if rows.ndim != 1 or not len(rows) or rows[0] < 0 or rows[-1] >= frames:
        raise ValueError(f"{name}: frames of keys must lie in 0 to {frames - 1}")
    if not (np.diff(rows) > 0).all() or values.shape != rows.shape:
        raise ValueError(f"{name}: frames of keys must ascend, with a value each")
    if "slopes" not in curve:
        slopes = np.gradient(values, rows) if len(rows) > 1 else np.zeros(1)
    drawn = hermite(rows, values[:, None], slopes.reshape(rows.shape)[:, None], frames)[:, 0]
    if not np.isfinite(drawn).all():
        raise ValueError(f"{name}: values or slopes are not finite")
    return drawn


def _values(values: Any, frames: int, name: str) -> Array:
    curve = np.asarray(values, np.float64)
    if curve.ndim != 1 or len(curve) not in (1, frames) or not np.isfinite(curve).all():
        raise ValueError(f"{name}: {curve.size} values for {frames} frames, or not finite")
    return np.broadcast_to(curve, frames)


def key_slopes(values: Array) -> Array:
    """(frames, columns) slopes of values (frames, columns), per frame."""
    return np.gradient(values, axis=0) if len(values) > 1 else np.zeros_like(values)


def hermite(rows: Array, values: Array, slopes: Array, frames: int) -> Array:
    """(frames, columns) of cubic curves through keys, level before the first and after the last.

    `rows` (keys,) are their frames, ascending; `values` and `slopes`, per frame, (keys, columns).
    """
    if len(rows) == 1:
        return np.repeat(values, frames, axis=0)
    times = np.clip(np.arange(frames), rows[0], rows[-1])
    return np.asarray(CubicHermiteSpline(rows, values, slopes, axis=0)(times))


def thinned_rows(values: Array, tolerances: Array) -> Array:
    """Frames of the keys between which cubic curves keep to values within tolerances.

    A segment is split at the frame with the largest deviation (Douglas and Peucker 1973). All
    columns of values (frames, columns) have the same key frames, the first and the last frame among
    them; tolerances (columns,) are in their units.
    """
    last = len(values) - 1
    slopes = key_slopes(values)
    kept, waiting = {0, last}, [(0, last)]
    while waiting:
        first, end = waiting.pop()
        if end - first < 2:
            continue
        ends = np.array([first, end])
        curve = hermite(ends - first, values[ends], slopes[ends], end - first + 1)
        deviation = (np.abs(curve - values[first : end + 1]) / tolerances).max(axis=1)
        worst = int(np.argmax(deviation[1:-1])) + 1
        if deviation[worst] > 1.0:
            kept.add(first + worst)
            waiting += [(first, first + worst), (first + worst, end)]
    return np.array(sorted(kept), np.int64)


def thinned_keys(keys: RigKeys, rig: BodyRig, error_m: float) -> RigKeys:
    """Keys at few frames, whose curves move no joint of the rig by more than an error.

    Controls of one bone or handle have keys at the same frames. Each group is first thinned on its
    own, with a tolerance from the Jacobian of the rig. Then, in every run of frames in which a
    joint is farther off than `error_m`, the groups that deviate most get another key.

    Parameters
    ----------
    error_m
        Largest distance of a joint from its place with all keys, metres.

    Raises
    ------
    ParameterError
        If the error is not positive, or the rig lacks a control.
    """
    if not (np.isfinite(error_m) and error_m > 0):
        raise ParameterError(
            f"an error of keys must be positive, not {error_m} m",
            hint="give a positive length in metres",
        )
    values = keys.values_of(rig)
    joints = rig.evaluate(values)
    poses = np.unique(np.linspace(0, len(values) - 1, _JACOBIAN_POSES).astype(np.int64))
    jacobians = rig.jacobian(values[poses], positions=joints[poses])
    jacobians = jacobians.reshape(len(poses), len(rig.joints), 3, len(rig.controls))
    columns = [rig.index(name) for name in keys.names]
    reach = np.linalg.norm(jacobians, axis=2).max(axis=(0, 1))[columns]
    reach = np.maximum(reach, _LEAST_M)
    groups = key_groups(keys.names)
    rows = {
        name: thinned_rows(keys.values[:, own], _INITIAL_TOLERANCE * error_m / reach[own])
        for name, own in groups
    }
    for _ in range(_ROUNDS):
        thinned = replace(keys, rows=rows)
        positions = rig.evaluate(thinned.values_of(rig))
        errors = np.linalg.norm(positions - joints, axis=-1).max(axis=1)
        if errors.max() <= error_m:
            break
        deviations = np.abs(thinned.drawn - keys.values) * reach
        of_group = np.stack([deviations[:, own].max(axis=1) for _, own in groups], axis=1)
        for first, end in true_runs(errors > error_m):
            frame = first + int(np.argmax(errors[first:end]))
            needs_key = of_group[frame] >= _KEYED_SHARE * of_group[frame].max()
            for (name, _), needed in zip(groups, needs_key, strict=True):
                if needed:
                    rows[name] = np.union1d(rows[name], frame)
    return thinned
