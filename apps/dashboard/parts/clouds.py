"""Frames of the open clips as points of the phase manifold, and the passages selected there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.channel_views import joint_links
from deepphase.apps.dashboard.parts.collection import BY_KEY, OpenClips, OpenModel
from deepphase.apps.dashboard.parts.encodings import (
    MAX_POINTS,
    Encodings,
    all_phases,
    encodings,
)
from deepphase.apps.reports.manifold_cloud import PhaseCloud
from deepphase.apps.reports.matches_page import moment_actor
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinning
from deepphase.figures.manifold import axis_title
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory, to_root_space
from deepphase.phase.clip_phases import ClipPhases
from deepphase.phase.manifold import ManifoldProjection, discriminant
from deepphase.phase.parameters import PhaseParameters
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Channels, ManifoldCloud, Take, point_colours

# Angle of the view on the poses, radians, and their steps from the middle: int8.
_VIEW, _STEPS = 0.6, 127
# Largest number of points with a pose: more would make the page's message megabytes large.
MAX_POSES = 5_000
# Numbers of points to choose from, the default first.
POINTS = (5_000, MAX_POINTS, 300_000)
# Clouds in the cache of all sessions: some megabytes each.
_CACHED_CLOUDS = 12
# Begins of the names of colourings by one channel's phase, and by a label.
CHANNEL_COLOUR, LABEL_COLOUR = "Phase of channel ", "Label: "
# Values of a label that a legend can distinguish.
_MAX_VALUES = 60
# Clips whose colours differ.
_FEW_CLIPS = 12
# Shorter gaps between selected frames belong to the passage, as points are every n-th frame.
_MAX_GAP_S = 0.15
# Shorter passages are extended to this length: what is shorter cannot be seen.
_MIN_PASSAGE_S = 0.5
# Limits of the selection that plays, so that the player is ready at once.
MAX_PLAYED_S, MAX_PASSAGES = 90.0, 40
# Passages that play side by side, those of a row, and metres between them.
MAX_BESIDE, _IN_A_ROW, _BESIDE_M = 12, 4, 1.1
# Frames around a passage that contact detection reads too.
_MARGIN_S = 0.5


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of every `step`-th point as they are seen from in front, a little from the side.

    Parameters
    ----------
    values
        (poses, joints, 2) int8: to the right and up, in steps of `metres`.
    metres
        Size of a step.
    links
        (links, 2) pairs of joints that a limb connects.
    """

    values: Array
    metres: float
    step: int
    links: Array
    head: int = -1

    @classmethod
    def of(cls, positions: Array, links: Array, step: int = 1, head: int = -1) -> Poses:
        """The view of (poses, joints, 3) positions in root space."""
        across = np.cos(_VIEW) * positions[..., 0] - np.sin(_VIEW) * positions[..., 2]
        seen = np.stack([across, positions[..., 1]], axis=-1)
        metres = max(float(np.abs(seen).max(initial=0.0)), 1e-6) / _STEPS
        return cls(np.rint(seen / metres).astype(np.int8), metres, step, np.asarray(links), head)


def _poses_at(clip: Clip, frames: Array, roles: Roles) -> Array:
    """(frames, joints, 3) metres in root space: a clip's joints at some of its frames."""
    part = Clip(
        clip.skeleton,
        clip.rotations[frames],
        clip.translations[frames],
        clip.fps,
        translated_joints=clip.translated_joints,
        name=clip.name,
    )
    positions = joint_positions(part)
    # The frames are not neighbours, so nothing is smoothed over them.
    return to_root_space(positions, root_trajectory(part, roles, positions, 0.0))


@dataclass(frozen=True, eq=False)
class Places:
    """Places of a cloud's frames, titles of the axes, and the function that places other frames."""

    points: Array
    axes: Sequence[str]
    of: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Space:
    """The frames of a cloud by one kind of values.

    Parameters
    ----------
    name, unit
        As in "Poses" and "m".
    values
        (points, values) of the frames.
    points
        (points, 3) their principal components.
    """

    name: str
    unit: str
    values: Array
    points: Array
    projection: ManifoldProjection

    @property
    def places(self) -> Places:
        """The principal components."""
        axes = [axis_title(axis, self.projection.explained, self.unit) for axis in range(3)]
        return Places(self.points, axes, self.projection)


