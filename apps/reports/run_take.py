"""A run of a motion database as the player shows it."""

from __future__ import annotations

import numpy as np

from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import Curve, Marker, Take
from deepphase.motion.kinematics import end_positions, global_transforms
from deepphase.steering.path import Path
from matching.playback import Playback
from matching.run import Run

Array = np.ndarray


def run_take(run: Run, playback: Playback, path: Path | None, name: str) -> Take:
    """All characters of a run, with its jumps as markers and its costs as curves."""
    curves = [Curve("cost of the last search", "", run.costs.T, run.fps)]
    if path is not None:
        away = np.linalg.norm(run.positions - run.wished_positions, axis=-1)
        curves.append(Curve("distance from the wished place", "m", away.T, run.fps))
    jumps = np.flatnonzero(run.jumped[0]) / run.fps
    return Take(
        name=name,
        actors=[_actor(run, playback, index) for index in range(run.characters)],
        curves=curves,
        markers=[Marker("jump", float(time), float(time)) for time in jumps],
        note="Played out of captured motion; markers are the first character's jumps.",
    )


def _actor(run: Run, playback: Playback, character: int) -> Actor:
    clip = run.clip(playback, character)
    skeleton = clip.skeleton
    transforms = global_transforms(clip)
    body = playback.body
    positions = np.concatenate([transforms[1], end_positions(clip, transforms)], axis=1)
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    # No link from a node on the ground to the hips.
    links = [(parent, joint) for joint, parent in enumerate(parents.tolist()) if parent in body]
    angles = run.angles[character]
    ground = np.insert(run.positions[character], 1, 0.0, axis=1)
    facing = np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=1)
    tips = tuple(f"{skeleton.names[parent]} tip" for parent in skeleton.end_parents)
    return Actor(
        name=f"character {character + 1}" if run.characters > 1 else "run",
        positions=positions,
        links=np.array(links),
        fps=run.fps,
        joint_names=skeleton.names + tips,
        contacts=run.held[character],
        feet=tuple(playback.limbs.tips.tolist()),
        root_positions=ground,
        root_directions=facing,
    )
