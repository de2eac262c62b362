"""Matchers: the networks of learned motion matching with all that a run needs, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Normalisation
from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.formats.header_values import (
    checked_joints,
    checked_labels,
    checked_mapping,
    checked_number,
    checked_rate,
    checked_source,
    checked_text,
    checked_texts,
)
from deepphase.matching.learned.config import LearnedConfig
from deepphase.matching.learned.pose_values import PoseValues, RootPoses
from deepphase.matching.player.facing import SECTORS
from deepphase.matching.player.playback import Playback
from deepphase.motion.clip import Source
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.short_repr import counted, short_repr

FORMAT, VERSION = "deepphase.matcher", 1
NETWORKS = ("decompressor", "stepper", "projector")
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
_SOURCE = ("unit_m", "up", "rotation_orders")
_REST = ("rotations", "translations", "steps", "contacts")
_TYPES = {
    **dict.fromkeys(("skeleton.parents", "skeleton.end_parents"), "I64"),
    **dict.fromkeys(("skeleton.offsets", "skeleton.end_offsets"), "F64"),
    **dict.fromkeys(("rest.stops", "starts.styles", "translated_joints"), "I64"),
    "rest.contacts": "BOOL",
    **dict.fromkeys(("rest.*", "starts.*", "*.weight"), "F16"),
    **dict.fromkeys(("*.bias", "mean", "scale", "limits", "soles"), "F32"),
}


class Layer(NamedTuple):
    """Weights (in, out) and biases (out,) of a linear layer, float32."""

    weight: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class MatcherBody:
    """The body of a matcher, and what was measured in all of the motion.

    Parameters
    ----------
    skeleton, translated_joints, source
        As of a `Playback`.
    description
        Role -> joint name, as `find_roles` takes a description.
    usual_acceleration
        As of a `Playback`.
    top_speed, travelling_speed
        m/s: 99th percentile of all rows, and median of those in locomotion.
    covered
        (8,) bool: as of `FacingCoverage`.
    soles
        (2, limbs) metres: as of a `Playback`.
    """

    skeleton: Skeleton
    description: Mapping[str, str]
    translated_joints: Array
    usual_acceleration: float
    top_speed: float
    travelling_speed: float
    covered: tuple[bool, ...]
    soles: Array
    source: Source = Source()  # noqa: RUF009 (frozen)

    @classmethod
    def of_playback(
        cls, playback: Playback, description: Mapping[str, str], playable: Array
    ) -> MatcherBody:
        """The body of a database's motion, of which the rows `playable` (rows,) are played."""
        return cls(
            playback.skeleton,
            dict(description),
            playback.translated_joints,
            playback.usual_acceleration,
            playback.top_speed,
            playback.travelling_speed,
            tuple(playback.facing_coverage(playable).covered.tolist()),
            playback.soles.astype(np.float32),
            playback.source,
        )

    @cached_property
    def roles(self) -> Roles:
        """Roles of the joints."""
        return find_roles(self.skeleton, description=dict(self.description))

    @cached_property
    def limbs(self) -> LegChains:
        """Limbs that end in feet."""
        return LegChains.of_skeleton(self.skeleton, self.roles).on_floor(self.skeleton, self.roles)

    def values(self, fps: float) -> PoseValues:
        """The values of its poses."""
        translated = self.translated_joints.tolist()
        limbs = len(self.limbs)
        return PoseValues.of_body(self.skeleton, self.roles.hips, translated, limbs, fps)


class Starts(NamedTuple):
    """States to start from.

    Parameters
    ----------
    states
        (starts, state) float32.
    styles
        (starts,) index of each one's value of the label.
    """

    states: Array
    styles: Array


@dataclass(frozen=True, eq=False)
class RestMotion:
    """Captured moments of rest.

    Parameters
    ----------
    poses
        RootPoses (rows, ...).
    states
        (rows, state) float32.
    stops
        (stretches,) row after the last one of each stretch. The last row gives velocities alone.
    styles
        (stretches,) value of the label of each; empty texts without a label.
    held
        Whether each stretch is one row that is held, since no body rests in the motion.
    """

    poses: RootPoses
    states: Array
    stops: Array
    styles: tuple[str, ...]
    held: bool

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def starts(self) -> Array:
        """(stretches,) first row of each stretch."""
        return np.concatenate([np.zeros(1, np.int64), self.stops[:-1]])[: len(self.stops)]


