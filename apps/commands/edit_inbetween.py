"""`deepphase edit inbetween`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from apps.terminal import next_step, progress
from deepphase.errors import FormatError, ParameterError


def command(
    clips: list[Path],
    output: Path,
    editor: Path | None = None,
    seconds: float | None = None,
    keys: Path | None = None,
    follow: bool = False,
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
    player
        Page to write (.html) that plays the result; with --keys, beside the clip.
    """
    from apps.edit_files import (
        check_output,
        load_editor,
        read_clip,
        save_before_and_after,
        save_edited,
    )
    from deepphase.editing.inbetween import between_keys, in_between

    wanted = 2 if keys is None else 1
    if len(clips) != wanted:
        raise ParameterError(
            f"{len(clips)} clips, expected {wanted}",
            hint="give two clips with --seconds, or one clip with --keys",
        )
    if (seconds is None) == (keys is None):
        raise ParameterError("give either --seconds or --keys")
    for clip in clips:
        check_output(clip, output, player)
    trained = load_editor(editor)
    with progress() as report_progress:
        report_progress("reading", 0, 2, clips[0].name)
        given = [read_clip(clip, trained, reading) for clip in clips]
        report_progress("making", 1, 2, output.name)
        if keys is not None:
            frames, times = _keys(keys)
            made = between_keys(given[0], frames, trained, times=times)
        else:
            assert seconds is not None
            made = in_between(given[0], given[1], seconds, trained, follow=follow)
        report_progress("making", 2, 2, output.name)
    save_edited(made, output)
    if player is not None:
        save_before_and_after(given[0], made, player)
    next_step("play", output)


def _keys(path: Path) -> tuple[list[int], list[float] | None]:
    """Frames and times of a file of keys. Raises FormatError with the line of a mistake."""
    import csv

    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"unreadable: {error}", path=path) from None
    names = [name.strip() for name in rows[0]] if rows else []
    if "frame" not in names or set(names) - {"frame", "time"}:
        raise FormatError(
            f"columns {', '.join(names) or 'none'}",
            hint="expected frame, or frame and time",
            path=path,
            line=1,
        )
    frames: list[int] = []
    times: list[float] = []
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            values = dict(zip(names, row, strict=True))
            frames.append(int(values["frame"]))
            times.append(float(values.get("time", 0.0)))
        except ValueError:
            raise FormatError(
                f"{','.join(row)!r} is no key", hint="as in 30, or 30,1.0", path=path, line=line
            ) from None
    return frames, times if "time" in names else None
