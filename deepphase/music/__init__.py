"""Audio features of songs at 60 frames a second, beat tracking and bar tracking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.music.cache import song_features as song_features
    from deepphase.music.features import SongFeatures as SongFeatures

__getattr__, __dir__, __all__ = lazy_names(__name__)
