"""Feature layouts, the named, weighted blocks with units that describe a frame, and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, brief_repr
from deepphase.config import config_path, read_yaml
from deepphase.errors import ParameterError
from deepphase.features.feature import (
    TRAJECTORY_PATH,
    BodyFrames,
    Feature,
    path_of_clip,
    relative_trajectory,
)
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, subtree_mask

# Blocks with a smaller standard deviation are not scaled.
_MIN_DEVIATION = 1e-5


@dataclass(frozen=True, eq=False)
class Normalisation:
    """Normalisation of rows: (raw - mean) * scale, with the weight included in the scale.

    Each block has one scale, its weight over the mean standard deviation of its values, so that
    proportions within a block are kept.

    Holden, Motion-Matching (2021), normalize_feature.
    """

    mean: Array  # (dims,) float32
    scale: Array  # (dims,) float32

    def __call__(self, raw: Array) -> Array:
        """(..., dims) -> (..., dims) float32."""
        return ((raw - self.mean) * self.scale).astype(np.float32)

    def of_block(self, raw: Array, block: slice) -> Array:
        """(..., block dims) -> (..., block dims) float32 of one block."""
        return ((raw - self.mean[block]) * self.scale[block]).astype(np.float32)

    def inverse(self, normalised: Array) -> Array:
        """(..., dims) raw values; those of a block with weight 0 are its mean."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        return (normalised / scale + self.mean).astype(np.float32)


class Moments:
    """Mean and deviation of rows that arrive in batches."""

    def __init__(self) -> None:
        self._batches: list[tuple[float, Array, Array]] = []

    def add(self, rows: Array) -> None:
        """Add a batch of rows (rows, dims)."""
        if not len(rows):
            return
        values = rows.astype(np.float64)
        mean = values.mean(0)
        # About the mean of the batch: about 0, small deviations would be lost.
        self._batches.append((float(len(values)), mean, np.square(values - mean).sum(0)))

    def normalisation(self, layout: FeatureLayout) -> Normalisation:
        """The normalisation of all rows so far; ParameterError where there are none."""
        if not self._batches:
            raise ParameterError("there must be at least one frame to normalise features by")
        counts, means, squares = (np.array(values) for values in zip(*self._batches, strict=True))
        weights, origin = (counts / counts.sum())[:, None], means[0]
        away = means - origin
        centre = (weights * away).sum(0)
        variance = squares.sum(0) / counts.sum() + (weights * np.square(away - centre)).sum(0)
        mean, deviation = origin + centre, np.sqrt(variance)
        scale = np.empty_like(mean)
        for name, block in layout.slices.items():
            spread = float(deviation[block].mean())
            scale[block] = layout[name].weight / (spread if spread > _MIN_DEVIATION else 1.0)
        return Normalisation(mean.astype(np.float32), scale.astype(np.float32))


_PAIRS = {"feet": "foot", "toes": "toe", "hands": "hand", "knees": "knee", "elbows": "elbow"}
_SINGLE = ("hips", "spine", "chest", "neck", "head")
ALL = "all"


