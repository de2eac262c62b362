"""What page Channels shows of one clip: its phases, a window, what the channels follow."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import streamlit as st

from apps.dashboard.parts.collection import OpenClips, OpenModel
from apps.dashboard.parts.encodings import encodings
from apps.reports.example_window import example_window
from apps.reports.player_takes import takes_of_clips
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.channel_joints import (
    followed_parts,
    joint_energy,
    joints_followed,
    joints_lost,
    spread_windows,
)
from deepphase.figures.player.actor import links_of
from deepphase.figures.player.take import Take
from deepphase.figures.window_fit import WindowExample
from deepphase.motion.clip import Clip
from deepphase.motion.roles import body_parts, find_roles
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.networks.embedding_autoencoder import EmbeddingAutoencoder
from deepphase.phase.phase_file import save_phases

PartMeasure = Literal["alone", "silent"]

# Windows that are reconstructed to tell what silence costs: half a second of work.
_WINDOWS = 96
# Clips whose signals and shares are kept for all sessions together.
_KEPT = 32


@dataclass(frozen=True, eq=False)
class Followed:
    """What the channels follow in one clip.

    Parameters
    ----------
    shares
        (channels, joints) of each joint's movement.
    joints
        (joints,) names.
    parts
        Part of the body -> (channels,) share of its movement.
    positions, links
        (joints, 3) metres in root space and (links, 2): the body in the middle of the clip.
    """

    shares: Array
    joints: tuple[str, ...]
    parts: dict[str, Array]
    positions: Array
    links: Array

    def sentences(self, frequencies: Array) -> list[str]:
        """A sentence a channel: its median frequency (channels,) Hz and the parts it follows."""
        given = []
        for channel, frequency in enumerate(frequencies):
            ordered = sorted(self.parts, key=lambda part: -self.parts[part][channel])
            strong = [part for part in ordered if self.parts[part][channel] >= 0.1][:3]
            parts = [f"{part} ({100 * self.parts[part][channel]:.0f} %)" for part in strong]
            words = ", ".join(parts) if parts else "no part of the body by more than 10 %"
            given.append(f"Channel {channel}, {frequency:.2f} Hz: {words}")
        return given


def reconstructs(model: OpenModel) -> bool:
    """Whether the model gives windows back: baselines do not, and embeddings have no sinusoids."""
    extractor = model.extractor
    return isinstance(extractor, PhaseModel) and not isinstance(
        extractor.network, EmbeddingAutoencoder
    )


def part_of(clips: OpenClips, model: OpenModel, index: int, start_s: float, stop_s: float) -> Take:
    """Some seconds of a clip with their phases, for the player."""
    clip, phases = clips.store.clip(index), encodings(clips, model).phases(index)
    first, stop = (round(at * clip.fps) for at in (start_s, stop_s))
    frames = slice(round(start_s * phases.fps), round(stop_s * phases.fps))
    part = replace(phases, parameters=phases.parameters[frames], interior=phases.interior[frames])
    (take,) = takes_of_clips([clip.sliced(first, min(stop, len(clip)))], [part], model.extractor)
    return take


def window_of(clips: OpenClips, model: OpenModel, index: int, at_s: float) -> WindowExample:
    """What the model makes of the window around a moment. ParameterError for a baseline."""
    extractor = model.extractor
    if not isinstance(extractor, PhaseModel):
        raise ParameterError(
            "a baseline gives no window back", hint="choose a trained phase model on the left"
        )
    read = signals(clips.key, model.key, index, clips, model)
    frame = min(max(round(at_s * extractor.fps), 0), len(read) - 1)
    return example_window(extractor, read, frame, clip=clips.store.names[index])


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def signals(
    clips_key: Hashable, model_key: str, index: int, _clips: OpenClips, _model: OpenModel
) -> Array:
    """(frames, 3 * joints) m/s of one clip as the model reads it."""
    return _model.extractor.signals.read(_clips.store.clip(index))


def followed(clips: OpenClips, model: OpenModel, index: int, measure: PartMeasure) -> Followed:
    """What each channel follows in a clip, alone or by what its silence loses.

    Raises
    ------
    ParameterError
        Where the clip is too short, or the model cannot be silenced.
    """
    return _followed(clips.key, model.key, index, measure, clips, model)


@st.cache_resource(max_entries=_KEPT, show_spinner="Asking what each channel follows")
def _followed(
    clips_key: Hashable,
    model_key: str,
    index: int,
    measure: PartMeasure,
    _clips: OpenClips,
    _model: OpenModel,
) -> Followed:
    extractor, clip = _model.extractor, _clips.store.clip(index)
    read = signals(clips_key, model_key, index, _clips, _model)
    phases = encodings(_clips, _model).phases(index)
    inside = phases.interior if phases.interior.any() else np.ones(len(phases), bool)
    if measure == "alone":
        shares = joints_followed(phases.parameters[inside], read[inside])
    elif isinstance(extractor, PhaseModel):
        frames = spread_windows(len(read), extractor.window, _WINDOWS)
        shares = joints_lost(extractor, read, frames)
    else:
        raise ParameterError(
            "a baseline has no channel to silence", hint="ask what each channel foretells alone"
        )
    joints = extractor.signals.joints
    parts = _parts(clip, dict(extractor.signals.body))
    positions, links = _standing(_clips, extractor.signals.joints, index)
    return Followed(
        shares,
        joints,
        followed_parts(shares, joint_energy(read[inside]), [parts[joint] for joint in joints]),
        positions,
        links,
    )


def _parts(clip: Clip, body: dict[str, str]) -> dict[str, str]:
    roles = find_roles(clip.skeleton, description=body, clip=clip)
    return dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))


def _standing(clips: OpenClips, joints: tuple[str, ...], index: int) -> tuple[Array, Array]:
    """The rest pose of those joints, its limbs leading to the next joint above that is read."""
    skeleton = clips.store.skeletons[index]
    places = np.zeros((len(skeleton), 3))
    for joint, parent in enumerate(skeleton.parents):
        above = places[parent] if parent >= 0 else np.zeros(3)
        places[joint] = above + skeleton.offsets[joint]
    kept = {name: at for at, name in enumerate(joints)}
    parents = []
    for name in joints:
        parent = int(skeleton.parents[skeleton.names.index(name)])
        while parent >= 0 and skeleton.names[parent] not in kept:
            parent = int(skeleton.parents[parent])
        parents.append(kept[skeleton.names[parent]] if parent >= 0 else -1)
    order = [skeleton.names.index(name) for name in joints]
    return places[order], links_of(np.array(parents))


def phases_table(phases: ClipPhases) -> tuple[list[str], Array]:
    """Column names and (frames, columns): time and the parameters of every channel."""
    units = {"phase": "cycles", "frequency": "Hz", "amplitude": "latent", "offset": "latent"}
    columns, names = [phases.time], ["time_s"]
    for name, unit in units.items():
        values = getattr(phases.parameters, name)
        columns += list(values.T)
        names += [f"{name}_{channel} ({unit})" for channel in range(values.shape[1])]
    return names, np.stack(columns, axis=1)


def phases_file(phases: ClipPhases, model: OpenModel) -> bytes:
    """A phases file as `deepphase encode` writes it."""
    window_s = model.extractor.window / model.extractor.fps
    with tempfile.TemporaryDirectory(prefix="deepphase-") as folder:
        path = Path(folder) / "clip.phases.npz"
        save_phases(phases, path, window_s=window_s, model_sha256=model.extractor.sha256)
        return path.read_bytes()
