"""Motion editors: a trained autoencoder with the body that it knows, and its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.arrays import Array, brief_repr, counted, short_repr
from deepphase.config import checked_mapping, section
from deepphase.edit.body_points import BodyPoints
from deepphase.edit.config import EditorConfig
from deepphase.edit.missing import NOISY, filled, run_means
from deepphase.edit.motion_rows import JointStatistics, MotionRows, MotionSpace, RowLayout, RowScale
from deepphase.edit.networks import CONTROLS, EffectorNetworks, MotionAutoencoder, PathNetworks
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx
from deepphase.formats.array_file import (
    array_part,
    checked_rate,
    fitting_parts,
    joined_parts,
    read_arrays,
    write_arrays,
)
from deepphase.formats.reading import checked_skeleton
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.model import load_weights

FORMAT, VERSION = "deepphase.editor", 2
# Frames of the rows that the file is compared with; a multiple of the network's stride.
_ONNX_FRAMES = 64
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")


@dataclass(eq=False)
class MotionEditor:
    """An autoencoder of motion with everything needed to edit other clips of its body.

    `path` and `effectors` are the networks of `train_path`; `report` has measures on held-out
    clips, `provenance` data, package versions and seed of the training. `bound` says whether it
    edits clips of another skeleton than that of its training.
    """

    network: MotionAutoencoder  # in evaluation mode
    config: EditorConfig
    space: MotionSpace
    feet: tuple[int, ...]  # joints of the skeleton that contacts are of
    normalisation: RowScale
    statistics: JointStatistics  # of the joints in its training clips
    report: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    path: PathNetworks | None = None
    effectors: EffectorNetworks | None = None

    bound: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.network.eval()
        self.layout = RowLayout.from_space(self.space, self.feet)

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.space.joints), "joint"), f"at {self.fps:g} Hz")

    @property
    def fps(self) -> float:
        """Frames a second of the motion that it reads."""
        return self.space.fps

    def encode(self, rows: MotionRows) -> Tensor:
        """Hidden units (1, hidden, frames) of rows, padded to whole hidden frames."""
        with torch.inference_mode():
            return self.network.encode(*self.inputs(rows.array()))

    def decode(self, hidden: Tensor, frames: int) -> MotionRows:
        """Rows of hidden units, cut to a number of frames."""
        with torch.inference_mode():
            decoded = self.network.decode(hidden)
        return self.rows(decoded[0, :, :frames].T.numpy())

    def restored(self, rows: MotionRows, known: Array) -> MotionRows:
        """Estimates of all rows by `Restorer`, from what is known (frames, groups) of them."""
        extra = -len(rows) % self.network.stride
        values, weights = (
            torch.from_numpy(np.pad(part, ((0, extra), (0, 0)), mode="edge").astype(np.float32))
            for part in (rows.array(), known)
        )
        with torch.inference_mode():
            restored = Restorer(self)(values[None], weights[None])[0, : len(rows)]
        return MotionRows.from_array(restored.numpy(), len(self.space.points))

    def rows(self, normalised: Array) -> MotionRows:
        """Rows of normalised values (frames, values)."""
        values = normalised * self.normalisation.scale + self.normalisation.mean
        return MotionRows.from_array(values, len(self.space.points))

    def normalised(self, values: Array) -> Array:
        """(frames, values) normalised."""
        return (values - self.normalisation.mean) / self.normalisation.scale

    def inputs(self, values: Array, known: Array | None = None) -> tuple[Tensor, Tensor]:
        """What the network reads, (1, values, frames) and (1, groups, frames).

        The frames are padded with the last one to a multiple of the network's stride.
        """
        if known is None:
            known = np.ones((len(values), len(self.layout.depends)), np.float32)
        extra = -len(values) % self.network.stride
        padded, weights = (
            np.pad(part, ((0, extra), (0, 0)), mode="edge").T[None].astype(np.float32, order="C")
            for part in (self.normalised(values), known)
        )
        shares, group = torch.from_numpy(weights), torch.from_numpy(self.layout.group)
        return completed(torch.from_numpy(padded), shares, self.layout.root, group), shares

    def save(self, path: str | Path) -> None:
        """Write the editor's file, whole or not at all."""
        skeleton = self.space.skeleton
        statistics = vars(self.statistics).items()
        parts: dict[str, Mapping[str, Array]] = {
            "network": _weights(self.network),
            "points": vars(self.space.points),
            "skeleton": {name: getattr(skeleton, name) for name in _SKELETON},
            "normalisation": vars(self.normalisation),
            "statistics": {name: np.asarray(values, np.float64) for name, values in statistics},
        }
        header = {
            "config": self.config.as_mapping(),
            "body": {
                "names": list(skeleton.names),
                "hips": int(self.space.hips),
                "feet": [int(foot) for foot in self.feet],
                "fps": self.space.fps,
                "description": self.space.description,
            },
            "report": dict(self.report),
            "provenance": dict(self.provenance),
        }
        for part in CONTROLS:
            networks = getattr(self, part)
            if networks is not None:
                parts[part] = _weights(networks)
                header[part] = asdict(networks.limits)
        write_arrays(path, joined_parts(parts), header, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> MotionEditor:
        """Read an editor's file; CheckpointError where it is damaged or its parts do not fit."""
        arrays, header = read_arrays(
            path,
            format=FORMAT,
            version=VERSION,
            types={"normalisation.*": "F32", "statistics.*": "F64"},
        )
        with fitting_parts("editor", "train it again", path):
            config, body = EditorConfig.from_mapping(header["config"]), header["body"]
            skeleton = checked_skeleton(
                Skeleton(tuple(body["names"]), **array_part(arrays, "skeleton"))
            )
            points = BodyPoints.from_arrays(array_part(arrays, "points"))
            fps = checked_rate(body["fps"])
            space = MotionSpace(skeleton, int(body["hips"]), points, fps, body["description"])
            feet = tuple(int(foot) for foot in body["feet"])
            layout = RowLayout.from_space(space, feet)
            values, joints = len(layout.group), len(points.joints)
            shapes: dict[str, tuple[int, ...]] = {"mean": (values,), "scale": (values,)}
            normalisation = RowScale(**array_part(arrays, "normalisation", shapes))
            shapes = {"mean": (joints, 4), "spread": (joints,), "roughness": (joints + 1,)}
            statistics = JointStatistics(**array_part(arrays, "statistics", shapes))
            network = MotionAutoencoder(values, len(layout.depends), config.network)
            load_weights(network, arrays)
            controls: dict[str, Any] = {}
            for part, kind in CONTROLS.items():
                if header.get(part) is not None:
                    limits: Any = section(kind.limits_kind, header[part], part)
                    controls[part] = kind(layout, config.network, limits)
                    load_weights(controls[part], arrays, prefix=f"{part}.")
                    controls[part].eval()
            for name in ("report", "provenance"):
                controls[name] = checked_mapping(header[name], name)
            return cls(network, config, space, feet, normalisation, statistics, **controls)


class Restorer(nn.Module):
    """Estimates of rows (batch, frames, values) in SI units; `known` of groups is 1, 0.5 or 0."""

    mean: Tensor
    scale: Tensor
    group: Tensor

    def __init__(self, editor: MotionEditor) -> None:
        super().__init__()
        self.network, self.layout = editor.network, editor.layout
        for name, values in vars(editor.normalisation).items():
            self.register_buffer(name, torch.from_numpy(values)[:, None])
        self.register_buffer("group", torch.from_numpy(editor.layout.group))

    def forward(self, rows: Tensor, known: Tensor) -> Tensor:
        values, shares = rows.transpose(1, 2), known.transpose(1, 2)
        first = self._estimate(values, shares)
        estimate = torch.where(shares[:, self.group] == 0, first, values)
        noisy = torch.where(shares == 0, torch.full_like(shares, NOISY), shares)
        second = self._estimate(estimate, noisy)
        share = torch.where((shares > 0).any(1, keepdim=True), 1.0, 0.5)
        share = torch.where((shares > 0).all(2, keepdim=True).all(1, keepdim=True), 0.0, share)
        share = torch.where(self.group[:, None] > 0, share, 0.0)
        return ((1.0 - share) * first + share * second).transpose(1, 2)

    def _estimate(self, values: Tensor, known: Tensor) -> Tensor:
        """One estimate (batch, values, frames)."""
        scaled = (values - self.mean) / self.scale
        rows = completed(scaled, known, self.layout.root, self.group)
        return self.network(rows, known)[0] * self.scale + self.mean


@brief_repr
@dataclass(frozen=True, eq=False)
class EditedMotion:
    """A clip, with its travel on the hips, that follows paths or meets constraints."""

    clip: Clip
    # (targets,) or (joints,) metres: the largest distance of each joint from its target or path
    distances: Array = field(default_factory=lambda: np.zeros(0))
    # Sentences on what is faster or farther away than in the training clips
    findings: tuple[str, ...] = ()


def completed(rows: Tensor, known: Tensor, root: slice, group: Tensor) -> Tensor:
    """Normalised rows (batch, values, frames) with values filled in where groups are unknown."""
    has = known.index_select(1, group) > 0
    complete = filled(rows, has)
    path = run_means(rows[:, root], has[:, root])
    return torch.cat([complete[:, : root.start], path, complete[:, root.stop :]], 1)


def _weights(network: nn.Module) -> dict[str, Array]:
    return {name: values.cpu().numpy() for name, values in network.state_dict().items()}


def carrier_distances(editor: MotionEditor) -> Callable[[Tensor], Tensor]:
    """A function of points (frames, points, 3): their distances from the joints that carry them."""
    carried, above = editor.space.points.arms()
    return lambda points: (points[:, carried] - points[:, above]).norm(dim=-1)


def standing_points(editor: MotionEditor, contacts: Array) -> Array:
    """(frames, points) bool: points of feet that are in contact (frames, feet)."""
    points = editor.space.points
    standing = np.zeros((len(contacts), len(points)), bool)
    for column, foot in enumerate(editor.feet):
        standing[:, points.of_joint(editor.space.skeleton, foot)] |= contacts[:, column, None]
    return standing


def with_change(
    clip: Clip,
    before: Clip,
    after: Clip,
    editor: MotionEditor,
    *,
    on_path: bool = False,
    hips_share: float = 1.0,
) -> Clip:
    """The clip with what changed between two others; on a path not the hips over the ground."""
    space = editor.space
    own, old, new = (space.pose(version) for version in (clip, before, after))
    turns = quaternions.multiply(new[0], quaternions.conjugate(old[0]))
    moved = hips_share * (new[1] - old[1])
    if on_path:
        moved[:, ::2] = 0.0
    rotations = quaternions.sign_continuous(quaternions.multiply(turns, own[0]))
    return space.with_pose(clip, rotations, own[1] + moved)


def export_editor(editor: MotionEditor, path: str | Path) -> list[Parity]:
    """Write `Restorer` as ONNX, for frames in fours, and compare both on random rows with gaps."""
    generator = torch.Generator().manual_seed(0)
    rows, groups = max(PARITY_BATCHES), len(editor.layout.depends)
    mean, scale = map(torch.from_numpy, vars(editor.normalisation).values())
    noise = torch.randn(rows, _ONNX_FRAMES, len(mean), generator=generator)
    # Stretches of eight frames are known, noisy or missing.
    draws = torch.rand(rows, _ONNX_FRAMES // 8, groups, generator=generator).repeat_interleave(8, 1)
    known = torch.where(draws < 0.2, 0.0, torch.where(draws < 0.4, NOISY, 1.0))
    return export_onnx(
        Restorer(editor),
        path,
        inputs={"rows": mean + scale * noise, "known": known},
        outputs=["restored"],
        frames_multiple=editor.network.stride,
        metadata={
            "format": "deepphase.motion_restorer",
            "version": "1",
            "editor": json.dumps(describe_editor(editor), default=np.ndarray.tolist),
        },
    )


def describe_editor(editor: MotionEditor) -> dict[str, object]:
    """What a program needs beside the network to make rows and to read them."""
    space, points = editor.space, editor.space.points
    return {
        "frame_rate": space.fps,
        "stride": editor.network.stride,
        "skeleton": {
            "names": list(space.skeleton.names),
            "parents": space.skeleton.parents,
            "offsets": space.skeleton.offsets,
        },
        "joints": points.joints,
        "joint_parents": points.parents,
        "points": {
            "carriers": points.carriers,
            "joints": points.point_joints,
            "offsets": points.offsets,
        },
        "feet": list(editor.feet),
        "depends": editor.layout.depends.astype(np.int64),
    }
