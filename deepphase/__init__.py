"""Phases of motion: learned from motion capture, and used to search, steer and dance.

Every link of the chain is an object that can be inspected, saved and loaded::

    motion files -> Clip -> ClipStore -> PhaseModel -> PhaseParameters -> phase manifold
                                |            |
                                +------------+--> matching.MotionDatabase -> Clip -> file
                                             +--> controllers.Controller  -> Clip -> file

Phases of a clip, by the shipped model, and by a model of the user's own motion::

    import deepphase as dp

    phases = dp.phases("captures/walk_neutral_01.bvh")  # without training
    model = dp.train_phase("captures/")  # a folder, a motion file or a store
    model.save("walk.model")
    phases = model.encode("captures/walk_neutral_01.bvh")  # or a folder, or a list of files
    print(phases.parameters.phase.shape)  # (frames, channels), cycles in [-0.5, 0.5)
    print(phases.parameters.manifold().shape)  # (frames, 2 * channels)
    phases.to_pandas()  # a row for each frame

Names at the top:

- files: `load`, `load_all`, `save`
- motion: `Clip`, `PointTrack`, `Skeleton`, `joint_positions`, `root_trajectory`, `foot_contacts`,
  `resample`, `mirrored`, `retarget`
- many clips: `prepare`, `corpus_of`, `ClipStore`
- phases: `phases`, `train_phase`, `PhaseConfig`, `PhaseModel`, `load_model`, `shipped_model`,
  `ClipPhases`, `PhaseParameters`, `load_phases`
- a page that plays: `save_player`
- errors: `DeepPhaseError` and its kinds `FormatError`, `SkeletonError`, `ParameterError` and
  `CheckpointError`

Topics below, as in ``dp.edit.repaired(clip)``:

============== ==================================================================================
controllers    networks that generate motion along a desired trajectory or to a song
corpus         stores of clips
edit           repair, motion between keys, targets of hands and feet, motion on paths, styles
evaluation     measures of motion along paths
export         ONNX files
features       what a search compares and a network reads
figures        plotly figures of phases
matching       search of motion by phase and trajectory, and playback of the results
motion         joint roles, contacts, trajectories of the root
music          audio features, beats and bars of songs
phase          networks, training in your own loop, baselines, phases of a stream
rigs           controls of an animator's rig
steering       goals, paths and runs of characters
synthetic      motion and songs by formula
terrain        ground, and motion laid on it
viewer         what a page shows
============== ==================================================================================

Lengths are metres, times seconds, angles radians, frequencies hertz; Y is up and the body faces +Z.
Quaternions are (x, y, z, w). Public names are imported when they are first used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deepphase.packages import folders_beside, lazy_names

if TYPE_CHECKING:
    from deepphase import controllers as controllers
    from deepphase import corpus as corpus
    from deepphase import edit as edit
    from deepphase import evaluation as evaluation
    from deepphase import export as export
    from deepphase import features as features
    from deepphase import figures as figures
    from deepphase import matching as matching
    from deepphase import motion as motion
    from deepphase import music as music
    from deepphase import phase as phase
    from deepphase import rigs as rigs
    from deepphase import steering as steering
    from deepphase import synthetic as synthetic
    from deepphase import terrain as terrain
    from deepphase import viewer as viewer
    from deepphase.corpus.clip_store import ClipStore as ClipStore
    from deepphase.corpus.prepare import corpus_of as corpus_of
    from deepphase.corpus.prepare import prepare as prepare
    from deepphase.errors import CheckpointError as CheckpointError
    from deepphase.errors import DeepPhaseError as DeepPhaseError
    from deepphase.errors import FormatError as FormatError
    from deepphase.errors import ParameterError as ParameterError
    from deepphase.errors import SkeletonError as SkeletonError
    from deepphase.formats.load import load as load
    from deepphase.formats.load import load_all as load_all
    from deepphase.formats.load import save as save
    from deepphase.motion.clip import Clip as Clip
    from deepphase.motion.clip import joint_positions as joint_positions
    from deepphase.motion.contacts import foot_contacts as foot_contacts
    from deepphase.motion.mirror import mirrored as mirrored
    from deepphase.motion.point_track import PointTrack as PointTrack
    from deepphase.motion.resample import resample as resample
    from deepphase.motion.retarget import retarget as retarget
    from deepphase.motion.root_trajectory import root_trajectory as root_trajectory
    from deepphase.motion.skeleton import Skeleton as Skeleton
    from deepphase.phase.config import PhaseConfig as PhaseConfig
    from deepphase.phase.extractor import load_model as load_model
    from deepphase.phase.extractor import phases as phases
    from deepphase.phase.extractor import shipped_model as shipped_model
    from deepphase.phase.model import PhaseModel as PhaseModel
    from deepphase.phase.parameters import ClipPhases as ClipPhases
    from deepphase.phase.parameters import PhaseParameters as PhaseParameters
    from deepphase.phase.parameters import load_phases as load_phases
    from deepphase.phase.training.train import train_phase as train_phase
    from deepphase.viewer.page import save_player as save_player

__getattr__, __dir__, __all__ = lazy_names(__name__)

__path__ += folders_beside()
# Threads of OpenMP without work sleep: those that spin take the turns of threads that compute. Read
# once, when torch is loaded, as the next one is by ONNX Runtime, which then sends no events.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
