"""Bodies in the player: joint positions over time, contacts, root motion and goals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip, end_positions, global_transforms
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton, subtree_mask

# Percentile of the lowest joint's height over time, which ignores single frames below the floor.
_FLOOR_PERCENTILE = 5
# Shorter end sites are left out, metres.
_MIN_TIP_M = 1e-4
# Fields of `Roles` that are not indices of joints.
_NO_JOINT = ("pairs", "kind", "tail", "notes")


def links_of(parents: Array) -> Array:
    """(links, 2) pairs of (parent, joint) in a hierarchy, where a root has parent -1."""
    parents = np.asarray(parents, np.int64)
    joints = np.flatnonzero(parents >= 0)
    return np.stack([parents[joints], joints], axis=1)


def joints_and_tips(
    clip: Clip, transforms: tuple[Array, Array]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Positions (frames, points, 3) of joints and end sites with a length, parents and names."""
    skeleton = clip.skeleton
    ends = np.linalg.norm(skeleton.end_offsets, axis=1) > _MIN_TIP_M
    end_parents = skeleton.end_parents[ends]
    positions = np.concatenate([transforms[1], end_positions(clip, transforms)[:, ends]], axis=1)
    parents = np.concatenate([skeleton.parents, end_parents])
    return positions, parents, (*skeleton.names, *(f"{skeleton.names[p]} tip" for p in end_parents))


def feet_labels(skeleton: Skeleton, roles: Roles, joints: Sequence[int]) -> tuple[str, ...]:
    """What each joint is among the feet, as in "left" or "right front"; its name if unknown."""
    behind = " hind" if roles.kind == "quadruped" else ""
    known = {
        getattr(roles, f"{side}_{limb}"): f"{side}{place}"
        for limb, place in (("hand", " front"), ("foot", behind), ("toe", behind))
        for side in ("left", "right")
    }
    return tuple(known.get(joint, skeleton.names[joint]) for joint in joints)


def check_times(what: str, fps: float, start_s: float) -> None:
    """Raise ParameterError unless data can begin at a time and have a rate."""
    if not (np.isfinite(fps) and fps > 0 and np.isfinite(start_s)):
        raise ParameterError(f"{what}: {fps} frames a second from {start_s} s are not possible")


def check_array(what: str, values: Array | None, *shape: int | str) -> None:
    """Raise ParameterError unless values are finite and of a shape; None is always right.

    The shape has the size of each axis, or a name for one that is not empty, as in "frames".
    """
    if values is None:
        return
    fits = values.ndim == len(shape) and all(
        size > 0 if isinstance(wanted, str) else size == wanted
        for size, wanted in zip(values.shape, shape, strict=True)
    )
    if not fits:
        words = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise ParameterError(f"{what}: the shape is {values.shape}, expected ({words})")
    if not np.isfinite(values).all():
        raise ParameterError(
            f"{what}: these are values that are not finite", hint="clean the motion first"
        )


@dataclass(frozen=True, eq=False)
class Skin:
    """The joints that the surface of a body follows: the first ones of an actor's positions.

    `parents` (joints,), before their children; unit `rotations` (frames, joints, 4) in the world,
    (x, y, z, w); `kind` and `roles` (name -> joint) as of `Roles`.
    """

    parents: Array
    rotations: Array
    kind: str
    roles: Mapping[str, int]
    tail: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        joints = len(self.parents)
        check_array("rotations", self.rotations, "frames", joints, 4)
        if any(not 0 <= joint < joints for joint in (*self.roles.values(), *self.tail)):
            raise ParameterError(
                f"a role has a joint that is not one of {joints}",
                hint="take the roles of this skeleton",
            )

    @classmethod
    def from_joints(
        cls, parents: Array, rotations: Array, roles: Roles, joints: Sequence[int] | None = None
    ) -> Skin:
        """The skin of a skeleton with rotations in the world, or of some joints in their order."""
        chosen = range(len(parents)) if joints is None else joints
        place = {int(joint): new for new, joint in enumerate(chosen)}
        by_role = {
            name: place[joint]
            for name, joint in vars(roles).items()
            if name not in _NO_JOINT and not name.endswith("_end") and joint in place
        }
        return cls(
            np.array([place.get(int(parents[joint]), -1) for joint in place]),
            rotations[:, list(place)],
            roles.kind,
            by_role,
            tuple(place[joint] for joint in roles.tail if joint in place),
        )


