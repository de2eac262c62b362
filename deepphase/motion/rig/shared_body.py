"""The body that point tracks of one person, or of several, share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.point_structure import find_structure
from deepphase.motion.point_track import PointTrack
from deepphase.motion.point_tree import PointStructure
from deepphase.motion.rig.body import RigBody, rest_body
from deepphase.motion.rig.fitting import fitted_body
from deepphase.motion.rig.planning import plan_rig

# Bodies this near in size are one person's.
_SAME_SIZE = 0.03
# As many tracks as a shared body is fitted to.
_TRACKS_FITTED = 12


def rig_body(
    tracks: Sequence[PointTrack],
    description: Mapping[str, Any] | None = None,
    *,
    structure: PointStructure | None = None,
) -> RigBody:
    """The body that tracks of the same points share.

    Tracks of people of other sizes have no say: of the median size, and near it, some are taken.

    Parameters
    ----------
    description
        A skeleton description: see :func:`deepphase.motion.point_structure.find_structure`.
    structure
        The hierarchy, where it is known; by default the first track's.

    Raises
    ------
    SkeletonError
        Where tracks are of different points, or no two legs are found in them.
    """
    if not tracks:
        raise ParameterError("a body of no tracks")
    for track in tracks:
        check_points(track, len(tracks[0].names))
    structure = find_structure(tracks[0], description) if structure is None else structure
    plan = plan_rig(tracks[0], description, structure=structure)
    sizes = np.array([rest_body([track], plan).measured for track in tracks])
    order = np.argsort(np.abs(sizes / np.median(sizes) - 1.0), kind="stable")
    near = [index for index in order if abs(sizes[index] / sizes[order[0]] - 1.0) < _SAME_SIZE]
    return fitted_body([tracks[index] for index in near[:_TRACKS_FITTED]], plan)


def check_points(track: PointTrack, points: int) -> None:
    """Raise SkeletonError unless a track has so many points."""
    if len(track.names) != points:
        raise SkeletonError(
            f"{len(track.names)} points, and the skeleton to share is of {points}",
            hint="rig files of other points by themselves",
            path=track.source.path or None,
        )


def scale_to(track: PointTrack, body: RigBody) -> float:
    """Times that a track's points are enlarged to be of a body's size; 1 where they nearly are."""
    scale = body.measured / max(rest_body([track], body.plan).measured, 1e-9)
    return 1.0 if abs(scale - 1.0) < _SAME_SIZE else scale
