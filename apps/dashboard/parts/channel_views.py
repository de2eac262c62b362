"""Data of page Channels for one clip: phases, a window, and the joints that channels follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.collection import BY_KEY, OpenClips, OpenModel
from deepphase.apps.dashboard.parts.encodings import encodings
from deepphase.apps.dashboard.parts.widgets import file_bytes
from deepphase.apps.reports.example_window import example_window
from deepphase.apps.reports.player_takes import takes_of_clips
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
from deepphase.motion.clip import Clip
from deepphase.motion.roles import body_parts, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.clip_phases import ClipPhases, save_phases
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.paper_autoencoder import EmbeddingAutoencoder
from deepphase.viewer.actor import links_of
from deepphase.viewer.take import Take

ChannelMeasure = Literal["alone", "silent"]

# Windows that are reconstructed without each channel: half a second of work.
_WINDOWS = 96
# Clips whose signals and shares are cached for all sessions.
_CACHED_CLIPS = 32
# Smaller shares of a part that moves most mean that no channel follows it.
_LITTLE = 0.2
# Parts with less of a clip's movement count as still: shares of them say nothing.
_STILL = 0.02
# Frames around a pose, which its root trajectory is smoothed over.
_POSE_FRAMES = 30


@dataclass(frozen=True, eq=False)
class FollowedJoints:
    """Joints and body parts that the channels follow in one clip.

    Parameters
    ----------
    shares
        (channels, joints) share of each joint's movement.
    joints
        (joints,) names.
    parts
        Part of the body -> (channels,) share of its movement.
    energy
        Part of the body -> share of the clip's movement that it has.
    positions
        (joints, 3) metres in root space: the pose in the middle of the clip.
    links
        (links, 2) pairs of joints that a limb connects.
    """

    shares: Array
    joints: tuple[str, ...]
    parts: dict[str, Array]
    energy: dict[str, float]
    positions: Array
    links: Array

    def sentences(self, frequencies: Array) -> list[str]:
        """Sentences on what moves, and on each channel: its frequency and the parts it follows.

        Parts of the body that hardly move are left out.

        Parameters
        ----------
        frequencies
            (channels,) Hz.
        """
        most = max(self.energy, key=lambda part: self.energy[part])
        ordered = sorted(self.energy, key=lambda part: -self.energy[part])[:3]
        shares = ", ".join(f"{100 * self.energy[part]:.0f} % is of the {part}" for part in ordered)
        sentences = [f"Of the movement, {shares}."]
        largest = float(self.parts[most].max()) if most in self.parts else 0.0
        if largest < _LITTLE:
            percent = f"{100 * max(largest, 0.0):.0f} %"
            sentences.append(
                f"No channel follows the {most}, which moves most: by {percent} at best. The model "
                "may not have learnt such movement."
            )
        moving = [part for part in self.parts if self.energy.get(part, 0.0) >= _STILL]
        for channel, frequency in enumerate(frequencies):
            ordered = sorted(moving, key=lambda part: -self.parts[part][channel])
            strong = [part for part in ordered if self.parts[part][channel] >= 0.1][:3]
            parts = [f"{part} ({100 * self.parts[part][channel]:.0f} %)" for part in strong]
            words = ", ".join(parts) if parts else "no part of the body by more than 10 %"
            sentences.append(f"Channel {channel}, {frequency:.2f} Hz: {words}")
        return sentences


def reconstructs(model: OpenModel) -> bool:
    """Whether the model reconstructs windows from sinusoids, unlike baselines and embeddings."""
    extractor = model.extractor
    return isinstance(extractor, PhaseModel) and not isinstance(
        extractor.network, EmbeddingAutoencoder
    )


def excerpt_take(
    clips: OpenClips, model: OpenModel, index: int, start_s: float, stop_s: float
) -> Take:
    """A take of some seconds of a clip with their phases."""
    clip, phases = clips.store.clip(index), encodings(clips, model).phases(index)
    start, stop = (round(at * clip.fps) for at in (start_s, stop_s))
    frames = slice(round(start_s * phases.fps), round(stop_s * phases.fps))
    part = phases[frames]
    (take,) = takes_of_clips([clip.sliced(start, min(stop, len(clip)))], [part], model.extractor)
    return take


def with_joints(take: Take, clips: OpenClips, model: OpenModel, index: int) -> Take:
    """The take with the joints of its first body that each channel follows, if they are known."""
    try:
        found = followed(clips, model, index, "alone")
    except ParameterError:
        return take
    names = take.actors[0].joint_names
    shares = np.zeros((len(found.shares), len(names)), np.float32)
    for joint, share in zip(found.joints, found.shares.T, strict=True):
        if joint in names:
            shares[:, names.index(joint)] = share
    assert take.channels is not None, "an excerpt has phases"
    return replace(take, channels=replace(take.channels, joint_shares=shares))


def clip_window(clips: OpenClips, model: OpenModel, index: int, at_s: float) -> WindowExample:
    """The window around a time with its latent and reconstruction."""
    extractor = model.extractor
    if not isinstance(extractor, PhaseModel):
        raise ParameterError(
            "a baseline cannot reconstruct windows", hint="choose a trained phase model on the left"
        )
    read = signals(clips, model, index)
    frame = min(max(round(at_s * extractor.fps), 0), len(read) - 1)
    return example_window(extractor, read, frame, clip=clips.store.names[index])


@st.cache_resource(max_entries=_CACHED_CLIPS, show_spinner=False, hash_funcs=BY_KEY)
def signals(clips: OpenClips, model: OpenModel, index: int) -> Array:
    """(frames, 3 * joints) m/s of one clip as the model reads it."""
    return model.extractor.signals.read(clips.store.clip(index))


@st.cache_resource(
    max_entries=_CACHED_CLIPS,
    show_spinner="Measuring the joints of each channel",
    hash_funcs=BY_KEY,
)
def followed(
    clips: OpenClips, model: OpenModel, index: int, measure: ChannelMeasure
) -> FollowedJoints:
    """Joints that each channel follows in a clip.

    Parameters
    ----------
    measure
        "alone": variance that the channel predicts by itself; "silent": variance that the
        reconstruction loses without the channel.
    """
    extractor, clip = model.extractor, clips.store.clip(index)
    read = signals(clips, model, index)
    phases = encodings(clips, model).phases(index)
    inside = phases.interior if phases.interior.any() else np.ones(len(phases), bool)
    if measure == "alone":
        shares = joints_followed(phases.parameters[inside], read[inside])
    elif isinstance(extractor, PhaseModel):
        frames = spread_windows(len(read), extractor.window, _WINDOWS)
        shares = joints_lost(extractor, read, frames)
    else:
        raise ParameterError(
            "a baseline has no channels to remove",
            hint="choose what each channel predicts alone",
        )
    joints = extractor.signals.joints
    parts = _parts(clip, dict(extractor.signals.body))
    part_of = [parts[joint] for joint in joints]
    energy = joint_energy(read[inside])
    middle = len(clip) // 2
    near = slice(max(0, middle - _POSE_FRAMES), min(len(clip), middle + _POSE_FRAMES + 1))
    poses = extractor.signals.poses(clip.sliced(near.start, near.stop))
    return FollowedJoints(
        shares,
        joints,
        followed_parts(shares, energy, part_of),
        part_energy(energy, part_of),
        poses[len(poses) // 2],
        joint_links(clip.skeleton, joints),
    )


def _parts(clip: Clip, body: dict[str, str]) -> dict[str, str]:
    roles = find_roles(clip.skeleton, description=body, clip=clip)
    return dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))


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
    units = {"phase": "cycles", "frequency": "Hz", "amplitude": "latent", "offset": "latent"}
    columns, names = [phases.time], ["time_s"]
    for name, unit in units.items():
        values = getattr(phases.parameters, name)
        columns += list(values.T)
        names += [f"{name}_{channel} ({unit})" for channel in range(values.shape[1])]
    return names, np.stack(columns, axis=1)


def phases_file(phases: ClipPhases, model: OpenModel) -> bytes:
    """Content of a phases file, as `deepphase encode` writes it."""
    extractor = model.extractor
    window_s = extractor.window / extractor.fps
    return file_bytes(
        lambda path: save_phases(phases, path, window_s=window_s, model_sha256=extractor.sha256),
        "clip.phases.npz",
    )
