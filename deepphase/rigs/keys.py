"""Animation curves of a rig's controls, a value a frame, and their file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.config import checked_count, checked_mapping, checked_text
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.files import atomic_write, check_size, parsed_json
from deepphase.formats.array_file import checked_rate
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.rigs.body_rig import BodyRig

FORMAT, VERSION = "deepphase.keys", 1
_PLACEMENT, _HEIGHT = ("x", "z", "turn", "y"), "y"
# Values of all curves in all frames for each byte of a file, whose curves may have few keys.
_VALUES_PER_BYTE, _ALWAYS_ALLOWED = 8, 1 << 22


@brief_repr
@dataclass(frozen=True, eq=False)
class RigKeys:
    """Values of a rig's controls in every frame, and the placement of the character."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array  # (frames, controls)
    placement: RootTrajectory  # of the character on the ground below it
    fps: float

    @classmethod
    def from_rig(
        cls, rig: BodyRig, values: Array, placement: RootTrajectory, fps: float
    ) -> RigKeys:
        """Keys of values (frames, controls) of a rig."""
        units = tuple(control.unit for control in rig.controls)
        return cls(rig.names, units, values, placement, fps)

    def values_of(self, rig: BodyRig) -> Array:
        """(frames, controls) of the curves in the order of a rig; controls without curves rest.

        Raises ParameterError if the rig lacks a control.
        """
        values = np.repeat(rig.rest[None], len(self.values), axis=0)
        values[:, [rig.index(name) for name in self.names]] = self.values
        return np.asarray(np.clip(values, rig.lower, rig.upper))

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all. Controls that never move have one value."""
        curves = {}
        columns = np.round(self.values.T, 6)
        for name, unit, curve in zip(self.names, self.units, columns, strict=True):
            moves = (curve != curve[0]).any()
            curves[name] = {"unit": unit, "values": (curve if moves else curve[:1]).tolist()}
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
            "controls": curves,
        }
        with atomic_write(Path(path)) as file:
            file.write(json.dumps(content, indent=1).encode())

    @classmethod
    def load(cls, path: str | Path) -> RigKeys:
        """Read a JSON file of `save`, which may have been edited: one value holds for all frames.

        Raises FormatError if it is no such file, or curves have other lengths.
        """
        path = Path(path)
        try:
            size = check_size(path, "keys")
            content = parsed_json(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["version"] > VERSION:
                raise ValueError(f"not {FORMAT} of version {VERSION}, or of an earlier one")
            curves = checked_mapping(content["controls"], "controls")
            units = tuple(checked_text(curve["unit"], "unit") for curve in curves.values())
            # Names before numbers: controls that rest have one value for all frames.
            most = max(_VALUES_PER_BYTE * size, _ALWAYS_ALLOWED) // max(len(curves), 1)
            frames = checked_count(content["frames"], "frames", 1, most)
            fps, ground = checked_rate(content["fps"]), {_HEIGHT: [0.0]} | content["placement"]
            x, z, turn, y = (_values(ground[name], frames, name) for name in _PLACEMENT)
            return cls(
                tuple(curves),
                units,
                np.stack(
                    [_values(curve["values"], frames, name) for name, curve in curves.items()],
                    axis=1,
                ),
                RootTrajectory.from_ground(np.stack([x, z], axis=1), turn, y),
                fps,
            )
        except (
            OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            RecursionError, DeepPhaseError,
        ) as error:  # fmt: skip
            raise FormatError(
                f"this is not a file of keys: {' '.join(str(error).split())[:200]}",
                hint="`deepphase rig-controls` writes such files",
                path=path,
            ) from None


def _values(values: Any, frames: int, name: str) -> Array:
    curve = np.asarray(values, np.float64)
    if curve.ndim != 1 or len(curve) not in (1, frames) or not np.isfinite(curve).all():
        raise ValueError(f"{name}: {curve.size} values for {frames} frames, or not finite")
    return np.broadcast_to(curve, frames)
