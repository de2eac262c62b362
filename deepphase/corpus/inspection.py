"""Inspection of motion files before they are prepared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepphase.arrays import Array
from deepphase.corpus.clips import ANIMATION_LABEL, PointSets, agreed_point_sets, load_clips
from deepphase.corpus.motion_files import (
    MotionFile,
    find_motion_files,
    fitting_workers,
    song_beside,
)
from deepphase.corpus.parallel import map_in_order
from deepphase.errors import DeepPhaseError, within_memory
from deepphase.formats.reading import checked_options
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import Glitch, find_glitches
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.orientation import axis_levels, body_length, other_floors
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton

_ROLES = (
    "hips",
    "chest",
    "head",
    *(
        f"{side}_{part}"
        for part in ("hip", "foot", "shoulder", "hand")
        for side in ("left", "right")
    ),
)


@dataclass(frozen=True, eq=False)
class FileFacts:
    """Content of a motion file, or of one of several animations in it.

    `skeleton`: in metres, Y up. `kind`: "biped", "quadruped" or "other". `fps`, `frames`, `unit_m`,
    `up`: as captured; metres per unit; the file's up axis. `contact_shares`: foot -> share of the
    frames in which it is in contact with the floor. `floor`: height in metres of the floor on which
    the feet are; None without feet.
    """

    file: str
    error: DeepPhaseError | None = None
    skeleton: Skeleton | None = None
    kind: str = ""
    roles: tuple[tuple[str, str], ...] = ()
    fps: float = 0.0
    frames: int = 0
    unit_m: float = 0.0
    up: str = ""
    notes: tuple[str, ...] = ()
    contact_shares: tuple[tuple[str, float], ...] = ()
    floor: float | None = None
    glitches: tuple[Glitch, ...] = ()
    first_line: int = 0
    has_rotations: bool = True
    song: str = ""
    animation: str = ""
    levels: Array | None = None
    translated: tuple[int, ...] = ()
    measured: Any = None

    @property
    def title(self) -> str:
        """The file, with the animation where it holds several."""
        return f"{self.file}: {self.animation}" if self.animation else self.file

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints; empty where the file cannot be read."""
        return () if self.skeleton is None else self.skeleton.names

    @property
    def seconds(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.frames - 1) / self.fps if self.frames else 0.0

    @property
    def group(self) -> str:
        """Name of the file's skeleton group, such as "Hips-22"."""
        return self.skeleton.group_name if self.skeleton is not None else ""


def inspect_files(
    inputs: str | Path | Sequence[str | Path],
    *,
    description: Mapping[str, Any] | None = None,
    measure: Callable[[Clip], Any] | None = None,
    workers: int | None = None,
    **reader: Any,
) -> tuple[int, Iterator[tuple[FileFacts, ...]]]:
    """Number of motion files, and an iterator over the content of each.

    Each file has one entry per animation; only glTF files have several.
    """
    checked_options(reader.get("unit"), reader.get("up"), reader.get("fps"))
    files = find_motion_files(inputs)
    point_sets = agreed_point_sets(files, description, **reader)
    tasks = [(file, point_sets, reader, measure) for file in files]
    return len(files), map_in_order(
        _facts,
        tasks,
        fitting_workers(files, workers),
        lost=lambda task, error: (FileFacts(task[0].file, error=error),),
    )


_Measure = Callable[[Clip], Any] | None


def _facts(
    task: tuple[MotionFile, PointSets, dict[str, Any], _Measure],
) -> tuple[FileFacts, ...]:
    each, point_sets, reader, measure = task

    def facts() -> tuple[FileFacts, ...]:
        clips = load_clips(each.path, each.name, point_sets, **each.reader(reader))
        return tuple(_clip_facts(clip, each, point_sets, len(clips) > 1, measure) for clip in clips)

    try:
        return within_memory(facts, about=each.path)
    except DeepPhaseError as error:
        return (FileFacts(each.file, error=error),)


def inspected_floors(files: Sequence[FileFacts]) -> tuple[float | None, list[FileFacts]]:
    """The floor of most files of a skeleton in metres, and the files with another one.

    None where no file has feet. See :func:`deepphase.motion.orientation.other_floors`.
    """
    known = [(file, file.floor) for file in files if file.floor is not None]
    if not known:
        return None, []
    skeleton = known[0][0].skeleton
    length = body_length(skeleton) if skeleton is not None else 0.0
    usual, apart = other_floors([floor for _, floor in known], length)
    return usual, [known[index][0] for index in apart]


def _clip_facts(
    clip: Clip,
    each: MotionFile,
    point_sets: PointSets,
    one_of_several: bool,
    measure: _Measure,
) -> FileFacts:
    animation = clip.labels[ANIMATION_LABEL] if one_of_several else ""
    names = clip.skeleton.names
    shares: dict[str, float] = {}
    floor = None
    try:
        roles = find_roles(clip.skeleton, point_sets.description, clip=clip)
        transforms = global_transforms(clip)
        if roles.both("foot") is not None:
            contacts = foot_contacts(clip, roles, transforms=transforms)
            floor = contacts.floor
            of_feet = zip(contacts.joints, contacts.flags.mean(0).tolist(), strict=True)
            shares = {names[joint]: share for joint, share in of_feet}
        glitches = tuple(find_glitches(clip, transforms[1]))
    except DeepPhaseError as error:
        return FileFacts(each.file, error=error, animation=animation)
    return FileFacts(
        file=each.file,
        skeleton=clip.skeleton,
        kind=roles.kind,
        roles=tuple(
            (role, names[joint]) for role in _ROLES if (joint := getattr(roles, role)) is not None
        ),
        fps=clip.source.fps or clip.fps,
        frames=len(clip),
        unit_m=clip.source.unit_m,
        up=clip.source.up,
        notes=(*clip.source.notes, *roles.notes),
        contact_shares=tuple(shares.items()),
        floor=floor,
        glitches=glitches,
        first_line=clip.source.first_line,
        has_rotations=clip.has_rotations,
        song=song_beside(each.path),
        animation=animation,
        translated=tuple(clip.translated_joints.tolist()),
        levels=axis_levels(transforms[1], clip.source.up),
        measured=None if measure is None else measure(clip),
    )
