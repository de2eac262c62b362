"""Motion and songs made by formula, with their true phases, contacts and beats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.synthetic.dance_motion import dance as dance
    from deepphase.synthetic.gait_motion import SyntheticMotion as SyntheticMotion
    from deepphase.synthetic.gait_motion import locomotion as locomotion
    from deepphase.synthetic.song import Song as Song
    from deepphase.synthetic.song import make_song as make_song

__getattr__, __dir__, __all__ = lazy_names(__name__)
