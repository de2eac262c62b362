"""Captured detail: what the steps of a trained network leave of captured motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.schema.schema import ControllerSchema

ARRAYS = ("residuals", "units", "feet", "keys", "projection", "bias", "stops")
"""Names of the arrays of `DetailRows`."""
_ROOT, _POSE = ("root_velocity", "root_turn"), ("joint_velocity", "joint_rotation")


@dataclass(frozen=True, eq=False)
class DetailRows:
    """Residuals of a network's steps along captured stretches, and when to add them.

    What minimises a squared error predicts the mean of what may follow, and moves more softly than
    the clips. A captured frame is the network's step from the one before plus a residual. Added in
    runs, in stretches from moments that look alike, residuals give the motion back what the network
    cannot foretell: a block bootstrap of the residuals of an autoregression (Efron and Tibshirani
    1993, section 8.5; Künsch 1989).
    """

    residuals: Array  # (rows, values) int8: residuals of `detail_columns` in units of `units`
    units: Array  # (values,) float32 in the outputs' units
    # (rows, limbs, 3) float16: captured velocity of the tips of the legs over the ground, m/s, x
    # and z in root space, and their height in metres, within those of feet on the floor. In the
    # order of `CharacterFeet.limbs`.
    feet: Array
    keys: Array  # (rows, components) float16: principal components of the captured inputs and gates
    # projection, bias: (inputs + gate, components) and (components,) float32: keys of raw inputs
    # and gates are ``values @ projection + bias``.
    projection: Array
    bias: Array
    stops: Array  # (stretches,) row after the last one of each stretch
    styles: tuple[str, ...]  # (stretches,) value of the schema's label; empty texts without a label
    step: int
    # Distance between keys up to which a moment is like another: that of most captured moments to
    # the nearest one of another stretch.
    reach: float

    def __len__(self) -> int:
        return len(self.residuals)

    def check(self, schema: ControllerSchema) -> None:
        """Raise ValueError unless the arrays have the schema's dimensions."""
        rows, width, dims = len(self), len(detail_columns(schema)), schema.dims
        components = len(self.bias)
        expected = {
            "residuals": (rows, width),
            "units": (width,),
            "feet": (rows, self.feet.shape[1] if self.feet.ndim == 3 else 0, 3),
            "keys": (rows, components),
            "projection": (dims.inputs + dims.gate, components),
        }
        wrong = [name for name, shape in expected.items() if getattr(self, name).shape != shape]
        lengths = np.diff(self.stops, prepend=0)
        if wrong or not len(lengths) or (lengths < 2).any() or self.stops[-1] != rows:
            raise ValueError("the captured detail does not have the schema's dimensions")
        if len(self.styles) != len(lengths) or self.step < 1 or not self.reach > 0.0:
            raise ValueError("the captured detail has other stretches than styles")


def detail_columns(schema: ControllerSchema) -> Array:
    """(values,) columns of the outputs that have detail: root, hips, velocities and rotations.

    Joint positions follow from the rotations.
    """
    slices = schema.outputs.slices
    hips = slices["joint_position"].start
    parts: Sequence[Array] = [
        *(np.arange(slices[name].start, slices[name].stop) for name in _ROOT),
        np.arange(hips, hips + 3),
        *(np.arange(slices[name].start, slices[name].stop) for name in _POSE),
    ]
    return np.concatenate(parts)


def root_values(schema: ControllerSchema) -> int:
    """Number of the first of `detail_columns` that move the root."""
    slices = schema.outputs.slices
    return sum(slices[name].stop - slices[name].start for name in _ROOT)
