"""Clips on ground as clips of a database, with the heights of the ground as features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.frame_rows import BodyFrames
from deepphase.features.layout import FeatureLayout
from deepphase.features.moment_kinds import moment_kinds
from deepphase.features.trajectory import path_of_clip
from deepphase.motion.clip import Clip
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.progress import Progress
from deepphase.terrain.grounded_clip import ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import ground_level, trajectory_heights

GROUND_HEIGHTS = "ground_heights"
"""Track of a layout: heights left of, below and right of the trajectory ahead, over the level."""
GROUND_LEVEL = "ground_level"
"""Track of clips on ground: height that poses are over, (frames, 1) metres."""
GROUND_KINDS = "moment_kinds"
"""Track of clips on ground: kinds of moments on the flat floor, (frames, 1)."""


def has_ground_heights(layout: FeatureLayout) -> bool:
    """Whether heights of the ground are among the features."""
    return any(feature.track == GROUND_HEIGHTS for feature in layout.of_kind("track"))


def floor_tracks(layout: FeatureLayout) -> Callable[[Clip], Mapping[str, Array]]:
    """Tracks of clips on a flat floor, for a layout with heights of the ground."""
    columns = sum(each.dims for each in layout.of_kind("track") if each.track == GROUND_HEIGHTS)

    def tracks(clip: Clip) -> Mapping[str, Array]:
        return {GROUND_HEIGHTS: np.zeros((len(clip), columns), np.float32)}

    return tracks


class ClipsOnGround:
    """The clips of a store, each on its floor and on its grounds.

    It is a `TrackReader` of the clips in `store`.

    `offsets_s` (offsets,) seconds from now of the heights ahead; `body`: a skeleton description;
    found from the first clip by default.

    Raises ParameterError if no clip of the store has a ground.
    """

    def __init__(
        self,
        store: ClipStore,
        grounds: ClipGrounds,
        offsets_s: Array,
        body: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        if not set(grounds.names) & set(store.names):
            raise ParameterError(
                "no clip of the store has a ground",
                hint="make it with `deepphase fit ground` on the same store",
            )
        first = store.clip(0)
        roles = find_roles(first.skeleton, description=body, clip=first)
        self._tracks: dict[str, dict[str, Array]] = {}
        clips: list[Clip] = []
        for done, clip in enumerate(store, start=1):
            # Feet that step up and down would be taken for those of an action.
            kinds = moment_kinds(clip, BodyFrames.of_clip(clip, body), body)[:, None]
            for number, grounded in enumerate(grounds.on_ground(clip, roles)):
                name = f"{clip.name}.ground-{number}" if number else clip.name
                clips.append(replace(grounded.clip, name=name))
                self._tracks[name] = _tracks(grounded, roles, offsets_s) | {GROUND_KINDS: kinds}
            if progress is not None:
                progress("laying clips", done, len(store), clip.name)
        self.store = ClipStore.from_clips(clips)

    def __call__(self, clip: Clip) -> Mapping[str, Array]:
        """Name -> (frames, values): the tracks of a clip of `store`."""
        return self._tracks[clip.name]


def _tracks(grounded: GroundedClip, roles: Roles, offsets_s: Array) -> dict[str, Array]:
    clip, ground = grounded.clip, grounded.ground
    root = root_trajectory(clip, roles)
    level = ground_level(ground, root.positions[:, ::2], root.directions[:, ::2])
    path, _ = path_of_clip(root, offsets_s, clip.fps)
    around = trajectory_heights(ground, path.positions[..., ::2], path.directions[..., ::2], level)
    return {
        GROUND_HEIGHTS: around.reshape(len(clip), -1).astype(np.float32),
        GROUND_LEVEL: level[:, None].astype(np.float32),
    }
