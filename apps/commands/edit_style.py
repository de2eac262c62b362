"""`deepphase edit style`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from apps.terminal import note
from deepphase.errors import ParameterError


def command(
    clip: Path,
    output: Path,
    editor: Path | None = None,
    style: str | None = None,
    amount: float = 1.0,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Give a clip the style of other clips; its timing and its path stay.

    Parameters
    ----------
    clip
        Motion file whose movement stays.
    output
        Clip to write (.bvh, .glb or .npz).
    editor
        Editor of `deepphase train editor`, of the clips' skeleton.
    style
        Motion files of one style, separated by commas; best of the same action.
    amount
        How much of the style: 0 is none, 1 all, 1.5 the most.
    player
        Page to write (.html) that plays the clip before and after.
    """
    from apps.edit_files import edited, write_edited
    from deepphase.editing.style import check_amount, styled

    check_amount(amount)
    styles = [Path(name.strip()) for name in (style or "").split(",") if name.strip()]
    if not styles:
        raise ParameterError("no style is given", hint="give --style: one motion file or several")

    given, made = edited(
        [clip, *styles], output, editor, player, reading, "styling",
        lambda clips, trained: styled(clips[0], clips[1:], trained, amount=amount),
    )  # fmt: skip
    note(
        f"distance from the style (Gram matrix): {made.distance_before:.2f} before, "
        f"{made.distance_after:.2f} after"
    )
    write_edited(given[0], made.clip, output, player)
