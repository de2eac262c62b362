"""Names for the points of a body that has none, in words that tell a joint's role."""

from __future__ import annotations

from collections.abc import Sequence

from deepphase.motion.point_distances import PointDistances
from deepphase.motion.point_limbs import PointBody, PointLimb

LEG_WORDS = ("Hip", "Knee", "Ankle", "Toe")
ARM_WORDS = ("Shoulder", "Elbow", "Wrist", "Hand")
_FOOT = "Foot"
# A lower leg or arm is at least this share of the upper one: what is nearer to the knee or elbow
# is a second point on it.
_LOWER_SHARE = 0.55
# Points above the shoulders that are nearer to them than this share of the farthest are the neck.
_NECK_SHARE = 0.5


def plain_names(points: int) -> tuple[str, ...]:
    """Names of points of which nothing is known: point_07 is the one of index 7."""
    return tuple(f"point_{point:02d}" for point in range(points))


def last_place(limbs: Sequence[PointLimb], distances: PointDistances) -> int | None:
    """Place of the ankle or wrist in two limbs' points; the middle joint is at 1.

    It is one place for both limbs, so that partners have one name. None where a limb has less
    than 3 points.
    """
    places = min(len(limb.points) for limb in limbs)
    if places < 3:
        return None

    def length(first: int, last: int) -> float:
        return sum(distances.medians[limb.points[first], limb.points[last]] for limb in limbs)

    upper = length(0, 1)
    far = (place for place in range(2, places) if length(1, place) >= _LOWER_SHARE * upper)
    return next(far, places - 1)


def limb_names(
    limb: PointLimb, last: int | None, side: str, words: Sequence[str]
) -> dict[int, str]:
    """Point -> name, of one limb on a side ("Left", "Right") whose ankle or wrist is at `last`."""
    upper, middle, end, tip = words
    if last is None:
        # Two points are a limb's ends, one is its beginning.
        known = [upper, end, *(f"{end}{number}" for number in range(2, len(limb.points)))]
        return {point: f"{side}{word}" for point, word in zip(limb.points, known, strict=False)}
    names = {}
    for place, point in enumerate(limb.points):
        beyond = place - last
        if place == 0:
            name = upper
        elif place < last:
            name = middle if place == 1 else f"{middle}{place}"
        elif place == last:
            name = end
        elif words is LEG_WORDS and place == len(limb.points) - 1:
            name = tip
        else:
            word = _FOOT if words is LEG_WORDS else tip
            name = word if beyond == 1 else f"{word}{beyond}"
        names[point] = f"{side}{name}"
    return names


def neck_and_head(
    body: PointBody, distances: PointDistances
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Points of the neck, from the shoulders on, and of the head, in the file's order."""
    shoulders = [arm.points[0] for arm in body.arms or ()]
    if not shoulders or not body.upper:
        return (), tuple(sorted(body.upper))
    ways = {point: float(distances.medians[point, shoulders].mean()) for point in body.upper}
    farthest = max(ways.values())
    necks = [point for point in body.upper if ways[point] < _NECK_SHARE * farthest]
    necks.sort(key=lambda point: (ways[point], point))
    return tuple(necks), tuple(sorted(set(body.upper) - set(necks)))


def middle_names(body: PointBody, distances: PointDistances) -> dict[int, str]:
    """Point -> name, of the middle line: Spine, Chest, Neck, Head."""
    names = {}
    for number, point in enumerate(body.lower, start=1):
        chest = number == len(body.lower) > 1
        names[point] = "Chest" if chest else "Spine" if number == 1 else f"Spine{number}"
    for word, points in zip(("Neck", "Head"), neck_and_head(body, distances), strict=True):
        for number, point in enumerate(points, start=1):
            names[point] = word if number == 1 else f"{word}{number}"
    return names
