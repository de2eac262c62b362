"""Detection of captured segments that several clips share, by their movement.

Sets of dances are cut from a few captures: the same seconds of a dancer stand in many clips, under
different songs. A split by song then tests on movement that was learnt from.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_body import body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles

# Seconds that have to be the same, and how far apart they are compared.
_WINDOW_S, _HOP_S = 0.6, 0.1
# Metres (root mean square over pairs of points): captures are never repeated so exactly by a
# dancer, and resampling at another fraction of a frame changes less.
_SAME_M = 0.004
# Samples of a window, dimensions it is searched in, candidates that are looked at.
_SAMPLES, _DIMENSIONS, _CANDIDATES = 5, 10, 24
# Seconds: cuts nearer to each other are one, blurred by the blend between two segments.
_SHORTEST_S = 0.5
# Frames by which the lag of a stretch may waver: windows are found at every other frame.
_LAG_SLACK = 3
# Share of a segment, here and there, that a stretch has to cover to join them.
_COVERED = 0.6


def segment_groups(positions: Sequence[Array], fps: float) -> list[Array]:
    """A number for every frame of every clip: frames of one number are of one captured segment.

    Windows of 0.6 s are the same where all distances between points of the body are, which
    knows neither where the dancer stands nor which way they face. Windows that follow each other
    at one lag are a stretch that two places share. Where a stretch begins or ends there is a cut,
    in all places that share it; what lies between two cuts is a segment, and segments that a
    stretch joins have one number. What nothing repeats is a segment of its own.

    Parameters
    ----------
    positions
        Of each clip (frames, points, 3) metres, the same points in the same order; ten or so,
        spread over the body.

    Returns
    -------
    Of each clip (frames,) int, from 0.

    Raises
    ------
    ParameterError
        Where no clip is as long as a window.
    """
    shapes = [_pair_distances(each) for each in positions]
    half = max(round(_WINDOW_S * fps) // 2, 1)
    clip, frame = _window_centres([len(each) for each in shapes], half)
    if not len(frame):
        raise ParameterError(
            f"no clip is {_WINDOW_S} s long, the window in which repeated segments are found",
            hint="give longer clips",
        )
    hop = 2 * max(round(0.5 * _HOP_S * fps), 1)
    asked = np.flatnonzero((frame - half) % hop == 0)
    partners = _same_windows(shapes, clip, frame, half, asked)
    stretches = _stretches(clip, frame, partners, half, hop)
    tolerance = max(round(_SHORTEST_S * fps), 1)
    cuts = _cuts([len(each) for each in shapes], stretches, tolerance)
    return _numbered(cuts, stretches)


def clip_segments(clips: Iterable[Clip]) -> list[Array]:
    """The `segment_groups` of clips of one rate, by their hips, legs, shoulders and arms.

    Raises
    ------
    ParameterError
        Where there is no clip, or none as long as a window.
    SkeletonError
        Where a body lacks legs or arms.
    """
    bodies, fps = [], 0.0
    for clip in clips:
        points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
        # Root and neck follow from hips and shoulders.
        bodies.append(np.stack([points[key] for key in sorted(points) if "_" in key], axis=1))
        fps = clip.fps
    if not bodies:
        raise ParameterError("there must be at least one clip")
    return segment_groups(bodies, fps)


@dataclass(frozen=True)
class _Stretch:
    """Frames start to stop - 1 of one clip, which are those `lag` later of another or the same."""

    clip: int
    start: int
    stop: int
    other: int
    lag: int


def _stretches(clip: Array, frame: Array, partners: Array, half: int, hop: int) -> list[_Stretch]:
    """Same windows that follow each other at one lag, give or take the shifts of a frame or two."""
    one, two = partners[:, 0], partners[:, 1]
    rows = np.stack([clip[one], clip[two], frame[two] - frame[one], frame[one]], axis=1)
    rows = np.unique(rows, axis=0)
    found: list[_Stretch] = []
    open_runs: dict[tuple[int, int], list[list[int]]] = {}
    for a, b, lag, at in rows[np.lexsort((rows[:, 3], rows[:, 1], rows[:, 0]))].tolist():
        runs = open_runs.setdefault((a, b), [])
        fits = [run for run in runs if at - run[1] <= 2 * hop and abs(lag - run[2]) <= _LAG_SLACK]
        if fits:
            fits[0][1] = at
        else:
            runs.append([at, at, lag])
    for (a, b), runs in open_runs.items():
        found += [
            _Stretch(a, first - half, last + half, b, lag)
            for first, last, lag in runs
            if last > first
        ]
    return found


def _cuts(lengths: list[int], stretches: list[_Stretch], tolerance: int) -> list[list[int]]:
    """Of each clip, rising, where segments begin and end: no two nearer than the tolerance."""
    cuts = [[0, length] for length in lengths]
    waiting = [
        cut
        for each in sorted(stretches, key=lambda each: each.start - each.stop)
        for at in (each.start, each.stop)
        for cut in ((each.clip, at), (each.other, at + each.lag))
    ]
    of_clip: list[list[_Stretch]] = [[] for _ in lengths]
    for each in stretches:
        of_clip[each.clip].append(each)
        start, stop = each.start + each.lag, each.stop + each.lag
        of_clip[each.other].append(_Stretch(each.other, start, stop, each.clip, -each.lag))
    while waiting:
        clip, at = waiting.pop(0)
        place = bisect(cuts[clip], at)
        if any(abs(cut - at) < tolerance for cut in cuts[clip][max(place - 1, 0) : place + 1]):
            continue
        cuts[clip].insert(place, at)
        # What shares this place is cut there as well.
        waiting += [
            (each.other, at + each.lag) for each in of_clip[clip] if each.start < at < each.stop
        ]
    return cuts


def _numbered(cuts: list[list[int]], stretches: list[_Stretch]) -> list[Array]:
    """Of each clip (frames,) the number of its segment."""
    first = np.cumsum([0, *(len(each) - 1 for each in cuts)])
    links = [(0, 0)]
    for each in stretches:
        mine, other = cuts[each.clip], cuts[each.other]
        for number in range(len(mine) - 1):
            start, stop = mine[number], mine[number + 1]
            covered = min(stop, each.stop) - max(start, each.start)
            if covered < _COVERED * (stop - start):
                continue
            start, stop = start + each.lag, stop + each.lag
            there = bisect(other, (start + stop) // 2) - 1
            if not 0 <= there < len(other) - 1:
                continue
            common = min(stop, other[there + 1]) - max(start, other[there])
            if common >= _COVERED * max(stop - start, other[there + 1] - other[there]):
                links.append((first[each.clip] + number, first[each.other] + there))
    one, two = np.array(links).T
    count = int(first[-1])
    graph = coo_matrix((np.ones(len(links)), (one, two)), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    return [
        np.repeat(component[first[i] : first[i + 1]], np.diff(each)) for i, each in enumerate(cuts)
    ]


def _pair_distances(positions: Array) -> Array:
    """(frames, pairs) metres between points."""
    points = positions.astype(np.float32)
    pairs = combinations(range(points.shape[1]), 2)
    return np.stack(
        [np.linalg.norm(points[:, one] - points[:, other], axis=-1) for one, other in pairs], axis=1
    )


def _window_centres(lengths: list[int], half: int) -> tuple[Array, Array]:
    """(windows,) clip and middle frame: every other frame, and two at each end left for shifts."""
    frames = [np.arange(half + 2, max(length - half - 2, half + 2), 2) for length in lengths]
    clips = np.repeat(np.arange(len(lengths)), [len(each) for each in frames])
    return clips, np.concatenate(frames)


def _same_windows(shapes: list[Array], clip: Array, frame: Array, half: int, asked: Array) -> Array:
    """(n, 2) windows that are the same: one that was asked for, and one apart from it."""
    steps = np.unique(np.linspace(-half, half, _SAMPLES).round().astype(int))
    starts = np.cumsum([0, *(len(each) for each in shapes)])
    flat = np.concatenate(shapes)
    where = starts[clip] + frame
    mean = flat.mean(axis=0)
    sample = np.concatenate([flat[where[asked] + step] - mean for step in steps], axis=1)
    _, axes = np.linalg.eigh(sample.T @ sample)
    axes = axes[:, ::-1][:, : min(_DIMENSIONS, axes.shape[1])]
    width = flat.shape[1]
    rows = sum(
        (flat[where + step] - mean) @ axes[number * width : (number + 1) * width]
        for number, step in enumerate(steps)
    )
    tree = cKDTree(rows)
    count = min(_CANDIDATES, len(rows))
    _, near = tree.query(rows[asked], k=count)
    near = near.reshape(len(asked), -1)
    found = []
    for column in range(near.shape[1]):
        other = near[:, column]
        far = (clip[other] != clip[asked]) | (np.abs(frame[other] - frame[asked]) > 4 * half)
        some = np.flatnonzero(far)
        apart = _apart(flat, where[asked[some]], where[other[some]], steps)
        same = some[apart < _SAME_M]
        found.append(np.stack([asked[same], other[same]], axis=1))
    return np.concatenate(found)


def _apart(flat: Array, one: Array, other: Array, steps: Array) -> Array:
    """(n,) metres between windows, at the shift of up to a frame at which they are nearest."""
    here, there = (
        np.stack([flat[x + step] for step in steps], axis=1).astype(np.float64)
        for x in (one, other)
    )
    slope = np.stack([flat[other + step + 1] - flat[other + step - 1] for step in steps], axis=1)
    slope = 0.5 * slope
    gap = here - there
    power = np.einsum("nsp,nsp->n", slope, slope)
    shift = np.einsum("nsp,nsp->n", gap, slope) / np.maximum(power, 1e-12)
    shift = np.clip(shift, -1.1, 1.1)
    rest = gap - shift[:, None, None] * slope
    return np.sqrt(np.mean(rest**2, axis=(1, 2)))
