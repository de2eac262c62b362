"""`deepphase edit inbetween`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import ClipOptions
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.editing.editor import MotionEditor
    from deepphase.motion.clip import Clip


def command(
    clips: list[Path],
    output: Path,
    editor: Path | None = None,
    seconds: float | None = None,
    keys: Path | None = None,
    follow: bool = False,
    slide: bool = False,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Make the motion between two clips, or between the keys of one clip.

    Parameters
    ----------
    clips
        Two motion files, of which the second follows the first; with --keys, one.
    output
        Clip to write (.bvh, .glb or .npz).
    editor
        Editor of `deepphase train editor`, of the clips' skeleton.
    seconds
        Duration from the last frame of the first clip to the first frame of the second.
    keys
        CSV file with a column frame, the key frames of the clip, and optionally a column time, the
        seconds at which they stand in the result.
    follow
        Turn and move the second clip to where the path of the first leads. It stays at its place
        otherwise.
    slide
        Leave the feet as the network makes them; they are held in contacts otherwise.
    player
        Page to write (.html) that plays the result; with --keys, beside the clip.
    """
    from apps.edit_files import edited, write_edited
    from deepphase.editing.inbetween import between_keys, in_between
    from deepphase.editing.targets import read_keys

    wanted = 2 if keys is None else 1
    if len(clips) != wanted:
        raise ParameterError(
            f"{len(clips)} clips, expected {wanted}",
            hint="give two clips with --seconds, or one clip with --keys",
        )
    if (seconds is None) == (keys is None):
        raise ParameterError("give either --seconds or --keys")
    named = None if keys is None else read_keys(keys)

    def make(given: list[Clip], trained: MotionEditor) -> Clip:
        if named is not None:
            return between_keys(given[0], named[0], trained, times=named[1], feet=not slide)
        assert seconds is not None
        return in_between(given[0], given[1], seconds, trained, follow=follow, feet=not slide)

    given, made = edited(clips, output, editor, player, reading, "making", make)
    write_edited(given[0], made, output, player)
