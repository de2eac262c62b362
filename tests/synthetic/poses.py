"""Clips that hardly move, for the edges of what a method must bear."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.synthetic.bodies import Body, body_named
from deepphase.synthetic.gait import Gait
from deepphase.synthetic.gait_motion import locomotion, synthetic_clip


def constant_pose(seconds: float = 4.0, *, body: str | Body = "biped", fps: float = 60.0) -> Clip:
    """The rest pose (a person's T-pose), without any motion; 0 seconds make a single frame."""
    body = body_named(body)
    frames = _frames(seconds, fps)
    rotations = np.zeros((frames, len(body.skeleton), 4))
    rotations[..., 3] = 1.0
    root = np.tile(body.skeleton.offsets[0], (frames, 1))
    labels = {"body": body.kind, "gait": "constant_pose"}
    return synthetic_clip(body, rotations, root, fps, labels, "constant_pose")


def held_pose(
    seed: int,
    seconds: float = 12.0,
    *,
    held: tuple[float, float] = (4.0, 8.0),
    body: str | Body = "biped",
    gait: str | Gait = "walk",
    fps: float = 60.0,
) -> Clip:
    """A gait that freezes from one time to another (seconds) and then goes on as if nothing was.

    Raises
    ------
    ParameterError
        Where the times do not lie in the clip, one after the other.
    """
    if not 0 <= held[0] <= held[1] <= seconds:
        raise ParameterError(f"a pose held from {held[0]} to {held[1]} s of {seconds} s")
    clip = locomotion(seed, seconds, body=body, gait=gait, fps=fps).clip
    first, last = (min(round(moment * fps), len(clip) - 1) for moment in held)
    frames = np.arange(len(clip))
    source: Array = np.where(frames < first, frames, np.maximum(frames - (last - first), first))
    return Clip(
        clip.skeleton,
        clip.rotations[source],
        clip.translations[source],
        clip.fps,
        labels={**clip.labels, "held": f"{held[0]:g}-{held[1]:g}"},
        source=clip.source,
        name=f"held_{clip.name}",
    )


def _frames(seconds: float, fps: float) -> int:
    if not (np.isfinite(seconds) and seconds >= 0 and np.isfinite(fps) and fps > 0):
        raise ParameterError("a pose needs a duration from 0 up and a rate above 0")
    return max(round(seconds * fps), 1)
