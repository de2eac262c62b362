"""Animation curves of a rig's controls, and their file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.header_values import checked_rate
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.rigs.rig_function import RigFunction

FORMAT, VERSION = "deepphase.keys", 1
_PLACEMENT = ("x", "z", "turn")
_HEIGHT = "y"
_MAX_BYTES = 500_000_000


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
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    placement: Array
    fps: float
    heights: Array | None = None

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
        """(frames, controls) in the order of a rig; controls without curves rest.

        Raises
        ------
        ParameterError
            If the rig lacks a control.
        """
        values = np.repeat(rig.rest[None], len(self.values), axis=0)
        for column, name in enumerate(self.names):
            values[:, rig.index(name)] = self.values[:, column]
        return np.asarray(np.clip(values, rig.lower, rig.upper))

    def trajectory(self) -> RootTrajectory:
        """The placement as a root trajectory."""
        heights = 0.0 if self.heights is None else self.heights
        return RootTrajectory.of_ground(self.placement[:, :2], self.placement[:, 2], heights)

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all. Controls that never move have one value."""
        curves = {}
        for column, (name, unit) in enumerate(zip(self.names, self.units, strict=True)):
            curve = np.round(self.values[:, column], 6)
            still = bool((curve == curve[0]).all())
            curves[name] = {"unit": unit, "values": curve[:1].tolist() if still else curve.tolist()}
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
            values = [_curve(each["values"], frames, name) for name, each in curves.items()]
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
                f"not a file of keys: {' '.join(str(error).split())[:200]}",
                hint="`deepphase rig-controls` writes such files",
                path=path,
            ) from None


def _curve(values: Any, frames: int, name: str) -> Array:
    curve = np.asarray(values, np.float64)
    if curve.ndim != 1 or len(curve) not in (1, frames) or not np.isfinite(curve).all():
        raise ParameterError(f"{name}: {curve.size} values for {frames} frames, or not finite")
    return np.broadcast_to(curve, frames)
