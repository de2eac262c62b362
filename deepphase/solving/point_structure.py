"""Joints and hierarchy of the points of a track, stated by its file or found from motion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import JointName, parse_names
from deepphase.motion.kinematics import velocities
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import PAIRED_PARTS
from deepphase.motion.skeleton import Skeleton
from deepphase.solving.point_distances import (
    PointDistances,
    distance_frames,
    point_distances,
    spanning_tree,
    tree_parents,
)
from deepphase.solving.point_limbs import PointBody, PointLimb, find_point_limbs
from deepphase.solving.point_tree import (
    ARM_WORDS,
    LEG_WORDS,
    PointStructure,
    PointTree,
    add_body,
    joint_positions_of,
    last_place,
    limb_names,
    middle_names,
    plain_names,
    plain_tree,
)

_UP = np.array([0.0, 1.0, 0.0])
_GROUND = np.array([1.0, 0.0, 1.0])
# Weight of each sign. Toes and knees always point forwards; elbows point backwards unless arms are
# raised, and dancers move backwards nearly as much as forwards.
_WEIGHTS = {"feet": 2.0, "knees": 2.0, "elbows": 0.5, "travel": 0.5}


def facing(positions: Array, body: PointBody) -> Array:
    """(frames, 3) unit vectors on the ground: facing of the body if its first limbs are left."""
    pairs = [body.legs, *([] if body.arms is None else [body.arms])]
    across = sum(positions[:, a.points[0]] - positions[:, b.points[0]] for a, b in pairs)
    front = np.cross(across, _UP)
    return front / np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-9)


def first_points_are_left(
    positions: Array, fps: float, body: PointBody, joints: dict[str, list[int]]
) -> tuple[float, str]:
    """Confidence that the first leg is the left one, from -1 (it is the right one) to 1.

    Parameters
    ----------
    positions
        (frames, points, 3) metres, Y up.
    """
    front = facing(positions, body)
    evidence = {}
    feet = joints.get("feet")
    if feet is not None:
        tips = [leg.points[-1] for leg in body.legs]
        if tips != feet:
            evidence["feet"] = list(np.moveaxis(positions[:, tips] - positions[:, feet], 1, 0))
        if "knees" in joints:
            evidence["knees"] = _bends(positions, body.legs, joints["knees"], feet)
    if body.arms is not None and "elbows" in joints and "hands" in joints:
        bends = _bends(positions, body.arms, joints["elbows"], joints["hands"])
        evidence["elbows"] = [-bend for bend in bends]
    hips = positions[:, [leg.points[0] for leg in body.legs]].mean(axis=1)
    evidence["travel"] = [velocities(hips, fps)]
    votes = {}
    for name, vectors in evidence.items():
        ground = [vector * _GROUND for vector in vectors]
        length = sum(float(np.linalg.norm(vector, axis=1).sum()) for vector in ground)
        along = sum(float(np.einsum("fc,fc->", vector, front)) for vector in ground)
        votes[name] = along / length if length > 1e-9 else 0.0
    total = sum(_WEIGHTS[name] for name in votes)
    confidence = sum(_WEIGHTS[name] * vote for name, vote in votes.items()) / total
    agreeing = {name: abs(vote) for name, vote in votes.items() if vote * confidence > 0}
    for_it = ", ".join(f"{name} {vote:.2f}" for name, vote in agreeing.items())
    against = ", ".join(name for name, vote in votes.items() if vote * confidence < 0)
    note = f"left and right distinguished by {for_it or 'nothing'} (1 is certain)"
    return confidence, f"{note}, against {against}" if against else note


def _bends(
    positions: Array, limbs: tuple[PointLimb, PointLimb], middles: list[int], ends: list[int]
) -> list[Array]:
    """(frames, 3) of each limb: offset of its middle joint from the line between the ends."""
    bends = []
    for limb, middle, end in zip(limbs, middles, ends, strict=True):
        start = positions[:, limb.points[0]]
        line, vector = positions[:, end] - start, positions[:, middle] - start
        squared = np.maximum(np.einsum("fc,fc->f", line, line), 1e-12)
        share = np.einsum("fc,fc->f", vector, line) / squared
        bends.append(vector - share[:, None] * line)
    return bends


# Largest distance of the hips point from the middle of both hips, as a share of their width.
_AT_HIPS = 0.4
# Below this confidence the notes call the sides a guess.
_CONFIDENT = 0.1


def find_structure(
    track: PointTrack, description: Mapping[str, Any] | None = None
) -> PointStructure:
    """Find the joints and the hierarchy of a track's points.

    Names and edges come from the description, else from the file. Without edges, points at
    constant distances are connected; legs are the two branches that reach down to the lowest
    points, arms those that leave the middle line above. The root is the hips: a point if there is
    one, else the middle between both hips. Left and right are distinguished by names, else by the
    directions of feet, knees and elbows. Unnamed points get the names of their roles.
    """
    description = description or {}
    track = _described(track, description)
    points = len(track.names)
    distances = point_distances(track.positions)
    neighbours = spanning_tree(distances, track.edges)
    ordered = len(track.edges) > 0
    notes = [
        "the hierarchy follows the edges given"
        if ordered
        else "the hierarchy was found from constant distances"
    ]
    named = track.names != plain_names(points)
    roles = parse_names(track.names) if named else [JointName("", "", "")] * points
    hips = _named_hips(track, description, roles)
    body = find_point_limbs(track.positions, distances, neighbours, ordered=ordered)
    if body is None:
        root = _most_central(distances) if hips is None else hips
        notes.append(
            "no two legs were found: name joints in a skeleton description for facing and contacts"
        )
        parents = tree_parents(neighbours, [root])
        return plain_tree(track.names, parents, notes)
    confidence, note = _sides(track, body, roles, description, distances)
    notes.append(note if abs(confidence) >= _CONFIDENT else f"{note}: a guess, check it")
    if confidence < 0:
        body = replace(
            body, legs=body.legs[::-1], arms=None if body.arms is None else body.arms[::-1]
        )
    if body.arms is None:
        notes.append("no arms were found: name shoulders and hands in a skeleton description")
    if hips is None:
        hips = _point_at_hips(track, body, distances)
    body = replace(body, lower=tuple(point for point in body.lower if point != hips))
    names = track.names if named else _role_names(track.names, body, hips, distances)
    tree = PointTree(names)
    if hips is None:
        notes.append("no point at the hips: the root is the middle between both hips")
        tree.add_middle(tuple(leg.points[0] for leg in body.legs))
    else:
        tree.add(hips, None)
    add_body(tree, body, distances, neighbours)
    return tree.structure(body, abs(confidence), notes)


def _described(track: PointTrack, description: Mapping[str, Any]) -> PointTrack:
    names = description.get("names")
    if names is not None:
        if len(names) != len(track.names):
            raise SkeletonError(
                f"the skeleton description names {len(names)} points, but the track has "
                f"{len(track.names)}",
                hint="name every point",
                path=track.source.path or None,
            )
        track = replace(track, names=tuple(names))
    edges = description.get("edges")
    if edges is not None:
        pairs = [[_index(track, name) for name in edge] for edge in edges]
        track = replace(track, edges=np.array(pairs, np.int64))
    return track


def _index(track: PointTrack, name: str) -> int:
    if name not in track.names:
        raise SkeletonError(
            f"there is no point {name!r}",
            hint=f"the points are {', '.join(track.names)}",
            path=track.source.path or None,
        )
    return track.names.index(name)


def _named_hips(
    track: PointTrack, description: Mapping[str, Any], roles: list[JointName]
) -> int | None:
    given = description.get("hips")
    if given is not None and given in track.names:
        return track.names.index(given)
    return next((p for p, role in enumerate(roles) if role.part == "hips" and not role.side), None)


def _most_central(distances: PointDistances) -> int:
    return int(np.argmin(distances.medians.sum(axis=0).round(9)))


def _sides(
    track: PointTrack,
    body: PointBody,
    roles: list[JointName],
    description: Mapping[str, Any],
    distances: PointDistances,
) -> tuple[float, str]:
    """Confidence and note as of `first_points_are_left`; names and the description come first."""
    given = {
        description.get(f"{side}_{part}"): side
        for side in ("left", "right")
        for part in PAIRED_PARTS
    }
    votes = Counter(
        side == ("left" if place == 0 else "right")
        for place, leg in enumerate(body.legs)
        for point in leg.points
        if (side := given.get(track.names[point]) or roles[point].side)
    )
    if votes[True] != votes[False]:
        confidence = 1.0 if votes[True] > votes[False] else -1.0
        return confidence, "left and right distinguished by names"
    joints: dict[str, list[int]] = {}
    for limbs, (middle, last) in ((body.legs, ("knees", "feet")), (body.arms, ("elbows", "hands"))):
        place = None if limbs is None else last_place(limbs, distances)
        if limbs is not None and place is not None:
            joints[middle] = [limb.points[1] for limb in limbs]
            joints[last] = [limb.points[place] for limb in limbs]
    return first_points_are_left(track.positions, track.fps, body, joints)


def _role_names(
    names: tuple[str, ...], body: PointBody, hips: int | None, distances: PointDistances
) -> tuple[str, ...]:
    found = middle_names(body, distances)
    if hips is not None:
        found[hips] = "Hips"
    for limbs, words in ((body.legs, LEG_WORDS), (body.arms, ARM_WORDS)):
        last = None if limbs is None else last_place(limbs, distances)
        for limb, side in zip(limbs or (), ("Left", "Right"), strict=False):
            found |= limb_names(limb, last, side, words)
    return tuple(found.get(point, name) for point, name in enumerate(names))


def _point_at_hips(track: PointTrack, body: PointBody, distances: PointDistances) -> int | None:
    first, second = (leg.points[0] for leg in body.legs)
    width = distances.medians[first, second]
    middle = track.positions[:, [first, second]].mean(axis=1)
    for point in body.lower[:1]:
        away = np.linalg.norm(track.positions[:, point] - middle, axis=1)
        if np.median(away) < _AT_HIPS * width:
            return point
    return None


def clip_of_points(
    track: PointTrack,
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> Clip:
    """Convert a track to a clip whose joints are its points: all translated, none rotated.

    The joints are exactly at the points. In the rest pose each joint is at its median distance
    from its parent, in its mean direction in upright poses.

    Parameters
    ----------
    structure
        The hierarchy, if it is known; files of one set share one.
    """
    structure = find_structure(track, description) if structure is None else structure
    points = {point for each in structure.points for point in each}
    if max(points) >= len(track.names):
        raise SkeletonError(
            f"a hierarchy of {max(points) + 1} points, but the track has {len(track.names)}",
            hint="solve files with other points separately",
            path=track.source.path or None,
        )
    parents = np.array(structure.parents)
    positions = joint_positions_of(track.positions, structure)
    local = positions.copy()
    local[:, 1:] -= positions[:, parents[1:]]
    rotations = np.tile(quaternions.IDENTITY.astype(local.dtype), (*local.shape[:2], 1))
    return Clip(
        skeleton=Skeleton(structure.names, parents, _rest_offsets_of_points(positions, structure)),
        rotations=rotations,
        translations=local,
        fps=track.fps,
        translated_joints=np.arange(len(parents)),
        labels=track.labels,
        source=replace(track.source, notes=(*track.source.notes, *structure.notes)),
        name=track.name,
    )


def _rest_offsets_of_points(positions: Array, structure: PointStructure) -> Array:
    """(joints, 3) metres."""
    frames = distance_frames(positions)
    heights = frames[:, 0, 1] - frames[..., 1].min(axis=1)
    local = frames - frames[:, np.maximum(structure.parents, 0)]
    lengths = np.median(np.linalg.norm(local, axis=-1), axis=0)
    upright = heights >= np.median(heights)
    mean = _facing_front(frames, local, structure)[upright].mean(axis=0)
    size = np.linalg.norm(mean, axis=1, keepdims=True)
    # Directions that cancel over time are arbitrary: up is used.
    directions = np.where(size > 1e-6, mean / np.maximum(size, 1e-6), _UP)
    offsets = directions * lengths[:, None]
    offsets[0] = (0.0, np.median(heights), 0.0)
    return offsets


def _facing_front(frames: Array, vectors: Array, structure: PointStructure) -> Array:
    """(frames, joints, 3) vectors rotated about Y so that the body faces +Z."""
    across = sum(frames[:, left] - frames[:, right] for left, right in structure.across)
    if not structure.across:
        return vectors
    front = np.cross(across, _UP)
    turns = quaternions.about_axis(_UP, -np.arctan2(front[:, 0], front[:, 2]))
    return quaternions.rotate(turns[:, None], vectors)
