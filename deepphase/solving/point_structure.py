"""Joints and hierarchy of the points of a track, stated by its file or found from motion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, velocities
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import PAIRED_PARTS
from deepphase.motion.skeleton import JointName, Skeleton, parse_names
from deepphase.solving.marker_sets import JointRow, marker_joints, named_edges
from deepphase.solving.point_limbs import (
    PointBody,
    PointDistances,
    PointLimb,
    distance_frames,
    find_point_limbs,
    point_distances,
    tree_parents,
)

UP = np.array([0.0, 1.0, 0.0])
_GROUND = np.array([1.0, 0.0, 1.0])
# Words for the joints of a leg and of an arm: upper, middle and last joint, what lies beyond, tip.
_LEG_WORDS = ("Hip", "Knee", "Ankle", "Foot", "Toe")
_ARM_WORDS = ("Shoulder", "Elbow", "Wrist", "Hand", "Hand")
# A lower leg or arm is at least this share of the upper one: what is nearer to the knee or elbow
# is a second point on it.
LOWER_SHARE = 0.55
# Points above the shoulders, closer than this share of the farthest one's distance, are the neck.
_NECK_SHARE = 0.5
# Largest distance of the hips point from the middle of both hips, as a share of their width.
_AT_HIPS = 0.4
# Weight of each sign. Toes and knees always point forwards; elbows point backwards unless arms are
# raised, and dancers move backwards nearly as much as forwards.
_WEIGHTS = {"feet": 2.0, "knees": 2.0, "elbows": 0.5, "travel": 0.5}
# Below this confidence the notes call the sides a guess.
_CONFIDENT = 0.1


@dataclass(frozen=True)
class PointStructure:
    """A hierarchy of joints, each at the mean of some points."""

    names: tuple[str, ...]  # (joints,) parents before their children; the first is the root
    parents: tuple[int, ...]  # (joints,) index of each joint's parent; -1 for the root
    # (joints,) the points whose mean each joint is: one or several.
    points: tuple[tuple[int, ...], ...]
    # (left, right) joints of hips and shoulders; empty if no legs were found.
    across: tuple[tuple[int, int], ...] = ()
    # (point, joint) pairs of points that move with joints which are not at them
    carried: tuple[tuple[int, int], ...] = ()
    confidence: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def joint_positions(self, positions: Array) -> Array:
        """(frames, joints, 3) positions of the joints from (frames, points, 3)."""
        return np.stack([positions[:, list(points)].mean(axis=1) for points in self.points], 1)


def facing_of(positions: Array, across: Iterable[tuple[int, int]]) -> Array:
    """(frames, 4) rotations about Y from +Z to the front, by pairs of left and right points."""
    left = sum(positions[:, one] - positions[:, other] for one, other in across)
    front = np.cross(left, UP)
    return quaternions.about_axis(UP, np.arctan2(front[:, 0], front[:, 2]))


def plain_names(points: int) -> tuple[str, ...]:
    """Names of unnamed points: point_07 has index 7."""
    return tuple(f"point_{point:02d}" for point in range(points))


def find_structure(
    track: PointTrack, description: Mapping[str, Any] | None = None
) -> PointStructure:
    """Find the joints and the hierarchy of a track's points.

    Names and edges come from the description, else from the file, else from a standard marker set,
    else from motion: points at constant distances are connected, legs reach down to the lowest
    points, arms leave the middle line above; feet, knees and elbows tell left from right.
    """
    description = description or {}
    if not {*description} - {"kind"} and (rows := marker_joints(track.names)):
        return _of_marker_set(track, rows)
    track = _described(track, description)
    points = len(track.names)
    named = track.names != plain_names(points)
    names = parse_names(track.names) if named else [JointName("", "", "")] * points
    how = "follows the edges given" if len(track.edges) else "was found from constant distances"
    if not len(track.edges) and (edges := named_edges(names)):
        track, how = replace(track, edges=np.array(edges)), "follows the names of the points"
    ordered, notes = len(track.edges) > 0, [f"the hierarchy {how}"]
    distances = point_distances(track.positions, track.edges)
    hips = next((p for p, name in enumerate(names) if name.part == "hips" and not name.side), None)
    if description.get("hips") in track.names:
        hips = track.names.index(description["hips"])
    body = find_point_limbs(track.positions, distances, ordered=ordered)
    if body is None:
        central = int(np.argmin(distances.medians.sum(axis=0).round(9)))
        notes.append(
            "no two legs were found: name joints in a skeleton description for facing and contacts"
        )
        above = tree_parents(distances.neighbours, [central if hips is None else hips])
        return _as_structure(track.names, above, notes)
    confidence, note = _sides(track, body, names, description, distances)
    notes.append(note if abs(confidence) >= _CONFIDENT else f"{note}: a guess, check it")
    if confidence < 0:
        arms = None if body.arms is None else body.arms[::-1]
        body = replace(body, legs=body.legs[::-1], arms=arms)
    if body.arms is None:
        notes.append("no arms were found: name shoulders and hands in a skeleton description")
    first, second = (leg.points[0] for leg in body.legs)
    if hips is None and body.lower:
        middle = track.positions[:, [first, second]].mean(axis=1)
        away = np.linalg.norm(track.positions[:, body.lower[0]] - middle, axis=1)
        if np.median(away) < _AT_HIPS * distances.medians[first, second]:
            hips = body.lower[0]
    body = replace(body, lower=tuple(point for point in body.lower if point != hips))
    neck = _neck_and_head(body, distances)
    if not named:
        found = _role_names(body, hips, neck, distances)
        track = replace(track, names=tuple(map(found.get, range(points), track.names)))
    if hips is None:
        notes.append("no point at the hips: the root is the middle between both hips")
    above = _body_tree(body, hips, neck, distances.neighbours)
    structure = _as_structure(track.names, above, notes, (first, second) if hips is None else ())
    joints = {points[0]: joint for joint, points in enumerate(structure.points) if len(points) == 1}
    across = tuple((joints[left.points[0]], joints[right.points[0]]) for left, right in body.pairs)
    return replace(structure, across=across, confidence=abs(confidence))


def _of_marker_set(track: PointTrack, rows: Sequence[JointRow]) -> PointStructure:
    """The structure of a standard set; other markers move with the one to which they keep best."""
    names = tuple(row[0] for row in rows)
    carriers = {point: joint for joint, row in enumerate(rows) for point in row[3]}
    known, distances = sorted(carriers), point_distances(track.positions, track.edges)
    moved = distances.changes * distances.medians
    for point in set(range(len(track.names))) - {*known}:
        carriers[point] = carriers[known[int(np.argmin(moved[point, known]))]]
    pairs = [("LeftUpLeg", "RightUpLeg"), ("LeftArm", "RightArm")]
    return PointStructure(
        names,
        tuple(names.index(parent) if parent else -1 for _, parent, _, _ in rows),
        tuple(row[2] for row in rows),
        tuple((names.index(a), names.index(b)) for a, b in pairs if a in names),
        tuple(sorted(carriers.items())),
        1.0,
        (
            f"{len(known)} of {len(track.names)} labels are those of a standard marker set: joints "
            "are at the middle of their markers",
        ),
    )


def _described(track: PointTrack, description: Mapping[str, Any]) -> PointTrack:
    path = track.source.path or None
    names, edges = description.get("names"), description.get("edges")
    if names is not None:
        if len(names) != len(track.names):
            raise SkeletonError(
                f"the skeleton description names {len(names)} points, but the track has "
                f"{len(track.names)}",
                hint="name every point",
                path=path,
            )
        track = replace(track, names=tuple(names))
    if edges is not None:
        index = {name: point for point, name in enumerate(track.names)}
        unknown = next((name for edge in edges for name in edge if name not in index), None)
        if unknown is not None:
            listed = f"the points are {', '.join(track.names)}"
            raise SkeletonError(f"there is no point {unknown!r}", hint=listed, path=path)
        pairs = [[index[name] for name in edge] for edge in edges]
        track = replace(track, edges=np.array(pairs, np.int64))
    return track


def _sides(
    track: PointTrack,
    body: PointBody,
    names: list[JointName],
    description: Mapping[str, Any],
    distances: PointDistances,
) -> tuple[float, str]:
    """Confidence that the first leg is the left one, from -1 to 1: names first, then motion."""
    described = {
        description.get(f"{side}_{part}"): side
        for side in ("left", "right")
        for part in PAIRED_PARTS
    }
    votes = Counter(
        side == ("left" if place == 0 else "right")
        for place, leg in enumerate(body.legs)
        for point in leg.points
        if (side := described.get(track.names[point]) or names[point].side)
    )
    if votes[True] != votes[False]:
        confidence = 1.0 if votes[True] > votes[False] else -1.0
        return confidence, "left and right distinguished by names"
    return _sides_by_motion(track.positions, track.fps, body, distances)


def _sides_by_motion(
    positions: Array, fps: float, body: PointBody, distances: PointDistances
) -> tuple[float, str]:
    across = [(left.points[0], right.points[0]) for left, right in body.pairs]
    front = quaternions.rotate(facing_of(positions, across), np.array([0.0, 0.0, 1.0]))
    evidence = {}
    ankle = _last_place(body.legs, distances)
    if ankle is not None:
        feet, tips = ([leg.points[place] for leg in body.legs] for place in (ankle, -1))
        if tips != feet:
            evidence["feet"] = positions[:, tips] - positions[:, feet]
        evidence["knees"] = _bends(positions, body.legs, ankle)
    wrist = None if body.arms is None else _last_place(body.arms, distances)
    if body.arms is not None and wrist is not None:
        evidence["elbows"] = -_bends(positions, body.arms, wrist)
    hips = positions[:, [leg.points[0] for leg in body.legs]].mean(axis=1)
    evidence["travel"] = velocities(hips, fps)[:, None]
    votes = {}
    for name, vectors in evidence.items():
        length = float(np.linalg.norm(vectors * _GROUND, axis=-1).sum())
        along = float(np.einsum("flc,fc->", vectors, front))
        votes[name] = along / length if length > 1e-9 else 0.0
    total = sum(_WEIGHTS[name] for name in votes)
    confidence = sum(_WEIGHTS[name] * vote for name, vote in votes.items()) / total
    agreeing = [f"{name} {abs(v):.2f}" for name, v in votes.items() if v * confidence > 0]
    against = ", ".join(name for name, vote in votes.items() if vote * confidence < 0)
    note = f"left and right distinguished by {', '.join(agreeing) or 'nothing'} (1 is certain)"
    return confidence, f"{note}, against {against}" if against else note


def _bends(positions: Array, limbs: tuple[PointLimb, PointLimb], last: int) -> Array:
    """(frames, limbs, 3) offset of middle joints from the line between the ends of their limbs."""
    start, middle, end = (
        positions[:, [limb.points[place] for limb in limbs]] for place in (0, 1, last)
    )
    line, vector = end - start, middle - start
    share = np.vecdot(vector, line) / np.maximum(np.vecdot(line, line), 1e-12)
    return vector - share[..., None] * line


def _last_place(limbs: tuple[PointLimb, PointLimb], distances: PointDistances) -> int | None:
    """Index of the ankle or wrist in two limbs, for both one; None of fewer than 3 points."""
    places = min(len(limb.points) for limb in limbs)
    if places < 3:
        return None

    def length(first: int, last: int) -> float:
        return sum(distances.medians[limb.points[first], limb.points[last]] for limb in limbs)

    upper = length(0, 1)
    far = (place for place in range(2, places) if length(1, place) >= LOWER_SHARE * upper)
    return next(far, places - 1)


def _neck_and_head(body: PointBody, distances: PointDistances) -> tuple[list[int], list[int]]:
    """Points of the neck, from the shoulders on, and of the head, in the file's order."""
    shoulders = [arm.points[0] for arm in body.arms or ()]
    if not shoulders or not body.upper:
        return [], sorted(body.upper)
    away = {point: float(distances.medians[point, shoulders].mean()) for point in body.upper}
    necks = [point for point in away if away[point] < _NECK_SHARE * max(away.values())]
    return sorted(necks, key=lambda point: (away[point], point)), sorted({*away} - {*necks})


