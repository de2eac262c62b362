"""`deepphase convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepphase.apps.each_clip import write_clips
from deepphase.apps.options.groups import ClipOptions

if TYPE_CHECKING:
    from deepphase.motion.clip import Clip


def command(
    clips: list[Path],
    output: Path,
    format: Literal["bvh", "glb", "npz", "fbx", "amass"] = "bvh",
    allow_truncated: bool = False,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Convert clips to another file format.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores.
    output
        File to write, whose suffix selects the format; a folder if there are several clips.
    format
        File format of the clips in an output folder. amass writes .npz of SMPL-H, also as a single
        file; a body of two legs is put on the skeleton of SMPL.
    allow_truncated
        Use the readable frames of files that end too early.
    """
    if format != "amass":
        write_clips(
            clips, output, format, reading, lambda clip: clip, allow_truncated=allow_truncated
        )
        return
    from deepphase.formats.amass import save_amass, smpl_layout
    from deepphase.formats.smpl_skeleton import BODY, smpl_skeleton
    from deepphase.motion.retargeting.retarget import retarget

    def on_smpl(clip: Clip) -> Clip:
        return clip if smpl_layout(clip) is not None else retarget(clip, smpl_skeleton(BODY)).clip

    write_clips(clips, output, "npz", reading, on_smpl, save_amass, allow_truncated=allow_truncated)
