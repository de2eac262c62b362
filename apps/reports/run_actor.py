"""A character of a run as the player shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepphase.figures.player.actor import Actor
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import end_positions, global_transforms

Array = np.ndarray


def run_actor(
    clip: Clip,
    body: Array,
    *,
    places: Array,
    angles: Array,
    contacts: Array,
    feet: tuple[int, ...],
    **told: Any,
) -> Actor:
    """The joints and tips of a run's motion, with the root that it had while it ran.

    Parameters
    ----------
    body
        Joints of the body: what stands above the hips is none.
    places, angles
        (frames, 2) m and (frames,) rad: the root.
    contacts
        (frames, feet) bool.
    feet
        Joints of those.
    told
        Further fields of the actor, as `name`.
    """
    skeleton = clip.skeleton
    transforms = global_transforms(clip)
    positions = np.concatenate([transforms[1], end_positions(clip, transforms)], axis=1)
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    # No link from a node on the ground to the hips.
    links = [(parent, joint) for joint, parent in enumerate(parents.tolist()) if parent in body]
    facing = np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=1)
    tips = tuple(f"{skeleton.names[parent]} tip" for parent in skeleton.end_parents)
    return Actor(
        positions=positions,
        links=np.array(links),
        fps=clip.fps,
        joint_names=skeleton.names + tips,
        contacts=contacts,
        feet=feet,
        root_positions=np.insert(places, 1, 0.0, axis=1),
        root_directions=facing,
        **told,
    )


def character_name(character: int, characters: int) -> str:
    """What the player calls one of so many."""
    return f"character {character + 1}" if characters > 1 else "run"
