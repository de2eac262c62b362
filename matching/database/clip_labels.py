"""Selection of a database's clips by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError

# Values of a label that an error lists.
_LISTED_VALUES = 8


def clips_with(
    labels: Sequence[Mapping[str, str]], wanted: Mapping[str, str | Sequence[str]]
) -> Array:
    """(clips,) bool: clips that have all wanted labels.

    Raises ParameterError where a label is unknown, or no clip has all of them.
    """
    clips = np.ones(len(labels), bool)
    for name, values in wanted.items():
        allowed = {values} if isinstance(values, str) else set(values)
        column = [each.get(name) for each in labels]
        if all(value is None for value in column):
            known = dict.fromkeys(key for each in labels for key in each)
            raise ParameterError(
                f"there is no label {name!r} in this database",
                hint=f"it has {', '.join(known) or 'none'}",
            )
        clips &= np.array([value in allowed for value in column])
    if not clips.any():
        raise ParameterError(
            f"no clip has the labels {dict(wanted)}", hint=_listed_values(labels, wanted)
        )
    return clips


def _listed_values(labels: Sequence[Mapping[str, str]], names: Iterable[str]) -> str:
    parts = []
    for name in names:
        values = sorted({each[name] for each in labels if name in each})
        extra = len(values) - _LISTED_VALUES
        more = f" and {extra} more" if extra > 0 else ""
        parts.append(f"{name} is {', '.join(values[:_LISTED_VALUES])}{more}")
    return "; ".join(parts)
