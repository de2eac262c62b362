"""Inspection of motion files before they are prepared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from deepphase.arrays import Array
from deepphase.corpus.clips import ANIMATION_LABEL, PointSets, agreed_point_sets, load_clips
from deepphase.corpus.group_passes import files_of_another_rate, other_axes
from deepphase.corpus.groups import bodies_of, once
from deepphase.corpus.motion_files import MotionFile, find_motion_files, song_beside
from deepphase.errors import DeepPhaseError
from deepphase.formats.reading import checked_options
from deepphase.motion.clip import Clip, Source, global_transforms
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import Glitch, find_glitches
from deepphase.motion.orientation import AXES, axis_levels, body_length
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.work import Progress, map_in_order, report, within_memory, workers_for

# Skeletons that are named while files are read.
_SHOWN = 4
_PAIRS = tuple(
    f"{side}_{part}" for part in ("hip", "foot", "shoulder", "hand") for side in ("left", "right")
)
_ROLES = ("hips", "chest", "head", *_PAIRS)
# What many files have in common.
_COMMON = ("skeleton", "translated_joints", "source", "roles", "notes")


@dataclass(frozen=True, eq=False, slots=True)
class FileFacts:
    """Content of a motion file, or of one of several animations in it; or why it cannot be read."""

    file: str
    error: DeepPhaseError | None = None
    animation: str = ""
    skeleton: Skeleton | None = None
    translated_joints: tuple[int, ...] = ()
    source: Source = field(default_factory=Source)  # Without path and notes
    fps: float = 0.0  # Captured frames per second
    frames: int = 0
    seconds: float = 0.0  # From the first frame to the last
    has_rotations: bool = True
    kind: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # Foot -> share of the frames in which it is on the floor, whose height in metres follows.
    contact_shares: Mapping[str, float] = field(default_factory=dict)
    floor: float | None = None
    glitches: tuple[Glitch, ...] = ()
    song: str = ""
    levels: Array | None = None  # See `axis_levels`
    lowest_m: float = 0.0  # Height of the lowest joint, in all but the lowest frames
    measured: Any = None

    @property
    def title(self) -> str:
        """The file, with the animation where it holds several."""
        return f"{self.file}: {self.animation}" if self.animation else self.file


def inspect_files(
    inputs: str | Path | Sequence[str | Path],
    *,
    description: Mapping[str, Any] | None = None,
    measure: Callable[[Clip], Any] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **reader: Any,
) -> list[FileFacts]:
    """The content of motion files, an entry per animation, read with their skeleton's up axis."""
    checked_options(reader.get("unit"), reader.get("up"), reader.get("fps"))
    files = find_motion_files(inputs)
    facts_of = partial(_facts, agreed_point_sets(files, description, **reader), measure)
    tasks = ((file, file.reader(reader)) for file in files)
    processes = workers_for([file.size for file in files], workers)
    lost = {"lost": lambda task, error: (FileFacts(task[0].file, error),)}
    found, so_far, kept = [], Counter[str](), dict[bytes, Any]()
    for facts in map_in_order(facts_of, tasks, processes, **lost):
        of_many = ({name: once(getattr(fact, name), kept) for name in _COMMON} for fact in facts)
        found.append(tuple(replace(each, **own) for each, own in zip(facts, of_many, strict=True)))
        skeletons = [fact.skeleton for fact in facts]
        so_far.update(body.group_name if body else "cannot be read" for body in skeletons)
        words = ", ".join(f"{count} {name}" for name, count in so_far.most_common(_SHOWN))
        report(progress, "inspecting", len(found), len(files), words)
    if reader.get("up") is None:
        for number, (up, sentence) in _other_axes(found).items():
            if up is not None:
                file = files[number]
                found[number] = facts_of((file, file.reader({**reader, "up": up})))
            noted = (replace(fact, notes=(*fact.notes, sentence)) for fact in found[number])
            found[number] = tuple(noted)
    every = list(chain.from_iterable(found))
    stated = (
        (fact.file, fact.skeleton and fact.skeleton.hierarchy, fact.fps, fact.notes)
        for fact in every
    )
    rates = dict(files_of_another_rate(stated))
    return [
        replace(fact, notes=(*fact.notes, rates[fact.file])) if fact.file in rates else fact
        for fact in every
    ]


def _other_axes(found: list[tuple[FileFacts, ...]]) -> dict[int, tuple[str | None, str]]:
    """Numbers of files whose up axis differs from that of their body, as `other_axes`."""
    groups: dict[tuple[str, ...], list[tuple[int, FileFacts]]] = defaultdict(list)
    for number, fact in ((number, fact) for number, facts in enumerate(found) for fact in facts):
        if fact.skeleton is not None:
            groups[fact.skeleton.names].append((number, fact))
    others: dict[int, tuple[str | None, str]] = {}
    for members in groups.values():
        for body in bodies_of([fact for _, fact in members]):
            facts: list[Any] = [members[index][1] for index in body]
            ups, notes = [fact.source.up for fact in facts], [fact.notes for fact in facts]
            length = body_length(facts[0].skeleton)
            of_body = other_axes(ups, notes, [fact.levels for fact in facts], length)
            others |= {members[body[index]][0]: axis for index, axis in of_body.items()}
    return others


def _facts(
    point_sets: PointSets,
    measure: Callable[[Clip], Any] | None,
    task: tuple[MotionFile, Mapping[str, Any]],
) -> tuple[FileFacts, ...]:
    file, reader = task

    def facts() -> tuple[FileFacts, ...]:
        clips = load_clips(file.path, file.name, point_sets, **reader)
        song, several = song_beside(file.path), len(clips) > 1
        names = [clip.labels[ANIMATION_LABEL] if several else "" for clip in clips]
        plain = [FileFacts(file.file, animation=name, song=song) for name in names]
        options = point_sets.description, measure
        return tuple(_clip_facts(*pair, *options) for pair in zip(clips, plain, strict=True))

    try:
        return within_memory(facts, about=file.path)
    except DeepPhaseError as error:
        return (FileFacts(file.file, error),)


def _clip_facts(
    clip: Clip,
    plain: FileFacts,
    description: Mapping[str, Any] | None,
    measure: Callable[[Clip], Any] | None,
) -> FileFacts:
    names, shares, floor = clip.skeleton.names, dict[str, float](), None
    try:
        roles = find_roles(clip.skeleton, description, clip=clip)
        transforms = global_transforms(clip)
        if roles.both("foot") is not None:
            contacts = foot_contacts(clip, roles, transforms=transforms)
            floor = contacts.floor
            of_feet = zip(contacts.joints, contacts.flags.mean(0).tolist(), strict=True)
            shares = {names[joint]: share for joint, share in of_feet}
        glitches = tuple(find_glitches(clip, transforms[1]))
    except DeepPhaseError as error:
        return replace(plain, error=error)
    levels, fps = axis_levels(transforms[1], clip.source.up), clip.source.fps or clip.fps
    return replace(
        plain,
        skeleton=clip.skeleton,
        translated_joints=tuple(clip.translated_joints.tolist()),
        source=replace(clip.source, path="", notes=()),
        fps=fps,
        frames=len(clip),
        seconds=(len(clip) - 1) / fps,
        has_rotations=clip.has_rotations,
        kind=roles.kind,
        roles={role: names[own] for role in _ROLES if (own := getattr(roles, role)) is not None},
        notes=(*clip.source.notes, *roles.notes),
        contact_shares=shares,
        floor=floor,
        glitches=glitches,
        levels=levels,
        lowest_m=float(levels[AXES.index(clip.source.up), 0]),
        measured=None if measure is None else measure(clip),
    )