@dataclass(frozen=True, eq=False)
class OpenCloud:
    """Frames of the open clips with their positions on the manifold and their colours.

    Parameters
    ----------
    clip, frame
        (points,) index of the clip in the store, and of the frame at the model's rate.
    phases
        The frames by the phase manifold.
    """

    cloud: PhaseCloud
    clip: Array
    frame: Array
    colourings: dict[str, Colouring]
    groups: dict[str, str]
    phases: Space
    poses: Poses

    @cached_property
    def label_places(self) -> dict[str, Places]:
        """Title -> places with a label's values as far apart as possible on the first axis.

        The axis is a direction of the channels' amplitudes; the others are the first two principal
        components, so that in space the ring of each value lies at a height of its own.
        """
        places = {}
        for title, colouring in self.colourings.items():
            name = title.removeprefix(LABEL_COLOUR)
            if name != title and len(np.unique(colouring.values)) > 1:
                places[f"By {name}"] = self._apart(name, np.asarray(colouring.values))
        return places

    def _apart(self, name: str, values: Array) -> Places:
        direction, share = discriminant(self.cloud.parameters.amplitude, values)
        projection = self.phases.projection

        def of(manifold: Array) -> Array:
            amplitudes = np.linalg.norm(manifold.reshape(len(manifold), -1, 2), axis=-1)
            return np.column_stack([amplitudes @ direction, projection(manifold)[:, :2]])

        axes = [axis_title(axis, projection.explained, self.phases.unit) for axis in range(2)]
        title = f"{name}: direction of amplitudes ({share:.0%} of its variance between values)"
        return Places(of(self.phases.values), [title, *axes], of)

    def points_in(self, passages: Sequence[Passage]) -> Array:
        """Sorted indices of the points in the passages."""
        inside = np.zeros(len(self.clip), bool)
        for clip, start, stop in passages:
            inside |= (self.clip == clip) & (self.frame >= start) & (self.frame < stop)
        return np.flatnonzero(inside)


def open_cloud(clips: OpenClips, model: OpenModel, max_points: int = POINTS[0]) -> OpenCloud:
    """The phase manifold of all clips as points, with progress on the page."""
    all_phases(clips, model)
    return _cached_cloud(clips, model, max_points)


@st.cache_resource(max_entries=_CACHED_CLOUDS, show_spinner=False, hash_funcs=BY_KEY)
def _cached_cloud(clips: OpenClips, model: OpenModel, max_points: int) -> OpenCloud:
    return make_cloud(encodings(clips, model), max_points)


