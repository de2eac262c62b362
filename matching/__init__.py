"""Motion matching: motion databases, search by phase and trajectory, and playback.

::

    import deepphase as dp
    import matching

    store, model = dp.open_store("mocap.store"), dp.load_extractor("walk.model")
    database = matching.MotionDatabase.build(store, "phase_trajectory", model)
    database.save("mocap.db")
    searcher = matching.open_searcher(database)
    query = database.query([database.row_of("walk_01", 120)])[0]
    for near in matching.nearest_moments(database, searcher, query, k=5):
        print(near.clip, near.frame, near.distance)

`MotionDatabase` holds a row of features for every frame of every clip, a `Searcher` finds the rows
nearest to a query, and `Player` plays them frame by frame along a desired trajectory.
`dance_with_database` plays them to a song.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.lazy_names import lazy_names

if TYPE_CHECKING:
    from matching.database.database import MotionDatabase as MotionDatabase
    from matching.music.dancing import DatabaseDance as DatabaseDance
    from matching.music.dancing import dance_with_database as dance_with_database
    from matching.player.playback import Playback as Playback
    from matching.player.player import Player as Player
    from matching.player.player import PlayerSettings as PlayerSettings
    from matching.player.source import PlayerSource as PlayerSource
    from matching.player.source import database_measures as database_measures
    from matching.search.moments import Moment as Moment
    from matching.search.moments import following as following
    from matching.search.moments import moment as moment
    from matching.search.moments import nearest_moments as nearest_moments
    from matching.search.searcher import Searcher as Searcher
    from matching.search.searcher import open_searcher as open_searcher

# Public name -> the module that defines it.
_MODULES = {
    "DatabaseDance": "matching.music.dancing",
    "Moment": "matching.search.moments",
    "MotionDatabase": "matching.database.database",
    "Playback": "matching.player.playback",
    "Player": "matching.player.player",
    "PlayerSettings": "matching.player.player",
    "PlayerSource": "matching.player.source",
    "Searcher": "matching.search.searcher",
    "dance_with_database": "matching.music.dancing",
    "database_measures": "matching.player.source",
    "following": "matching.search.moments",
    "moment": "matching.search.moments",
    "nearest_moments": "matching.search.moments",
    "open_searcher": "matching.search.searcher",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
