"""The JavaScript runtime in Node, and the same runs in Python."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepphase.controllers.runtime.start import CharacterSource
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.velocity_goals import GamepadGoals

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")

TOP_SPEED = 3.0
_DRIVER = Path(__file__).with_name("drive.mjs")


def ask_node(folder: Path, asset: bytes, task: str, **request: Any) -> Any:
    """The answer of `drive.mjs` to a task on an asset."""
    path = folder / "asset.live"
    path.write_bytes(asset)
    text = json.dumps({"asset": str(path), "task": task, **request}, default=np.ndarray.tolist)
    assert NODE is not None
    answer = subprocess.run(
        [NODE, str(_DRIVER)], input=text, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def wandering(frames: int, seed: int, labels: dict[str, tuple[str, ...]] | None = None) -> Gamepad:
    """Sticks that change every half second or two, looking aside a third of the time."""
    generator = np.random.default_rng(seed)
    times, move, look, values = [0.0], [(0.0, 0.5)], [(0.0, 0.0)], {}
    while times[-1] < frames / 60.0:
        times.append(times[-1] + generator.uniform(0.5, 2.0))
        angle, length = generator.uniform(-math.pi, math.pi), generator.uniform(0.0, 0.8)
        move.append((length * math.sin(angle), length * math.cos(angle)))
        aside = generator.uniform(-math.pi, math.pi)
        looks = generator.uniform() < 1 / 3
        look.append((math.sin(aside), math.cos(aside)) if looks else (0.0, 0.0))
    for name, known in (labels or {}).items():
        values[name] = tuple(str(generator.choice(known)) for _ in times)
    return Gamepad(times, move, look, values)


def python_run(source: CharacterSource, gamepad: Gamepad, frames: int, heading: float = 0.0):
    """Frames of one character in Python, and the goals as JavaScript takes them."""
    rest = np.zeros(1)
    roots = RootStates(np.zeros((1, 2)), np.zeros((1, 2)), np.array([heading]), rest)
    goals = GamepadGoals(gamepad, roots, GamepadSettings(top_speed=TOP_SPEED))
    characters = source.start(goals, roots)
    made, given = [], []
    for _ in range(frames):
        given.append(stick_goal(goals, TOP_SPEED))
        made.append(characters.step(goals))
    return made, given


def stick_goal(goals: GamepadGoals, top_speed: float) -> dict[str, Any]:
    """The current goal of a gamepad as JavaScript takes it."""
    now = np.array(goals.time)
    facing = goals.gamepad.look_at(now)
    return {
        "velocity": top_speed * goals.gamepad.move_at(now),
        "facing": facing if facing.any() else None,
        "label": next(iter(goals.labels()[0].values()), None),
    }
