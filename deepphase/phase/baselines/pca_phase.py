"""Local phases of the limbs from the main direction in which each swings (Mason et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.baseline import Baseline, body_of, fitted_sinusoids, limb_ends
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.work import Progress

# m/s: a limb that swings less is held still.
_SILENCE = 0.01
# Part of a unit axis that decides its sign.
_FORWARD = 0.1
_TO_MIRROR = np.array([-1.0, 1.0, 1.0])


@dataclass(eq=False, kw_only=True, repr=False)
class PcaPhase(Baseline):
    """A channel a hand or foot: a sinusoid fitted to its velocity along its principal axis.

    `axes` (limbs, 3) unit vectors in root space; those of left and right are mirror images.
    `normalised`: amplitude without unit, 1 for a pure sinusoid however small, and not in m/s. Mason
    et al. have the feet's phases from contacts and by this heuristic only the arms', and the feet's
    where they do not step; here all limbs are treated alike, so that amplitudes compare. Mason,
    Starke, Komura 2022, Real-Time Style Modelling of Human Locomotion via Feature-Wise
    Transformations and Local Motion Phases.
    """

    METHOD: ClassVar[str] = "pca"
    FORMAT: ClassVar[str] = "deepphase.pca_phase"
    AMPLITUDE: ClassVar[str] = "m/s; without unit where normalised"
    ORIGIN: ClassVar[str] = "phase is .25 where the limb is fastest along its axis, mostly forward"
    ARRAYS: ClassVar[tuple[str, ...]] = ("axes",)
    OPTIONS: ClassVar[tuple[str, ...]] = ("normalised",)

    axes: Array
    normalised: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axes.shape != (len(self.limbs), 3) or not np.isfinite(self.axes).all():
            raise ParameterError(
                f"axes have shape {self.axes.shape} for {len(self.limbs)} limbs",
                hint="give each limb one finite axis, or use PcaPhase.fit",
            )

    @classmethod
    def fit(
        cls,
        store: ClipStore,
        *,
        window_s: float = 2.0,
        normalised: bool = False,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find the main axis of each pair of limbs over all clips of a store."""
        corpus, clip, roles = body_of(store, description, progress)
        names = clip.skeleton.names
        limbs = [
            names[joint] for joint in limb_ends(roles) if names[joint] in corpus.signals.joints
        ]
        if not limbs:
            raise ParameterError(
                "neither feet nor hands ever move in these clips", hint="give clips that move"
            )
        model = cls(
            signals=corpus.signals,
            limbs=tuple(limbs),
            window_s=window_s,
            provenance={"clips": len(store), "minutes": store.minutes},
            axes=_principal_axes(corpus, limbs, roles, names),
            normalised=normalised,
        )
        return model.viewed(store, progress)

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, limbs) each, of a clip at this rate."""
        moving = self.signals.read(clip).reshape(len(clip), -1, 3)
        order = [self.signals.joints.index(limb) for limb in self.limbs]
        along = np.einsum("flc,lc->fl", moving[:, order], self.axes)
        return fitted_sinusoids(
            along, self.fps, self.window, silence=_SILENCE, normalised=self.normalised
        )


def _principal_axes(
    corpus: SignalCorpus, limbs: list[str], roles: Roles, names: tuple[str, ...]
) -> Array:
    """(limbs, 3): the right limb's velocities, mirrored, count with the left one's."""
    joints = corpus.signals.joints
    mirrored_with: dict[str, str] = {}
    for part in ("foot", "hand"):
        left, right = (names[joint] for joint in roles.both(part) or (0, 0))
        mirrored_with |= {left: right, right: left}
    scatter = {limb: _scatter(corpus, joints.index(limb)) for limb in limbs}
    flip = np.outer(_TO_MIRROR, _TO_MIRROR)
    axes: dict[str, Array] = {}
    for limb in limbs:
        other = mirrored_with[limb]
        if other in axes:
            axes[limb] = axes[other] * _TO_MIRROR
            continue
        axis = np.linalg.eigh(scatter[limb] + flip * scatter.get(other, 0.0))[1][:, -1]
        # The sign is arbitrary: forward, where the axis has much of it, else up or to the left.
        towards = axis[2] if abs(axis[2]) > _FORWARD else axis[np.abs(axis).argmax()]
        axes[limb] = axis if towards >= 0 else -axis
    return np.array([axes[limb] for limb in limbs], np.float32)


def _scatter(corpus: SignalCorpus, joint: int) -> Array:
    """(3, 3) summed squares of a joint's velocity around its mean over each clip."""
    values = corpus.values[:, 3 * joint : 3 * joint + 3]
    total = np.zeros((3, 3))
    for start, stop in zip(corpus.starts, corpus.stops, strict=True):
        part = values[start:stop].astype(np.float64)
        part = part - part.mean(0)
        total += part.T @ part
    return total
