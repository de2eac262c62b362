"""Features that a phase model is compared with, of the same frames of the same clips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.evaluation.phase_measures import gathered_parameters, other_phases
from deepphase.features.feature import BodyFrames
from deepphase.features.layout import FeatureLayout, Moments, frame_rows
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import resample
from deepphase.motion.roles import body_parts, find_roles
from deepphase.phase.baselines.foot_phases import strikes
from deepphase.phase.extractor import BASELINES, PhaseExtractor
from deepphase.phase.matches import Frames
from deepphase.phase.parameters import ClipPhases, PhaseParameters
from deepphase.work import Progress
from tests.studies.phase_features.frame_features import FrameFeatures

VELOCITY, POSE, FULL_POSE, POSTURE = "velocity", "pose", "full_pose", "posture"
RIVALS = (*BASELINES, VELOCITY, POSE, FULL_POSE, POSTURE)
"""Names of features that are computed from the clips; other names are files of phase models."""
# The layout of the phases of the model with posture.
_WITH_POSTURE = "phase_posture"
# Of a block that does not change.
_NO_DEVIATION = 1e-9


def checked_rivals(names: Sequence[str]) -> tuple[str, ...]:
    """The names without repetition.

    Raises
    ------
    ParameterError
        If a name is neither one of `RIVALS` nor a file.
    """
    for name in names:
        if name not in RIVALS and not Path(name).is_file():
            raise ParameterError(
                f"nothing to compare with is called {name!r}",
                hint=f"one of {', '.join(RIVALS)}, or the file of a phase model",
            )
    return tuple(dict.fromkeys(names))


def reported_names(names: Sequence[str]) -> dict[str, str]:
    """Name -> what reports call it: files by their name, or by their path where that is taken."""
    short = {name: name if name in RIVALS else Path(name).name for name in names}
    taken = Counter(short.values())
    return {
        name: each if taken[each] == 1 or name in RIVALS else str(Path(name))
        for name, each in short.items()
    }


@dataclass(frozen=True, eq=False)
class ComparedFrames:
    """The interior frames of clips, with what all features are measured by."""

    frames: Frames  # Clip and index of each frame
    inside: tuple[Array, ...]  # Indices of each clip's frames
    poses: Array  # (frames, joints, 3) metres, root space
    velocities: Array  # (frames, 3 * joints) m/s, root space
    # Of each clip and foot, the strikes as positions among the clip's frames; empty where feet have
    # no contacts.
    strikes: tuple[tuple[Array, ...], ...]
    parts: tuple[str, ...]  # (joints,) part of the body that each joint belongs to
    fps: float  # Frames a second
    window: int  # Frames of a window; matches are at least half of it away

    @classmethod
    def of(
        cls,
        model: PhaseExtractor,
        store: ClipStore,
        frames: Frames,
        inside: Sequence[Array],
        poses: Array,
    ) -> ComparedFrames:
        """Those of the clips that a model was evaluated on, at the model's rate."""
        velocities, found = [], []
        for number, kept in enumerate(inside):
            clip = store.clip(number)
            velocities.append(model.signals.read(clip)[kept])
            found.append(_strikes(model, store, number, kept))
        clip = store.clip(int(np.argmax(store.lengths)))
        roles = find_roles(clip.skeleton, description=model.signals.body, clip=clip)
        of_joint = dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))
        return cls(
            frames,
            tuple(inside),
            poses,
            np.concatenate(velocities),
            tuple(found),
            tuple(of_joint[name] for name in model.signals.joints),
            model.fps,
            model.window,
        )

    def gathered(self, phases: Sequence[ClipPhases]) -> PhaseParameters:
        """Phase parameters (frames, channels) of these frames, of phases of whole clips."""
        return gathered_parameters(phases, self.inside)

    @property
    def places(self) -> list[slice]:
        """Where each clip's frames are among all."""
        stops = np.cumsum([len(kept) for kept in self.inside]).tolist()
        return [
            slice(stop - len(kept), stop) for kept, stop in zip(self.inside, stops, strict=True)
        ]

    def by_clip(self, values: Array) -> list[Array]:
        """(frames, ...) values, split into those of each clip."""
        return [values[own] for own in self.places]


def rival_features(
    names: Sequence[str],
    model: PhaseExtractor,
    own: PhaseParameters,
    store: ClipStore,
    compared: ComparedFrames,
    *,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> list[FrameFeatures]:
    """The features of each name, on the frames that the model is measured on.

    Baselines are fitted to these clips, with the model's window. `own` are the model's phase
    parameters on these frames.

    Raises
    ------
    ParameterError
        If another model has another frame rate.
    SkeletonError
        If the body lacks the limbs that a baseline needs, or the joints that a model reads.
    """
    made = []
    reported = reported_names(names)
    for done, name in enumerate(names, start=1):
        if progress is not None:
            progress("features to compare with", done, len(names), name)
        if name == VELOCITY:
            made.append(FrameFeatures(name, compared.velocities))
        elif name == POSE:
            made.append(FrameFeatures(name, _flat(compared.poses)))
        elif name == FULL_POSE:
            parts = [_standardised(each) for each in (_flat(compared.poses), compared.velocities)]
            made.append(FrameFeatures(name, np.concatenate(parts, axis=1)))
        elif name == POSTURE:
            beside = _posture(model, own, store, compared)
            made.append(FrameFeatures.of_phases(name, own, beside))
        else:
            parameters = compared.gathered(other_phases(name, model, store))
            made.append(FrameFeatures.of_phases(reported[name], parameters))
    return made


def _posture(
    model: PhaseExtractor, own: PhaseParameters, store: ClipStore, compared: ComparedFrames
) -> Array:
    """(frames, values) posture, in the unit in which databases weigh it beside the manifold."""
    first = store.clip(int(np.argmax(store.lengths)))
    roles = find_roles(first.skeleton, description=model.signals.body, clip=first)
    layout = FeatureLayout.load(_WITH_POSTURE).resolved(first.skeleton, roles, model.channels)
    alone = FeatureLayout(*(each for each in layout if each.kind != "phase_manifold"))
    parts = []
    for number, kept in enumerate(compared.inside):
        clip = resample(store.clip(number), model.fps)
        rows, _ = frame_rows(alone, BodyFrames.from_clip(clip, model.signals.body))
        parts.append(rows[kept])
    posture = np.concatenate(parts)
    moments = Moments()
    moments.add(np.concatenate([own.manifold(), posture], axis=1))
    scale = moments.normalisation(layout).scale
    manifold = 2 * model.channels
    weighed: Array = posture * (scale[manifold:] / scale[0])
    return weighed


def _flat(poses: Array) -> Array:
    return poses.reshape(len(poses), -1)


def _standardised(block: Array) -> Array:
    """A block divided by its root mean square deviation, so that blocks count alike."""
    deviation = float(np.sqrt(np.square(block - block.mean(0)).mean()))
    return block / max(deviation, _NO_DEVIATION)


def _strikes(
    model: PhaseExtractor, store: ClipStore, number: int, kept: Array
) -> tuple[Array, ...]:
    """Strikes of each foot, as positions among the kept frames; none without rotations or feet."""
    clip = store.clip(number)
    if clip.fps != model.fps or not kept.size:
        return ()
    roles = find_roles(clip.skeleton, description=model.signals.body, clip=clip)
    try:
        flags = foot_contacts(clip, roles).flags
    except DeepPhaseError:
        return ()
    at = [strikes(flags[:, [foot]], model.fps).frames for foot in range(flags.shape[1])]
    return tuple(np.searchsorted(kept, each[np.isin(each, kept)]) for each in at)
