"""Feet of clips that are laid on made ground: depth, float, sliding, and the time it takes.

python -m tests.studies.laid_on_ground CLIPS [--seed 7] [--every 20]

Compares with the simplest method: the whole body is lifted by the height of the ground under its
hips. Every ground is made with the seed given; settings were chosen on seed 2.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clips import clips_in
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.terrain.ground_measures import GroundMeasures, ground_measures
from deepphase.terrain.ground_shapes import MADE_GROUNDS, made_ground
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import LaidMotion, lay_on_ground

_SHOWN = ("deep", "floating", "depth_95", "gap_95", "swing_deep", "sliding", "slope")


def lifted_only(laid: LaidMotion, flat: LaidMotion, ground: Heightmap) -> LaidMotion:
    """The flat motion, lifted by the ground under its hips."""
    clip = flat.clip
    hips = find_roles(clip.skeleton, clip=clip).hips
    translations = clip.translations.copy()
    translations[:, 0, 1] += ground.at(joint_positions(clip)[:, hips, ::2]) - laid.floor
    return replace(laid, clip=replace(clip, translations=translations))


def line(name: str, found: list[GroundMeasures]) -> str:
    """The means of measures over clips."""
    values = {
        each.name: np.mean([getattr(measures, each.name) for measures in found])
        for each in fields(GroundMeasures)
    }
    return f"{name:14}" + "".join(f"{each} {values[each]:.3f}  " for each in _SHOWN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--every", type=int, default=1, help="use every nth clip")
    options = parser.parse_args()
    clips = [entry.load() for entry in clips_in([options.clips])[:: options.every]]
    seconds = sum(clip.duration for clip in clips)
    print(f"{len(clips)} clips, {seconds:.0f} s of motion")
    floor = Heightmap(np.zeros((1, 1)), 1.0)
    flat = [lay_on_ground(clip, floor) for clip in clips]
    print(line("flat", [m for each in flat if (m := ground_measures(each, floor))]))
    for name in MADE_GROUNDS:
        ground = made_ground(name, seed=options.seed)
        begun = time.process_time()
        laid = [lay_on_ground(clip, ground) for clip in clips]
        spent = time.process_time() - begun
        print(
            line(name, [m for each in laid if (m := ground_measures(each, ground))])
            + f"{1e6 * spent / sum(map(len, clips)):.0f} us a frame"
        )
        simple = [lifted_only(a, b, ground) for a, b in zip(laid, flat, strict=True)]
        print(line("  lifted only", [m for e in simple if (m := ground_measures(e, ground))]))


if __name__ == "__main__":
    main()
