"""Animation curves of a rig's controls, and their file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.header_values import checked_rate
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.rigs.rig_function import RigFunction
from deepphase.short_repr import brief_repr

FORMAT, VERSION = "deepphase.keys", 1
_PLACEMENT = ("x", "z", "turn")
_HEIGHT = "y"
_MAX_BYTES = 500_000_000


@brief_repr
@dataclass(frozen=True, eq=False)
class RigKeys:
    """Values of a rig's controls in every frame, and the placement of the character.

    Parameters
    ----------
    names, units
        (controls,)
    values
        (frames, controls)
    placement
        (frames, 3) metres along x and z, and radians about Y from +Z.
    fps
        Frames a second.
    heights
        (frames,) metres of the ground below the character; None for a flat floor.
    rows, placement_rows
        Frames of the keys of each group of controls (`key_groups`) and of the placement, between
        which curves are cubic; None for a key in every frame.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    placement: Array
    fps: float
    heights: Array | None = None
    rows: Mapping[str, Array] | None = None
    placement_rows: Array | None = None

    @property
    def ground(self) -> Array:
        """(frames, 4) x, z, turn and height of the placement in every frame."""
        heights = np.zeros(len(self.placement)) if self.heights is None else self.heights
        return np.column_stack([self.placement, heights])

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
        slopes = key_slopes(self.values)
        made = self.values.copy()
        for name, own in key_groups(self.names):
            rows = self.rows[name]
            keyed = self.values[rows][:, own], slopes[rows][:, own]
            made[:, own] = hermite(rows, *keyed, len(self.values))
        return made

    @classmethod
    def of_rig(
        cls, rig: RigFunction, values: Array, placement: RootTrajectory, fps: float
    ) -> RigKeys:
        """Keys of values (frames, controls) of a rig."""
        ground = np.column_stack([placement.positions[:, [0, 2]], placement.angles])
        units = tuple(control.unit for control in rig.controls)
        heights = placement.positions[:, 1]
        flat = bool(np.abs(heights).max(initial=0.0) < 1e-6)
        return cls(rig.names, units, values, ground, fps, None if flat else heights)

    def values_of(self, rig: RigFunction) -> Array:
        """(frames, controls) of the curves in the order of a rig; controls without curves rest.

        Raises
        ------
        ParameterError
            If the rig lacks a control.
        """
        values = np.repeat(rig.rest[None], len(self.values), axis=0)
        values[:, [rig.index(name) for name in self.names]] = self.drawn
        return np.asarray(np.clip(values, rig.lower, rig.upper))

    def trajectory(self) -> RootTrajectory:
        """The placement as a root trajectory."""
        ground = self._drawn_ground
        return RootTrajectory.from_ground(ground[:, :2], ground[:, 2], ground[:, 3])

    @property
    def _drawn_ground(self) -> Array:
        ground, rows = self.ground, self.placement_rows
        if rows is None:
            return ground
        return hermite(rows, ground[rows], key_slopes(ground)[rows], len(ground))

    def every_frame(self) -> RigKeys:
        """The same curves with a key in every frame."""
        ground = self._drawn_ground
        return RigKeys(self.names, self.units, self.drawn, ground[:, :3], self.fps, ground[:, 3])

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all. Controls that never move have one value.

        Curves with few keys have the frames of these keys, and slopes there. The placement is in
        every frame.
        """
        curves: dict[str, dict[str, Any]] = {}
        slopes = key_slopes(self.values)
        group_of = {column: name for name, own in key_groups(self.names) for column in own}
        for column, (name, unit) in enumerate(zip(self.names, self.units, strict=True)):
            curve = np.round(self.values[:, column], 6)
            still = bool((curve == curve[0]).all())
            curves[name] = {"unit": unit, "values": curve[:1].tolist() if still else curve.tolist()}
            if self.rows is not None and not still:
                rows = self.rows[group_of[column]]
                slope = np.round(slopes[rows, column], 6)
                curves[name] |= {
                    "frames": rows.tolist(),
                    "values": curve[rows].tolist(),
                    "slopes": slope.tolist(),
                }
        placement = {
            name: np.round(self.placement[:, column], 6).tolist()
            for column, name in enumerate(_PLACEMENT)
        }
        if self.heights is not None:
            placement[_HEIGHT] = np.round(self.heights, 6).tolist()
        content = {
            "format": FORMAT,
            "version": VERSION,
            "fps": self.fps,
            "frames": len(self.values),
            "placement": placement,
            "controls": curves,
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
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise ValueError(f"no {FORMAT}")
            if content["version"] > VERSION:
                raise ValueError(f"of version {content['version']}, which is newer than {VERSION}")
            fps, frames = checked_rate(content["fps"]), int(content["frames"])
            if not 1 <= frames <= 10_000_000:
                raise ValueError(f"{frames} frames")
            curves: Mapping[str, Any] = content["controls"]
            values = [_keyed_curve(each, frames, name) for name, each in curves.items()]
            ground = [_curve(content["placement"][name], frames, name) for name in _PLACEMENT]
            heights = content["placement"].get(_HEIGHT)
            units = tuple(str(each["unit"]) for each in curves.values())
            return cls(
                tuple(curves),
                units,
                np.stack(values, axis=1),
                np.stack(ground, axis=1),
                fps,
                None if heights is None else _curve(heights, frames, _HEIGHT),
            )
        except (OSError, KeyError, TypeError, ValueError, AttributeError, DeepPhaseError) as error:
            raise FormatError(
                f"this is not a file of keys: {' '.join(str(error).split())[:200]}",
                hint="`deepphase rig-controls` writes such files",
                path=path,
            ) from None


def key_groups(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Names of bones or handles, and the columns of their controls."""
    found: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        found.setdefault(name.rpartition(".")[0] or name, []).append(column)
    return list(found.items())


