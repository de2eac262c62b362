"""Measures of balls at the feet of running characters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.controllers.ball.fitting import FOOT_RADIUS_M
from deepphase.errors import ParameterError
from deepphase.motion.ball import Ball, BallState, ball_energy
from deepphase.steering.run import Run

# A foot this near to the ball's surface may give it energy, metres; see `running_balls`.
_TOUCH_M = 0.1
# A ball that is deeper in a foot than it is dented, metres.
_DENT_M = 0.02
_NEAR_M = 1.0
# Touches that follow sooner are one, seconds.
_SAME_TOUCH_S = 0.1

DRIBBLING_MEASURES: Mapping[str, tuple[str, str, str]] = {
    "near": ("", "more", "share of seconds in which the ball is within 1 m of the nearest foot"),
    "distance": ("m", "", "mean distance of the ball from the nearest foot"),
    "touches": ("1/s", "like the data", "touches a second"),
    "left": ("", "", "share of the touches by the left foot"),
    "depth": ("m", "less", "deepest overlap of ball and leg"),
    "deep": ("", "less", "share of frames in which ball and leg overlap by more than 2 cm"),
    "energy": ("J", "less", "largest growth of its energy in a frame without a foot within 10 cm"),
    "losses": ("1/min", "less", "times that the ball is more than 1 m away from all feet"),
    "fetching": ("s", "less", "mean time until a lost ball is within 0.6 m of a foot again"),
    "never_fetched": ("", "less", "lost balls that were not fetched before the end of the run"),
}
"""Name -> unit, better values and description of the measures of `dribbling_measures`."""


def dribbling_measures(run: Run, ball: Ball) -> dict[str, float | None]:
    """Measures of the balls of a run; None where there is nothing to measure."""
    if "ball" not in run.tracks:
        raise ParameterError("the run has no ball", hint="run a controller with a ball")
    gap = run.tracks["ball_gap"].astype(np.float64)
    away = gap + ball.radius_m + FOOT_RADIUS_M
    lost, touch = run.tracks["ball_lost"], run.tracks["ball_touch"]
    whole = round(run.fps)
    seconds = away[:, : away.shape[1] // whole * whole].reshape(len(away), -1, whole)
    near = (seconds < _NEAR_M).all(axis=2)
    feet = [foot for touches in touch for foot in _touches(touches, run.fps)]
    state = BallState(run.tracks["ball"], run.tracks["ball_velocity"])
    growth = np.diff(ball_energy(state, ball), axis=1)
    # The energy of float32 tracks is rounded.
    free = np.minimum(gap[:, 1:], gap[:, :-1]) > _TOUCH_M
    spans = [(begin, end, len(flags)) for flags in lost for begin, end in true_runs(flags)]
    fetched = [(end - begin) / run.fps for begin, end, length in spans if end < length]
    total_s = away.size / run.fps
    return {
        "near": float(near.mean()) if near.size else None,
        "distance": float(away.mean()),
        "touches": len(feet) / total_s,
        "left": float(np.mean([foot == 0 for foot in feet])) if feet else None,
        "depth": float(max(-gap.min(), 0.0)),
        "deep": float((gap < -_DENT_M).mean()),
        "energy": float(growth[free].max()) if free.any() else None,
        "losses": 60.0 * len(spans) / total_s,
        "fetching": float(np.mean(fetched)) if fetched else None,
        "never_fetched": float(len(spans) - len(fetched)),
    }


def _touches(touch: Array, fps: float) -> list[int]:
    """Feet of the touches in (frames,) indices of feet, -1 without a touch."""
    feet, last = [], -np.inf
    for begin, end in true_runs(touch >= 0):
        if begin - last > _SAME_TOUCH_S * fps:
            feet.append(int(touch[begin]))
        last = end
    return feet
