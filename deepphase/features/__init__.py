"""Features of frames: layouts of named blocks, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.features.feature import Feature as Feature
    from deepphase.features.layout import FeatureLayout as FeatureLayout

__getattr__, __dir__, __all__ = lazy_names(__name__)
