"""Ground that a command's options name: a kind of made ground, or a file with heights."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.options.groups import LaidGroundOptions
from deepphase.errors import ParameterError
from deepphase.terrain.ground_file import read_ground
from deepphase.terrain.ground_shapes import INCH_M, MADE_GROUNDS, made_ground
from deepphase.terrain.heightmap import Heightmap

# Made ground reaches 40 m around the origin, as far as half a minute of walking.
_MADE_M = 80.0

# What a heightmap cannot have, or what characters do not do on it.
_NO_GROUND = {
    "ceiling": "ground is a map of heights, which has no ceiling, and no character crouches",
    "gap": "no character jumps over gaps: it stops before pits (--terrain pits)",
}


def chosen_ground(options: LaidGroundOptions) -> str | Heightmap | None:
    """The kind of made ground in the options, the ground in their file, or None for a flat floor.

    Raises
    ------
    ParameterError, FormatError
        If there is neither such a kind nor such a file, a number for files is given without one,
        or the file cannot be read.
    """
    name, spacing, scale = options.terrain, options.terrain_spacing, options.terrain_scale
    if name is None or name in MADE_GROUNDS:
        if spacing is not None or scale is not None:
            raise ParameterError(
                "--terrain-spacing and --terrain-scale apply to files with heights",
                hint="leave them out, or give --terrain a file",
            )
        return name
    if not (Path(name).suffix or Path(name).exists()):
        raise ParameterError(
            _NO_GROUND.get(name.removesuffix("s"), f"there is no ground {name!r}"),
            hint=f"give a file, or {', '.join(MADE_GROUNDS)}",
        )
    return read_ground(name, spacing_m=spacing, height_scale=scale)


def heights_of(
    chosen: str | Heightmap | None, *, seed: int = 0, spacing_m: float = INCH_M
) -> Heightmap | None:
    """The ground of `chosen_ground`, made if it is a kind; None for a flat floor."""
    if not isinstance(chosen, str):
        return chosen
    return made_ground(chosen, seed=seed, size_m=_MADE_M, spacing_m=spacing_m)


def ground_notes(ground: str | Heightmap | None) -> list[str]:
    """What was assumed or corrected when a ground was read, one sentence each."""
    if not isinstance(ground, Heightmap):
        return []
    return [f"{ground.name}: {text}" for text in ground.notes]
