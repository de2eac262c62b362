"""Frames of the open clips as points of the phase manifold and of other spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import encodings
from deepphase.apps.dashboard.parts.encodings import BY_CLIPS_AND_MODEL, Encodings
from deepphase.apps.reports.player import in_words
from deepphase.arrays import Array
from deepphase.figures.manifold import axis_title
from deepphase.figures.phase_cloud import PhaseCloud
from deepphase.figures.theme import Colouring, thinning
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory, to_root_space
from deepphase.motion.skeleton import Skeleton, ancestors
from deepphase.phase.parameters import ManifoldProjection, PhaseParameters
from deepphase.phase.rings import ring_projection
from deepphase.viewer.actor import links_of

# Angle of the view on the poses, radians, and their steps from the middle: int8.
_VIEW, _STEPS = 0.6, 127
# Largest number of points with a pose: more would make the page's message megabytes large.
MAX_POSES = 5_000
# Numbers of points to choose from, the default first.
POINTS = (5_000, encodings.MAX_POINTS)
# Clouds in the cache of all sessions: some megabytes each.
_CACHED_CLOUDS = 12
# Begins of the names of colourings by one channel's phase, and by a label.
CHANNEL_COLOUR, LABEL_COLOUR = "Phase of channel ", "Label: "
# Values of a label that a legend can distinguish.
_MAX_VALUES = 60
# Clips whose colours differ.
_FEW_CLIPS = 12
_LATENT = "latent unit"


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of every `step`-th point as they are seen from in front, a little from the side."""

    values: Array  # (poses, joints, 2) int8: to the right and up, in steps of `metres`
    metres: float
    step: int
    links: Array  # (links, 2) pairs of joints that a limb connects
    head: int = -1

    @classmethod
    def from_positions(cls, positions: Array, links: Array, step: int, head: int) -> Poses:
        """The view of (poses, joints, 3) positions in root space."""
        across = np.cos(_VIEW) * positions[..., 0] - np.sin(_VIEW) * positions[..., 2]
        seen = np.stack([across, positions[..., 1]], axis=-1)
        metres = max(float(np.abs(seen).max(initial=0.0)), 1e-6) / _STEPS
        return cls(np.rint(seen / metres).astype(np.int8), metres, step, links, head)


@dataclass(frozen=True, eq=False)
class Places:
    """Places of a cloud's frames, titles of the axes, and the function that places other frames."""

    points: Array
    axes: Sequence[str]
    place: Callable[[Array], Array]

    @classmethod
    def principal(cls, projection: ManifoldProjection, values: Array, unit: str) -> Places:
        """The principal components of (frames, values)."""
        axes = [axis_title(axis, projection.explained, unit) for axis in range(3)]
        return cls(projection(values), axes, projection)


@dataclass(frozen=True, eq=False)
class OpenCloud:
    """Frames of the open clips with their positions on the manifold and their colours."""

    cloud: PhaseCloud
    # (points,) index of the clip in the store, and of the frame at the model's rate.
    clip: Array
    frame: Array
    colourings: dict[str, Colouring]
    groups: dict[str, str]  # name of a clip -> its value of the first label
    poses: Poses

    @cached_property
    def places(self) -> Places:
        """The principal components of the phase manifold."""
        return self.along(self.cloud.projection)

    @cached_property
    def ring_places(self) -> Places:
        """The plane in which cycles of all frames are rings."""
        return self.along(ring_projection(self.cloud.parameters.manifold()))

    def along(self, projection: ManifoldProjection) -> Places:
        """Places along the axes of a projection of the phase manifold."""
        return Places.principal(projection, self.cloud.parameters.manifold(), _LATENT)


def open_cloud(read: Encodings, max_points: int = POINTS[0]) -> OpenCloud:
    """The phase manifold of all clips as points, with progress on the page."""
    encodings.all_phases(read)
    return _cached_cloud(read, max_points)


@st.cache_resource(max_entries=_CACHED_CLOUDS, show_spinner=False, hash_funcs=BY_CLIPS_AND_MODEL)
def _cached_cloud(read: Encodings, max_points: int) -> OpenCloud:
    return make_cloud(read, max_points)


