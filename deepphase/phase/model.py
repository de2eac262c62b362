"""Phase models: their signals, their view of the manifold, encoding, and their file."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
import torch
from torch import nn

from deepphase.arrays import Array, counted, short_repr
from deepphase.config import checked_mapping, checked_record
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import clips_in
from deepphase.corpus.songs import song_entries
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.formats.array_file import fitting_parts, is_array_file, read_arrays, write_arrays
from deepphase.motion.clip import Clip
from deepphase.music.features import SongFeatures
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import encode_frames, interior_frames, make_autoencoder
from deepphase.phase.health import Health, TrainedSkeleton
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.parameters import CONVENTIONS, ClipPhases, ManifoldProjection
from deepphase.phase.signals import (
    BodyPlan,
    JointVelocities,
    PointVelocities,
    bound_weights,
    joints_of,
)
from deepphase.phase.song_signals import SongSignals

Signals = TypeVar("Signals", bound=JointVelocities | SongSignals | PointVelocities)

Paths = str | Path | Sequence[str | Path]

FORMAT, VERSION = "deepphase.phase_model", 1
_SIGNALS: dict[str, Any] = {
    JointVelocities.KIND: JointVelocities,
    SongSignals.KIND: SongSignals,
    PointVelocities.KIND: PointVelocities,
}


@dataclass(eq=False)
class PhaseModel(Generic[Signals]):
    """A periodic autoencoder with everything needed to encode other clips or songs.

    Parameters
    ----------
    network
        In evaluation mode.
    config
        Configuration of the network and of its training.
    signals
        Input signals: a clip's joint velocities, a song's features, or the points of any body.
    projection
        The PCA view of the manifold of its training clips.
    health
        Its measures on held-out clips; of a model for any skeleton, `skeletons` has them.
    provenance
        Data, package versions and seed of the training.
    skeletons
        The skeletons that a model for any skeleton was trained on.
    bound_from
        Hash of the model for any skeleton that was bound to this one's. It is the hash of this one,
        too, so that databases, controllers and phases files name the model file and no skeleton.
        Files do not have it.
    """

    network: PeriodicAutoencoder
    config: PhaseConfig
    signals: Signals
    projection: ManifoldProjection | None = None
    health: Health | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    skeletons: tuple[TrainedSkeleton, ...] = field(default=(), kw_only=True)
    bound_from: str = field(default="", kw_only=True)
    _last_bound: tuple[Any, PhaseModel[Any]] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.network.eval()

    def __repr__(self) -> str:
        return short_repr(
            self,
            self.config.network.preset,
            counted(self.channels, "channel"),
            f"windows of {self.window / self.fps:.2f} s at {self.fps:g} Hz",
            counted(len(self.signals.names), "signal"),
        )

    @property
    def fps(self) -> float:
        """Frames a second of the signals."""
        return self.signals.fps

    @property
    def window(self) -> int:
        """Frames of a window."""
        return self.network.window

    @property
    def channels(self) -> int:
        """Phase channels."""
        return self.config.network.channels

    @property
    def sha256(self) -> str:
        """SHA-256 of the names and values of the weights; phases files name it."""
        if self.bound_from:
            return self.bound_from
        digest = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        return digest.hexdigest()

    def bound(
        self, clips: Clip | ClipStore, description: Mapping[str, Any] | None = None
    ) -> PhaseModel[Any]:
        """The model of one skeleton, without training; itself, where it does not read any skeleton.

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
        if not isinstance(self.signals, PointVelocities):
            return self
        return self.bound_to(*joints_of(clips, description))

    def bound_to(self, signals: JointVelocities, plan: BodyPlan) -> PhaseModel[JointVelocities]:
        """The model of joints with these places on the body; see `bound`."""
        # The same architecture, over joints.
        network = replace(self.config.network, preset="sine_fit")
        training = replace(self.config.training, proportions=0.0, joint_dropout=0.0)
        config = PhaseConfig(network, training)
        read, write = map(torch.from_numpy, (plan.points_from_joints(), plan.joints_from_points()))
        bound = make_autoencoder(len(signals.names), signals.fps, network)
        with torch.no_grad():
            bound.load_state_dict(bound_weights(self.network.state_dict(), read, write))
        sha256 = self.sha256
        origin = {**self.provenance, "bound_from": sha256}
        return PhaseModel(
            bound, config, signals, self.projection, provenance=origin, bound_from=sha256
        )

    @overload
    def encode(self, clip: Clip | SongFeatures) -> ClipPhases: ...

    @overload
    def encode(self, clip: Paths) -> ClipPhases | list[ClipPhases]: ...

    def encode(self, clip: Clip | SongFeatures | Paths) -> ClipPhases | list[ClipPhases]:
        """Phases of every frame of a clip, or of a song, at the model's rate.

        A model for any skeleton finds the roles of the joints in the clip alone: clips of one
        skeleton are read alike by ``model.bound(store).encode(clip)``.

        Parameters
        ----------
        clip
            A clip or a song; or the path of a file, a folder or a store, or several paths.

        Returns
        -------
        The phases; of a folder, a store or several paths a list, a clip after the other, without
        those that cannot be read, each of which is a warning.

        Raises
        ------
        SkeletonError
            Where the clip lacks a joint that the model reads.
        ParameterError
            Where a model of songs is given a clip, or a model of motion a song.
        FormatError
            Where a path does not exist, or none can be read.
        """
        if not isinstance(clip, Clip | SongFeatures):
            return encode_paths(self, clip)
        if isinstance(clip, SongFeatures):
            if not isinstance(self.signals, SongSignals):
                raise ParameterError(
                    f"{clip.name}: this is a song, and the model reads motion",
                    hint="give a clip, or a model of songs",
                )
            return self.encode_signals(self.signals.read(clip), name=clip.name, source=clip.source)
        if isinstance(self.signals, PointVelocities):
            return self._bound_as_last(clip).encode(clip)
        if not isinstance(self.signals, JointVelocities):
            raise ParameterError(
                f"{clip.name}: this is a clip, and the model reads songs",
                hint="give a song, or a model of motion",
            )
        return self.encode_signals(self.signals.read(clip), name=clip.name, source=clip.source.path)

    def _bound_as_last(self, clip: Clip) -> PhaseModel[Any]:
        """The model of a clip's joints; folders are of one skeleton, which is bound once."""
        signals, plan = joints_of(clip)
        key = (self.sha256, signals, plan.chains, plan.places.tobytes())
        if self._last_bound is None or self._last_bound[0] != key:
            self._last_bound = key, self.bound_to(signals, plan)
        return self._last_bound[1]

    def encode_signals(self, signals: Array, *, name: str = "", source: str = "") -> ClipPhases:
        """Phases of every frame of signals (frames, channels) that `signals.read` gave."""
        parameters = encode_frames(self.network, signals, self.fps)
        return ClipPhases(
            parameters, interior_frames(len(signals), self.window), self.fps, name, source
        )

    def save(self, path: str | Path) -> None:
        """Write the model file, whole or not at all."""
        weights = self.network.state_dict().items()
        arrays = {f"network.{name}": weight.detach().cpu().numpy() for name, weight in weights}
        if self.projection is not None:
            arrays |= self.projection.as_arrays("projection.")
        signals = self.signals
        header: dict[str, Any] = {
            "config": asdict(self.config),
            "signals": {"kind": signals.KIND, "unit": signals.UNIT, **signals.as_mapping()},
            "normalisation": signals.NORMALISATION,
            "conventions": CONVENTIONS,
            "health": None if self.health is None else self.health.as_mapping(),
            "provenance": dict(self.provenance),
        }
        if self.skeletons:
            header["skeletons"] = [asdict(skeleton) for skeleton in self.skeletons]
        write_arrays(path, arrays, header, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> PhaseModel:
        """Read a model file.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign or does not fit its own configuration, or its network
            is not registered.
        """
        arrays, header = read_arrays(
            path, format=FORMAT, version=VERSION, types={"projection.*": "F32"}
        )
        with fitting_parts("phase model", "train it again", path):
            # Files of earlier versions may have the options of a codebook.
            gone, keys = ("codes", "code_stages", "skeletons"), dict(header["config"]["network"])
            known = {name: value for name, value in keys.items() if name not in gone}
            config = PhaseConfig.from_mapping({**header["config"], "network": known})
            signals = _SIGNALS[header["signals"]["kind"]].from_mapping(header["signals"])
            network = make_autoencoder(len(signals.names), signals.fps, config.network)
            load_weights(network, arrays)
            projection = None
            if "projection.mean" in arrays:
                projection = ManifoldProjection.from_arrays(arrays, "projection.")
                if len(projection.mean) != 2 * config.network.channels:
                    raise ValueError(f"its projection is of {len(projection.mean)} values")
            health = header["health"]
            return cls(
                network,
                config,
                signals,
                projection,
                None if health is None else checked_record(Health, health, "health"),
                checked_mapping(header["provenance"], "provenance"),
                skeletons=tuple(
                    checked_record(TrainedSkeleton, own, "skeleton")
                    for own in header.get("skeletons", ())
                ),
            )


def encode_paths(model: Any, paths: Paths) -> ClipPhases | list[ClipPhases]:
    """Phases of the clips or songs at paths; a list, unless one file with one clip is given."""
    one = isinstance(paths, str | Path)
    names: Any = [paths] if one else paths
    of_songs = isinstance(model.signals, SongSignals)
    joints = () if of_songs else model.signals.joints
    entries = song_entries(names) if of_songs else clips_in(names, joints=joints)
    phases: list[ClipPhases] = []
    refused: list[DeepPhaseError] = []
    for entry in entries:
        try:
            phases.append(model.encode(entry.load()))
        except DeepPhaseError as error:
            refused.append(error)
    if refused and not phases:
        raise refused[0]
    for refusal in refused:
        warnings.warn(f"left out: {refusal}", stacklevel=3)
    single = one and len(phases) == 1 and Path(names[0]).is_file() and not is_array_file(names[0])
    return phases[0] if single else phases


def load_weights(network: nn.Module, arrays: Mapping[str, Array], prefix: str = "network.") -> None:
    """Give a network the arrays of a file whose names begin with a prefix.

    Arrays of half precision, as shipped files have them, become the network's float32.
    """
    state = {
        name.removeprefix(prefix): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(prefix) and not name.startswith(f"{prefix}codebook.")
    }
    for name, own in network.state_dict().items():
        if name in state and (state[name].dtype, own.dtype) == (torch.float16, torch.float32):
            state[name] = state[name].float()
        if name in state and state[name].dtype != own.dtype:
            raise ValueError(f"weights {name!r} have type {state[name].dtype}, not {own.dtype}")
    network.load_state_dict(state)
