"""Many clips as one: labels, preparation, the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.corpus.prepare import Preparation as Preparation
    from deepphase.corpus.store import open_store as open_store
    from deepphase.corpus.store import store_groups as store_groups
    from deepphase.corpus.store_writer import StoreWriter as StoreWriter

__getattr__, __dir__, __all__ = lazy_names(__name__)
