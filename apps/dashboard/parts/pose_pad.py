"""A pose on page Edit whose hand or foot is dragged to a place, and whose limb follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
)
from deepphase.motion.skeleton import Skeleton, subtree_mask
from deepphase.viewer.bundle import component_script

_component = st.components.v2.component(
    "deepphase_pose_pad",
    html='<div class="pose-pad"></div>',
    css=Path(__file__).with_suffix(".css").read_text(encoding="utf-8"),
    js=component_script("input/pose_pad.js"),
)
# A place that a browser sends lies within so many metres of the root.
_FARTHEST_M = 100.0


def pose_pad(
    clip: Clip,
    frame: int,
    joint: int,
    roles: Roles,
    place: Array,
    key: str,
    on_place: Callable[[Array], None],
) -> None:
    """Draw the pose of a frame from the front and from the right, with a handle at one joint.

    The joint is drawn at `place` (3,), metres in the world. Where the handle was dragged or moved
    by keys, `on_place` is called with a place that the limb reaches, before the page runs again.
    """
    skeleton = clip.skeleton
    positions = joint_positions(clip)
    whole = root_trajectory(clip, roles, positions)
    now = slice(frame, frame + 1)
    root = RootTrajectory.from_ground(whole.positions[now, ::2], whole.angles[now])
    # What lies above the hips is not part of the body.
    body = subtree_mask(skeleton, roles.hips)
    parents = enumerate(skeleton.parents.tolist())
    data: dict[str, Any] = {
        "positions": np.round(to_root_space(positions[now], root)[0], 5).tolist(),
        "links": [[index, parent] for index, parent in parents if parent >= 0 and body[parent]],
        "limb": limb_above(skeleton, joint, roles),
        "place": np.round(to_root_space(np.reshape(place, (1, 3)), root)[0], 5).tolist(),
        "name": skeleton.names[joint],
    }

    def placed() -> None:
        given = read_place(st.session_state[key].get("placed"))
        if given is not None:
            on_place(from_root_space(given[None], root)[0])

    _component(data=data, key=key, on_placed_change=placed)


def limb_above(skeleton: Skeleton, joint: int, roles: Roles) -> dict[str, Any]:
    """The limb of two bones that a joint hangs on, as `pose_pad.js` reads it."""
    ends = [end for part in ("hand", "foot") for end in roles.both(part) or ()]
    end = next(end for end in ends if subtree_mask(skeleton, end)[joint])
    middle = int(skeleton.parents[end])
    return {
        "upper": int(skeleton.parents[middle]),
        "middle": middle,
        "end": int(end),
        "moved": np.flatnonzero(subtree_mask(skeleton, end)).tolist(),
        "joint": int(joint),
    }


def read_place(given: Any) -> Array | None:
    """(3,) metres that a browser sent, which is not trusted; None where it is not a place."""
    if (
        not isinstance(given, list)
        or [type(value) in (int, float) for value in given] != [True] * 3
    ):
        return None
    place = np.array(given, np.float64)
    return place if (np.abs(place) <= _FARTHEST_M).all() else None
