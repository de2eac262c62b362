"""Motion matching: motion databases, search by phase and trajectory, and playback.

::

    import deepphase as dp
    from deepphase import matching

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
    from deepphase.matching.database.database import MotionDatabase as MotionDatabase
    from deepphase.matching.music.dancing import DatabaseDance as DatabaseDance
    from deepphase.matching.music.dancing import dance_with_database as dance_with_database
    from deepphase.matching.player.playback import Playback as Playback
    from deepphase.matching.player.player import Player as Player
    from deepphase.matching.player.player import PlayerSettings as PlayerSettings
    from deepphase.matching.player.source import PlayerSource as PlayerSource
    from deepphase.matching.player.source import database_measures as database_measures
    from deepphase.matching.search.moments import Moment as Moment
    from deepphase.matching.search.moments import following as following
    from deepphase.matching.search.moments import moment as moment
    from deepphase.matching.search.moments import nearest_moments as nearest_moments
    from deepphase.matching.search.searcher import Searcher as Searcher
    from deepphase.matching.search.searcher import open_searcher as open_searcher

# Public name -> the module that defines it.
_MODULES = {
    "DatabaseDance": "deepphase.matching.music.dancing",
    "Moment": "deepphase.matching.search.moments",
    "MotionDatabase": "deepphase.matching.database.database",
    "Playback": "deepphase.matching.player.playback",
    "Player": "deepphase.matching.player.player",
    "PlayerSettings": "deepphase.matching.player.player",
    "PlayerSource": "deepphase.matching.player.source",
    "Searcher": "deepphase.matching.search.searcher",
    "dance_with_database": "deepphase.matching.music.dancing",
    "database_measures": "deepphase.matching.player.source",
    "following": "deepphase.matching.search.moments",
    "moment": "deepphase.matching.search.moments",
    "nearest_moments": "deepphase.matching.search.moments",
    "open_searcher": "deepphase.matching.search.searcher",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
