"""Inspection of motion files before they are prepared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from deepphase.arrays import Array
from deepphase.corpus.clips import ANIMATION_LABEL, PointSets, agreed_point_sets, load_clips
from deepphase.corpus.group_passes import other_axes
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
from deepphase.motion.orientation import AXES, axis_levels, body_length
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.progress import Progress

# Skeletons that are named while files are read.
_SHOWN = 4
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
    def lowest_m(self) -> float:
        """Height in metres of the lowest joint, in all but the lowest frames."""
        return 0.0 if self.levels is None else float(self.levels[AXES.index(self.up), 0])

    @property
    def group(self) -> str:
        """Name of the file's skeleton group, such as "Hips-22"."""
        return self.skeleton.group_name if self.skeleton is not None else ""


_Measure = Callable[[Clip], Any] | None
_Task = tuple[MotionFile, PointSets, dict[str, Any], _Measure]


def inspect_files(
    inputs: str | Path | Sequence[str | Path],
    *,
    description: Mapping[str, Any] | None = None,
    measure: Callable[[Clip], Any] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **reader: Any,
) -> list[FileFacts]:
    """The content of motion files, one entry per animation; only glTF files have several.

    Files whose up axis is misread alone are read with that of their skeleton, as `prepare` does.
    """
    checked_options(reader.get("unit"), reader.get("up"), reader.get("fps"))
    files = find_motion_files(inputs)
    point_sets = agreed_point_sets(files, description, **reader)
    tasks = [(file, point_sets, reader, measure) for file in files]
    results = map_in_order(
        _facts,
        tasks,
        fitting_workers(files, workers),
        lost=lambda task, error: (FileFacts(task[0].file, error=error),),
    )
    found, so_far = [], Counter[str]()
    for facts in results:
        found.append(facts)
        so_far.update(each.group or "cannot be read" for each in facts)
        if progress is not None:
            words = ", ".join(f"{count} {name}" for name, count in so_far.most_common(_SHOWN))
            progress("inspecting", len(found), len(files), words)
    if reader.get("up") is None:
        _agree_on_axes(found, tasks)
    return list(chain.from_iterable(found))


def _agree_on_axes(found: list[tuple[FileFacts, ...]], tasks: Sequence[_Task]) -> None:
    """Read files again whose up axis differs from that of their skeleton; notes name them."""
    groups: dict[tuple[str, ...], list[tuple[int, FileFacts]]] = defaultdict(list)
    for number, facts in enumerate(found):
        for each in facts:
            if each.skeleton is not None and each.levels is not None:
                groups[tuple(sorted(each.joints))].append((number, each))
    for members in groups.values():
        ups, skeleton = [each.up for _, each in members], members[0][1].skeleton
        if len(set(ups)) < 2 or skeleton is None:
            continue
        notes, levels = zip(*((each.notes, each.levels) for _, each in members), strict=True)
        others = other_axes(ups, notes, levels, body_length(skeleton))
        of_files = {members[index][0]: each for index, each in others.items()}
        for number, (up, sentence) in of_files.items():
            if up is not None:
                file, point_sets, reader, measure = tasks[number]
                found[number] = _facts((file, point_sets, {**reader, "up": up}, measure))
            found[number] = tuple(
                replace(each, notes=(*each.notes, sentence)) for each in found[number]
            )


def _facts(task: _Task) -> tuple[FileFacts, ...]:
    each, point_sets, reader, measure = task

    def facts() -> tuple[FileFacts, ...]:
        clips = load_clips(each.path, each.name, point_sets, **each.reader(reader))
        return tuple(_clip_facts(clip, each, point_sets, len(clips) > 1, measure) for clip in clips)

    try:
        return within_memory(facts, about=each.path)
    except DeepPhaseError as error:
        return (FileFacts(each.file, error=error),)


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
