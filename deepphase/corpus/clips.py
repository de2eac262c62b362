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
from deepphase.corpus.motion_files import (
    SONG_SUFFIXES,
    MotionFile,
    existing,
    files_under,
    find_motion_files,
    is_motion_file,
    song_beside,
)
from deepphase.corpus.store import groups_with, open_store, store_groups
from deepphase.corpus.store_format import is_store
from deepphase.errors import DeepPhaseError, FormatError, ParameterError, within_memory
from deepphase.formats.frame_rates import CHECK
from deepphase.formats.load import holds_points, list_animations, load, load_all
from deepphase.formats.reading import checked_options, with_doubts, with_notes
from deepphase.motion.clip import Clip
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.music.audio import sound_bytes, stated_duration_s
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress
from deepphase.solving.point_structure import PointStructure, clip_of_points, find_structure

# Label with the animation of a clip, for files with several.
ANIMATION_LABEL = "animation"
# Number of files, evenly spread, that determine a hierarchy.
_MAX_SAMPLES = 60
_POINT_OPTIONS = ("unit", "up", "fps", "floor")
# Rates of songs' clips that are written wrong, over the right ones, and how near lengths agree.
_WRONG_RATES, _SAME_LENGTH = (0.25, 0.5, 2.0, 4.0), 0.01


@dataclass(frozen=True)
class PointSets:
    """The hierarchy of each kind of point tracks: those of the same points.

    `notes` (points, sentence) where files of one kind disagree.
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

    Files that cannot be read are ignored. `reader` has options of `deepphase.formats.load.load`.
    """
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
        same = [[other for other in candidates if other == each] for each in candidates]
        most = max(same, key=lambda group: (len(group), sum(each.confidence for each in group)))
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
        clips = tuple(with_doubts(point_sets.clip_of(each)) for each in point_tracks(path, reader))
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
    doubt = f"its song is {wrong:g} times as long: --file-fps {clip.fps / wrong:g} may be its rate"
    return with_notes(clip, [f"{CHECK}{doubt}"])


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
            entries += [
                ClipEntry(
                    store.names[index],
                    partial(_stored_clip, Path(path).absolute(), store.group, index),
                    int(store.lengths[index]) * frame_bytes,
                )
                for index in range(len(store))
            ]
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
    """The clips of a motion file, read one by one; named as by :func:`load_clips`.

    A file that cannot be read is one entry, whose `load` raises.
    """
    reader = file.reader(reader)
    animations: Sequence[tuple[int, str]] = ()
    size = 0
    with suppress(DeepPhaseError):
        animations = within_memory(list_animations, file.path)
    with suppress(OSError):
        size = file.path.stat().st_size
    several = len(animations) > 1
    return [
        ClipEntry(
            f"{file.name} {name}" if several else file.name,
            partial(_entry_clip, file, number if several else None, name, point_sets, reader),
            size // max(len(animations), 1),
        )
        for number, name in (animations if several else [(0, "")])
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
        bodies: Sequence[tuple[int, str]] = ()
        with suppress(DeepPhaseError):
            bodies = within_memory(list_animations, file.path) if holds_points(file.path) else ()
        found += [
            replace(file, name=f"{file.name} {subject}", body=number) for number, subject in bodies
        ] or [file]
    return found


def song_entries(paths: str | Path | Sequence[str | Path]) -> list[ClipEntry]:
    """The songs among files and in folders, as entries whose `load` gives their features.

    Raises FormatError as :func:`find_songs`.
    """
    songs = [song.absolute() for song in find_songs(paths)]
    return [
        ClipEntry(song.stem, partial(song_features, song), song.stat().st_size) for song in songs
    ]


def find_songs(inputs: str | Path | Sequence[str | Path]) -> list[Path]:
    """All sound files among files and under folders, sorted by their path.

    Hidden files and folders are skipped.
    """
    given = existing(inputs)
    found = {path for path in given if not path.is_dir()}
    found |= {
        path for root in given if root.is_dir() for path in files_under(root) if _is_song(path)
    }
    if not found:
        raise FormatError(
            "there are no songs here",
            hint=f"give sound files ({', '.join(SONG_SUFFIXES)}), or a folder that has some",
            path=given[0] if given else None,
        )
    return sorted(found)


def holds_only_songs(path: str | Path) -> bool:
    """Whether a path is a sound file, or a folder of sound files without any motion."""
    path = Path(path)
    if not path.is_dir():
        return _is_song(path) and path.is_file()
    files = list(files_under(path))
    return any(map(_is_song, files)) and not any(map(is_motion_file, files))


def _is_song(path: Path) -> bool:
    return path.suffix.lower() in SONG_SUFFIXES


@dataclass(frozen=True, eq=False)
class ClipSongs:
    """Clips with a song each.

    `left_out` (clip, reason) of clips without a song.
    """

    store: ClipStore
    songs: Mapping[str, SongFeatures]
    left_out: tuple[tuple[str, str], ...]


def songs_of_clips(store: ClipStore, folder: Path, progress: Progress | None = None) -> ClipSongs:
    """Features of the songs of a store's clips."""
    songs: dict[str, SongFeatures] = {}
    refused: dict[str, str] = {"": "no song beside it"}
    left_out, kept = [], []
    for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True), start=1):
        if source.song not in songs and source.song not in refused:
            try:
                songs[source.song] = song_features(folder / source.song)
            except DeepPhaseError as error:
                refused[source.song] = str(error)
        if source.song in songs:
            kept.append(name)
        else:
            left_out.append((name, refused[source.song]))
        if progress is not None:
            progress("reading songs", number, len(store), name)
    if not kept:
        shown = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise ParameterError(
            "no clip has a song that can be read",
            hint=f"put a sound file of the same name ({', '.join(SONG_SUFFIXES)}) beside each "
            f"clip, or give the folder of the songs with --songs\n  {shown}",
        )
    if len(kept) < len(store):
        store = store.selected(kept)
    return ClipSongs(store, songs, tuple(left_out))