def _role_names(
    body: PointBody, hips: int | None, neck: tuple[list[int], list[int]], distances: PointDistances
) -> dict[int, str]:
    """Point -> name of its role: Hips, Spine, Chest, Neck, Head, LeftKnee and so on."""
    found = dict(zip(body.lower, _numbered("Spine", len(body.lower)), strict=True))
    if len(body.lower) > 1:
        found[body.lower[-1]] = "Chest"
    for word, points in zip(("Neck", "Head"), neck, strict=True):
        found |= zip(points, _numbered(word, len(points)), strict=True)
    if hips is not None:
        found[hips] = "Hips"
    for limbs, words in zip(body.pairs, (_LEG_WORDS, _ARM_WORDS), strict=False):
        upper, middle, end, beyond, tip = words
        last = _last_place(limbs, distances)
        for limb, side in zip(limbs, ("Left", "Right"), strict=True):
            count = len(limb.points)
            if last is None:
                # Two points are both ends of a limb, one is its start.
                known = [upper, *_numbered(end, count - 1)]
            else:
                known = [upper, *_numbered(middle, last - 1), end]
                known += _numbered(beyond, count - 1 - last)
                if count - 1 > last and tip != beyond:
                    known[-1] = tip
            found |= {p: f"{side}{word}" for p, word in zip(limb.points, known, strict=True)}
    return found


