"""Takes of runs for the player."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.runs.request import MeasuredRun
from apps.runs.scene import ground_patch
from deepphase.arrays import Array
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import find_roles
from deepphase.steering.run import Run
from deepphase.viewer.actor import Actor, feet_labels, joints_and_tips
from deepphase.viewer.costs import CostComparison
from deepphase.viewer.skin import Skin
from deepphase.viewer.take import Channels, Curve, Gating, Marker, Take

_IN_CONTACT = 0.5
# Maximum number of characters in one take; pages with more open slowly.
MAX_ACTORS = 24
_ROUTE_POINTS = 600
_FLOOR_PERCENTILE = 5
# Track -> (title, unit) of a curve over time.
_CURVES = {"cost": ("cost of the last search", "")}


def run_take(measured: MeasuredRun, name: str, costs: CostComparison | None = None) -> Take:
    """All characters of a run; phases, gating weights, jumps and costs are the first one's."""
    run, ground = measured.run, measured.ground
    shown = min(run.characters, MAX_ACTORS)
    speeds = np.linalg.norm(np.gradient(run.positions[:shown], axis=1), axis=-1) * run.fps
    curves = [Curve("speed", "m/s", speeds.T, run.fps)]
    if run.desired_positions is not None:
        away = np.linalg.norm(run.positions - run.desired_positions, axis=-1)[:shown]
        curves.append(Curve("distance from the desired place", "m", away.T, run.fps))
    for track, (title, unit) in _CURVES.items():
        if track in run.tracks:
            curves.append(Curve(title, unit, run.tracks[track][:shown].T, run.fps))
    jumps = np.zeros(0) if run.jumped is None else np.flatnonzero(run.jumped[0]) / run.fps
    note = f"Motion {run.spec.note}. Circles ahead: the trajectory of the next second."
    if run.characters > 1:
        note += " Phases, weights, jumps and costs are the first character's."
    if run.characters > shown:
        note += f" The first {shown} of {run.characters} characters."
    return Take(
        name=name,
        actors=[_actor(measured, index) for index in range(shown)],
        channels=None if run.phases is None else Channels(run.phases[0], run.fps),
        gating=None if run.gating is None else Gating(run.gating[0], run.fps),
        curves=curves,
        markers=[Marker("jump", float(time), float(time)) for time in jumps],
        note=note,
        costs=costs,
        terrain=None if ground is None else ground_patch(ground, run.positions),
    )


def _actor(measured: MeasuredRun, character: int) -> Actor:
    """The joints and tips of a character's motion, with its root states."""
    run, path = measured.run, measured.path
    spec, clip = run.spec, run.clip(character)
    skeleton = spec.skeleton
    transforms = global_transforms(clip)
    positions, parents, names = joints_and_tips(clip, transforms)
    # Without the link from a root on the ground to the hips.
    body = spec.joint_indices
    links = [(parent, joint) for joint, parent in enumerate(parents.tolist()) if parent in body]
    feet = tuple(skeleton.index(name) for name in spec.feet)
    angles = run.angles[character]
    route = None
    if path is not None:
        times = np.linspace(path.times[0], path.times[0] + len(run) / run.fps, _ROUTE_POINTS)
        route = path.positions_at(times) + measured.origins[character]
    lowest = positions[:, [joint for _, joint in links], 1].min(axis=1)
    roles = find_roles(skeleton, clip=clip)
    return Actor(
        name=f"character {character + 1}" if run.characters > 1 else "run",
        positions=positions,
        links=np.array(links),
        fps=clip.fps,
        joint_names=names,
        contacts=run.contacts[character] > _IN_CONTACT,
        feet=feet,
        feet_labels=feet_labels(skeleton, roles, feet),
        root_positions=np.insert(run.positions[character], 1, 0.0, axis=1),
        root_directions=np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=1),
        desired_trajectory=_ahead(run, character),
        desired_path=route,
        floor=float(np.percentile(lowest, _FLOOR_PERCENTILE)),
        skin=Skin.of_joints(skeleton.parents, transforms[0], roles),
        **_ball_of(run, character),
    )


def _ball_of(run: Run, character: int) -> dict[str, Any]:
    if run.spec.ball is None:
        return {}
    return {"ball": run.tracks["ball"][character], "ball_radius_m": run.spec.ball.radius_m}


def _ahead(run: Run, character: int) -> Array | None:
    if run.trajectory is None:
        return None
    here = run.positions[character][:, None]
    return np.concatenate([here, run.trajectory[character]], axis=1)
