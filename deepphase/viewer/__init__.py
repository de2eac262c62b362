"""The player: one offline page that plays skeletons, phases and a song under one time cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.viewer.actor import Actor as Actor
    from deepphase.viewer.take import Take as Take

__getattr__, __dir__, __all__ = lazy_names(__name__)
