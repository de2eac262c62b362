"""Takes of runs for the player."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.manifold import ring_projection
from deepphase.steering.run import SQUARED, Run
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import (
    Channels,
    ComparedCosts,
    CostComparison,
    CostOption,
    Curve,
    Gating,
    ManifoldCloud,
    Marker,
    Take,
)

# Maximum number of characters in one take; pages with more open slowly.
MAX_ACTORS = 24
# Metres between characters that are compared.
_APART_M = 1.2
# Metres of ground around a run and between its points, and points along its longer side.
_MARGIN_M, _SPACING_M, _MAX_POINTS = 3.0, 0.1, 400


def run_take(run: Run, name: str) -> Take:
    """All characters of a run; phases, weights, jumps and costs are the first one's."""
    ground = run.spec.ground
    shown = min(run.characters, MAX_ACTORS)
    speeds = np.linalg.norm(np.gradient(run.positions[:shown], axis=1), axis=-1) * run.fps
    curves = [Curve("speed", "m/s", speeds.T, run.fps)]
    if run.desired_positions is not None:
        away = np.linalg.norm(run.positions - run.desired_positions, axis=-1)[:shown]
        curves.append(Curve("distance from the desired place", "m", away.T, run.fps))
    if "cost" in run.tracks:
        curves.append(Curve("cost of the last search", "", run.tracks["cost"][:shown].T, run.fps))
    costs = _costs(run)
    jumps = np.zeros(0) if run.jumped is None else np.flatnonzero(run.jumped[0]) / run.fps
    note = f"Motion {run.spec.note}. Circles ahead: the trajectory of the next second."
    if run.characters > 1:
        note += " Phases, weights, jumps and costs are the first character's."
    if run.characters > shown:
        note += f" The first {shown} of {run.characters} characters."
    return Take.of(
        [_actor(run, index) for index in range(shown)],
        name,
        # Beside costs there is no room for it.
        manifold=_ring(run) if costs is None else None,
        channels=None if run.phases is None else Channels(run.phases[0], run.fps),
        gating=None if run.gating is None else Gating(run.gating[0], run.fps),
        curves=curves,
        markers=[Marker("jump", float(time), float(time)) for time in jumps],
        note=note,
        costs=costs,
        terrain=None if ground is None else ground_patch(ground, run.positions),
    )


def _costs(run: Run) -> CostComparison | None:
    """Costs of the first character by feature, of runs that search."""
    names = [name for name in run.tracks if name.startswith(SQUARED)]
    if not names:
        return None
    terms = np.stack([run.tracks[name][0] for name in names], axis=1)
    changed = [0, *(1 + np.flatnonzero((np.diff(terms, axis=0) != 0).any(axis=1))).tolist()]
    searches = [
        ComparedCosts(
            frame / run.fps,
            "Squared distances of the search's result by feature add up to the square of its cost.",
            [CostOption("plays", terms[frame])],
        )
        for frame in changed
    ]
    return CostComparison(tuple(name.removeprefix(SQUARED) for name in names), searches)


def _ring(run: Run) -> ManifoldCloud | None:
    """The phases of the first character in the plane of their rings; None without."""
    if run.phases is None:
        return None
    manifold = run.phases[0].manifold()
    if not np.isfinite(manifold).all():
        return None
    projection = ring_projection(manifold)
    path = projection(manifold)
    return ManifoldCloud(path[:0], path, run.fps, projection.explained)


def compared_take(takes: Mapping[str, Take], name: str) -> Take:
    """The first characters of several runs along one path, by what moves them, side by side."""
    kinds = [title.partition(": ")[0] for title in takes]
    # Their kinds name them where these differ.
    names = kinds if len(set(kinds)) == len(kinds) else list(takes)
    actors = [
        replace(take.actors[0].shifted(_APART_M * index, 0.0), name=names[index], colour="")
        for index, take in enumerate(takes.values())
    ]
    note = f"On one path, {_APART_M:g} m apart: {', '.join(takes)}."
    return Take.of(actors, name, note=note)


def _actor(run: Run, character: int) -> Actor:
    """A character's motion with its root states, contacts, goals and ball."""
    positions, angles = run.positions[character], run.angles[character]
    route = ahead = None
    if run.path is not None and run.origins is not None:
        times = run.path.times[0] + np.linspace(0.0, len(run) / run.fps, 600)
        route = run.path.positions_at(times) + run.origins[character]
    if run.trajectory is not None:
        ahead = np.concatenate([positions[:, None], run.trajectory[character]], axis=1)
    ball: dict[str, Any] = {}
    if run.spec.ball is not None:
        ball = {"ball": run.tracks["ball"][character], "ball_radius_m": run.spec.ball.radius_m}
    return Actor.of_clip(
        run.clip(character),
        name=f"character {character + 1}" if run.characters > 1 else "run",
        feet=tuple(run.spec.skeleton.index(name) for name in run.spec.feet),
        contacts=run.contacts[character] > 0.5,
        root_positions=np.insert(positions, 1, 0.0, axis=1),
        root_directions=np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=1),
        desired_trajectory=ahead,
        desired_path=route,
        **ball,
    )


def ground_patch(ground: Heightmap, places: Array) -> Heightmap:
    """The ground around places (..., 2), coarse enough to draw."""
    places = places.reshape(-1, 2)
    low, high = places.min(axis=0) - _MARGIN_M, places.max(axis=0) + _MARGIN_M
    spacing = max(_SPACING_M, float((high - low).max()) / _MAX_POINTS)
    counts = np.ceil((high - low) / spacing).astype(int) + 1
    x, z = (low[axis] + spacing * np.arange(counts[axis]) for axis in (0, 1))
    heights = ground.at(np.stack(np.meshgrid(x, z), axis=-1))
    return Heightmap(heights, spacing, (float(low[0]), float(low[1])), ground.name)
