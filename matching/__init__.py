"""Motion matching: motion databases, search by phase and trajectory, and playback.

`MotionDatabase` holds a row of features for every frame of every clip, a `Searcher` finds the rows
nearest to a query, and `Player` plays them frame by frame along a desired trajectory.
`dance_with_database` plays them to a song. A `Matcher` of `train_matcher` is a compressed database,
in a file of a few megabytes (learned motion matching), and its `source` plays it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.matching.database.database import MotionDatabase as MotionDatabase
    from deepphase.matching.learned.matcher import Matcher as Matcher
    from deepphase.matching.learned.training import train_matcher as train_matcher
    from deepphase.matching.music.dancing import dance_with_database as dance_with_database
    from deepphase.matching.music.song_tracks import ClipSongTracks as ClipSongTracks
    from deepphase.matching.player.playback import Playback as Playback
    from deepphase.matching.player.player import Player as Player
    from deepphase.matching.player.settings import PlayerSettings as PlayerSettings
    from deepphase.matching.player.source import PlayerSource as PlayerSource
    from deepphase.matching.player.source import database_measures as database_measures
    from deepphase.matching.search.moments import Moment as Moment
    from deepphase.matching.search.moments import following as following
    from deepphase.matching.search.moments import moment as moment
    from deepphase.matching.search.moments import nearest_moments as nearest_moments
    from deepphase.matching.search.request import Searcher as Searcher
    from deepphase.matching.search.searcher import open_searcher as open_searcher

__getattr__, __dir__, __all__ = lazy_names(__name__)
