"""Sliding and floors of real clips that slip and drift, before and after repair without an editor.

    python -m tests.studies.editing.grounding CLIP...

A slip of 9 cm/s, noise of 3 mm and a drift of the floor by 10 cm are added to each clip. Sliding is
that of feet in the contacts of the clip as captured, outside of the first and the last fifth of
each; floor is the range from the 2nd to the 98th percentile of heights there over those of the
clip as captured.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from deepphase.edit.grounding import grounded, soles, standing_limbs
from deepphase.edit.motion_rows import MotionSpace
from deepphase.formats.load import load
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.kinematics import joint_positions


def spoiled(clip, hips):
    """The clip with a slip, noise and a drift of its hips."""
    times = np.arange(len(clip)) / clip.fps
    share = times / times[-1]
    places = clip.translations.astype(np.float64)
    column = clip.translated_joints.tolist().index(hips)
    places[:, column, 0] += 0.08 * times
    places[:, column, 2] += 0.04 * times
    places[:, column, 1] += 0.05 * (share + np.sin(1.5 * np.pi * share) ** 2)
    places[:, column] += 0.003 * np.random.default_rng(0).standard_normal((len(clip), 3))
    return replace(clip, translations=places)


def cores(flags):
    """Contacts (frames, feet) without the first and the last fifth of each."""
    kept = np.zeros_like(flags)
    for foot in range(flags.shape[1]):
        edges = np.flatnonzero(np.diff(np.r_[0, flags[:, foot].astype(int), 0]))
        for start, stop in edges.reshape(-1, 2):
            fifth = (stop - start) // 5
            kept[start + fifth : stop - fifth, foot] = True
    return kept


def main() -> None:
    """Print one line for each clip."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="+")
    print("| clip | sliding as captured, before, after (cm/s) | floor before, after (cm) |", end="")
    print(" captured clip repaired: joints moved, median and 95 % (mm) |\n|---|---|---|---|")
    for path in parser.parse_args().clips:
        clip = load(path)
        space = MotionSpace.of_clip(clip, clip.fps)
        clip = space.on_hips(clip)
        roles = space.roles_of(clip)
        limbs = standing_limbs(clip, roles)
        flags = cores(foot_contacts(clip, roles).flags[:, : len(limbs)])
        given = spoiled(clip, space.hips)
        made, whole = grounded(given, space), grounded(clip, space)
        tips = [soles(each, limbs) for each in (clip, given, made.clip)]
        slides = [100 * sliding_speed(each, flags, clip.fps) for each in tips]
        floors = [
            100 * np.ptp(np.percentile((each - tips[0])[..., 1][flags], [2, 98]))
            for each in tips[1:]
        ]
        moved = np.linalg.norm(joint_positions(whole.clip) - joint_positions(clip), axis=-1)
        print(
            f"| {clip.name} | {slides[0]:.1f}, {slides[1]:.1f}, {slides[2]:.1f} | "
            f"{floors[0]:.1f}, {floors[1]:.1f} | {1000 * np.median(moved):.1f}, "
            f"{1000 * np.percentile(moved, 95):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
