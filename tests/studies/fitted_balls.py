"""Balls fitted to clips: touches, reach, overlap with the legs, plausibility and time.

python -m tests.studies.fitted_balls STORE [--every 10] [--prefix dataset-2_]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from deepphase.controllers.ball.ball_file import IMPLAUSIBLE
from deepphase.controllers.ball.fitting import FOOT_RADIUS_M, LegPoints, fit_ball
from deepphase.corpus.store import open_store
from deepphase.motion.roles import find_roles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--prefix", default="", help="begin of the names of the clips")
    options = parser.parse_args()
    store = open_store(options.store)
    chosen = [i for i, name in enumerate(store.names) if name.startswith(options.prefix)]
    fit_ball(store.clip(chosen[0]))  # compiles
    rows: dict[str, list[list[float]]] = defaultdict(list)
    spent, motion = 0.0, 0.0
    for index in chosen[:: options.every]:
        clip = store.clip(index)
        begun = time.process_time()
        track = fit_ball(clip)
        spent, motion = spent + time.process_time() - begun, motion + len(clip) / clip.fps
        legs = LegPoints.of_clip(clip, find_roles(clip.skeleton, clip=clip))
        gaps = np.linalg.norm(legs.positions - track.positions[:, None], axis=-1).min(axis=1)
        depth = np.maximum(track.ball.radius_m + FOOT_RADIUS_M - gaps, 0.0)
        away = np.linalg.norm(track.positions[:, ::2] - legs.roots, axis=1)
        speeds = np.linalg.norm(track.velocities, axis=1)
        given = np.linalg.norm(track.touches.impulses, axis=1) / track.ball.mass_kg
        rows[clip.labels.get("action", "all")].append(
            [
                len(clip) / clip.fps,
                track.touches_per_second,
                float(np.mean([foot.lower().startswith("left") or "_l" in foot.lower()
                               for foot in track.touches.feet])) if len(track.touches) else 0.5,
                float(given.mean()) if len(given) else 0.0,
                float(speeds.mean()),
                float(away.mean()),
                float((away > 1.0).mean()),
                float((depth > 0.02).mean()),
                float((track.plausible < IMPLAUSIBLE).mean()),
            ]
        )  # fmt: skip
    print("seconds, touches/s, left, m/s of a touch, ball m/s, from the root m, beyond 1 m, "
          "deeper than 2 cm, implausible")  # fmt: skip
    for action, found in rows.items():
        values = np.array(found)
        mean = np.average(values, axis=0, weights=values[:, 0])
        print(action, f"{values[:, 0].sum():.0f} s,", ", ".join(f"{each:.3f}" for each in mean[1:]))
    print(f"{motion:.0f} s of motion in {spent:.0f} s of processor time")


if __name__ == "__main__":
    main()
