"""Hierarchies of point tracks, agreed on by the files of a folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepphase.corpus.motion_files import MotionFile
from deepphase.errors import DeepPhaseError
from deepphase.formats.points import holds_points, load_points
from deepphase.memory import within_memory
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.solving.point_clip import clip_of_points
from deepphase.solving.point_structure import find_structure
from deepphase.solving.point_tree import PointStructure

# Number of files, evenly spread, that determine a hierarchy.
_MAX_SAMPLES = 60
_OPTIONS = ("unit", "up", "fps", "floor")


@dataclass(frozen=True)
class PointSets:
    """The hierarchy of each kind of point tracks: those of the same points.

    Parameters
    ----------
    structures
        Names of the points (generic ones where files have none) -> their structure.
    description
        The given skeleton description.
    notes
        (points, sentence) where files of one kind disagree.
    """

    structures: Mapping[tuple[str, ...], PointStructure] = field(default_factory=dict)
    description: Mapping[str, Any] | None = None
    notes: tuple[tuple[str, str], ...] = ()

    def clip_of(self, track: PointTrack) -> Clip:
        """The track as a clip of its kind's skeleton. Raises SkeletonError as `clip_of_points`."""
        return clip_of_points(track, self.description, structure=self.structures.get(track.names))


def agreed_point_sets(
    files: Sequence[MotionFile], description: Mapping[str, Any] | None = None, **reader: Any
) -> PointSets:
    """Hierarchies of the point tracks among files, by majority of the files of each kind.

    Files that cannot be read are ignored.

    Parameters
    ----------
    reader
        Options of :func:`deepphase.formats.load.load`.
    """
    tracks = [each for each in files if holds_points(each.path)]
    step = -(-len(tracks) // _MAX_SAMPLES) or 1
    found: dict[tuple[str, ...], list[PointStructure]] = defaultdict(list)
    for each in tracks[::step]:
        try:
            names, structure = within_memory(
                _structure, each.path, description, each.reader(reader)
            )
        except DeepPhaseError:
            continue
        found[names].append(structure)
    structures, notes = {}, []
    for names, candidates in found.items():
        chosen = _most_common(candidates)
        structures[names] = chosen
        agreeing = candidates.count(chosen)
        if agreeing < len(candidates):
            notes.append(
                (
                    f"{len(names)} points",
                    f"{agreeing} of {len(candidates)} files agree on the roles of the points, "
                    "which are used for all",
                )
            )
    return PointSets(structures, description, tuple(notes))


def _structure(
    path: Path, description: Mapping[str, Any] | None, reader: Mapping[str, Any]
) -> tuple[tuple[str, ...], PointStructure]:
    track = without_balls(load_points(path, **_known(reader)))
    return track.names, find_structure(track, description)


def load_point_clip(path: str | Path, point_sets: PointSets, **reader: Any) -> Clip:
    """Read a point track as a clip, with the hierarchy of its set.

    Raises DeepPhaseError as :func:`deepphase.formats.points.load_points` and
    :meth:`PointSets.clip_of` do.
    """
    return point_sets.clip_of(without_balls(load_points(path, **_known(reader))))


def _most_common(candidates: list[PointStructure]) -> PointStructure:
    # Ties go to the higher confidence in left and right.
    def weight(candidate: PointStructure) -> tuple[int, float]:
        same = [each.confidence for each in candidates if each == candidate]
        return len(same), sum(same)

    return max(candidates, key=weight)


def _known(reader: Mapping[str, Any]) -> dict[str, Any]:
    return {name: reader[name] for name in _OPTIONS if name in reader}
