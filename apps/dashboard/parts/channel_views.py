"""Data of page Channels for one clip: its phases, a window, and the joints that channels follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.address import Span
from deepphase.apps.dashboard.parts.encodings import BY_CLIPS_AND_MODEL, Encodings, signals
from deepphase.apps.dashboard.parts.widgets import file_bytes
from deepphase.apps.reports.example_window import example_window
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.channel_joints import (
    followed_parts,
    joint_energy,
    joints_followed,
    joints_lost,
    part_energy,
    spread_windows,
)
from deepphase.figures.window_fit import WindowExample
from deepphase.motion.roles import body_parts, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.clip_phases import ClipPhases, save_phases
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.paper_autoencoder import EmbeddingAutoencoder
from deepphase.viewer.actor import links_of
from deepphase.viewer.take import Take

# Windows that are reconstructed without each channel: half a second of work.
_WINDOWS = 96
# Clips whose shares are cached for all sessions.
_CACHED_CLIPS = 32
# Smaller shares of a part that moves most mean that no channel follows it.
_LITTLE = 0.2
# Parts with less of a clip's movement count as still: shares of them say nothing.
_STILL = 0.02
# Smaller shares are not named, nor more than so many parts.
_NAMED, _MAX_NAMED = 0.1, 3
# Frames around a pose, which its root trajectory is smoothed over.
_POSE_FRAMES = 30
_UNITS = {"phase": "cycles", "frequency": "Hz", "amplitude": "latent", "offset": "latent"}


@dataclass(frozen=True, eq=False)
class FollowedJoints:
    """Joints and body parts that the channels follow in one clip."""

    shares: Array  # (channels, joints) share of each joint's movement
    joints: tuple[str, ...]
    parts: dict[str, Array]  # part of the body -> (channels,) share of its movement
    energy: dict[str, float]  # part of the body -> share of the clip's movement that it has
    positions: Array  # (joints, 3) metres in root space: the pose in the middle of the clip
    links: Array  # (links, 2) pairs of joints that a limb connects

    def sentences(self, frequencies: Array) -> list[str]:
        """Sentences on what moves, and on each channel: its frequency in Hz and its body parts."""
        ordered = sorted(self.energy, key=lambda part: -self.energy[part])
        shares = ", ".join(
            f"{100 * self.energy[part]:.0f} % is of the {part}" for part in ordered[:_MAX_NAMED]
        )
        sentences = [f"Of the movement, {shares}."]
        most = ordered[0]
        largest = float(self.parts[most].max()) if most in self.parts else 0.0
        if largest < _LITTLE:
            sentences.append(
                f"No channel follows the {most}, which moves most: by {100 * max(largest, 0.0):.0f}"
                " % at best. The model may not have learnt such movement."
            )
        moving = [part for part in self.parts if self.energy.get(part, 0.0) >= _STILL]
        for channel, frequency in enumerate(frequencies):
            own = {part: self.parts[part][channel] for part in moving}
            strong = [part for part in sorted(own, key=lambda p: -own[p]) if own[part] >= _NAMED]
            words = ", ".join(f"{part} ({100 * own[part]:.0f} %)" for part in strong[:_MAX_NAMED])
            words = words or "no part of the body by more than 10 %"
            sentences.append(f"Channel {channel}, {frequency:.2f} Hz: {words}")
        return sentences


def reconstructing(extractor: PhaseExtractor) -> PhaseModel | None:
    """The model if it reconstructs windows from sinusoids, unlike baselines and embeddings."""
    if isinstance(extractor, PhaseModel) and not isinstance(
        extractor.network, EmbeddingAutoencoder
    ):
        return extractor
    return None


def take_with_joints(read: Encodings, index: int, span: Span) -> Take:
    """Some seconds of a clip with the joints that each channel follows, if they are known."""
    take = read.take(index, span)
    try:
        found = followed(read, index)
    except ParameterError:
        return take
    names = take.actors[0].joint_names
    shares = np.zeros((len(found.shares), len(names)), np.float32)
    for joint, share in zip(found.joints, found.shares.T, strict=True):
        if joint in names:
            shares[:, names.index(joint)] = share
    assert take.channels is not None, "an excerpt has phases"
    return replace(take, channels=replace(take.channels, joint_shares=shares))


def clip_window(read: Encodings, network: PhaseModel, index: int, at_s: float) -> WindowExample:
    """The window around a time with its latent and reconstruction."""
    values = signals(read, index)
    frame = min(max(round(at_s * network.fps), 0), len(values) - 1)
    return example_window(network, values, frame, clip=read.store.names[index])


@st.cache_resource(
    max_entries=_CACHED_CLIPS,
    show_spinner="Measuring the joints of each channel",
    hash_funcs=BY_CLIPS_AND_MODEL,
)
def followed(read: Encodings, index: int, *, removed: bool = False) -> FollowedJoints:
    """Joints that each channel follows in a clip.

    The variance that the channel predicts by itself; if it is `removed`, what the reconstruction
    loses without it.
    """
    extractor, clip = read.extractor, read.store.clip(index)
    values, inside = signals(read, index), read.inside(index)
    network = reconstructing(extractor)
    if not removed:
        shares = joints_followed(read.phases(index).parameters[inside], values[inside])
    elif network is not None:
        windows = spread_windows(len(values), network.window, _WINDOWS)
        shares = joints_lost(network, values, windows)
    else:
        raise ParameterError(
            "a baseline has no channels to remove",
            hint="choose what each channel predicts alone",
        )
    joints = extractor.signals.joints
    roles = find_roles(clip.skeleton, description=dict(extractor.signals.body), clip=clip)
    parts = dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))
    part_of = [parts[joint] for joint in joints]
    energy = joint_energy(values[inside])
    middle = len(clip) // 2
    near = clip.sliced(max(0, middle - _POSE_FRAMES), min(len(clip), middle + _POSE_FRAMES + 1))
    poses = extractor.signals.poses(near)
    return FollowedJoints(
        shares,
        joints,
        followed_parts(shares, energy, part_of),
        part_energy(energy, part_of),
        poses[len(poses) // 2],
        joint_links(clip.skeleton, joints),
    )


def joint_links(skeleton: Skeleton, joints: tuple[str, ...]) -> Array:
    """(links, 2) pairs of joints: each is linked to its closest ancestor among them."""
    indices = {name: at for at, name in enumerate(joints)}
    parents = []
    for name in joints:
        parent = int(skeleton.parents[skeleton.names.index(name)])
        while parent >= 0 and skeleton.names[parent] not in indices:
            parent = int(skeleton.parents[parent])
        parents.append(indices[skeleton.names[parent]] if parent >= 0 else -1)
    return links_of(np.array(parents))


def phases_table(phases: ClipPhases) -> tuple[list[str], Array]:
    """Column names and (frames, columns) values: time and the parameters of all channels."""
    columns, names = [phases.time], ["time_s"]
    for name, unit in _UNITS.items():
        values = getattr(phases.parameters, name)
        columns += list(values.T)
        names += [f"{name}_{channel} ({unit})" for channel in range(values.shape[1])]
    return names, np.stack(columns, axis=1)


def phases_file(phases: ClipPhases, extractor: PhaseExtractor) -> bytes:
    """Content of a phases file, as `deepphase encode` writes it."""
    window_s = extractor.window / extractor.fps
    return file_bytes(
        lambda path: save_phases(phases, path, window_s=window_s, model_sha256=extractor.sha256),
        "clip.phases.npz",
    )
