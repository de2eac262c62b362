"""`deepphase retarget`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepphase.apps.each_clip import write_clips
from deepphase.apps.options.groups import ClipOptions
from deepphase.apps.terminal import note, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.motion.clip import Clip
    from deepphase.motion.retargeting.retarget import RetargetedMotion

# Share of the leg length: feet farther from their place are said to miss it.
_CLOSE_SHARE = 0.05
_MAX_LISTED = 60


def command(
    clips: list[Path],
    output: Path,
    to: Path | None = None,
    format: Literal["bvh", "glb", "npz", "fbx"] = "bvh",
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Put clips on another skeleton of the same kind of body.

    Joints correspond by their roles, rest poses are aligned, and lengths are scaled by the legs.
    Feet, and hands at the floor or at each other, are brought to their scaled places by inverse
    kinematics. Prints how far they remain from them, and how fast feet in contact slide.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores.
    output
        Clip to write; a folder if there are several clips.
    to
        Motion file with the target skeleton, or a store of it. Its unit and axes are those of the
        results. Required.
    format
        File format of the clips in an output folder.
    """
    import numpy as np

    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.store import is_store, open_store
    from deepphase.motion.retargeting.retarget import retarget

    if to is None:
        raise ParameterError("there is no target skeleton", hint="name a motion file: --to FILE")
    sample = open_store(to).clip(0) if is_store(to) else clips_in([to])[0].load()
    rows: list[tuple[str, ...]] = []
    unmatched: dict[str, None] = {}

    def change(clip: Clip) -> Clip:
        made: RetargetedMotion = retarget(clip, sample)
        errors = 100.0 * made.foot_errors
        rows.append(
            (
                clip.name,
                f"{made.scale:.3f}",
                f"{errors.mean():.2f}",
                f"{errors.max():.2f}",
                f"{100.0 * made.hand_errors.max(initial=0.0):.2f}",
                f"{100.0 * made.sliding_source:.1f}",
                f"{100.0 * made.sliding:.1f}",
            )
        )
        unmatched.update(dict.fromkeys(made.unmatched))
        far = float(np.mean(made.foot_errors > _CLOSE_SHARE * made.leg_m))
        if far > 0:
            warn(
                f"{clip.name}: in {100 * far:.1f} % of the frames a foot is more than "
                f"{100 * _CLOSE_SHARE * made.leg_m:.0f} cm from its place: legs are too short there"
            )
        return made.clip

    write_clips(clips, output, format, reading, change)
    table(
        (
            "clip",
            "scale",
            "feet, mean cm",
            "feet, max cm",
            "held hands, max cm",
            "sliding cm/s, scaled",
            "sliding cm/s",
        ),
        rows[:_MAX_LISTED],
    )
    if len(rows) > _MAX_LISTED:
        note(f"{len(rows) - _MAX_LISTED} more clips are not listed")
    if unmatched:
        note(f"without a counterpart, as in the reference pose: {', '.join(unmatched)}")
