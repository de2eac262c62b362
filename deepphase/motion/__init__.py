"""Skeletons, clips and point tracks, and their kinematics, joint roles, contacts and mirroring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.motion.clip import Source as Source
    from deepphase.motion.contacts import Contacts as Contacts
    from deepphase.motion.roles import Roles as Roles
    from deepphase.motion.roles import find_roles as find_roles
    from deepphase.motion.roles import load_description as load_description
    from deepphase.motion.root_trajectory import RootTrajectory as RootTrajectory

__getattr__, __dir__, __all__ = lazy_names(__name__)