@dataclass(frozen=True, eq=False)
class Matcher:
    """Learned motion matching: networks in place of the rows of a database.

    A state consists of the features of a frame, as the database has them, and its latents. The
    decompressor makes its pose, the stepper the state of the next frame, and the projector the
    state nearest to a query.

    Parameters
    ----------
    config
        Networks and training.
    body
        The body.
    layout, normalisation
        Of the database's features.
    values
        The values of a pose.
    label, styles
        Name and values of the label that the projector keeps or changes to; empty without one.
    decompressor, stepper, projector
        Layers of the networks, with ReLU between them.
    limits
        (2, state) float32 lowest and highest values of states.
    starts, rest
        States to start from, and moments of rest.
    data
        Measures of the database's clips, as `database_measures` gives them.
    health
        What was measured after the training; see `deepphase.matching.learned.health`.
    provenance
        What it was trained with.

    References
    ----------
    Holden, Kanoun, Perepichka and Popa 2020, Learned Motion Matching.
    """

    config: LearnedConfig
    body: MatcherBody
    layout: FeatureLayout
    normalisation: Normalisation
    values: PoseValues
    label: str
    styles: tuple[str, ...]
    decompressor: tuple[Layer, ...]
    stepper: tuple[Layer, ...]
    projector: tuple[Layer, ...]
    limits: Array
    starts: Starts
    rest: RestMotion
    data: Mapping[str, Any] = field(default_factory=dict)
    health: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return short_repr(
            self,
            f"{self.features} features and {self.latents} latents at {self.fps:g} Hz",
            counted(len(self.body.skeleton), "joint"),
            f"{self.label}: {', '.join(self.styles[:4])} ..." if self.label else "",
        )

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.values.fps

    @property
    def features(self) -> int:
        """Features of a state, its first values."""
        return self.layout.dims

    @property
    def latents(self) -> int:
        """Latents of a state."""
        return self.limits.shape[1] - self.features

    def decompressed(self, states: Array) -> RootPoses:
        """The poses of states (n, state)."""
        return self.values.poses(evaluated(self.decompressor, states))

    def stepped(self, states: Array) -> Array:
        """The states (n, state) one frame later."""
        later = states + evaluated(self.stepper, states) / np.float32(self.fps)
        return np.clip(later, self.limits[0], self.limits[1])

    def projected(self, queries: Array, latents: Array, styles: Array, starts: Array) -> Array:
        """The states (n, state) nearest to queries.

        Parameters
        ----------
        queries : (n, features)
            Features with the desired trajectory.
        latents : (n, latents)
            Current ones: of states that fit alike, the nearer in pose is found.
        styles : (n,)
            Index of the desired value of the label.
        starts : (n,)
            Bool: the body starts from rest, so that a moment of rest is not found.
        """
        asked = np.concatenate([queries, latents], axis=1, dtype=np.float32)
        named = np.eye(max(len(self.styles), 1), dtype=np.float32)[styles][:, : len(self.styles)]
        given = np.concatenate([asked, named, starts[:, None]], axis=1, dtype=np.float32)
        found = asked + evaluated(self.projector, given)
        return np.clip(found, self.limits[0], self.limits[1])

    def save(self, path: str | Path) -> Path:
        """Write the matcher as one file, atomically; weights and states in half precision."""
        path, body, rest = Path(path), self.body, self.rest
        half: dict[str, Array] = {
            "starts.states": self.starts.states,
            "rest.states": rest.states,
            **{f"rest.{name}": getattr(rest.poses, name) for name in _REST[:-1]},
        }
        whole = {
            "mean": self.normalisation.mean,
            "scale": self.normalisation.scale,
            "limits": self.limits,
            "soles": body.soles,
        }
        for name in NETWORKS:
            for index, layer in enumerate(getattr(self, name)):
                half[f"{name}.{index}.weight"] = layer.weight
                whole[f"{name}.{index}.bias"] = layer.bias
        arrays = {
            **{name: array.astype(np.float16) for name, array in half.items()},
            **{name: array.astype(np.float32) for name, array in whole.items()},
            **{f"skeleton.{name}": getattr(body.skeleton, name) for name in _SKELETON},
            "translated_joints": np.asarray(body.translated_joints, np.int64),
            "starts.styles": np.asarray(self.starts.styles, np.int64),
            "rest.stops": rest.stops,
            "rest.contacts": rest.poses.contacts,
        }
        header = {
            "config": self.config.as_mapping(),
            "layout": self.layout.as_mapping(),
            "fps": self.fps,
            "skeleton": {"names": list(body.skeleton.names)},
            "body": dict(body.description),
            "measured": {name: float(getattr(body, name)) for name in _MEASURED},
            "covered": [bool(each) for each in body.covered],
            "source": {name: getattr(body.source, name) for name in _SOURCE},
            "label": self.label,
            "styles": list(self.styles),
            "rest": {"styles": list(rest.styles), "held": rest.held},
            "data": dict(self.data),
            "health": dict(self.health),
            "provenance": dict(self.provenance),
        }
        write_arrays(path, arrays, header, format=FORMAT, version=VERSION)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Matcher:
        """Read a matcher's file.

        Raises
        ------
        CheckpointError
            If the file is damaged, has another format or does not fit its own header.
        """
        path = Path(path)
        arrays, header = read_arrays(path, format=FORMAT, version=VERSION, types=_TYPES)
        arrays = {
            name: array.astype(np.float32) if array.dtype == np.float16 else array
            for name, array in arrays.items()
        }
        try:
            names = checked_joints(header["skeleton"]["names"])
            body = MatcherBody(
                Skeleton(names, *(arrays[f"skeleton.{name}"] for name in _SKELETON)),
                checked_labels(header["body"], "body"),
                arrays["translated_joints"],
                **{name: checked_number(header["measured"][name], name, 0.0) for name in _MEASURED},
                covered=tuple(bool(each) for each in header["covered"]),
                soles=arrays["soles"],
                source=checked_source(header["source"]).conventions,
            )
            matcher = cls(
                config=LearnedConfig.from_mapping(header["config"]),
                body=body,
                layout=FeatureLayout.from_mapping(header["layout"]),
                normalisation=Normalisation(arrays["mean"], arrays["scale"]),
                values=body.values(checked_rate(header["fps"])),
                label=checked_text(header["label"], "label"),
                styles=checked_texts(header["styles"], "styles"),
                decompressor=_layers(arrays, "decompressor"),
                stepper=_layers(arrays, "stepper"),
                projector=_layers(arrays, "projector"),
                limits=arrays["limits"],
                starts=Starts(arrays["starts.states"], arrays["starts.styles"]),
                rest=_rest(arrays, header["rest"]),
                data=checked_mapping(header["data"], "data"),
                health=checked_mapping(header["health"], "health"),
                provenance=checked_mapping(header["provenance"], "provenance"),
            )
            matcher.check()
        except (KeyError, TypeError, ValueError, AttributeError, DeepPhaseError) as error:
            raise CheckpointError(
                f"this is not a matcher of this version of deepphase "
                f"({type(error).__name__}: {' '.join(str(error).split())[:300]})",
                hint="train it again",
                path=path,
            ) from None
        return matcher

    def check(self) -> None:
        """Raise ValueError where the arrays do not fit together."""
        state = self.limits.shape[-1]
        conditions = len(self.styles) + 1
        sizes = {
            "decompressor": (state, self.values.dims),
            "stepper": (state, state),
            "projector": (state + conditions, state),
        }
        for name, (inputs, outputs) in sizes.items():
            found = getattr(self, name)
            widths = [inputs, *(len(layer.bias) for layer in found)]
            shapes = [layer.weight.shape for layer in found]
            if widths[-1] != outputs or shapes != list(pairwise(widths)):
                raise ValueError(f"the layers of the {name} have the shapes {shapes}")
        rest, styles = self.rest, self.starts.styles
        poses = self.values
        expected = {
            "limits": (self.limits, (2, state)),
            "mean": (self.normalisation.mean, (self.features,)),
            "scale": (self.normalisation.scale, (self.features,)),
            "starts.states": (self.starts.states, (len(styles), state)),
            "soles": (self.body.soles, (2, poses.limbs)),
            "rest.states": (rest.states, (len(rest), state)),
            "rest.rotations": (rest.poses.rotations, (len(rest), poses.joints, 4)),
            "rest.translations": (rest.poses.translations, (len(rest), poses.translated, 3)),
            "rest.steps": (rest.poses.steps, (len(rest), 3)),
            "rest.contacts": (rest.poses.contacts, (len(rest), poses.limbs)),
        }
        for name, (array, shape) in expected.items():
            if array.shape != shape:
                raise ValueError(f"{name} have the shape {array.shape}, not {shape}")
        if not len(styles) or styles.min() < 0 or styles.max() >= max(len(self.styles), 1):
            raise ValueError("the starts have values of the label that do not exist")
        translated = self.body.translated_joints
        known = np.isin(self.body.roles.hips, translated) and np.isin(0, translated)
        if not known or (np.diff(translated) < 1).any() or translated[-1] >= poses.joints:
            raise ValueError("the translated joints are not those of the skeleton")
        if len(self.body.covered) != SECTORS:
            raise ValueError(f"directions of travel in {len(self.body.covered)} parts")
        stops = np.concatenate([np.zeros(1, np.int64), rest.stops])
        if stops[-1] != len(rest) or (np.diff(stops) < 2).any():
            raise ValueError("the stretches of rest do not cover its rows")
        if len(rest.styles) != len(rest.stops):
            raise ValueError("stretches of rest without a style")