def _numbered(word: str, count: int) -> list[str]:
    return [word if number == 1 else f"{word}{number}" for number in range(1, count + 1)]


def _body_tree(
    body: PointBody,
    hips: int | None,
    neck: tuple[list[int], list[int]],
    neighbours: list[list[int]],
) -> dict[int, int]:
    """Point -> the point above it, -1 for the root, parents first."""
    root = -1 if hips is None else hips
    above = {} if hips is None else {hips: -1}

    def add_chain(points: Iterable[int], top: int) -> int:
        """Add points below each other; the last one."""
        for point in points:
            above.setdefault(point, top)
            top = point
        return top

    def add_limbs(limbs: Iterable[PointLimb], start: int) -> None:
        for limb in limbs:
            for point, parent in zip(limb.points, limb.parents, strict=True):
                above.setdefault(point, start if parent < 0 else parent)

    add_limbs(body.legs, root)
    chest = add_chain(body.lower, root)
    add_limbs(body.arms or (), chest)
    necks, heads = neck
    top = add_chain(heads[:1], add_chain(necks, chest))
    above |= dict.fromkeys(heads[1:], top)
    for point, parent in tree_parents(neighbours, list(above)).items():
        above.setdefault(point, parent)
    return above


def _as_structure(
    names: tuple[str, ...], above: Mapping[int, int], notes: list[str], middle: tuple[int, ...] = ()
) -> PointStructure:
    """The structure of points below others, or below a root at the mean of `middle` points."""
    order = {point: joint for joint, point in enumerate(above, start=len(middle) > 0)}
    parents = [order.get(parent, -1 if not middle else 0) for parent in above.values()]
    points: list[tuple[int, ...]] = [(point,) for point in above]
    joint_names = [names[point] for point in above]
    if middle:
        root = "Hips"
        while root in names:
            root = f"Middle{root}"
        joint_names, parents, points = [root, *joint_names], [-1, *parents], [middle, *points]
    return PointStructure(tuple(joint_names), tuple(parents), tuple(points), notes=tuple(notes))


