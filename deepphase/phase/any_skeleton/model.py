"""Phase models for any skeleton, and their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.formats.header_values import checked_count, checked_mapping, checked_text
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.phase.any_skeleton.binding import bound_weights
from deepphase.phase.any_skeleton.body_points import FPS, POINTS, BodyPlan
from deepphase.phase.config import PhaseConfig
from deepphase.phase.health import Health
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import (
    CONVENTIONS,
    ClipPhases,
    PhaseModel,
    load_weights,
    weights_hash,
)
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.signals import JointVelocities
from deepphase.short_repr import counted, short_repr

# Architecture of a model that is bound to a skeleton: the same, over its joints.
_BOUND_PRESET = "sine_fit"


@dataclass(frozen=True)
class TrainedSkeleton:
    """A skeleton that a model was trained on.

    Parameters
    ----------
    name
        Name of the skeleton group.
    kind
        Kind of the body, as "biped".
    joints
        Number of its joints.
    health
        Measures on its held-out clips.
    """

    name: str
    kind: str
    joints: int
    health: Health

    def as_mapping(self) -> dict[str, Any]:
        """The fields as values for JSON."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> TrainedSkeleton:
        """The inverse of `as_mapping`; ParameterError where a value is impossible."""
        return cls(
            checked_text(content["name"], "name"),
            checked_text(content["kind"], "kind"),
            checked_count(content["joints"], "joints"),
            Health.from_mapping(checked_mapping(content["health"], "health")),
        )