def _keyed_curve(curve: Mapping[str, Any], frames: int, name: str) -> Array:
    """(frames,) of a curve with a value a frame, or with keys at some frames."""
    if "frames" not in curve:
        return _curve(curve["values"], frames, name)
    rows = np.asarray(curve["frames"], np.float64)
    values = np.asarray(curve["values"], np.float64)
    usable = rows.ndim == 1 and len(rows) and np.isfinite(rows).all()
    if not usable or (np.diff(rows) <= 0).any() or rows[0] < 0 or rows[-1] >= frames:
        raise ParameterError(f"{name}: frames of keys must ascend from 0 to {frames - 1}")
    slopes = curve.get("slopes")
    if slopes is None:
        slopes = np.gradient(values, rows) if len(rows) > 1 else np.zeros(len(rows))
    slopes = np.asarray(slopes, np.float64)
    for each in (values, slopes):
        if each.shape != rows.shape or not np.isfinite(each).all():
            raise ParameterError(
                f"{name}: there are {each.size} values or slopes for {len(rows)} keys"
            )
    return np.asarray(hermite(rows, values[:, None], slopes[:, None], frames)[:, 0])


def _curve(values: Any, frames: int, name: str) -> Array:
    curve = np.asarray(values, np.float64)
    if curve.ndim != 1 or len(curve) not in (1, frames) or not np.isfinite(curve).all():
        raise ParameterError(
            f"{name}: there are {curve.size} values for {frames} frames, or not finite"
        )
    return np.broadcast_to(curve, frames)


def key_slopes(values: Array) -> Array:
    """(frames, columns) slopes of values (frames, columns), per frame."""
    return np.gradient(values, axis=0) if len(values) > 1 else np.zeros_like(values)


def hermite(rows: Array, values: Array, slopes: Array, frames: int) -> Array:
    """(frames, columns) of cubic curves through keys, level before the first and after the last.

    Parameters
    ----------
    rows : (keys,)
        Their frames, ascending.
    values, slopes : (keys, columns)
        Slopes are per frame.
    """
    if len(rows) == 1:
        return np.repeat(values, frames, axis=0)
    times = np.clip(np.arange(frames), rows[0], rows[-1])
    return np.asarray(CubicHermiteSpline(rows, values, slopes, axis=0)(times))
