"""Characters set on a path, or put under a stick: where each begins, and with which moment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.controller import Controller
from controllers.obstacles import Obstacles
from controllers.starts import Starts
from controllers.wished_trajectory import complex_of
from deepphase.errors import ParameterError
from deepphase.steering.followers import (
    Follower,
    PathFollower,
    PathSettings,
    StickFollower,
    StickSettings,
)
from deepphase.steering.movers import Movers, side_by_side
from deepphase.steering.path import Path
from deepphase.steering.stick import Stick

Array = np.ndarray

# Metres between neighbours.
APART_M = 1.5
# The others than the first begin with one of this share of moments, those that fit the wish best.
_FITTING = 0.25


def start_on_path(
    controller: Controller,
    path: Path,
    *,
    characters: int = 1,
    starts: Starts | None = None,
    labels: Mapping[str, str] | None = None,
    settings: CharacterSettings | None = None,
    path_settings: PathSettings | None = None,
    obstacles: Obstacles | None = None,
    seed: int = 0,
) -> tuple[Character, PathFollower]:
    """Characters at the beginning of a path, each on its own copy beside the others'.

    Parameters
    ----------
    starts
        Moments to begin with, one for all or one each. Without them the first character begins
        with the controller's moment that goes most as the path does, the others with one of those
        that come near it.
    labels, settings, obstacles
        As `Character` has them.
    seed
        Of the moments of all but the first, and of a network that draws.

    Raises
    ------
    ParameterError
        As `Character` does.
    """
    origins = side_by_side(characters, APART_M)
    follower = PathFollower(path, origins, path_settings)
    movers = Movers.on_path(path, origins)
    moments = starts_for(controller, follower, movers, starts, labels, seed)
    character = Character(
        controller,
        moments,
        positions=movers.positions,
        angles=movers.angles,
        settings=settings,
        seed=seed,
        labels=labels,
        obstacles=obstacles,
    )
    return character, follower


def start_under_stick(
    controller: Controller,
    stick: Stick,
    *,
    characters: int = 1,
    starts: Starts | None = None,
    labels: Mapping[str, str] | None = None,
    settings: CharacterSettings | None = None,
    stick_settings: StickSettings | None = None,
    obstacles: Obstacles | None = None,
    seed: int = 0,
) -> tuple[Character, StickFollower]:
    """Characters side by side, facing +Z, that go as a stick says; as `start_on_path`."""
    movers = Movers.at_rest(side_by_side(characters, APART_M))
    follower = StickFollower(stick, movers, stick_settings)
    moments = starts_for(controller, follower, movers, starts, labels, seed)
    character = Character(
        controller,
        moments,
        positions=movers.positions,
        settings=settings,
        seed=seed,
        labels=labels,
        obstacles=obstacles,
    )
    return character, follower


def starts_for(
    controller: Controller,
    follower: Follower,
    movers: Movers,
    starts: Starts | None = None,
    labels: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Starts:
    """A moment for each character, as `start_on_path` says."""
    count = len(movers.angles)
    if starts is not None:
        if len(starts) not in (1, count):
            raise ParameterError(f"{len(starts)} moments to begin with for {count} characters")
        return starts if len(starts) == count else starts.of(np.zeros(count, np.int64))
    known = controller.starts
    wanted = dict(labels or {}).get(controller.schema.config.label)
    if wanted is not None:
        known = _with_label(known, controller, wanted)
    order = np.argsort(_misfits(known, controller, follower, movers), kind="stable")
    fitting = order[: max(1, round(_FITTING * len(order)))]
    rows = np.random.default_rng(seed).choice(fitting, count)
    rows[0] = order[0]
    return known.of(rows)


def _with_label(starts: Starts, controller: Controller, value: str) -> Starts:
    try:
        return starts.with_label(controller.schema, value)
    except ParameterError:
        # The file keeps but some moments, of a label that is known perhaps none.
        if value in controller.schema.label_values:
            return starts
        raise


def _misfits(starts: Starts, controller: Controller, follower: Follower, movers: Movers) -> Array:
    """(moments,) mean squared metres between where each went and where the first shall go."""
    schema = controller.schema
    later = np.array([offset for offset in schema.config.later_s if offset > 0.0])
    wished, _ = follower.ahead(movers, np.arange(1), later)
    ahead = complex_of(wished.reshape(1, -1)) - complex_of(movers.positions[:1])
    ahead = ahead * np.exp(1j * movers.angles[0])
    went = complex_of(starts.inputs[:, schema.inputs.slices["trajectory_position"]])
    return np.square(np.abs(went[:, -len(later) :] - ahead)).mean(axis=1)
