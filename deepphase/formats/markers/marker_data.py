"""Markers as a file states them, and the bodies among them: unlabelled markers, subjects, gaps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import FormatError
from deepphase.formats.reading import CHECK, CORRECTED, listed, unique_names, with_notes
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import ball_points

# Same limit as of point tracks: all pairs of points are compared.
MAX_POINTS = 4096
# What programs write for a coordinate of a marker that was not seen; others write 0 for all three,
# or another number that no body reaches.
_UNSEEN, _UNREACHED = 9_999_999, 999
# Labels that programs give to markers that nobody labelled; C3D files have empty ones, too.
_UNLABELLED = re.compile(
    r"|\*.*|u_\d+|(unlabell?ed|unnamed|unidentified|uname|unknown|ghost)\W*\w*|new \d+"
)
# Results of Plug-in Gait, which lie among the markers as if they were places.
_NO_PLACE = re.compile(r".*[a-z](Angles?|Forces?|Moments?|Powers?|GRF)")
# Fewer markers under a prefix are a prop, not a body.
_FEWEST = 8
# How labels without a colon name the body: before the marker's own name, behind it, by a number.
_BODY_AND_NAME = (
    re.compile(r"(?P<body>[^/|]+)[/|](?P<name>.+)"),
    re.compile(r"(?P<body>[^-_. ]+)[-_. ](?P<name>.+)"),
    re.compile(r"(?P<name>.+)[-_. ](?P<body>[^-_. ]+)"),
    re.compile(r"(?P<name>.+)(?P<body>\d)"),
)
_SIDES = {"l", "r", "left", "right"}
# Bodies so named have the same names for this share of the markers, and are so far apart, in sizes
# of a body: markers of one segment that are counted lie together.
_SHARED, _APART = 0.9, 0.15
# Markers that are seen in a smaller share of the frames are left out: their gaps cannot be bridged.
_LEAST_SEEN = 0.1
_LISTED = 8


# Frames that are missing for each that is there, as of markers that are seen in a tenth of the
# frames; and seconds over which nobody knows what the body did.
_MOST_MISSING, _LONG_GAP_S = 9, 0.25


@dataclass(frozen=True, eq=False)
class MarkerData:
    """The content of a file of markers."""

    names: tuple[str, ...]  # (points,) labels
    positions: Array  # (frames, points, 3) in units of the file; NaN where a marker is not seen
    rates: Mapping[str, float]  # Rates that the file states, by name
    unit_m: float | None = None  # Metres in one unit of the file; None if it states none
    notes: tuple[str, ...] = ()  # What was assumed, one sentence each
    subject: str = ""  # Prefix of the labels of a body, where the file has several
    # (edges, 2) pairs of connected points; and (frames, points) which were seen, if known
    edges: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    present: Array | None = None

    def chosen(self, points: Sequence[int], *notes: str) -> MarkerData:
        """Some of the points, in this order, with more notes."""
        row = np.full(len(self.names), -1)
        row[list(points)] = np.arange(len(points))
        edges = row[self.edges]
        return replace(
            self,
            names=tuple(self.names[point] for point in points),
            positions=self.positions[:, list(points)],
            notes=(*self.notes, *notes),
            edges=edges[(edges >= 0).all(axis=1)],
            present=None if self.present is None else self.present[:, list(points)],
        )


def marker_bodies(data: MarkerData) -> list[MarkerData]:
    """The bodies of a file, one a prefix of labels; props and unlabelled markers are left out."""
    own = [name.rpartition(":")[2].strip() for name in data.names]
    prefixes = [name.rpartition(":")[0].strip() for name in data.names]
    labelled = [p for p, name in enumerate(own) if not _UNLABELLED.fullmatch(name.lower())]
    no_places = [point for point in labelled if _NO_PLACE.fullmatch(own[point])]
    labelled = [point for point in labelled if point not in no_places]
    if len(labelled) < 2:
        filled = tuple(name or f"point_{point:02d}" for point, name in enumerate(data.names))
        return [replace(data, names=filled)]
    notes = []
    if no_places:
        notes.append(f"{len(no_places)} of {len(own)} points were left out: angles and forces")
    if unnamed := len(own) - len(labelled) - len(no_places):
        notes.append(f"{unnamed} markers without a label were left out")
    if len(set(prefixes)) == 1 and (groups := _bodies_by_name(data, own, labelled)):
        for prefix, markers in groups.items():
            for label, point in markers.items():
                prefixes[point], own[point] = prefix, label
        notes.append(f"bodies told apart by their labels: {listed(list(groups), _LISTED)}")
    counts = Counter(prefixes[point] for point in labelled if prefixes[point])
    subjects = [prefix for prefix, count in counts.items() if count >= _FEWEST]
    if not subjects:
        return [data.chosen(labelled, *notes)]
    # A ball belongs to every body of a file; markers without a prefix to the only one.
    common = {*ball_points(data.names)}
    if len(subjects) == 1:
        common |= {point for point in labelled if not prefixes[point]}
    bodies = []
    for subject in subjects:
        points = [p for p in labelled if prefixes[p] == subject or p in common]
        body = data.chosen(points, *notes)
        names = tuple(own[point] for point in points)
        bodies.append(replace(body, names=names, subject=subject if len(subjects) > 1 else ""))
    taken = sum(count for prefix, count in counts.items() if prefix in subjects)
    if taken + len(common) < len(labelled):
        note = f"{len(labelled) - taken - len(common)} markers of props or without a body's prefix"
        bodies = [replace(b, notes=(*b.notes, f"{note} were left out")) for b in bodies]
    return bodies


def _bodies_by_name(
    data: MarkerData, own: Sequence[str], labelled: Sequence[int]
) -> dict[str, dict[str, int]]:
    """Markers of each body by their own names, where labels without a colon name several."""
    for pattern in _BODY_AND_NAME:
        groups: dict[str, dict[str, int]] = {}
        for point in labelled:
            if match := pattern.fullmatch(own[point]):
                groups.setdefault(match["body"], {})[match["name"]] = point
        groups = {body: points for body, points in groups.items() if len(points) >= _FEWEST}
        if len(groups) < 2 or _SIDES & {body.lower() for body in groups}:
            continue
        shared = sorted(set.intersection(*map(set, groups.values())))
        if len(groups) * len(shared) < _SHARED * len(labelled):
            continue
        away = _unseen(data.positions) | ~np.isfinite(data.positions).all(axis=-1)
        places = np.ma.array(data.positions, mask=np.repeat(away[..., None], 3, axis=-1))
        first, *others = (places[:, [body[n] for n in shared]] for body in groups.values())
        size = np.ma.median(np.ma.sqrt((np.ma.ptp(first, axis=1) ** 2).sum(axis=-1)))
        apart = [np.ma.median(np.ma.sqrt(((other - first) ** 2).sum(axis=-1))) for other in others]
        # A masked number is no distance: nothing was seen.
        if np.ma.filled(np.ma.array(apart) > _APART * size, False).all():
            return groups
    return {}


def _unseen(positions: Array) -> Array:
    """(frames, points) places that stand for markers which were not seen."""
    zeros = (positions == 0).all(axis=-1)
    always = zeros.all(axis=0)
    others = positions[:, ~always]
    if always.any() and others.size:
        # These points may be the origin of the others, which are then all around it.
        near = np.nan_to_num(others)
        around = (near.min(axis=1) < 0) & (near.max(axis=1) > 0)
        zeros[:, always] &= around.all(axis=-1).mean() < 0.9
    alike = (positions == positions[..., :1]).all(axis=-1)
    zeros |= alike & (np.abs(positions[..., 0]) >= _UNREACHED)
    return zeros | (np.abs(positions) >= _UNSEEN).any(axis=-1)


def seen_markers(data: MarkerData, path: Path) -> MarkerData:
    """Markers that are seen often enough, with gaps bridged, and which were seen."""
    names, renamed = unique_names(data.names)
    notes = [f"repeated labels were numbered: {listed(renamed, _LISTED)}"] if renamed else []
    positions = np.array(data.positions)
    frames, points = positions.shape[:2]
    fault = partial(FormatError, path=path)
    if frames == 0 or points == 0:
        hint = "export at least one frame with two markers"
        raise fault(f"there are {frames} frames of {points} markers", hint=hint)
    if points > MAX_POINTS:
        raise fault(f"one body has {points:,} points", hint=f"the limit is {MAX_POINTS:,}")
    positions[~np.isfinite(positions).all(axis=-1)] = np.nan
    unseen = _unseen(positions)
    if unseen.any():
        notes.append(f"{unseen.sum():,} places of zeros or from {_UNSEEN:,} on are gaps")
        positions[unseen] = np.nan
    present = np.isfinite(positions[..., 0])
    visible = np.flatnonzero(present.any(axis=1))
    if len(visible) and (after := frames - 1 - int(visible[-1])):
        # Programs fill up arrays and takes of one length so.
        notes.append(f"the last {after:,} frames, in which no point is seen, were left out")
        frames -= after
        positions, present = positions[:frames], present[:frames]
        if data.present is not None:
            data = replace(data, present=data.present[:frames])
    is_kept = present.mean(axis=0) >= max(_LEAST_SEEN, 1.0 / frames)
    kept = np.flatnonzero(is_kept).tolist()
    if len(kept) < 2:
        hint = "label and fill the markers in the program of the capture"
        raise fault(f"{len(kept)} of {points} markers are seen in a tenth of the frames", hint=hint)
    if len(kept) < points:
        left = listed([name for name, own in zip(names, is_kept, strict=True) if not own], _LISTED)
        share = f"less than {_LEAST_SEEN:.0%} of the frames"
        notes.append(f"markers that are seen in {share} were left out: {left}")
    data = replace(data, names=names, positions=positions).chosen(kept)
    positions, present = data.positions, present[:, kept]
    gaps, index = ~present, np.arange(frames)
    shares = gaps.mean(axis=0)
    if gaps.any():
        longest = max(stop - start for column in gaps.T for start, stop in true_runs(column))
        worst = np.argsort(-shares, kind="stable")[:3].tolist()
        said = ", ".join(f"{data.names[p]} {shares[p]:.1%}" for p in worst if shares[p])
        where = f"in {gaps.mean():.1%} of the marker frames, the longest of {longest} frames"
        notes.append(f"gaps {where}, most in {said}: bridged by straight lines")
    for point in np.flatnonzero(shares).tolist():
        gap, visible = gaps[:, point], present[:, point]
        for axis in range(3):
            places = positions[visible, point, axis]
            positions[gap, point, axis] = np.interp(index[gap], index[visible], places)
    if data.present is not None:
        present &= data.present
    return replace(data, notes=(*data.notes, *notes), present=present)


def frame_numbers(words: Sequence[str]) -> Array:
    """(frames,) int64 numbers of frames; empty where some words are none."""
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        return np.zeros(0, np.int64)
    return np.array([int(word) for word in words], np.int64)


def frames_by_time(seconds: Array, fps: float) -> Array:
    """(frames,) int64 numbers of frames by their times; empty where most are no frame apart."""
    steps = np.rint(np.diff(seconds) * fps)
    if not len(steps) or not steps.min() >= 1 or np.median(steps) != 1:
        return np.zeros(0, np.int64)
    return np.append(0, steps.cumsum()).astype(np.int64)


def bridged(clip: Clip, frames: Array) -> Clip:
    """The clip with the frames that their numbers leave out on straight lines, and a note."""
    steps = np.diff(frames)
    # Numbers that all grow by as much are those of every other frame, and leave out none.
    if not len(steps) or steps.min() == steps.max():
        return clip
    gap = int(steps.argmax())
    missing, longest = int((steps - 1).sum()), int(steps[gap]) - 1
    note = f"{missing:,} frames are missing, at most {longest:,} together after {frames[gap]}"
    if steps.min() < 1:
        note = f"numbers of frames repeat or go back after {frames[steps.argmin()]}"
    if steps.min() < 1 or missing > _MOST_MISSING * len(clip):
        return with_notes(clip, [f"{CHECK}{note}: the motion jumps there"])
    place = np.arange(frames[0], frames[-1] + 1)
    after = np.searchsorted(frames, place[1:-1])
    share = ((place[1:-1] - frames[after - 1]) / steps[after - 1])[:, None, None]

    def filled(values: Array) -> Array:
        inner = values[after - 1] * (1.0 - share) + values[after] * share
        return np.concatenate([values[:1], inner, values[-1:]])

    rotations = quaternions.normalized(filled(quaternions.sign_continuous(clip.rotations)))
    clip = replace(clip, rotations=rotations, translations=filled(clip.translations))
    long = longest > _LONG_GAP_S * clip.fps
    doubt = f"{CHECK}too long to be known: cut it out" if long else ""
    return with_notes(
        clip, [f"{CORRECTED}{note}: bridged by straight lines{doubt and '; '}{doubt}"]
    )