@dataclass(eq=False, repr=False)
class BoundModel(PhaseModel[JointVelocities]):
    """A model for any skeleton, bound to one: an ordinary phase model of its joints.

    Parameters
    ----------
    source_sha256
        Hash of the model for any skeleton. It is the hash of this one, too, so that databases,
        controllers and phases files name the model file and no skeleton.
    """

    source_sha256: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the weights of the model for any skeleton."""
        return self.source_sha256


@dataclass(eq=False)
class AnySkeletonModel:
    """A periodic autoencoder of body points, which reads the joints of any skeleton.

    It reads and reconstructs the velocities of a fixed set of points of a body (`POINTS`), which
    are interpolated from the joints of a skeleton by their roles. For one skeleton the
    interpolation becomes part of the weights: `bound` gives an ordinary `PhaseModel` of its joints.

    Parameters
    ----------
    network
        In evaluation mode; three signals per body point.
    config
        Configuration of the network and of its training.
    skeletons
        The skeletons that it was trained on.
    projection
        The PCA view of the manifold of its training clips.
    provenance
        Data, package versions and seed of the training.
    """

    FORMAT: ClassVar[str] = "deepphase.any_skeleton_model"
    VERSION: ClassVar[int] = 1

    network: PeriodicAutoencoder
    config: PhaseConfig
    skeletons: tuple[TrainedSkeleton, ...] = ()
    projection: ManifoldProjection | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network.eval()

    def __repr__(self) -> str:
        trained = counted(len(self.skeletons), "trained skeleton")
        return short_repr(self, counted(self.channels, "channel"), trained)

    @property
    def fps(self) -> float:
        """Frames a second of the signals."""
        return FPS

    @property
    def window(self) -> int:
        """Frames of a window."""
        return self.network.window

    @property
    def channels(self) -> int:
        """Phase channels."""
        return self.config.network.channels

    @property
    def health(self) -> None:
        """None: measures are of one skeleton; see `skeletons`."""
        return None

    @property
    def signals(self) -> JointVelocities:
        """Raises ParameterError: the joints are those of a skeleton; see `bound`."""
        raise ParameterError(
            "a model for any skeleton reads no joints of its own",
            hint="bind it to the clips first: model.bound(store)",
        )

    @property
    def sha256(self) -> str:
        """Hash of the weights; phases files name it."""
        return weights_hash(self.network)

    def bound(
        self, clips: Clip | ClipStore, description: Mapping[str, Any] | None = None
    ) -> BoundModel:
        """The phase model of one skeleton, without training.

        Parameters
        ----------
        clips
            A clip, or clips of one skeleton. Of a store the longest clip shows the roles.
        description
            A skeleton description (`load_description`), where names and structure do not show which
            joint is which.

        Raises
        ------
        SkeletonError
            Where the description names a joint that does not exist.
        """
        clip = clips if isinstance(clips, Clip) else clips.clip(int(np.argmax(clips.lengths)))
        roles = find_roles(clip.skeleton, description, clip=clip)
        signals = replace(JointVelocities.of_clip(clip, roles), fps=FPS)
        return self.bound_to(signals, clip, description)

    def bound_to(
        self,
        signals: JointVelocities,
        clip: Clip,
        description: Mapping[str, Any] | None = None,
    ) -> BoundModel:
        """The phase model of some joints of a clip's skeleton; see `bound`."""
        roles = find_roles(clip.skeleton, description, clip=clip)
        index = np.array([clip.skeleton.index(name) for name in signals.joints])
        plan = BodyPlan.of(clip.skeleton, roles).of_joints(index)
        network = replace(self.config.network, preset=_BOUND_PRESET)
        config = PhaseConfig(network, self.config.training.of_one_skeleton())
        read, write = plan.points_from_joints(), plan.joints_from_points()
        bound = make_autoencoder(3 * len(index), FPS, network)
        with torch.no_grad():
            weights = bound_weights(
                self.network.state_dict(), torch.from_numpy(read), torch.from_numpy(write)
            )
        bound.load_state_dict(weights)
        sha256 = self.sha256
        origin = {**self.provenance, "bound_from": sha256}
        return BoundModel(bound, config, signals, self.projection, None, origin, sha256)

    def encode(self, clip: Clip) -> ClipPhases:
        """Phases of every frame of a clip of any skeleton, at 60 frames per second.

        The roles of its joints are found in the clip alone: clips of one skeleton are read alike by
        ``model.bound(store).encode(clip)``.
        """
        return self.bound(clip).encode(clip)

    def save(self, path: str | Path) -> None:
        """Write the model file, whole or not at all."""
        arrays = {
            f"network.{name}": tensor.detach().cpu().numpy()
            for name, tensor in self.network.state_dict().items()
        }
        if self.projection is not None:
            arrays |= self.projection.as_arrays("projection.")
        header = {
            "config": asdict(self.config),
            "points": list(POINTS),
            "conventions": CONVENTIONS,
            "skeletons": [each.as_mapping() for each in self.skeletons],
            "provenance": dict(self.provenance),
        }
        write_arrays(path, arrays, header, format=self.FORMAT, version=self.VERSION)

    @classmethod
    def load(cls, path: str | Path) -> AnySkeletonModel:
        """Read a model file.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign or does not fit its own configuration.
        """
        arrays, header = read_arrays(
            path, format=cls.FORMAT, version=cls.VERSION, types={"projection.*": "F32"}
        )
        try:
            config = PhaseConfig.from_mapping(header["config"])
            if tuple(header["points"]) != POINTS:
                raise ParameterError("its body points are others")
            network = make_autoencoder(3 * len(POINTS), FPS, config.network)
            load_weights(network, arrays)
            projection = None
            if "projection.mean" in arrays:
                projection = ManifoldProjection.from_arrays(arrays, "projection.")
                if len(projection.mean) != 2 * config.network.channels:
                    raise ParameterError(
                        f"a projection of {len(projection.mean)} values is not possible"
                    )
            return cls(
                network,
                config,
                tuple(TrainedSkeleton.from_mapping(each) for each in header["skeletons"]),
                projection,
                checked_mapping(header["provenance"], "provenance"),
            )
        except (KeyError, TypeError, ValueError, RuntimeError, DeepPhaseError) as error:
            raise CheckpointError(
                f"the weights do not fit the header: {' '.join(str(error).split())[:200]}",
                hint="the file was changed after it was written: train again or take a copy",
                path=path,
            ) from None


def trained_words(skeletons: Sequence[TrainedSkeleton]) -> list[str]:
    """One line per trained skeleton: its joints and its measures on held-out clips."""
    return [
        f"{each.name} ({each.kind}, {each.joints} joints): {each.health.words()[0]}"
        + (
            ""
            if each.health.speed_error is None
            else f", phase-speed error {each.health.speed_error:.1%}"
        )
        for each in skeletons
    ]