def evaluated(network: tuple[Layer, ...], values: Array) -> Array:
    """Outputs (n, out) of layers with ReLU between them."""
    for layer in network[:-1]:
        values = values @ layer.weight
        values += layer.bias
        np.maximum(values, 0.0, out=values)
    outputs = values @ network[-1].weight
    outputs += network[-1].bias
    return outputs


_MEASURED = ("usual_acceleration", "top_speed", "travelling_speed")


def _layers(arrays: Mapping[str, Array], name: str) -> tuple[Layer, ...]:
    count = sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in arrays)
    return tuple(
        Layer(arrays[f"{name}.{index}.weight"], arrays[f"{name}.{index}.bias"])
        for index in range(count)
    )


def _rest(arrays: Mapping[str, Array], header: Any) -> RestMotion:
    rotations = arrays["rest.rotations"]
    lengths = np.sqrt(np.vecdot(rotations, rotations))[..., None]
    poses = RootPoses(
        rotations / np.maximum(lengths, 1e-6),
        arrays["rest.translations"],
        arrays["rest.steps"],
        arrays["rest.contacts"],
        np.ones(len(rotations), bool),
    )
    styles = checked_texts(header["styles"], "rest")
    return RestMotion(
        poses, arrays["rest.states"], arrays["rest.stops"], styles, bool(header["held"])
    )
