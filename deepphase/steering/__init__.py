"""Steering: paths, gamepad recordings, desired trajectories, and runs of characters along them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.steering.goal_sources import GoalSource as GoalSource
    from deepphase.steering.goal_sources import PathGoals as PathGoals
    from deepphase.steering.goal_sources import RootStates as RootStates
    from deepphase.steering.path import GroundPath as GroundPath
    from deepphase.steering.path import made_path as made_path
    from deepphase.steering.path import read_path as read_path
    from deepphase.steering.run import Run as Run
    from deepphase.steering.run import Runner as Runner
    from deepphase.steering.run import rollout as rollout
    from deepphase.steering.run import start_on_path as start_on_path
    from deepphase.steering.run import start_under_gamepad as start_under_gamepad
    from deepphase.steering.velocity_goals import GamepadGoals as GamepadGoals
    from deepphase.steering.velocity_goals import VelocityGoals as VelocityGoals

__getattr__, __dir__, __all__ = lazy_names(__name__)
