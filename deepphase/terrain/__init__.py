"""Terrain: heightmaps, motion laid on them, and ground fitted to motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.terrain.ground_file import read_ground as read_ground
    from deepphase.terrain.heightmap import Heightmap as Heightmap
    from deepphase.terrain.heightmap import made_ground as made_ground
    from deepphase.terrain.laying import lay_on_ground as lay_on_ground

__getattr__, __dir__, __all__ = lazy_names(__name__)
