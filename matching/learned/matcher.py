"""Matchers: compressed motion databases of learned motion matching, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.config import checked_labels, checked_mapping, checked_number, checked_texts
from deepphase.features.layout import FeatureLayout, Normalisation
from deepphase.formats.array_file import (
    checked_joints,
    checked_rate,
    checked_source,
    fitting_parts,
    read_arrays,
    write_arrays,
)
from deepphase.formats.reading import checked_skeleton
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.motion import (
    DecompressedMotion,
    InterpolatedFeatures,
    KeptSearcher,
    KeptStates,
    MatcherBody,
    PoseValues,
    RootPoses,
)
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.player.trajectory_queries import SECTORS
from deepphase.motion.skeleton import Skeleton

FORMAT, VERSION = "deepphase.matcher", 2
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
_SOURCE = ("unit_m", "up", "rotation_orders")
_MEASURED = ("usual_acceleration", "top_speed", "travelling_speed")
_MOST = 127
# Features are normalised, and latents are metres: of both, most values are below 10.
_LARGEST_STEP = 1e6
SMOOTH = 0.25
"""What a smooth ReLU, (x + sqrt(x^2 + 1/4)) / 2, adds to a square (Barron 2021, Squareplus)."""
_TYPES = {
    **dict.fromkeys(("skeleton.parents", "skeleton.end_parents"), "I64"),
    **dict.fromkeys(("skeleton.offsets", "skeleton.end_offsets"), "F64"),
    **dict.fromkeys(("translated_joints", "counts", "labels", "kinds.lengths"), "I64"),
    **dict.fromkeys(("features", "latents"), "I8"),
    **dict.fromkeys(("contacts", "offered", "kinds.values"), "U8"),
    **dict.fromkeys(("features.step", "latents.step", "mean", "scale", "*.bias"), "F32"),
    "*.weight": "F16",
}


class Layer(NamedTuple):
    """Weights (in, out) and biases (out,) of a linear layer, float32."""

    weight: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class Matcher:
    """Learned motion matching: a motion database in a few megabytes.

    A state consists of the features of a frame, as the database has them, and its latents. States
    of every few frames are kept; those between them are interpolated. A search finds kept states,
    and the decompressor makes the pose of a state. So a matcher plays the frames of its database,
    by the same search, jumps and labels.

    Parameters
    ----------
    body
        The body.
    layout, normalisation
        Of the database's features.
    values
        The values of a pose.
    kept
        The kept states, and the rows between them.
    offered
        (kept,) bool: kept states that may be jumped to.
    names, labels
        (stretches,) name of the clip of each stretch of rows, with its first frame where that is
        not 0, and the clip's labels.
    contacts
        (rows, limbs) bool: the limb's tip is in contact with the floor.
    kinds
        (rows,) uint8 kind of each moment, as of a `MotionDatabase`.
    decompressor
        The linear layer from states to poses; files of before have several, with smooth ReLUs
        between them.
    data
        Measures of the database's clips, as `database_measures` gives them.
    health
        What was measured at the end; see `deepphase.matching.learned.training`.
    provenance
        What it was made with.

    References
    ----------
    Holden, Kanoun, Perepichka and Popa 2020, Learned Motion Matching: the decompressor. Kept states
    take the place of their stepper and projector.
    """

    body: MatcherBody
    layout: FeatureLayout
    normalisation: Normalisation
    values: PoseValues
    kept: KeptStates
    offered: Array
    names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    contacts: Array
    kinds: Array
    decompressor: tuple[Layer, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    health: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return short_repr(
            self,
            f"{len(self.kept):,} rows of {self.layout.dims} values at {self.fps:g} Hz",
            f"{len(self.offered):,} kept states with {self.kept.latents.shape[1]} latents",
            counted(len(self.body.skeleton), "joint"),
        )

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.values.fps

    def decompressed(self, states: Array) -> RootPoses:
        """The poses of states (n, features + latents)."""
        return self.values.poses(evaluated(self.decompressor, states))

    @cached_property
    def database(self) -> MotionDatabase:
        """The rows as a database without stores, of which kept states are offered."""
        kept, rows = self.kept, len(self.kept)
        offered = np.zeros(rows, bool)
        offered[kept.rows[self.offered]] = True
        return MotionDatabase(
            layout=self.layout,
            fps=self.fps,
            features=InterpolatedFeatures(kept),
            normalisation=self.normalisation,
            range_starts=kept.starts,
            range_stops=kept.stops,
            clip_names=self.names,
            labels=self.labels,
            # Its rows are not placed in a world.
            root_positions=np.broadcast_to(np.zeros(3, np.float32), (rows, 3)),
            root_angles=np.broadcast_to(np.float32(0.0), (rows,)),
            phases=None,
            interior=np.broadcast_to(np.True_, (rows,)),
            offered=offered,
            links=(),
            clip_links=np.zeros(len(self.names), np.int64),
            body=self.body.description,
            made_with=self.provenance,
            kinds=self.kinds,
        )

    @cached_property
    def searcher(self) -> KeptSearcher:
        """The exact search of the kept states."""
        return KeptSearcher(self.kept, self.offered)

    @cached_property
    def motion(self) -> DecompressedMotion:
        """The motion of the rows, which is decompressed where it is read."""
        return DecompressedMotion.from_rows(
            self.body,
            self.kept,
            self.contacts,
            self.fps,
            lambda rows: self.decompressed(self.kept.states(rows)),
        )

    def source(self, **options: Any) -> PlayerSource:
        """A source of its players, with `options` of the run; see `PlayerSource`."""
        return PlayerSource(self.database, self.motion, self.searcher, data=self.data, **options)

    def save(self, path: str | Path) -> Path:
        """Write the matcher as one file, atomically; see :doc:`/formats`."""
        path, body, kept = Path(path), self.body, self.kept
        sets = [dict(each) for each in {tuple(sorted(each.items())): 0 for each in self.labels}]
        edges = np.flatnonzero(np.diff(self.kinds)) + 1
        bounds = np.concatenate([[0], edges, [len(self.kinds)]])
        features, features_step = rounded(kept.features)
        latents, latents_step = rounded(kept.latents)
        arrays = {
            "features": features,
            "features.step": features_step,
            "latents": latents,
            "latents.step": latents_step,
            "counts": np.asarray(kept.counts, np.int64),
            "offered": np.packbits(self.offered),
            "contacts": np.packbits(self.contacts),
            "kinds.values": self.kinds[bounds[:-1]],
            "kinds.lengths": np.diff(bounds),
            "labels": np.array([sets.index(dict(each)) for each in self.labels], np.int64),
            "mean": self.normalisation.mean.astype(np.float32),
            "scale": self.normalisation.scale.astype(np.float32),
            "translated_joints": np.asarray(body.translated_joints, np.int64),
            **{f"skeleton.{name}": getattr(body.skeleton, name) for name in _SKELETON},
        }
        for index, layer in enumerate(self.decompressor):
            arrays[f"decompressor.{index}.weight"] = layer.weight.astype(np.float16)
            arrays[f"decompressor.{index}.bias"] = layer.bias.astype(np.float32)
        header = {
            "layout": self.layout.as_mapping(),
            "fps": self.fps,
            "spacing": kept.spacing,
            "names": list(self.names),
            "labels": sets,
            "skeleton": {"names": list(body.skeleton.names)},
            "body": dict(body.description),
            "measured": {name: float(getattr(body, name)) for name in _MEASURED},
            "covered": [bool(each) for each in body.covered],
            "source": {name: getattr(body.source, name) for name in _SOURCE},
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
        with fitting_parts("matcher", "train it again", path):
            names = checked_joints(header["skeleton"]["names"])
            body = MatcherBody(
                checked_skeleton(
                    Skeleton(names, *(arrays[f"skeleton.{name}"] for name in _SKELETON))
                ),
                checked_labels(header["body"], "body"),
                arrays["translated_joints"],
                **{name: checked_number(header["measured"][name], name, 0.0) for name in _MEASURED},
                covered=tuple(bool(each) for each in header["covered"]),
                source=checked_source(header["source"]).conventions,
            )
            kept = KeptStates(
                _states(arrays, "features"),
                _states(arrays, "latents"),
                int(checked_number(header["spacing"], "spacing", 1.0)),
                arrays["counts"],
            )
            values = PoseValues.from_body(body, checked_rate(header["fps"]))
            _check(kept, body, arrays, len(header["labels"]))
            lengths = arrays["kinds.lengths"]
            if lengths.ndim != 1 or (lengths < 1).any() or sum(lengths.tolist()) != len(kept):
                raise ValueError("kinds of moments are not those of all rows")
            sets = [checked_labels(each, "labels") for each in header["labels"]]
            contacts = _bits(arrays["contacts"], len(kept) * values.limbs)
            matcher = cls(
                body=body,
                layout=FeatureLayout.from_mapping(header["layout"]),
                normalisation=Normalisation(arrays["mean"], arrays["scale"]),
                values=values,
                kept=kept,
                offered=_bits(arrays["offered"], len(kept.features)),
                names=checked_texts(header["names"], "names"),
                labels=tuple(sets[index] for index in arrays["labels"].tolist()),
                contacts=contacts.reshape(len(kept), values.limbs),
                kinds=np.repeat(arrays["kinds.values"], arrays["kinds.lengths"]),
                decompressor=_layers(
                    arrays, kept.features.shape[1] + kept.latents.shape[1], values
                ),
                data=checked_mapping(header["data"], "data"),
                health=checked_mapping(header["health"], "health"),
                provenance=checked_mapping(header["provenance"], "provenance"),
            )
            # A database checks that its arrays fit together.
            offered = matcher.database.offered_rows
            if not len(offered):
                raise ValueError("no kept state may be jumped to")
        return matcher


def _check(kept: KeptStates, body: MatcherBody, arrays: Mapping[str, Array], sets: int) -> None:
    """Raise ValueError where arrays do not fit together in ways that a database does not check."""
    counts, labels, translated = kept.counts, arrays["labels"], body.translated_joints
    if counts.ndim != 1 or not len(counts) or counts.min() < 2:
        raise ValueError("a stretch has fewer than two kept states")
    shapes = {kept.features.ndim, kept.latents.ndim}
    kept_states = sum(counts.tolist())
    if shapes != {2} or {len(kept.features), len(kept.latents)} != {kept_states}:
        raise ValueError(f"there are not {kept_states} kept states")
    if labels.shape != counts.shape or labels.min() < 0 or labels.max() >= sets:
        raise ValueError("stretches have labels that do not exist")
    known = np.isin(body.roles.hips, translated) and np.isin(0, translated)
    joints = len(body.skeleton)
    if not known or (np.diff(translated) < 1).any() or translated[-1] >= joints:
        raise ValueError("the translated joints are not those of the skeleton")
    if len(body.covered) != SECTORS:
        raise ValueError(f"directions of travel in {len(body.covered)} parts")


def _states(arrays: Mapping[str, Array], part: str) -> Array:
    """(kept, width) float32 out of 8-bit numbers; ValueError if searches would overflow."""
    steps = arrays[f"{part}.step"]
    if np.abs(steps).max(initial=0.0) > _LARGEST_STEP:
        raise ValueError(f"{part} have steps of {np.abs(steps).max():g}")
    return arrays[part] * steps


def rounded(values: Array) -> tuple[Array, Array]:
    """Values (n, width) as 8-bit numbers, and the step (width,) of each column's numbers."""
    step = np.maximum(np.abs(values).max(axis=0), 1e-9) / _MOST
    return np.round(values / step).astype(np.int8), step.astype(np.float32)