# Fields of an actor with one entry a frame, besides its skin.
_ROOT = ("root_positions", "root_directions")
_PER_FRAME = ("positions", "contacts", *_ROOT, "desired_trajectory", "ball")


@brief_repr
@dataclass(frozen=True, eq=False)
class Actor:
    """One body and its motion.

    Parameters
    ----------
    name
        Name in the legend.
    positions
        (frames, joints, 3) metres, Y up.
    links
        (links, 2) pairs of joints that a limb connects; see `links_of`.
    fps
        Frames a second; actors of one take may have different rates.
    joint_names
        (joints,) names, or empty.
    contacts
        (frames, feet) bool: foot contacts; None if unknown.
    feet
        (feet,) index of each foot's joint.
    feet_labels
        (feet,) what each foot is, as in "left"; empty for the names of the joints.
    root_positions
        (frames, 3) metres: the root on the ground; None if unknown.
    root_directions
        (frames, 3) unit vectors: the facing; None if unknown.
    desired_trajectory
        (frames, samples, 2) metres, x and z: the desired trajectory at every frame; None if
        unknown.
    desired_path
        (points, 2) metres, x and z: the path to follow; None if there is none.
    start_s
        Time of the take at the first frame, seconds.
    colour
        Colour, as in "#0072B2"; empty for the next of the figures' colours.
    floor
        Height of the ground under this body, metres.
    ball
        (frames, 3) metres: centre of the body's ball; None without one.
    ball_radius_m
        Its radius.
    ghost
        Draw the body faint, as one that another is compared with.
    skin
        What the surface of a mannequin or an animal follows; without it, limbs are capsules.

    Raises
    ------
    ParameterError
        If shapes do not fit or a value is not finite.
    """

    name: str
    positions: Array
    links: Array
    fps: float
    joint_names: tuple[str, ...] = ()
    contacts: Array | None = None
    feet: tuple[int, ...] = ()
    feet_labels: tuple[str, ...] = ()
    root_positions: Array | None = None
    root_directions: Array | None = None
    desired_trajectory: Array | None = None
    desired_path: Array | None = None
    start_s: float = 0.0
    colour: str = ""
    floor: float = 0.0
    ball: Array | None = None
    ball_radius_m: float = 0.11
    ghost: bool = False
    skin: Skin | None = None

    def __post_init__(self) -> None:
        links = np.asarray(self.links, np.int64).reshape(-1, 2)
        object.__setattr__(self, "links", links)
        check_times(self.name, self.fps, self.start_s)
        check_array(f"{self.name}: positions", self.positions, "frames", "joints", 3)
        frames, joints = self.positions.shape[:2]
        shapes: dict[str, tuple[int | str, ...]] = {
            "contacts": (frames, len(self.feet)),
            "root_positions": (frames, 3),
            "root_directions": (frames, 3),
            "desired_trajectory": (frames, "samples", 2),
            "desired_path": ("points", 2),
            "ball": (frames, 3),
        }
        for what, shape in shapes.items():
            check_array(f"{self.name}: {what}", getattr(self, what), *shape)
        check_array(f"{self.name}: floor", np.asarray(self.floor))
        if ((links < 0) | (links >= joints)).any():
            raise ParameterError(f"{self.name}: a link to a joint that is not one of {joints}")
        if any(not 0 <= foot < joints for foot in self.feet):
            raise ParameterError(f"{self.name}: a foot that is not one of {joints} joints")
        if self.colour and not re.fullmatch(r"#[0-9a-fA-F]{6}", self.colour):
            what = f"{self.name}: a colour {self.colour!r} is not possible"
            raise ParameterError(what, hint="write it as in #0072B2")
        if self.joint_names and len(self.joint_names) != joints:
            count = len(self.joint_names)
            raise ParameterError(f"{self.name}: there are {count} names for {joints} joints")
        if self.skin is not None and (
            len(self.skin.rotations) != frames or len(self.skin.parents) > joints
        ):
            raise ParameterError(
                f"{self.name}: rotations have shape {self.skin.rotations.shape} for positions "
                f"{self.positions.shape}",
                hint="give a skin of the same frames, whose joints come first",
            )

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def end_s(self) -> float:
        """Time of the take at the last frame, seconds."""
        return self.start_s + (len(self) - 1) / self.fps

    def with_ball(self, positions: Array, radius_m: float) -> Actor:
        """The body with a ball, (frames, 3) metres over the body's floor."""
        return replace(
            self, ball=positions + np.array([0.0, self.floor, 0.0]), ball_radius_m=radius_m
        )

    def sliced(self, start: int, stop: int) -> Actor:
        """Frames `start` to `stop` - 1; they begin at the same `start_s`."""
        parts = {name: getattr(self, name) for name in _PER_FRAME}
        cut = {name: part[start:stop] for name, part in parts.items() if part is not None}
        skin = self.skin and replace(self.skin, rotations=self.skin.rotations[start:stop])
        return replace(self, **cut, skin=skin)

    def shifted(self, x: float, z: float) -> Actor:
        """The body somewhere else on the ground, by metres, with its goals."""
        moved: dict[str, Any] = {}
        for name, shift in (
            *dict.fromkeys(("positions", "root_positions", "ball"), (x, 0.0, z)).items(),
            *dict.fromkeys(("desired_trajectory", "desired_path"), (x, z)).items(),
        ):
            part = getattr(self, name)
            if part is not None:
                moved[name] = part + np.array(shift, part.dtype)
        return replace(self, **moved)

    @classmethod
    def joined(cls, actors: Sequence[Actor], **given: Any) -> Actor:
        """The frames of several actors of one body in sequence; what one lacks is left out."""
        first, joined = actors[0], {}
        for name in _PER_FRAME:
            parts = [getattr(actor, name) for actor in actors]
            joined[name] = None if any(p is None for p in parts) else np.concatenate(parts)
        skins = [actor.skin for actor in actors if actor.skin is not None]
        known: dict[str, Any] = {"floor": min(actor.floor for actor in actors), "skin": None}
        if len(skins) == len(actors):
            rotations = np.concatenate([skin.rotations for skin in skins])
            known["skin"] = replace(skins[0], rotations=rotations)
        return replace(first, **(joined | known | given))

    @classmethod
    def from_clip(
        cls,
        clip: Clip,
        *,
        feet: Sequence[int] | None = None,
        contacts: Array | None = None,
        **given: Any,
    ) -> Actor:
        """The body of a clip below its hips, with end sites, contacts and root motion.

        `feet` (joints of the clip's skeleton) and `contacts` (frames, feet) are found where they
        are not given; `given` are further fields, such as `name`, `start_s` or `colour`.
        """
        skeleton = clip.skeleton
        transforms = global_transforms(clip)
        positions, parents, names = joints_and_tips(clip, transforms)
        roles = find_roles(skeleton, clip=clip)
        below = subtree_mask(skeleton, roles.hips)
        body = np.flatnonzero(np.concatenate([below, below[parents[len(below) :]]]))
        # Feet that are not below the hips, as in rigs with goals for legs, come with all joints.
        if not set(feet or roles.both("foot") or ()) <= set(body.tolist()):
            body = np.arange(len(parents))
        place = {int(joint): new for new, joint in enumerate(body)}
        positions = np.ascontiguousarray(positions[:, body])
        known: dict[str, Any] = {
            "name": clip.name,
            "joint_names": tuple(names[joint] for joint in body),
            "floor": _lowest(positions),
            "skin": Skin.from_joints(
                skeleton.parents, transforms[0], roles, body[body < len(skeleton.parents)].tolist()
            ),
        }
        if not set(_ROOT) <= given.keys():
            root = root_trajectory(clip, roles, positions=transforms[1])
            known |= dict(zip(_ROOT, (root.positions, root.directions), strict=True))
        if feet is None:
            try:
                found = foot_contacts(clip, roles, transforms=transforms)
            except SkeletonError:
                feet = ()
            else:
                feet, contacts = found.joints, found.flags
                known["floor"] = min(known["floor"], found.floor)
        if feet:
            known |= {
                "contacts": contacts,
                "feet": tuple(place[joint] for joint in feet),
                "feet_labels": feet_labels(skeleton, roles, feet),
            }
        links = links_of(np.array([place.get(int(parents[joint]), -1) for joint in body]))
        return cls(positions=positions, links=links, fps=clip.fps, **(known | given))

    @classmethod
    def from_motion(cls, motion: Clip | PointTrack, **given: Any) -> Actor:
        """The body of a clip, or points of a track with edges, `given` as in `from_clip`."""
        if isinstance(motion, Clip):
            return cls.from_clip(motion, **given)
        known: dict[str, Any] = {"name": motion.name, "floor": _lowest(motion.positions)}
        known |= {"fps": motion.fps, "joint_names": motion.names}
        return cls(positions=motion.positions, links=motion.edges, **(known | given))


def _lowest(positions: Array) -> float:
    return float(np.percentile(positions[..., 1].min(axis=1), _FLOOR_PERCENTILE))
