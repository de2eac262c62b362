"""Motion matching: search of a motion database by phase and trajectory, and playback.

::

    import deepphase as dp
    import matching

    store, model = dp.open_store("mocap.store"), dp.load_extractor("walk.model")
    database = matching.MotionDatabase.build(store, "phase_trajectory", model)
    database.save("mocap.db")
    searcher = matching.open_searcher(database)
    row = database.row_of("walk_01", 120)
    query = database.query([row])[0]
    for near in matching.nearest_moments(database, searcher, query, k=5):
        print(near.clip, near.frame, near.distance)

`MotionDatabase` holds a row of features for every frame of every clip, `open_searcher` finds the
rows nearest to a query, and `Player` moves a character with them, frame by frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.lazy_names import lazy_names

if TYPE_CHECKING:
    from matching.dancing import MatchedDance as MatchedDance
    from matching.dancing import dance_to as dance_to
    from matching.database import MotionDatabase as MotionDatabase
    from matching.moments import Moment as Moment
    from matching.moments import following as following
    from matching.moments import moment as moment
    from matching.moments import nearest_moments as nearest_moments
    from matching.playback import Playback as Playback
    from matching.player import Player as Player
    from matching.player import PlayerSettings as PlayerSettings
    from matching.search import Searcher as Searcher
    from matching.search import open_searcher as open_searcher
    from matching.start import PlayerSource as PlayerSource
    from matching.start import database_measures as database_measures

# Public name -> the module that defines it.
_MODULES = {
    "MatchedDance": "matching.dancing",
    "Moment": "matching.moments",
    "MotionDatabase": "matching.database",
    "Playback": "matching.playback",
    "Player": "matching.player",
    "PlayerSettings": "matching.player",
    "PlayerSource": "matching.start",
    "Searcher": "matching.search",
    "dance_to": "matching.dancing",
    "database_measures": "matching.start",
    "following": "matching.moments",
    "moment": "matching.moments",
    "nearest_moments": "matching.moments",
    "open_searcher": "matching.search",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