def make_cloud(read: Encodings, max_points: int, indices: Sequence[int] | None = None) -> OpenCloud:
    """Up to `max_points` of the encoded frames of some clips, spread evenly; of all by default."""
    store = read.store
    chosen = range(len(store)) if indices is None else indices
    phases = [read.phases(index) for index in chosen]
    usable = [read.frames(index) for index in chosen]
    cloud = PhaseCloud.from_phases(read.extractor, phases, max_points=max_points, frames=usable)
    differing = [
        name for name in store.label_names if len({own.get(name) for own in store.labels}) > 1
    ]
    groups = [own.get(differing[0], "") if differing else "" for own in store.labels]
    clip = np.repeat(np.array(chosen, np.int64), [len(frames) for frames in cloud.frames])
    frame = np.concatenate(cloud.frames)
    step = max(1, -(-len(frame) // MAX_POSES))
    shown = [frame[::step][clip[::step] == index] for index in range(len(store))]
    joints = read.extractor.signals.joints
    head = next((at for at, name in enumerate(joints) if "head" in name.lower()), -1)
    links = joint_links(store.skeleton, joints)
    poses = Poses.from_positions(_poses(read, shown), links, step, head)
    by_name = dict(zip(store.names, groups, strict=True))
    return OpenCloud(cloud, clip, frame, _colourings(read, cloud, chosen), by_name, poses)


def frames_id(read: Encodings, cloud: OpenCloud) -> str:
    """The id under which the browser keeps the frames of a cloud."""
    # Half of the clips can have as many points as all of them, of which every second is drawn.
    return f"{read.key} {len(np.unique(cloud.clip))} {len(cloud.clip)}"


@st.cache_resource(max_entries=_CACHED_CLOUDS, show_spinner=False, hash_funcs=BY_CLIPS_AND_MODEL)
def other_spaces(read: Encodings, max_points: int) -> dict[str, Places]:
    """The frames of `open_cloud` by their poses in root space, and by their joint velocities."""
    positions = _poses(read, open_cloud(read, max_points).cloud.frames)
    poses = positions.reshape(len(positions), -1)
    moved = [read.signals(index) for index in range(len(read.store))]
    step = thinning(sum(map(len, moved)), max_points)
    velocities = np.concatenate([values[::step] for values in moved])
    projection = ManifoldProjection.fit(np.concatenate(moved))
    return {
        "Joint velocities": Places.principal(projection, velocities, "m/s"),
        "Poses": Places.principal(ManifoldProjection.fit(poses), poses, "m"),
    }


def joint_links(skeleton: Skeleton, joints: tuple[str, ...]) -> Array:
    """(links, 2) pairs of joints: each is linked to its closest ancestor among them."""
    places = {skeleton.names.index(name): at for at, name in enumerate(joints)}
    above = [[places[a] for a in ancestors(skeleton, joint)[1:] if a in places] for joint in places]
    return links_of(np.array([own[0] if own else -1 for own in above]))


def latent(parameters: PhaseParameters) -> Array:
    """(frames, channels): the model's latent curves at each frame, as its sinusoids give them."""
    return parameters.sinusoid(np.zeros(1))[..., 0]


def _poses(read: Encodings, frames: Sequence[Array]) -> Array:
    """(points, joints, 3) metres in root space: the model's joints at frames of all clips."""
    store, signals = read.store, read.extractor.signals
    roles = find_roles(store.skeleton, description=dict(signals.body), clip=store.clip(0))
    order = [store.skeleton.names.index(name) for name in signals.joints]
    parts = [np.zeros((0, len(order), 3), np.float32)]
    for index, chosen in enumerate(frames):
        if chosen.size:
            clip = store.clip(index)
            at = np.rint(chosen * (clip.fps / read.extractor.fps)).astype(np.int64)
            at = at.clip(0, len(clip) - 1)
            clip = replace(clip, rotations=clip.rotations[at], translations=clip.translations[at])
            positions = joint_positions(clip)
            # The frames are not neighbours, so nothing is smoothed over them.
            poses = to_root_space(positions, root_trajectory(clip, roles, positions, 0.0))
            parts.append(poses[:, order].astype(np.float32))
    return np.concatenate(parts)


def _colourings(read: Encodings, cloud: PhaseCloud, indices: Sequence[int]) -> dict[str, Colouring]:
    """Name -> colouring, in the order of the chooser."""
    store = read.store
    named = [{in_words(name): value for name, value in each.items()} for each in store.labels]
    labels = cloud.by_labels([named[index] for index in indices], _MAX_VALUES)
    colourings = {f"{LABEL_COLOUR}{name}": colours for name, colours in labels.items()}
    # Clips that cannot all have a colour come behind their labels.
    clips = {"Clip": cloud.by_clip()}
    colourings = colourings | clips if len(store) > _FEW_CLIPS else clips | colourings
    measured = cloud.measured([read.speed(index) for index in indices])
    colourings |= {name.capitalize(): colours for name, colours in measured.items()}
    for channel in range(cloud.parameters.phase.shape[1]):
        colourings[f"{CHANNEL_COLOUR}{channel}"] = cloud.by_phase(channel)
    return colourings
