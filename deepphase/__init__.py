"""Phases of motion: learned from motion capture, and used to search, steer and dance.

Every link of the chain is an object that can be inspected, saved and loaded::

    motion files -> Clip -> ClipStore -> PhaseModel -> PhaseParameters -> phase manifold
                                |            |
                                +------------+--> matching.MotionDatabase -> Clip -> file
                                             +--> controllers.Controller  -> Clip -> file

From a folder of motion capture to the phases of a clip::

    import deepphase as dp

    model = dp.train_phase("captures/")  # a folder, a motion file or a store
    model.save("walk.model")
    phases = model.encode("captures/walk_01.bvh")
    print(phases.parameters.phase.shape)  # (frames, channels), cycles in [-0.5, 0.5)
    print(phases.parameters.manifold().shape)  # (frames, 2 * channels)

Lengths are metres, times seconds, angles radians, frequencies hertz; Y is up and the body faces +Z.
Quaternions are (x, y, z, w). Public names are imported when they are first used.

See Also
--------
deepphase.matching : search of motion by phase and trajectory, and playback of the results.
deepphase.controllers : networks that generate motion along a desired trajectory or to a song.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.checkout import find_packages_beside
from deepphase.lazy_names import lazy_names
from deepphase.telemetry import disable_telemetry
from deepphase.threads import wait_passively

if TYPE_CHECKING:
    from deepphase.corpus.clip_store import ClipStore as ClipStore
    from deepphase.corpus.prepare import Preparation as Preparation
    from deepphase.corpus.prepare import corpus_of as corpus_of
    from deepphase.corpus.prepare import prepare as prepare
    from deepphase.corpus.store import open_store as open_store
    from deepphase.corpus.store import store_groups as store_groups
    from deepphase.corpus.store_writer import StoreWriter as StoreWriter
    from deepphase.edit.config import EditorConfig as EditorConfig
    from deepphase.edit.constrain import ConstrainedMotion as ConstrainedMotion
    from deepphase.edit.constrain import constrained as constrained
    from deepphase.edit.control_data import PathTraining as PathTraining
    from deepphase.edit.control_training import train_path as train_path
    from deepphase.edit.damage import Damage as Damage
    from deepphase.edit.damage import find_damage as find_damage
    from deepphase.edit.editor import MotionEditor as MotionEditor
    from deepphase.edit.effector_motion import EffectorMotion as EffectorMotion
    from deepphase.edit.effector_motion import EffectorPaths as EffectorPaths
    from deepphase.edit.effector_motion import motion_of_effectors as motion_of_effectors
    from deepphase.edit.effector_motion import read_effector_paths as read_effector_paths
    from deepphase.edit.inbetween import between_keys as between_keys
    from deepphase.edit.inbetween import in_between as in_between
    from deepphase.edit.path_motion import PathMotion as PathMotion
    from deepphase.edit.path_motion import motion_on_path as motion_on_path
    from deepphase.edit.path_motion import motions_on_paths as motions_on_paths
    from deepphase.edit.repair import repaired as repaired
    from deepphase.edit.similarity import SimilarClip as SimilarClip
    from deepphase.edit.similarity import similar_clips as similar_clips
    from deepphase.edit.style import StyledMotion as StyledMotion
    from deepphase.edit.style import styled as styled
    from deepphase.edit.targets import JointTarget as JointTarget
    from deepphase.edit.targets import read_targets as read_targets
    from deepphase.edit.timing import PhaseTiming as PhaseTiming
    from deepphase.edit.timing import phase_key_times as phase_key_times
    from deepphase.edit.timing import phase_timing as phase_timing
    from deepphase.edit.training import train_editor as train_editor
    from deepphase.errors import CheckpointError as CheckpointError
    from deepphase.errors import DeepPhaseError as DeepPhaseError
    from deepphase.errors import FormatError as FormatError
    from deepphase.errors import ParameterError as ParameterError
    from deepphase.errors import SkeletonError as SkeletonError
    from deepphase.evaluation.run_measures import run_measures as run_measures
    from deepphase.export.phase_encoder import export_phase_model as export_phase_model
    from deepphase.features.feature import Feature as Feature
    from deepphase.features.layout import FeatureLayout as FeatureLayout
    from deepphase.formats.load import load as load
    from deepphase.formats.load import load_all as load_all
    from deepphase.formats.load import save as save
    from deepphase.motion.clip import Clip as Clip
    from deepphase.motion.clip import Source as Source
    from deepphase.motion.contacts import Contacts as Contacts
    from deepphase.motion.contacts import foot_contacts as foot_contacts
    from deepphase.motion.kinematics import joint_positions as joint_positions
    from deepphase.motion.mirror import mirrored as mirrored
    from deepphase.motion.point_track import PointTrack as PointTrack
    from deepphase.motion.resample import resample as resample
    from deepphase.motion.retargeting.retarget import retarget as retarget
    from deepphase.motion.roles import Roles as Roles
    from deepphase.motion.roles import find_roles as find_roles
    from deepphase.motion.root_trajectory import RootTrajectory as RootTrajectory
    from deepphase.motion.root_trajectory import root_trajectory as root_trajectory
    from deepphase.motion.skeleton import Skeleton as Skeleton
    from deepphase.motion.skeleton_description import load_description as load_description
    from deepphase.music.cache import song_features as song_features
    from deepphase.music.features import SongFeatures as SongFeatures
    from deepphase.music.song_styles import SongSummary as SongSummary
    from deepphase.music.song_styles import song_summary as song_summary
    from deepphase.phase.causal.data import CausalTraining as CausalTraining
    from deepphase.phase.causal.encoder import CausalEncoder as CausalEncoder
    from deepphase.phase.causal.training import train_causal as train_causal
    from deepphase.phase.config import NetworkConfig as NetworkConfig
    from deepphase.phase.config import PhaseConfig as PhaseConfig
    from deepphase.phase.extractor import PhaseExtractor as PhaseExtractor
    from deepphase.phase.extractor import fit_phases as fit_phases
    from deepphase.phase.extractor import load_extractor as load_extractor
    from deepphase.phase.extractor import load_model as load_model
    from deepphase.phase.extractor import shipped_model as shipped_model
    from deepphase.phase.health import Health as Health
    from deepphase.phase.manifold import ManifoldProjection as ManifoldProjection
    from deepphase.phase.model import ClipPhases as ClipPhases
    from deepphase.phase.model import PhaseModel as PhaseModel
    from deepphase.phase.networks.autoencoder import Encoding as Encoding
    from deepphase.phase.networks.autoencoder import PeriodicAutoencoder as PeriodicAutoencoder
    from deepphase.phase.networks.presets import register_autoencoder as register_autoencoder
    from deepphase.phase.parameters import PhaseParameters as PhaseParameters
    from deepphase.phase.phase_file import load_phases as load_phases
    from deepphase.phase.phase_file import save_phases as save_phases
    from deepphase.phase.signal_corpus import SignalCorpus as SignalCorpus
    from deepphase.phase.streaming import StreamingEncoder as StreamingEncoder
    from deepphase.phase.training.data import PhaseData as PhaseData
    from deepphase.phase.training.module import PhaseModule as PhaseModule
    from deepphase.phase.training.train import train_phase as train_phase
    from deepphase.rigs.blender_rig import BlenderRig as BlenderRig
    from deepphase.rigs.body_rig import BodyRig as BodyRig
    from deepphase.rigs.config import RigConfig as RigConfig
    from deepphase.rigs.effectors import inverse_of_effectors as inverse_of_effectors
    from deepphase.rigs.effectors import named_effectors as named_effectors
    from deepphase.rigs.examples import motion_on_rig as motion_on_rig
    from deepphase.rigs.inverse import RigInverse as RigInverse
    from deepphase.rigs.inverse import RigSolution as RigSolution
    from deepphase.rigs.key_thinning import thinned_keys as thinned_keys
    from deepphase.rigs.keying import clip_of_controls as clip_of_controls
    from deepphase.rigs.keys import RigKeys as RigKeys
    from deepphase.rigs.rig_function import Control as Control
    from deepphase.rigs.rig_function import FunctionRig as FunctionRig
    from deepphase.rigs.rig_function import RigFunction as RigFunction
    from deepphase.rigs.rigify import make_rigify as make_rigify
    from deepphase.rigs.training import train_rig as train_rig
    from deepphase.steering.goal_sources import GoalSource as GoalSource
    from deepphase.steering.goal_sources import PathGoals as PathGoals
    from deepphase.steering.made_paths import made_path as made_path
    from deepphase.steering.path import GroundPath as GroundPath
    from deepphase.steering.path import read_path as read_path
    from deepphase.steering.place_goals import PlaceGoals as PlaceGoals
    from deepphase.steering.root_states import RootStates as RootStates
    from deepphase.steering.run import Run as Run
    from deepphase.steering.run import Runner as Runner
    from deepphase.steering.run import rollout as rollout
    from deepphase.steering.run import start_on_path as start_on_path
    from deepphase.steering.run import start_under_gamepad as start_under_gamepad
    from deepphase.steering.velocity_goals import GamepadGoals as GamepadGoals
    from deepphase.steering.velocity_goals import VelocityGoals as VelocityGoals
    from deepphase.synthetic.dance_motion import dance as dance
    from deepphase.synthetic.gait_motion import SyntheticMotion as SyntheticMotion
    from deepphase.synthetic.gait_motion import locomotion as locomotion
    from deepphase.synthetic.song import Song as Song
    from deepphase.synthetic.song import make_song as make_song
    from deepphase.terrain.ground_file import read_ground as read_ground
    from deepphase.terrain.ground_shapes import made_ground as made_ground
    from deepphase.terrain.heightmap import Heightmap as Heightmap
    from deepphase.terrain.laying import lay_on_ground as lay_on_ground
    from deepphase.viewer.actor import Actor as Actor
    from deepphase.viewer.page import save_player as save_player
    from deepphase.viewer.take import Take as Take

# Public name -> the module that defines it.
_MODULES = {
    "Actor": "deepphase.viewer.actor",
    "BlenderRig": "deepphase.rigs.blender_rig",
    "BodyRig": "deepphase.rigs.body_rig",
    "CausalEncoder": "deepphase.phase.causal.encoder",
    "CausalTraining": "deepphase.phase.causal.data",
    "CheckpointError": "deepphase.errors",
    "Clip": "deepphase.motion.clip",
    "ClipPhases": "deepphase.phase.model",
    "ClipStore": "deepphase.corpus.clip_store",
    "ConstrainedMotion": "deepphase.edit.constrain",
    "Contacts": "deepphase.motion.contacts",
    "Control": "deepphase.rigs.rig_function",
    "Damage": "deepphase.edit.damage",
    "DeepPhaseError": "deepphase.errors",
    "EditorConfig": "deepphase.edit.config",
    "EffectorMotion": "deepphase.edit.effector_motion",
    "EffectorPaths": "deepphase.edit.effector_motion",
    "Encoding": "deepphase.phase.networks.autoencoder",
    "Feature": "deepphase.features.feature",
    "FeatureLayout": "deepphase.features.layout",
    "FormatError": "deepphase.errors",
    "FunctionRig": "deepphase.rigs.rig_function",
    "GamepadGoals": "deepphase.steering.velocity_goals",
    "GoalSource": "deepphase.steering.goal_sources",
    "GroundPath": "deepphase.steering.path",
    "Health": "deepphase.phase.health",
    "Heightmap": "deepphase.terrain.heightmap",
    "JointTarget": "deepphase.edit.targets",
    "ManifoldProjection": "deepphase.phase.manifold",
    "MotionEditor": "deepphase.edit.editor",
    "NetworkConfig": "deepphase.phase.config",
    "ParameterError": "deepphase.errors",
    "PathGoals": "deepphase.steering.goal_sources",
    "PathMotion": "deepphase.edit.path_motion",
    "PathTraining": "deepphase.edit.control_data",
    "PeriodicAutoencoder": "deepphase.phase.networks.autoencoder",
    "PhaseConfig": "deepphase.phase.config",
    "PhaseData": "deepphase.phase.training.data",
    "PhaseExtractor": "deepphase.phase.extractor",
    "PhaseModel": "deepphase.phase.model",
    "PhaseModule": "deepphase.phase.training.module",
    "PhaseParameters": "deepphase.phase.parameters",
    "PhaseTiming": "deepphase.edit.timing",
    "PlaceGoals": "deepphase.steering.place_goals",
    "PointTrack": "deepphase.motion.point_track",
    "Preparation": "deepphase.corpus.prepare",
    "RigConfig": "deepphase.rigs.config",
    "RigFunction": "deepphase.rigs.rig_function",
    "RigInverse": "deepphase.rigs.inverse",
    "RigKeys": "deepphase.rigs.keys",
    "RigSolution": "deepphase.rigs.inverse",
    "Roles": "deepphase.motion.roles",
    "RootStates": "deepphase.steering.root_states",
    "RootTrajectory": "deepphase.motion.root_trajectory",
    "Run": "deepphase.steering.run",
    "Runner": "deepphase.steering.run",
    "SignalCorpus": "deepphase.phase.signal_corpus",
    "SimilarClip": "deepphase.edit.similarity",
    "Skeleton": "deepphase.motion.skeleton",
    "SkeletonError": "deepphase.errors",
    "Song": "deepphase.synthetic.song",
    "SongFeatures": "deepphase.music.features",
    "SongSummary": "deepphase.music.song_styles",
    "Source": "deepphase.motion.clip",
    "StoreWriter": "deepphase.corpus.store_writer",
    "StreamingEncoder": "deepphase.phase.streaming",
    "StyledMotion": "deepphase.edit.style",
    "SyntheticMotion": "deepphase.synthetic.gait_motion",
    "Take": "deepphase.viewer.take",
    "VelocityGoals": "deepphase.steering.velocity_goals",
    "between_keys": "deepphase.edit.inbetween",
    "clip_of_controls": "deepphase.rigs.keying",
    "constrained": "deepphase.edit.constrain",
    "corpus_of": "deepphase.corpus.prepare",
    "dance": "deepphase.synthetic.dance_motion",
    "named_effectors": "deepphase.rigs.effectors",
    "export_phase_model": "deepphase.export.phase_encoder",
    "find_damage": "deepphase.edit.damage",
    "find_roles": "deepphase.motion.roles",
    "fit_phases": "deepphase.phase.extractor",
    "foot_contacts": "deepphase.motion.contacts",
    "in_between": "deepphase.edit.inbetween",
    "inverse_of_effectors": "deepphase.rigs.effectors",
    "joint_positions": "deepphase.motion.kinematics",
    "lay_on_ground": "deepphase.terrain.laying",
    "load": "deepphase.formats.load",
    "load_all": "deepphase.formats.load",
    "load_description": "deepphase.motion.skeleton_description",
    "load_extractor": "deepphase.phase.extractor",
    "load_model": "deepphase.phase.extractor",
    "load_phases": "deepphase.phase.phase_file",
    "locomotion": "deepphase.synthetic.gait_motion",
    "made_ground": "deepphase.terrain.ground_shapes",
    "made_path": "deepphase.steering.made_paths",
    "make_rigify": "deepphase.rigs.rigify",
    "make_song": "deepphase.synthetic.song",
    "mirrored": "deepphase.motion.mirror",
    "motion_of_effectors": "deepphase.edit.effector_motion",
    "motion_on_path": "deepphase.edit.path_motion",
    "motions_on_paths": "deepphase.edit.path_motion",
    "motion_on_rig": "deepphase.rigs.examples",
    "open_store": "deepphase.corpus.store",
    "phase_key_times": "deepphase.edit.timing",
    "phase_timing": "deepphase.edit.timing",
    "prepare": "deepphase.corpus.prepare",
    "read_effector_paths": "deepphase.edit.effector_motion",
    "read_ground": "deepphase.terrain.ground_file",
    "read_path": "deepphase.steering.path",
    "read_targets": "deepphase.edit.targets",
    "register_autoencoder": "deepphase.phase.networks.presets",
    "repaired": "deepphase.edit.repair",
    "resample": "deepphase.motion.resample",
    "retarget": "deepphase.motion.retargeting.retarget",
    "rollout": "deepphase.steering.run",
    "root_trajectory": "deepphase.motion.root_trajectory",
    "run_measures": "deepphase.evaluation.run_measures",
    "save": "deepphase.formats.load",
    "save_phases": "deepphase.phase.phase_file",
    "save_player": "deepphase.viewer.page",
    "similar_clips": "deepphase.edit.similarity",
    "song_features": "deepphase.music.cache",
    "song_summary": "deepphase.music.song_styles",
    "start_on_path": "deepphase.steering.run",
    "shipped_model": "deepphase.phase.extractor",
    "start_under_gamepad": "deepphase.steering.run",
    "store_groups": "deepphase.corpus.store",
    "styled": "deepphase.edit.style",
    "train_editor": "deepphase.edit.training",
    "train_path": "deepphase.edit.control_training",
    "thinned_keys": "deepphase.rigs.key_thinning",
    "train_causal": "deepphase.phase.causal.training",
    "train_phase": "deepphase.phase.training.train",
    "train_rig": "deepphase.rigs.training",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)

find_packages_beside()
wait_passively()
disable_telemetry()
