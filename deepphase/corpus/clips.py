"""Clips at paths: of motion files, folders and stores, with the hierarchies of point tracks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import MotionFile, find_motion_files, is_store, song_beside
from deepphase.corpus.store import groups_with, open_store, store_groups
from deepphase.errors import DeepPhaseError
from deepphase.formats.doubts import with_doubts
from deepphase.formats.load import holds_points, list_animations, load, load_all
from deepphase.formats.reading import CHECK, checked_options, with_notes
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.music.audio import sound_bytes, stated_duration_s
from deepphase.solving.point_structure import PointStructure, clip_of_points, find_structure
from deepphase.work import within_memory

# Label with the animation of a clip, for files with several.
ANIMATION_LABEL = "animation"
# Number of files, evenly spread, that determine a hierarchy.
_MAX_SAMPLES = 60
_POINT_OPTIONS = ("unit", "up", "fps", "floor")
# Rates of songs' clips that are written wrong, over the right ones, and how near lengths agree.
_WRONG_RATES, _SAME_LENGTH = (0.25, 0.5, 2.0, 4.0), 0.01


@dataclass(frozen=True)
class PointSets:
    """The hierarchy of each kind of point tracks, and notes (points, sentence) on disagreements."""

    structures: Mapping[tuple[str, ...], PointStructure] = field(default_factory=dict)
    description: Mapping[str, Any] | None = None
    notes: tuple[tuple[str, str], ...] = ()

    def clip_of(self, track: PointTrack) -> Clip:
        """The track as a clip of its kind's skeleton. Raises SkeletonError as `clip_of_points`."""
        return clip_of_points(track, self.description, structure=self.structures.get(track.names))


