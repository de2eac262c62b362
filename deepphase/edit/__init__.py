"""Editing: a convolutional autoencoder of motion, and what an animator does in its space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.edit.config import EditorConfig as EditorConfig
    from deepphase.edit.constrain import constrained as constrained
    from deepphase.edit.control_training import train_path as train_path
    from deepphase.edit.damage import Damage as Damage
    from deepphase.edit.damage import find_damage as find_damage
    from deepphase.edit.editor import EditedMotion as EditedMotion
    from deepphase.edit.editor import MotionEditor as MotionEditor
    from deepphase.edit.effector_motion import EffectorPaths as EffectorPaths
    from deepphase.edit.effector_motion import motion_of_effectors as motion_of_effectors
    from deepphase.edit.effector_motion import read_effector_paths as read_effector_paths
    from deepphase.edit.grounding import grounded as grounded
    from deepphase.edit.inbetween import between_keys as between_keys
    from deepphase.edit.inbetween import in_between as in_between
    from deepphase.edit.path_motion import motion_on_path as motion_on_path
    from deepphase.edit.repair import repaired as repaired
    from deepphase.edit.style import StyledMotion as StyledMotion
    from deepphase.edit.style import styled as styled
    from deepphase.edit.targets import JointTarget as JointTarget
    from deepphase.edit.targets import read_targets as read_targets
    from deepphase.edit.training import train_editor as train_editor

__getattr__, __dir__, __all__ = lazy_names(__name__)
