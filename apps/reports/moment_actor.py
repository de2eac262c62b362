"""A piece of a clip around a moment, as a body that stands where it is wanted."""

from __future__ import annotations

import numpy as np

from deepphase.figures.player.actor import Actor
from deepphase.motion.clip import Clip
from matching.moments import placed

Array = np.ndarray


def moment_actor(
    clip: Clip,
    frame: int,
    root_position: Array,
    root_angle: float,
    *,
    before_s: float,
    seconds: float,
    place: Array,
    name: str,
    colour: str = "",
) -> Actor:
    """From some seconds before a moment to some behind it, as far as the clip goes.

    Parameters
    ----------
    frame
        The moment; it is shown `before_s` seconds after the take's start.
    root_position, root_angle
        (3,) metres and radians: where the body stands at the moment and which way it faces.
    place
        (3,) metres: where it stands then in the take, facing +Z.
    name, colour
        As of `Actor`.
    """
    start = max(frame - round(before_s * clip.fps), 0)
    stop = min(frame + round(seconds * clip.fps) + 1, len(clip))
    moved = placed(clip.sliced(start, stop), root_position, root_angle, place, 0.0)
    return Actor.of_clip(
        moved, name=name, start_s=before_s - (frame - start) / clip.fps, colour=colour
    )
