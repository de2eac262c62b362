"""A body on the player's stage: joint positions over time, and what is known of its feet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import end_positions, global_transforms
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory

# Of the lowest joint over time: a stray frame below the ground does not lower it.
_FLOOR_PERCENTILE = 5
_LEAST_TIP_M = 1e-4


def links_of(parents: Array) -> Array:
    """(links, 2) pairs of (parent, joint) of a hierarchy; a root's parent is -1."""
    parents = np.asarray(parents, np.int64)
    joints = np.flatnonzero(parents >= 0)
    return np.stack([parents[joints], joints], axis=1)


@dataclass(frozen=True, eq=False)
class Actor:
    """One body and how it moves.

    Parameters
    ----------
    name
        As the legend shows it.
    positions
        (frames, joints, 3) metres, Y up.
    links
        (links, 2) pairs of joints that a limb joins; see `links_of`.
    fps
        Frames a second; actors of one take may have different rates.
    joint_names
        (joints,) or empty.
    contacts
        (frames, feet) whether each foot is on the ground; None where that is not known.
    feet
        (feet,) the joint of each of them.
    root_positions, root_directions
        (frames, 3) metres and unit vectors: the path over the ground and the facing; None where
        they are not known.
    ahead
        (frames, moments, 2) metres, x and z: where it meant to go in every frame; None where that
        is not known.
    route
        (points, 2) metres, x and z: the way that it was to take; None where there is none.
    start_s
        Seconds of the take at which the first frame is shown.
    colour
        As in "#0072B2"; empty for the next one of the figures' colours.
    floor
        Metres: height of the ground under this body.

    Raises
    ------
    ParameterError
        Where shapes do not fit or a value is not finite.
    """

    name: str
    positions: Array
    links: Array
    fps: float
    joint_names: tuple[str, ...] = ()
    contacts: Array | None = None
    feet: tuple[int, ...] = ()
    root_positions: Array | None = None
    root_directions: Array | None = None
    ahead: Array | None = None
    route: Array | None = None
    start_s: float = 0.0
    colour: str = ""
    floor: float = 0.0

    def __post_init__(self) -> None:
        links = np.asarray(self.links, np.int64).reshape(-1, 2)
        object.__setattr__(self, "links", links)
        if self.positions.ndim != 3 or self.positions.shape[2] != 3 or not self.positions.size:
            raise ParameterError(
                f"{self.name}: positions {self.positions.shape}, expected (frames, joints, 3)"
            )
        frames, joints = self.positions.shape[:2]
        if ((links < 0) | (links >= joints)).any():
            raise ParameterError(f"{self.name}: a link to a joint that is not one of {joints}")
        if not (np.isfinite(self.fps) and self.fps > 0 and np.isfinite(self.start_s)):
            raise ParameterError(f"{self.name}: {self.fps} frames a second from {self.start_s} s")
        if self.colour and not re.fullmatch(r"#[0-9a-fA-F]{6}", self.colour):
            raise ParameterError(
                f"{self.name}: a colour {self.colour!r}", hint="write it as in #0072B2"
            )
        if self.joint_names and len(self.joint_names) != joints:
            raise ParameterError(f"{self.name}: {len(self.joint_names)} names of {joints} joints")
        expected = {
            "contacts": (frames, len(self.feet)),
            "root_positions": (frames, 3),
            "root_directions": (frames, 3),
        }
        for what, shape in expected.items():
            value = getattr(self, what)
            if value is not None and value.shape != shape:
                raise ParameterError(f"{self.name}: {what} {value.shape}, expected {shape}")
        for what, axes in (("ahead", 3), ("route", 2)):
            value = getattr(self, what)
            fits = value is None or (value.ndim == axes and value.shape[-1] == 2 and value.size)
            if not fits or (what == "ahead" and value is not None and len(value) != frames):
                raise ParameterError(f"{self.name}: {what} {value.shape} of {frames} frames")
        if any(not 0 <= foot < joints for foot in self.feet):
            raise ParameterError(f"{self.name}: a foot that is not one of {joints} joints")
        numbers = ("positions", "root_positions", "root_directions", "ahead", "route", "floor")
        for what in numbers:
            value = getattr(self, what)
            if value is not None and not np.isfinite(value).all():
                raise ParameterError(f"{self.name}: {what} holds values that are not finite")

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def end_s(self) -> float:
        """Seconds of the take at which the last frame is shown."""
        return self.start_s + (len(self) - 1) / self.fps

    @classmethod
    def of_clip(cls, clip: Clip, **given: Any) -> Actor:
        """The joints and tips of a clip, its contacts and its path over the ground.

        `given` are further fields, such as `name`, `start_s` or `colour`. A body without feet has
        no contacts; what stands above the hips (a node at the origin, as some files have it) is
        left out.
        """
        skeleton = clip.skeleton
        transforms = global_transforms(clip)
        # Some files write an end site of no length wherever a chain ends.
        ends = np.linalg.norm(skeleton.end_offsets, axis=1) > _LEAST_TIP_M
        end_parents = skeleton.end_parents[ends]
        tips = tuple(f"{skeleton.names[parent]} tip" for parent in end_parents)
        positions = np.concatenate(
            [transforms[1], end_positions(clip, transforms)[:, ends]], axis=1
        )
        parents = np.concatenate([skeleton.parents, end_parents])
        names = skeleton.names + tips
        roles = find_roles(skeleton, clip=clip)
        root = root_trajectory(clip, roles, positions=transforms[1])
        body = _below(parents, roles.hips)
        place = {int(joint): new for new, joint in enumerate(body)}
        positions = np.ascontiguousarray(positions[:, body])
        known: dict[str, Any] = {
            "name": clip.name,
            "joint_names": tuple(names[joint] for joint in body),
            "root_positions": root.positions,
            "root_directions": root.directions,
            "floor": _lowest(positions),
        }
        try:
            contacts = foot_contacts(clip, roles, transforms=transforms)
        except SkeletonError:
            pass
        else:
            feet = tuple(place[joint] for joint in contacts.joints)
            known |= {"contacts": contacts.flags, "feet": feet}
            known["floor"] = min(known["floor"], contacts.floor)
        links = links_of(np.array([place.get(int(parents[joint]), -1) for joint in body]))
        return cls(positions=positions, links=links, fps=clip.fps, **(known | given))

    @classmethod
    def of_points(cls, track: PointTrack, **given: Any) -> Actor:
        """The points of a track, joined by its edges; `given` as for `of_clip`."""
        known: dict[str, Any] = {"name": track.name, "floor": _lowest(track.positions)}
        return cls(
            positions=track.positions,
            links=track.edges,
            fps=track.fps,
            joint_names=track.names,
            **(known | given),
        )


def _below(parents: Array, top: int) -> Array:
    """A joint and all that hangs from it: what stands above the hips is no body."""
    inside = np.zeros(len(parents), bool)
    inside[top] = True
    for joint in range(top + 1, len(parents)):
        inside[joint] = inside[parents[joint]]
    return np.flatnonzero(inside)


def _lowest(positions: Array) -> float:
    return float(np.percentile(positions[..., 1].min(axis=1), _FLOOR_PERCENTILE))
