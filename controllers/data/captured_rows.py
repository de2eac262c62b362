"""Captured frames that a controller keeps: moments of rest, and detail of its motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.controllers.schema.config import POSE_BLOCKS
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.feature import BodyFrames
from deepphase.features.layout import FeatureLayout
from deepphase.features.moment_kinds import IDLE, RESTS, clip_kinds
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.steering.rest import RestMoments

_BLOCKS = ("root_velocity", "root_turn", "contact", *POSE_BLOCKS)
# Seconds of the shortest and of the longest stretch, and of all stretches together.
_SHORTEST_S, _LONGEST_S, _ALL_S = 0.5, 8.0, 60.0
# A value of the label rests standing if it stands in this share of its rest.
_STANDS = 0.25
# Maximum number of clips that are searched.
_MAX_CLIPS = 2000
# Where no clip has a rest, its quietest moment of this length is continued for some seconds, with
# slow angles of the trunk, in radians and by these frequencies, as of breathing.
_QUIET_S, _HELD_S = 0.5, 20.0
_SWAY, _SWAY_HZ = np.radians([0.5, 0.35, 0.3, 0.2]), np.array([0.25, 0.15, 0.083, 0.067])


@dataclass(frozen=True, eq=False)
class RestRows:
    """Outputs of a controller in stretches of rest, frame by frame."""

    outputs: Array  # (rows, values) float32: the blocks of `rest_layout`
    stops: Array  # (stretches,) row after the last one of each stretch
    styles: tuple[str, ...]  # (stretches,) value of the schema's label; empty texts without a label
    captured: bool

    @classmethod
    def from_clips(
        cls, store: ClipStore, clips: Sequence[int], schema: ControllerSchema
    ) -> RestRows | None:
        """Rest of the clips with these indices; None where no part of a clip is quiet.

        Bodies rest standing; those of a label whose value sits or lies while it rests, such as
        `sit`, do that. Controllers that read tracks or have a ball have no rest.
        """
        if schema.config.tracks or schema.config.ball:
            return None
        body = dict(schema.body)
        some = np.unique(np.linspace(0, len(clips) - 1, min(len(clips), _MAX_CLIPS)).astype(int))
        shortest, longest = (round(time * schema.fps) for time in (_SHORTEST_S, _LONGEST_S))
        left = dict.fromkeys(schema.label_values or ("",), 0)
        for style in left:
            left[style] = round(_ALL_S * schema.fps / len(left))
        kinds = RESTS if schema.label_values else (IDLE,)
        resting = {style: dict.fromkeys(kinds, 0) for style in left}
        every: list[tuple[str, int, int, int, int]] = []
        for index in [clips[place] for place in some]:
            clip = store.clip(index)
            style = clip.labels.get(schema.config.label, "")
            of_frames = clip_kinds(clip, body)
            for kind in kinds if style in left else ():
                for start, stop in true_runs(of_frames == kind):
                    if stop - start >= shortest:
                        every.append((style, kind, index, start, min(stop, start + longest)))
                        resting[style][kind] += stop - start
        posture = {style: _posture(frames) for style, frames in resting.items()}
        found = [stretch for stretch in every if stretch[1] == posture[stretch[0]]]
        if not found:
            return cls._of_quietest(store, [clips[place] for place in some], schema)
        outputs, styles = [], []
        for style, _, index, start, stop in sorted(found, key=lambda each: each[3] - each[4]):
            if left[style] > 0:
                left[style] -= stop - start
                outputs.append(_read(store.clip(index), schema)[start:stop])
                styles.append(style)
        return cls._of_stretches(outputs, styles, captured=True)

    def moments(self, schema: ControllerSchema) -> RestMoments:
        """The stretches as characters choose from them."""
        poses = self.outputs[:, rest_layout(schema).slices["joint_position"]]
        return RestMoments.from_rows(
            np.ones(len(self.outputs), bool),
            self.stops,
            self.styles,
            lambda rows: poses[rows].reshape(len(rows), -1, 3),
            schema.fps,
        )

    @classmethod
    def _of_quietest(
        cls, store: ClipStore, clips: Sequence[int], schema: ControllerSchema
    ) -> RestRows | None:
        """The quietest moment of the clips, with slow noise."""
        length = round(_QUIET_S * schema.fps)
        quietest: tuple[float, int, int] | None = None
        for index in clips:
            frames = BodyFrames.from_clip(store.clip(index), dict(schema.body))
            speeds = np.linalg.norm(frames.velocities, axis=-1).mean(axis=1)
            means = np.convolve(speeds, np.full(length, 1.0 / length), mode="valid")
            if len(means) and (quietest is None or means.min() < quietest[0]):
                quietest = float(means.min()), index, int(means.argmin()) + length // 2
        if quietest is None:
            return None
        _, index, frame = quietest
        held = _swaying(store.clip(index), frame, round(_HELD_S * schema.fps), schema)
        style = held.labels.get(schema.config.label, "")
        return cls._of_stretches([_read(held, schema)], [style], captured=False)

    @classmethod
    def _of_stretches(
        cls, outputs: Sequence[Array], styles: Sequence[str], *, captured: bool
    ) -> RestRows:
        stops = np.cumsum([len(rows) for rows in outputs])
        return cls(np.concatenate(outputs), stops, tuple(styles), captured)


def rest_layout(schema: ControllerSchema) -> FeatureLayout:
    """The blocks of the outputs that rest has: steps of the root, contacts and the pose."""
    return FeatureLayout(*(feature for feature in schema.outputs if feature.name in _BLOCKS))


def rest_columns(schema: ControllerSchema) -> Array:
    """(values,) columns of `rest_layout` among the outputs."""
    slices = schema.outputs.slices
    names = rest_layout(schema).names
    return np.concatenate([np.arange(slices[name].start, slices[name].stop) for name in names])


def _posture(frames: dict[int, int]) -> int:
    """The kind of rest of a value of the label, by the number of its frames of each kind."""
    if frames[IDLE] >= _STANDS * sum(frames.values()):
        return IDLE
    return max(frames, key=lambda kind: frames[kind])


def _read(clip: Clip, schema: ControllerSchema) -> Array:
    # Rest has no phases of its own: the network's go on.
    bare = replace(schema, channels=0)
    return FrameBlocks.from_clip(clip, bare).rows(rest_layout(schema))


def _swaying(clip: Clip, frame: int, frames: int, schema: ControllerSchema) -> Clip:
    """A frame of a clip that is held, with slow noise of the trunk."""
    rows = np.full(frames, frame)
    held = replace(clip, rotations=clip.rotations[rows], translations=clip.translations[rows])
    spine = find_roles(clip.skeleton, description=dict(schema.body), clip=clip).spine
    if spine is None:
        return held
    times = np.arange(frames)[:, None] / clip.fps
    # Sines that begin and end at 0, so that the end goes on as the beginning.
    waves = _SWAY * np.sin(2.0 * np.pi * np.round(_SWAY_HZ * _HELD_S) / _HELD_S * times)
    angles = np.stack([waves[:, 0] + waves[:, 2], waves[:, 3], waves[:, 1]], axis=1)
    rotations = held.rotations
    turns = quaternions.from_rotation_vectors(angles.astype(rotations.dtype))
    rotations[:, spine] = quaternions.multiply(turns, rotations[:, spine])
    return replace(held, rotations=rotations)


ARRAYS = ("residuals", "units", "feet", "keys", "projection", "bias", "stops")
"""Names of the arrays of `DetailRows`."""
_ROOT, _POSE = ("root_velocity", "root_turn"), ("joint_velocity", "joint_rotation")


@dataclass(frozen=True, eq=False)
class DetailRows:
    """Residuals of a network's steps along captured stretches, and when to add them.

    What minimises a squared error predicts the mean of what may follow, and moves more softly than
    the clips. A captured frame is the network's step from the one before plus a residual. Added in
    runs, in stretches from moments that look alike, residuals give the motion back what the network
    cannot foretell: a block bootstrap of the residuals of an autoregression (Efron and Tibshirani
    1993, section 8.5; Künsch 1989).
    """

    residuals: Array  # (rows, values) int8: residuals of `detail_columns` in units of `units`
    units: Array  # (values,) float32 in the outputs' units
    # (rows, limbs, 3) float16: captured velocity of the tips of the legs over the ground, m/s, x
    # and z in root space, and their height in metres, within those of feet on the floor. In the
    # order of `CharacterFeet.limbs`.
    feet: Array
    keys: Array  # (rows, components) float16: principal components of the captured inputs and gates
    # projection, bias: (inputs + gate, components) and (components,) float32: keys of raw inputs
    # and gates are ``values @ projection + bias``.
    projection: Array
    bias: Array
    stops: Array  # (stretches,) row after the last one of each stretch
    styles: tuple[str, ...]  # (stretches,) value of the schema's label; empty texts without a label
    step: int
    # Distance between keys up to which a moment is like another: that of most captured moments to
    # the nearest one of another stretch.
    reach: float

    def __len__(self) -> int:
        return len(self.residuals)

    def check(self, schema: ControllerSchema) -> None:
        """Raise ValueError unless the arrays have the schema's dimensions."""
        rows, width, dims = len(self), len(detail_columns(schema)), schema.dims
        components = len(self.bias)
        expected = {
            "residuals": (rows, width),
            "units": (width,),
            "feet": (rows, self.feet.shape[1] if self.feet.ndim == 3 else 0, 3),
            "keys": (rows, components),
            "projection": (dims.inputs + dims.gate, components),
        }
        wrong = [name for name, shape in expected.items() if getattr(self, name).shape != shape]
        lengths = np.diff(self.stops, prepend=0)
        if wrong or not len(lengths) or (lengths < 2).any() or self.stops[-1] != rows:
            raise ValueError("the captured detail does not have the schema's dimensions")
        if len(self.styles) != len(lengths) or self.step < 1 or not self.reach > 0.0:
            raise ValueError("the captured detail has other stretches than styles")


def detail_columns(schema: ControllerSchema) -> Array:
    """(values,) columns of the outputs that have detail: root, hips, velocities and rotations."""
    slices = schema.outputs.slices
    hips = slices["joint_position"].start
    parts: Sequence[Array] = [
        *(np.arange(slices[name].start, slices[name].stop) for name in _ROOT),
        np.arange(hips, hips + 3),
        *(np.arange(slices[name].start, slices[name].stop) for name in _POSE),
    ]
    return np.concatenate(parts)


def root_values(schema: ControllerSchema) -> int:
    """Number of the first of `detail_columns` that move the root."""
    slices = schema.outputs.slices
    return sum(slices[name].stop - slices[name].start for name in _ROOT)
