"""Goals and ground of runs, by the options of `control`, `match run` and other commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from deepphase.apps.terminal import note
from deepphase.errors import ParameterError
from deepphase.steering.gamepad import Gamepad, read_gamepad
from deepphase.steering.path import MADE_PATHS, GroundPath, made_path, read_path
from deepphase.terrain.ground_file import read_ground
from deepphase.terrain.heightmap import MADE_GROUNDS, Heightmap, made_ground

Goal = GroundPath | Gamepad

# Made ground reaches 40 m around the origin, as far as half a minute of walking.
_MADE_M, _SPACING_M = 80.0, 0.05


def read_goals(path: str | None, gamepad: Path | None = None) -> dict[str, Goal | None]:
    """Name -> the goal of a command line; None for paths that are generated, wave by default."""
    if gamepad is not None:
        if path is not None:
            raise ParameterError(
                "--path and --gamepad cannot be used together", hint="give one of them"
            )
        return {str(gamepad): read_gamepad(gamepad)}
    goals: dict[str, Goal | None] = {}
    for name in (path or "wave").split(","):
        goal = None
        if name not in MADE_PATHS:
            _check_file("path", name, MADE_PATHS)
            goal = read_path(name)
        title = name if goal is None else goal.name
        if title in goals:
            raise ParameterError(
                f"there are two paths called {title!r}", hint="rename one of the files"
            )
        goals[title] = goal
    return goals


def complete_goals(
    goals: Mapping[str, Goal | None],
    travelling_speed: float,
    *,
    seconds: float | None = None,
    speed: float | None = None,
) -> list[Goal]:
    """Goals of `read_goals` with the generated paths, at the desired or the `travelling_speed`."""
    complete: list[Goal] = []
    for name, goal in goals.items():
        if goal is None:
            if not (speed or travelling_speed) > 0:
                raise ParameterError(
                    "no motion of the data travels, so that its speed cannot be taken",
                    hint="give --speed",
                )
            goal = made_path(name, speed or travelling_speed, seconds or 20.0)
        elif isinstance(goal, GroundPath) and speed is not None:
            goal = goal.at_speed(speed)
        complete.append(goal)
    return complete


def chosen_ground(name: str | None) -> str | Heightmap | None:
    """The kind of generated ground, the ground of a file, whose notes are printed, or None."""
    if name is None or name in MADE_GROUNDS:
        return name
    _check_file("ground", name, MADE_GROUNDS)
    ground = read_ground(name)
    for text in ground.notes:
        note(f"{ground.name}: {text}")
    return ground


def run_ground(name: str | None, *, seed: int = 0) -> Heightmap | None:
    """The ground of `chosen_ground`, generated if it is a kind; None for a flat floor."""
    chosen = chosen_ground(name)
    if not isinstance(chosen, str):
        return chosen
    return made_ground(chosen, seed=seed, size_m=_MADE_M, spacing_m=_SPACING_M)


def _check_file(what: str, name: str, kinds: Iterable[str]) -> None:
    """Raise ParameterError for a name that is neither a kind nor looks like a file."""
    if not (Path(name).suffix or Path(name).exists()):
        raise ParameterError(
            f"there is no {what} {name!r}", hint=f"give a file, or {', '.join(kinds)}"
        )