def _bits(packed: Array, count: int) -> Array:
    """(count,) bool out of the bytes of `np.packbits`."""
    if packed.shape != (-(-count // 8),):
        raise ValueError(f"{packed.size} bytes do not hold {count} flags")
    return np.unpackbits(packed, count=count).astype(bool)


def _layers(arrays: Mapping[str, Array], state: int, values: PoseValues) -> tuple[Layer, ...]:
    """Layers of the decompressor from states with `state` values to the values of poses."""
    count = sum(name.startswith("decompressor.") and name.endswith(".bias") for name in arrays)
    found = tuple(
        Layer(
            arrays[f"decompressor.{index}.weight"].astype(np.float32),
            arrays[f"decompressor.{index}.bias"],
        )
        for index in range(count)
    )
    widths = [state, *(len(layer.bias) for layer in found)]
    shapes = [layer.weight.shape for layer in found]
    if widths[-1] != values.dims or shapes != list(pairwise(widths)):
        raise ValueError(f"the layers of the decompressor have the shapes {shapes}")
    return found


def evaluated(network: tuple[Layer, ...], values: Array) -> Array:
    """Outputs (n, out) of layers with smooth ReLUs between them; see `SMOOTH`."""
    for layer in network[:-1]:
        values = values @ layer.weight
        values += layer.bias
        roots = np.square(values)
        roots += SMOOTH
        values += np.sqrt(roots, out=roots)
        values *= 0.5
    outputs = values @ network[-1].weight
    outputs += network[-1].bias
    return outputs