def clip_of_points(
    track: PointTrack,
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> Clip:
    """Convert a track to a clip whose joints are its points: all translated, none rotated.

    At rest each joint is at its median distance from its parent, in its mean upright direction.
    """
    structure = find_structure(track, description) if structure is None else structure
    points = {point for joint_points in structure.points for point in joint_points}
    if max(points) >= len(track.names):
        raise SkeletonError(
            f"a hierarchy of {max(points) + 1} points, but the track has {len(track.names)}",
            hint="solve files with other points separately",
            path=track.source.path or None,
        )
    parents = np.array(structure.parents)
    positions = structure.joint_positions(track.positions)
    local = positions.copy()
    local[:, 1:] -= positions[:, parents[1:]]
    rotations = np.tile(quaternions.IDENTITY.astype(local.dtype), (*local.shape[:2], 1))
    return Clip(
        skeleton=Skeleton(structure.names, parents, _rest_offsets(positions, structure)),
        rotations=rotations,
        translations=local,
        fps=track.fps,
        translated_joints=np.arange(len(parents)),
        labels=track.labels,
        source=replace(track.source, notes=(*track.source.notes, *structure.notes)),
        name=track.name,
    )


def _rest_offsets(positions: Array, structure: PointStructure) -> Array:
    """(joints, 3) metres."""
    frames = distance_frames(positions)
    heights = frames[:, 0, 1] - frames[..., 1].min(axis=1)
    local = frames - frames[:, np.maximum(structure.parents, 0)]
    lengths = np.median(np.linalg.norm(local, axis=-1), axis=0)
    if structure.across:
        # The body faces +Z.
        turns = quaternions.conjugate(facing_of(frames, structure.across))
        local = quaternions.rotate(turns[:, None], local)
    mean = local[heights >= np.median(heights)].mean(axis=0)
    size = np.linalg.norm(mean, axis=1, keepdims=True)
    # Directions that cancel over time are arbitrary: up is used.
    offsets = np.where(size > 1e-6, mean / np.maximum(size, 1e-6), UP) * lengths[:, None]
    offsets[0] = (0.0, np.median(heights), 0.0)
    return offsets