def make_cloud(read: Encodings, max_points: int, indices: Sequence[int] | None = None) -> OpenCloud:
    """Up to `max_points` of the encoded frames, spread evenly over the clips.

    Parameters
    ----------
    indices
        The clips; all by default.
    """
    store = read.store
    chosen = range(len(store)) if indices is None else indices
    phases = [read.phases(index) for index in chosen]
    usable = [read.frames(index) for index in chosen] if max_points <= MAX_POINTS else None
    cloud = PhaseCloud.of(read.extractor, phases, max_points=max_points, frames=usable)
    labels = [each for each in store.label_names if len({i.get(each) for i in store.labels}) > 1]
    groups = [each.get(labels[0], "") if labels else "" for each in store.labels]
    clip = np.repeat(np.array(chosen, np.int64), [len(frames) for frames in cloud.frames])
    frame = np.concatenate(cloud.frames)
    few = max(1, -(-len(frame) // MAX_POSES))
    shown = [frame[::few][clip[::few] == index] for index in range(len(store))]
    return OpenCloud(
        cloud,
        clip,
        frame,
        _colourings(read, cloud, chosen),
        dict(zip(store.names, groups, strict=True)),
        Space(
            "Phase manifold",
            "latent unit",
            cloud.parameters.manifold(),
            cloud.points,
            cloud.projection,
        ),
        _joint_poses(read, shown, few),
    )


def frames_id(clips: OpenClips, model: OpenModel, cloud: OpenCloud) -> str:
    """The id under which the browser keeps the frames of a cloud."""
    # Half of the clips can have as many points as all of them, of which every second is drawn.
    return f"{clips.key} {model.key} {len(np.unique(cloud.clip))} {len(cloud.clip)}"


def _joint_poses(read: Encodings, shown: Sequence[Array], few: int) -> Poses:
    """The joints that the model reads; `shown` are frames of each clip, as of `_poses`."""
    joints = read.extractor.signals.joints
    head = next((at for at, name in enumerate(joints) if "head" in name.lower()), -1)
    return Poses.of(_poses(read, shown), joint_links(read.store.skeleton, joints), few, head)


@st.cache_resource(max_entries=_CACHED_CLOUDS, show_spinner=False, hash_funcs=BY_KEY)
def other_spaces(clips: OpenClips, model: OpenModel, max_points: int) -> tuple[Space, Space]:
    """The frames of `open_cloud` by their poses in root space, and by their joint velocities."""
    read = encodings(clips, model)
    frames = open_cloud(clips, model, max_points).cloud.frames
    positions = _poses(read, frames)
    postures = positions.reshape(len(positions), -1)
    posture_view = ManifoldProjection.fit(postures)
    everything = [read.signals(index) for index in range(len(read.store))]
    step = thinning(sum(map(len, everything)), max_points)
    velocities = np.concatenate([each[::step] for each in everything])
    view = ManifoldProjection.fit(np.concatenate(everything))
    return (
        Space("Poses", "m", postures, posture_view(postures), posture_view),
        Space("Joint velocities", "m/s", velocities, view(velocities), view),
    )


def _poses(read: Encodings, frames: Sequence[Array]) -> Array:
    """(points, joints, 3) metres in root space: the model's joints at frames of all clips."""
    joints, store = read.extractor.signals.joints, read.store
    roles: dict[tuple[str, ...], Roles] = {}
    parts = [np.zeros((0, len(joints), 3), np.float32)]
    for index, chosen in enumerate(frames):
        if not chosen.size:
            continue
        clip = store.clip(index)
        skeleton = clip.skeleton
        if skeleton.names not in roles:
            body = dict(read.extractor.signals.body)
            roles[skeleton.names] = find_roles(skeleton, description=body, clip=clip)
        at = np.rint(chosen * (clip.fps / read.extractor.fps)).astype(np.int64)
        positions = _poses_at(clip, at.clip(0, len(clip) - 1), roles[skeleton.names])
        order = [skeleton.names.index(name) for name in joints]
        parts.append(positions[:, order].astype(np.float32))
    return np.concatenate(parts)


def _colourings(read: Encodings, cloud: PhaseCloud, indices: Sequence[int]) -> dict[str, Colouring]:
    """Name -> colouring, in the order of the chooser."""
    store = read.store
    labels = cloud.by_labels([store.labels[index] for index in indices], _MAX_VALUES)
    colourings = {f"{LABEL_COLOUR}{name}": colours for name, colours in labels.items()}
    # Clips that cannot all have a colour come behind their labels.
    clips = {"Clip": cloud.by_clip()}
    colourings = colourings | clips if len(store) > _FEW_CLIPS else clips | colourings
    measured = cloud.measured([read.speed(index) for index in indices])
    colourings |= {name.capitalize(): colours for name, colours in measured.items()}
    for channel in range(cloud.parameters.phase.shape[1]):
        colourings[f"{CHANNEL_COLOUR}{channel}"] = cloud.by_phase(channel)
    return colourings


class Passage(NamedTuple):
    """Frames `start` to `stop` - 1 of one clip, at the model's rate."""

    clip: int
    start: int
    stop: int


def passages_of(
    cloud: OpenCloud, points: Array, fps: float, lengths: Sequence[int]
) -> list[Passage]:
    """Contiguous runs of selected frames, clip by clip in order of time.

    Parameters
    ----------
    points
        Sorted indices of the cloud's points.
    fps
        Rate of the frames, Hz.
    lengths
        Number of frames of each clip.
    """
    if not points.size:
        return []
    clip, frame = cloud.clip[points], cloud.frame[points]
    step = int(np.median(np.diff(cloud.frame)[np.diff(cloud.clip) == 0])) if len(clip) > 1 else 1
    gap = max(step, round(_MAX_GAP_S * fps))
    ends = np.flatnonzero((np.diff(clip) != 0) | (np.diff(frame) > gap))
    starts, stops = np.r_[0, ends + 1], np.r_[ends, len(points) - 1]
    shortest = round(_MIN_PASSAGE_S * fps)
    passages: list[Passage] = []
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        start, stop = int(frame[first]), int(frame[last]) + 1
        if stop - start < shortest:
            start = max(0, (start + stop - shortest) // 2)
            stop = min(start + shortest, lengths[int(clip[first])])
        before = passages[-1] if passages else None
        if before is not None and before.clip == clip[first] and start <= before.stop:
            passages[-1] = before._replace(stop=max(stop, before.stop))
        else:
            passages.append(Passage(int(clip[first]), start, stop))
    return passages


def passages_text(passages: Sequence[Passage]) -> str:
    """Passages as a part of an address, as in "3:100-160,0:300-330"."""
    return ",".join(f"{each.clip}:{each.start}-{each.stop}" for each in passages)


def read_passages(text: str, lengths: Sequence[int]) -> list[Passage]:
    """The passages in a part of an address that exist in clips of these lengths."""
    found = []
    for clip, start, stop in re.findall(r"(\d{1,6}):(\d{1,9})-(\d{1,9})", text)[:MAX_PASSAGES]:
        each = Passage(int(clip), int(start), int(stop))
        if each.clip < len(lengths) and each.start < each.stop <= lengths[each.clip]:
            found.append(each)
    return found


def playable(passages: Sequence[Passage], fps: float) -> list[Passage]:
    """The first passages, within the limits of a player."""
    chosen, frames = [], round(MAX_PLAYED_S * fps)
    for passage in passages[:MAX_PASSAGES]:
        stop = min(passage.stop, passage.start + frames)
        if stop <= passage.start:
            break
        chosen.append(passage._replace(stop=stop))
        frames -= stop - passage.start
    return chosen


def manifold_view(
    cloud: OpenCloud, values: Array, fps: float, colouring: Colouring
) -> ManifoldCloud:
    """The coloured cloud with the path of (frames, 2 * channels) phases, for the player."""
    return ManifoldCloud(
        cloud.cloud.points,
        cloud.phases.projection(values),
        fps,
        cloud.cloud.explained,
        point_colours(colouring),
        colouring.title,
    )


def passages_take(
    passages: Sequence[Passage],
    store: ClipStore,
    phases: Mapping[int, ClipPhases],
) -> Take:
    """A take of all passages in sequence, each where it was captured.

    `phases` are those of the passages' clips, by their index.
    """
    fps, actors = phases[passages[0].clip].fps, []
    for passage in passages:
        clip = store.clip(passage.clip)
        ratio = clip.fps / fps
        start = min(round(passage.start * ratio), len(clip) - 1)
        stop = max(start + 1, min(round(passage.stop * ratio), len(clip)))
        # Contacts are detected with a margin around the passage.
        margin = round(_MARGIN_S * clip.fps)
        begin, end = max(0, start - margin), min(len(clip), stop + margin)
        actors.append(Actor.of(clip.sliced(begin, end)).sliced(start - begin, stop - begin))
    parts = [phases[each.clip][each.start : each.stop] for each in passages]
    read = PhaseParameters.joined([each.parameters for each in parts])
    inside = np.concatenate([each.interior for each in parts])
    words = f"{len(passages)} passages" if len(passages) > 1 else store.names[passages[0].clip]
    return Take.of(
        actors,
        "Selected frames",
        sequence=True,
        channels=Channels(read, fps, inside),
        note=f"{words}, {len(inside) / fps:.1f} s",
    )


def beside_take(
    passages: Sequence[Passage],
    store: ClipStore,
    phases: Mapping[int, ClipPhases],
    body: Mapping[str, Any],
) -> Take:
    """A take of the first passages at once: bodies side by side that begin in one direction.

    Parameters
    ----------
    phases
        Those of the passages' clips, by their index.
    """
    fps, shown, actors = phases[passages[0].clip].fps, passages[:MAX_BESIDE], []
    for index, passage in enumerate(shown):
        clip = store.clip(passage.clip)
        roles = find_roles(clip.skeleton, description=dict(body), clip=clip)
        frame = min(round(passage.start * clip.fps / fps), len(clip) - 1)
        # Facing is smoothed over the frames around the first one.
        first = max(0, frame - round(_MARGIN_S * clip.fps))
        around = clip.sliced(first, min(len(clip), frame + round(_MARGIN_S * clip.fps) + 1))
        root = root_trajectory(around, roles)
        row, column = divmod(index, _IN_A_ROW)
        columns = min(_IN_A_ROW, len(shown) - row * _IN_A_ROW)
        actors.append(
            moment_actor(
                clip,
                frame,
                root.positions[frame - first],
                float(root.angles[frame - first]),
                before_s=0.0,
                seconds=(passage.stop - passage.start - 1) / fps,
                place=np.array([(column - (columns - 1) / 2) * _BESIDE_M, 0.0, -row * _BESIDE_M]),
                name=str(index + 1),
            )
        )
    words = f"{len(shown)} of {len(passages)}" if len(passages) > len(shown) else str(len(shown))
    return Take.of(
        actors,
        "Selected frames",
        note=f"{words} passages at once, turned to one direction at their first frame",
    )
