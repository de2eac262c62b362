"""Motion along paths: distances, footsteps, sliding, and times beside those of the thesis.

python -m tests.studies.editing.paths EDITOR TEST_STORE [--crowd 200]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.edit.editor import MotionEditor
from deepphase.edit.path_motion import PathMotion, motion_on_path, motions_on_paths
from deepphase.edit.smoothed_root import SMOOTHING_S
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.solving.feet import toe_positions
from deepphase.steering.made_paths import made_path
from deepphase.steering.path import GroundPath


def mean_jerk(clip: Clip) -> float:
    """m/s3 over all joints."""
    return float(
        np.linalg.norm(np.diff(joint_positions(clip), n=3, axis=0), axis=-1).mean() * clip.fps**3
    )


def steps_per_second(contacts: np.ndarray, fps: float) -> float:
    """Touch-downs of one foot a second, the mean of the feet."""
    downs = (np.diff(contacts.astype(int), axis=0) == 1).sum(axis=0)
    return float(downs.mean() / (len(contacts) / fps))


def row_of(path: GroundPath, made: PathMotion, free: PathMotion, editor: MotionEditor) -> str:
    """Measures of one path as a line."""
    clip = made.clip
    roles = find_roles(clip.skeleton, clip=clip)
    hips = clip.local_positions()[:, editor.space.hips, ::2]
    times = path.times[0] + np.arange(len(clip)) / clip.fps
    late = np.linalg.norm(hips - path.positions_at(times), axis=1)
    away = path.distances(hips)
    found = foot_contacts(clip, roles).flags
    rate = float(made.footsteps.rates.mean() / (2 * np.pi))
    slides = [
        100 * sliding_speed(toe_positions(each.clip, roles), made.contacts, clip.fps)
        for each in (free, made)
    ]
    return (
        f"{path.name:7} {100 * away.mean():5.1f} {100 * away.max():5.1f} {100 * late.mean():5.1f}  "
        f"duty {made.footsteps.duties.mean():.2f} {made.contacts.mean():.2f} {found.mean():.2f}  "
        f"rate {rate:.2f} {steps_per_second(made.contacts, clip.fps):.2f} "
        f"{steps_per_second(found, clip.fps):.2f}  sliding {slides[0]:5.1f} {slides[1]:5.1f}  "
        f"jerk {mean_jerk(clip):.0f}"
    )


def main() -> None:
    """Print the measures of paths at several speeds, of clips, and times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("test")
    parser.add_argument("--crowd", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    editor = MotionEditor.load(options.editor)
    assert editor.path is not None
    print(f"limits {editor.path.limits}; paths are smoothed over {SMOOTHING_S} s")
    print("distance from the path in cm: mean, largest, by the clock; duty of a foot: network,")
    print("square waves, measured on the clip; cycles a second; sliding in cm/s (free, held)")
    for speed in (0.8, 1.2, 1.6, 2.2, 3.0):
        if speed > editor.path.limits.speed:
            continue
        print(f"{speed} m/s")
        for name in ("wave", "square", "circle"):
            path = made_path(name, speed, options.seconds)
            free = motion_on_path(path, editor, feet=False)
            print(" ", row_of(path, motion_on_path(path, editor), free, editor), flush=True)
    store = open_store(options.test)
    print("clips that travel: m/s, duty, cycles a second, sliding in cm/s, jerk")
    for action in ("walk", "run"):
        rows = []
        for index in np.flatnonzero(store.label_column("action") == action)[:10]:
            clip = resample(editor.space.on_hips(store.clip(int(index))), editor.fps)
            roles = find_roles(clip.skeleton, clip=clip)
            flags = foot_contacts(clip, roles).flags
            places = joint_positions(clip)[:, editor.space.hips, ::2]
            speed = np.linalg.norm(np.diff(places, axis=0), axis=1).mean() * clip.fps
            slid = 100 * sliding_speed(toe_positions(clip, roles), flags, clip.fps)
            steps = steps_per_second(flags, clip.fps)
            rows.append((speed, flags.mean(), steps, slid, mean_jerk(clip)))
        print(" ", action, np.round(np.mean(rows, axis=0), 2))
    for name, count, seconds in (("one", 1, 60.0), ("crowd", options.crowd, 10.0)):
        paths = [made_path("wave", 1.2, seconds)] * count
        for feet in (False, True):
            begin, cpu = time.perf_counter(), time.process_time()
            made = motions_on_paths(paths, editor, feet=feet)
            wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
            frames = sum(len(each.clip) for each in made)
            print(
                f"{name}: {count} of {seconds:g} s, feet {'held' if feet else 'free'}: "
                f"{wall:.2f} s ({cpu:.2f} of processor), {frames / cpu:.0f} frames/s",
                flush=True,
            )


if __name__ == "__main__":
    main()