def agreed_point_sets(
    files: Sequence[MotionFile], description: Mapping[str, Any] | None = None, **reader: Any
) -> PointSets:
    """Hierarchies of the point tracks among files, by majority of the files of each kind."""
    tracks = [file for file in files if holds_points(file.path)]
    step = -(-len(tracks) // _MAX_SAMPLES) or 1
    found: dict[tuple[str, ...], list[PointStructure]] = defaultdict(list)
    for file in tracks[::step]:
        with suppress(DeepPhaseError):
            for track in within_memory(point_tracks, file.path, file.reader(reader)):
                found[track.names].append(within_memory(find_structure, track, description))
    structures, notes = {}, []
    for names, candidates in found.items():
        # Ties go to the higher confidence in left and right.
        same = [[other for other in candidates if other == candidate] for candidate in candidates]
        most = max(same, key=lambda group: (len(group), sum(guess.confidence for guess in group)))
        structures[names] = most[0]
        if len(most) < len(candidates):
            agree = f"{len(most)} of {len(candidates)} files agree on the roles of the points"
            notes.append((f"{len(names)} points", f"{agree}, which are used for all"))
    return PointSets(structures, description, tuple(notes))


def point_tracks(path: Path, reader: Mapping[str, Any]) -> list[PointTrack]:
    """The tracks of all bodies of a file of points, without balls."""
    options = {name: reader[name] for name in _POINT_OPTIONS if name in reader}
    from deepphase.formats.points import load_point_bodies

    return [without_balls(track) for track in load_point_bodies(path, **options)]


def load_clips(path: Path, name: str, point_sets: PointSets, **reader: Any) -> tuple[Clip, ...]:
    """All clips of a motion file, point tracks with the hierarchies of their sets.

    The only clip of a file has `name`; of several, the name of the animation, or of the body of a
    file of markers, is appended, and added as a label. `reader` has options of
    `deepphase.formats.load.load`, as which it raises.
    """
    if holds_points(path):
        clips = tuple(with_doubts(point_sets.clip_of(body)) for body in point_tracks(path, reader))
    else:
        clips = load_all(path, **reader)
    if len(clips) == 1:
        return (replace(_beside_song(clips[0], path), name=name),)
    return tuple(_of_animation(clip, name, clip.name) for clip in clips)


def _beside_song(clip: Clip, path: Path) -> Clip:
    """The clip, with a doubt where the song beside it is as long as the clip at another rate."""
    if not (song := song_beside(path)):
        return clip
    song_s = 0.0
    with suppress(DeepPhaseError):
        song_s = stated_duration_s(sound_bytes(path.with_name(song)), song)
    longer = song_s * clip.fps / len(clip)
    wrong = next((rate for rate in _WRONG_RATES if abs(longer / rate - 1) < _SAME_LENGTH), None)
    if wrong is None:
        return clip
    way = f"give the rate with --file-fps, as {clip.fps / wrong:g}"
    return with_notes(clip, [f"{CHECK}its song is {wrong:g} times as long: {way}"])


def _of_animation(clip: Clip, file_name: str, animation: str) -> Clip:
    labels = {**clip.labels, ANIMATION_LABEL: animation}
    return replace(clip, name=f"{file_name} {animation}", labels=labels)


@dataclass(frozen=True)
class ClipEntry:
    """A clip that has not been read yet."""

    name: str
    load: Callable[[], Any]
    size: int = 0


def clips_in(
    paths: Sequence[str | Path],
    *,
    skeleton: str | None = None,
    joints: Sequence[str] = (),
    description: Mapping[str, Any] | None = None,
    **reader: Any,
) -> list[ClipEntry]:
    """Every clip of stores, motion files and folders; for glTF every animation."""
    checked_options(reader.get("unit"), reader.get("up"), reader.get("fps"))
    entries = []
    stores = [path for path in paths if is_store(path)]
    for path in stores:
        every = skeleton is None and not joints
        groups = store_groups(path) if every else groups_with(path, skeleton, joints)
        for store in [open_store(path, group.name) for group in groups]:
            frame_bytes = (store.rotations.nbytes + store.translations.nbytes) // store.frames
            for index, (name, frames) in enumerate(zip(store.names, store.lengths, strict=True)):
                load_clip = partial(_stored_clip, Path(path).absolute(), store.group, index)
                entries.append(ClipEntry(name, load_clip, int(frames) * frame_bytes))
    files = [path for path in paths if path not in stores]
    if files:
        options = {name: value for name, value in reader.items() if value not in (None, False)}
        found = find_motion_files(files)
        point_sets = agreed_point_sets(found, description, **options)
        for file in found:
            entries += clip_entries(file, point_sets, **options)
    return entries


def _stored_clip(path: Path, group: str, index: int) -> Clip:
    # Not of the open store, whose frames would be pickled.
    return _opened(path, group, path.stat().st_mtime_ns).clip(index)


@lru_cache(maxsize=4)
def _opened(path: Path, group: str, written_ns: int) -> ClipStore:
    """A store whose content was verified before, opened once per process."""
    return open_store(path, group, verify=False)


def clip_entries(file: MotionFile, point_sets: PointSets, **reader: Any) -> list[ClipEntry]:
    """The clips of a motion file, named as by `load_clips`; else one whose `load` raises."""
    reader = file.reader(reader)
    animations = _animations(file)
    if len(animations) < 2:
        load_one = partial(_entry_clip, file, None, "", point_sets, reader)
        return [ClipEntry(file.name, load_one, file.size)]
    one = partial(_entry_clip, file, point_sets=point_sets, reader=reader)
    return [
        ClipEntry(f"{file.name} {name}", partial(one, number, name), file.size // len(animations))
        for number, name in animations
    ]


def _entry_clip(
    file: MotionFile, number: int | None, name: str, point_sets: PointSets, reader: dict[str, Any]
) -> Clip:
    """The only clip of a file, or the one of a number and name."""
    if number is None or holds_points(file.path):
        about = {"about": file.path, **reader}
        return within_memory(load_clips, file.path, file.name, point_sets, **about)[number or 0]
    clip = within_memory(load, file.path, about=file.path, animation=number, **reader)
    return _of_animation(clip, file.name, name)


def files_of_bodies(files: Sequence[MotionFile]) -> list[MotionFile]:
    """The files, one a body for files of markers that have several."""
    found: list[MotionFile] = []
    for file in files:
        bodies = _animations(file) if holds_points(file.path) else ()
        own = [replace(file, name=f"{file.name} {name}", body=number) for number, name in bodies]
        found += own or [file]
    return found


def _animations(file: MotionFile) -> Sequence[tuple[int, str]]:
    """Numbers and names of the animations, or bodies, of a file; none where it cannot be read."""
    with suppress(DeepPhaseError):
        return within_memory(list_animations, file.path)
    return ()
