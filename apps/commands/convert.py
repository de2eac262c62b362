"""`deepphase convert`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import deepphase as dp
from deepphase.apps.input_checks import claimed
from deepphase.apps.options import FileOptions, parse_names
from deepphase.apps.terminal import each_clip, note, note_some, refuse_unwritten, table, warn
from deepphase.arrays import counted
from deepphase.corpus.motion_files import clip_targets, is_store
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.formats.reading import listed
from deepphase.motion.clip import Clip, without_joints

if TYPE_CHECKING:
    from deepphase.corpus.clips import ClipEntry

# Notes that are printed, of all files together.
_MAX_NOTES = 12
_COLUMNS = (
    *("clip", "scale", "feet, mean cm", "feet, max cm", "held hands, max cm"),
    *("sliding cm/s, scaled", "sliding cm/s"),
)


def command(
    clips: list[Path],
    output: Path,
    to: Path | None = None,
    format: Literal["bvh", "glb", "npz", "fbx", "amass", "csv"] = "bvh",
    start: float | None = None,
    stop: float | None = None,
    fps: float | None = None,
    without: str = "",
    keep_names: bool = False,
    allow_truncated: bool = False,
    skeleton: str | None = None,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> None:
    """Convert clips to another file format, or put them on another skeleton (--to).

    On another skeleton of the same kind of body, joints correspond by their roles, rest poses are
    aligned, and lengths are scaled by the legs. Feet, and hands at the floor or at each other, are
    brought to their scaled places by inverse kinematics. Prints how far they remain from them, and
    how fast feet in contact slide.

    Parameters
    ----------
    output
        File to write, whose suffix selects the format; a folder if there are several clips.
    to
        Motion file with another skeleton, or a store of it, of several bodies the largest. Its unit
        and axes are those of the results.
    format
        File format of the clips in an output folder. amass writes .npz of SMPL-H, also as a single
        file; a body of two legs is put on the skeleton of SMPL. csv is a table of the places of
        all joints, which is not read again.
    start
        Seconds of the clip at which the result begins.
    stop
        Seconds of the clip at which the result ends.
    fps
        Frames a second of the result.
    without
        Joints to leave out, as in Neck,*Thumb*: names with commas between them, where * stands for
        any letters. All other joints keep their places.
    keep_names
        Write joint names to BVH as they are. Else "_" replaces blanks, colons and brackets,
        which other programs misread.
    """
    from deepphase.corpus.clips import clips_in
    from deepphase.formats.amass import BODY, save_amass, smpl_layout, smpl_skeleton

    moved = None if to is None else _Moved(_sample(to))
    suffix, write = ("npz", save_amass) if format == "amass" else (format, save)
    reader: dict[str, Any] = {
        "allow_truncated": allow_truncated,
        "description": reading.description,
    }
    entries = clips_in(clips, skeleton=skeleton, **reader, **reading.reader)
    targets = iter(claimed(clip_targets([entry.name for entry in entries], clips, output, suffix)))
    # Notes of the readers are printed once each.
    texts: dict[str, None] = {}
    seconds: list[float] = []

    def write_entry(entry: ClipEntry) -> None:
        target, clip = next(targets), entry.load()
        clip = _without(_cut(clip, start, stop, fps), without)
        if moved is not None:
            clip = moved.clip(clip)
        if format == "amass" and smpl_layout(clip) is None:
            clip = dp.retarget(clip, smpl_skeleton(BODY)).clip
        is_bvh = target.suffix.lower() == ".bvh"
        write(clip, target, **({"keep_names": keep_names} if is_bvh else {}))
        texts.update(dict.fromkeys(clip.source.notes))
        seconds.append(len(clip) / clip.fps)

    refused = each_clip(entries, write_entry, "writing", "written")
    note_some(list(texts), "notes; `deepphase inspect` prints those of each file", _MAX_NOTES)
    note(f"{counted(len(seconds), 'clip')}, {sum(seconds) / 60.0:.1f} minutes -> {output}")
    if moved is not None:
        moved.report()
    refuse_unwritten(refused)


def _sample(path: Path) -> Clip:
    """The clip whose skeleton others are put on; says which it is of several."""
    from deepphase.corpus.clips import clips_in

    if is_store(path):
        store = dp.corpus.open_store(path)
        sample, name, others = store.clip(0), store.group, store.other_bodies
    else:
        entries = clips_in([path])
        sample = entries[0].load()
        name, others = sample.name, tuple(entry.name for entry in entries[1:])
    if others:
        note(f"onto the skeleton of {name} in {path}, not of {listed(others)}: --to takes one file")
    return sample


def _cut(clip: Clip, start: float | None, stop: float | None, fps: float | None) -> Clip:
    """The clip from one second to another, at another rate."""
    seconds = clip.duration
    # Before it is cut: the frames beyond the borders count.
    clip = clip if fps is None else dp.resample(clip, fps)
    first = 0 if start is None else round(start * clip.fps)
    last = len(clip) if stop is None else min(round(stop * clip.fps) + 1, len(clip))
    if not 0 <= first < last:
        raise ParameterError(
            f"{clip.name}: nothing is left from {start or 0:g} s to {stop or seconds:g} s",
            hint=f"the clip lasts {seconds:.2f} s",
        )
    return clip if last - first == len(clip) else clip.sliced(first, last)


def _without(clip: Clip, listed: str) -> Clip:
    """The clip without the joints of a list of names and patterns."""
    names, left_out = clip.skeleton.names, set[int]()
    for pattern in parse_names(listed):
        fitting = [joint for joint, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not fitting:
            raise ParameterError(
                f"{clip.name}: there is no joint {pattern!r}", hint=f"joints: {', '.join(names)}"
            )
        left_out.update(fitting)
    return without_joints(clip, left_out) if left_out else clip


class _Moved:
    """Clips on the skeleton of a sample, with what is printed about them."""

    def __init__(self, sample: Clip) -> None:
        self._sample = sample
        self._rows: list[tuple[str, ...]] = []
        self._unmatched: dict[str, None] = {}

    def clip(self, clip: Clip) -> Clip:
        """The clip on the skeleton."""
        done = dp.retarget(clip, self._sample)
        # Feet farther than a twentieth of the leg from their place are said to miss it.
        errors, close = 100.0 * done.foot_errors, 5.0 * done.leg_m
        values = (errors.mean(), errors.max(), 100.0 * done.hand_errors.max(initial=0.0))
        speeds = (100.0 * done.sliding_source, 100.0 * done.sliding)
        texts = [*(f"{value:.2f}" for value in values), *(f"{speed:.1f}" for speed in speeds)]
        self._rows.append((clip.name, f"{done.scale:.3f}", *texts))
        self._unmatched.update(dict.fromkeys(done.unmatched))
        far = float((errors > close).mean())
        if far > 0:
            frames = f"{clip.name}: in {100 * far:.1f} % of the frames a foot is more than"
            warn(f"{frames} {close:.0f} cm from its place: legs are too short there")
        return done.clip

    def report(self) -> None:
        """Print the table."""
        table(_COLUMNS, self._rows, more="clips")
        if self._unmatched:
            note(f"without a counterpart, as in the reference pose: {', '.join(self._unmatched)}")
