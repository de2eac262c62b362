"""A controller's run as the player shows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from apps.reports.run_actor import character_name, run_actor
from controllers.controller import Controller
from controllers.rollout import Rollout
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import Channels, Curve, Gating, Take
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.path import Path

Array = np.ndarray

_IN_CONTACT = 0.5
# Characters on one stage: beyond, a page takes long to open.
MOST_ACTORS = 24
_ROUTE_POINTS = 600
_FLOOR_PERCENTILE = 5


def control_take(
    run: Rollout, controller: Controller, path: Path | None, origins: Array, name: str
) -> Take:
    """All characters of a run; phases and gating weights are the first one's."""
    shown = min(run.characters, MOST_ACTORS)
    speeds = np.linalg.norm(np.gradient(run.positions[:shown], axis=1), axis=-1) * run.fps
    curves = [Curve("speed", "m/s", speeds.T, run.fps)]
    if run.wished_positions is not None:
        away = np.linalg.norm(run.positions - run.wished_positions, axis=-1)[:shown]
        curves.append(Curve("distance from the wished place", "m", away.T, run.fps))
    note = "Made by a controller. Circles ahead: the trajectory that the network was given."
    if run.characters > 1:
        note += " Phases and weights are the first character's."
    if run.characters > shown:
        note += f" The first {shown} of {run.characters} characters."
    return Take(
        name=name,
        actors=[_actor(run, controller, path, origins, index) for index in range(shown)],
        channels=_channels(run),
        gating=None if run.gating is None else Gating(run.gating[0], run.fps),
        curves=curves,
        note=note,
    )


def _channels(run: Rollout) -> Channels | None:
    if run.phases is None:
        return None
    names = ("phase", "frequency", "amplitude", "offset")
    first = PhaseParameters(*(getattr(run.phases, name)[0] for name in names))
    return Channels(first, run.fps)


def _actor(
    run: Rollout, controller: Controller, path: Path | None, origins: Array, character: int
) -> Actor:
    skeleton, schema = controller.skeleton, controller.schema
    clip = run.clip(character)
    route = None
    if path is not None:
        times = np.linspace(path.times[0], path.times[0] + len(run) / run.fps, _ROUTE_POINTS)
        route = path.positions_at(times) + origins[character]
    here = run.positions[character][:, None]
    actor = run_actor(
        clip,
        np.array([skeleton.index(name) for name in schema.joints]),
        name=character_name(character, run.characters),
        places=run.positions[character],
        angles=run.angles[character],
        contacts=run.contacts[character] > _IN_CONTACT,
        feet=tuple(skeleton.index(name) for name in schema.feet),
        ahead=np.concatenate([here, run.trajectory[character]], axis=1),
        route=route,
    )
    lowest = np.percentile(actor.positions[..., 1].min(axis=1), _FLOOR_PERCENTILE)
    return replace(actor, floor=float(lowest))