def named_joints(names: Sequence[str], skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """Joint names for joint names and roles, without repetition, in the order of `names`.

    Roles are "hips", "spine", "chest", "neck", "head", "left_foot" and the like, "feet", "toes",
    "hands", "knees", "elbows", and "all": every joint from the hips down. A joint takes
    precedence over a role of the same name.

    Raises ParameterError where a name is neither a joint nor a role that this body has.
    """
    sided = [f"{side}_{part}" for part in _PAIRS.values() for side in ("left", "right")]
    found: list[str] = []
    for name in names:
        if name in skeleton.names:
            found.append(name)
            continue
        if name == ALL:
            joints = np.flatnonzero(subtree_mask(skeleton, roles.hips)).tolist()
        elif name in _PAIRS:
            joints = list(roles.both(_PAIRS[name]) or ())
        else:
            joint = getattr(roles, name) if name in (*_SINGLE, *sided) else None
            joints = [] if joint is None else [joint]
        if not joints:
            raise ParameterError(
                f"there is no joint or role {name!r} on this skeleton",
                hint=f"roles: {', '.join((ALL, *_SINGLE, *_PAIRS, *sided))}; joints: "
                f"{', '.join(skeleton.names)}",
            )
        found += [skeleton.names[joint] for joint in joints]
    return tuple(dict.fromkeys(found))


__all__ = ["Feature", "FeatureLayout"]


@brief_repr
@dataclass(frozen=True, init=False)
class FeatureLayout:
    """Blocks of a feature row, in order.

    A layout may name joints by their roles ("feet") and leave the number of phase channels open;
    `resolved` fills them in for a skeleton and a model.

    Parameters
    ----------
    features
        At least one feature; names are unique.

    Raises
    ------
    ParameterError
        Where a name occurs twice or there is no feature.
    """

    features: tuple[Feature, ...]

    def __init__(self, *features: Feature) -> None:
        object.__setattr__(self, "features", tuple(features))
        if not features:
            raise ParameterError("a feature layout needs at least one feature")
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if twice:
            raise ParameterError(
                f"the layout has two features with the name {twice[0]!r}",
                hint="give every feature a name of its own",
            )

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise ParameterError(
            f"there is no feature {name!r} in the layout",
            hint=f"choose one of {', '.join(self.names)}",
        )

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __str__(self) -> str:
        return "\n".join(f"{feature}" for feature in self.features)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [feature.name for feature in self.features]

    @cached_property
    def dims(self) -> int:
        """Numbers in a row."""
        return sum(feature.dims for feature in self.features)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Columns of each feature in a row."""
        slices, start = {}, 0
        for feature in self.features:
            slices[feature.name] = slice(start, start + feature.dims)
            start += feature.dims
        return slices

    @property
    def value_names(self) -> list[str]:
        """(dims,) a name for each number, such as "foot_position.LeftFoot.x"."""
        return [name for feature in self.features for name in feature.value_names]

    @property
    def weights(self) -> Array:
        """(dims,) float32: weight of each number's feature."""
        return np.repeat(
            np.array([feature.weight for feature in self.features], np.float32),
            [feature.dims for feature in self.features],
        )

    @property
    def reach_s(self) -> tuple[float, float]:
        """Seconds before and after a frame that its features cover."""
        offsets = [0.0]
        for feature in self.features:
            offsets += feature.offsets_s
        return max(-min(offsets), 0.0), max(*offsets, 0.0)

    def of_kind(self, kind: str) -> list[Feature]:
        """The features of a kind, in order."""
        return [feature for feature in self.features if feature.kind == kind]

    def resolved(
        self,
        skeleton: Skeleton,
        roles: Roles,
        channels: int = 0,
        tracks: Mapping[str, Array] | None = None,
    ) -> FeatureLayout:
        """The layout for one skeleton, phase model and tracks, name -> (frames, values).

        Raises ParameterError where a joint, role or track does not exist, phases are needed and
        there is no model, or the layout states another number of channels.
        """
        return FeatureLayout(
            *(_resolved(feature, skeleton, roles, channels, tracks or {}) for feature in self)
        )

    def assembled(self, blocks: Mapping[str, Array]) -> Array:
        """(..., dims) float32 rows of blocks (..., feature dims) by feature name.

        Raises ParameterError where a block is missing, unknown, not finite or of the wrong width.
        """
        missing = [name for name in self.names if name not in blocks]
        if missing:
            raise ParameterError(f"there must be values for the feature {missing[0]!r}")
        # The name of an unknown block raises.
        found = {name: checked_block(self[name], block) for name, block in blocks.items()}
        return np.concatenate([found[name] for name in self.names], axis=-1, dtype=np.float32)

    @classmethod
    def load(cls, name: str | Path) -> FeatureLayout:
        """A layout from a YAML file, or the shipped one of that name (configs/matching).

        Raises ParameterError where there is no such file, or it holds no layout.
        """
        path = config_path("matching", name)
        content = read_yaml(path)
        try:
            return cls.from_mapping(content)
        except ParameterError as error:
            raise ParameterError(error.fact, hint=error.hint, path=path) from None

    @classmethod
    def from_mapping(cls, content: Any) -> FeatureLayout:
        """A layout from {"features": [{name: ..., ...}, ...]}, as in YAML files and headers."""
        if not isinstance(content, dict) or list(content) != ["features"]:
            raise ParameterError(
                "a feature layout must be one list under the key features",
                hint="see the shipped ones in configs/matching",
            )
        entries = content["features"]
        if not isinstance(entries, list):
            raise ParameterError("features must be a list")
        return cls(*(Feature.from_mapping(entry) for entry in entries))

    def as_mapping(self) -> dict[str, Any]:
        """Mapping that `from_mapping` reads."""
        return {"features": [feature.as_mapping() for feature in self.features]}


def checked_block(feature: Feature, values: Array) -> Array:
    """The values (..., dims) of one feature as float32; ParameterError unless they fit it."""
    block = np.asarray(values, np.float32)
    if block.ndim == 0 or block.shape[-1] != feature.dims:
        raise ParameterError(
            f"feature {feature.name!r} must have values of shape (..., {feature.dims}), "
            f"not {block.shape}"
        )
    if not np.isfinite(block).all():
        raise ParameterError(f"feature {feature.name!r} must have finite values")
    return block


def _resolved(
    feature: Feature, skeleton: Skeleton, roles: Roles, channels: int, tracks: Mapping[str, Array]
) -> Feature:
    if feature.kind in ("joint_position", "joint_velocity"):
        return replace(feature, joints=named_joints(feature.joints, skeleton, roles))
    if feature.kind == "phase_manifold":
        source = "the model"
        if not channels:
            raise ParameterError(
                f"feature {feature.name!r} needs phases, but there is no phase model",
                hint="give a model, or choose a layout of poses and trajectory",
            )
    elif feature.kind == "track":
        source = f"the track {feature.track!r}"
        if feature.track not in tracks:
            raise ParameterError(
                f"feature {feature.name!r} reads {source}, which is missing",
                hint="give this track, or a layout without the feature; there are tracks "
                f"{', '.join(tracks) or 'none'}",
            )
        channels = tracks[feature.track].reshape(len(tracks[feature.track]), -1).shape[1]
    else:
        return feature
    if feature.channels not in (0, channels):
        raise ParameterError(
            f"feature {feature.name!r} has {feature.channels} channels, but {source} has "
            f"{channels}",
            hint="leave channels out of the layout; their number comes with the data",
        )
    return replace(feature, channels=channels)


def frame_rows(
    layout: FeatureLayout,
    body: BodyFrames,
    *,
    manifold: Array | None = None,
    tracks: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Raw features of every frame, neither normalised nor weighted.

    `manifold` (frames, 2 * channels) is needed where the layout has phases; `tracks` are name ->
    (frames, values). Returns (frames, dims) float32, and (frames,) whether all offsets lie inside
    the clip: outside, trajectories go on straight and tracks repeat their outermost value. Raises
    ParameterError where phases or a track are missing or of another length, or not finite.
    """
    inside = np.ones(len(body), bool)
    blocks = {}
    for feature in layout:
        if feature.kind in TRAJECTORY_PATH:
            path, within = path_of_clip(body.root, np.array(feature.offsets_s), body.fps)
            roots = body.root.positions, body.root.directions
            both = relative_trajectory(path.positions, path.directions, *roots)
            block = both[TRAJECTORY_PATH.index(feature.kind)]
            inside &= within
        elif feature.kind.startswith("joint"):
            values = body.positions if feature.kind == "joint_position" else body.velocities
            block = values[:, body.index_of(feature.joints)].reshape(len(body), -1)
            if feature.smoothing_s:
                deviation = feature.smoothing_s * body.fps
                block = gaussian_filter1d(block, deviation, axis=0, mode="nearest")
        else:
            source = (
                manifold if feature.kind == "phase_manifold" else (tracks or {}).get(feature.track)
            )
            if source is None or len(source) != len(body):
                raise ParameterError(
                    f"feature {feature.name!r} must have values for each of the clip's {len(body)} "
                    "frames"
                )
            block = at_offsets(source.reshape(len(body), -1), feature.offsets_s, body.fps)
            inside &= reach_inside(len(body), feature.offsets_s, body.fps)
        blocks[feature.name] = block
    return layout.assembled(blocks), inside


def at_offsets(values: Array, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, n * values) values at n offsets from each frame; the outermost are repeated."""
    frames = offset_frames(len(values), offsets_s, fps)
    return values[frames].reshape(len(values), -1)


def offset_frames(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, offsets) nearest frame at each offset from each frame, clamped to the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    return np.clip(np.arange(frames)[:, None] + steps, 0, frames - 1)


def reach_inside(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames,) bool: whether the frames at all offsets lie within the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    index = np.arange(frames)
    return (index + steps.min() >= 0) & (index + steps.max() < frames)
