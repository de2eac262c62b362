"""Parts of array files: arrays whose names begin with that of a part, as in ``scale.mean``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.arrays import Array


def joined_parts(parts: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    """Arrays of parts -> arrays, named ``PART.NAME``."""
    return {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}


def array_part(
    arrays: Mapping[str, Array], part: str, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, Array]:
    """Name -> array in memory, of a part of what `joined_parts` returned.

    Parameters
    ----------
    shapes
        Name -> shape that the array has to have, if the part has it.

    Raises
    ------
    ValueError
        If an array has another shape.
    """
    prefix = f"{part}."
    own = {
        name.removeprefix(prefix): np.array(array)
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    for name, shape in (shapes or {}).items():
        if name in own and own[name].shape != shape:
            raise ValueError(f"{part}.{name} has the shape {own[name].shape}, not {shape}")
    return own
