"""Rigs: controls of animators as functions of which the joints are the value, and their inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.rigs.body_rig import BodyRig as BodyRig
    from deepphase.rigs.body_rig import Control as Control
    from deepphase.rigs.config import RigConfig as RigConfig
    from deepphase.rigs.inverse import RigInverse as RigInverse
    from deepphase.rigs.inverse import RigSolution as RigSolution
    from deepphase.rigs.inverse import inverse_of_effectors as inverse_of_effectors
    from deepphase.rigs.inverse import named_effectors as named_effectors
    from deepphase.rigs.keying import clip_of_controls as clip_of_controls
    from deepphase.rigs.keying import motion_on_rig as motion_on_rig
    from deepphase.rigs.keys import RigKeys as RigKeys
    from deepphase.rigs.training import train_rig as train_rig

__getattr__, __dir__, __all__ = lazy_names(__name__)
