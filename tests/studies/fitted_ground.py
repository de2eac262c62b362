"""Ground fitted to feet: time and distance at contacts, and against ground that is known.

python -m tests.studies.fitted_ground CLIPS [--every 80] [--climbs FOLDER]

The climbs are .npz files with `positions` (frames, points, 3), metres, Z up, `names` and `fps`,
each beside an .obj of the boxes that were climbed, eight corners a box. Fits are compared with the
plane through the footsteps alone, under contacts and where no foot was ever set.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.ndimage import binary_opening

from deepphase.arrays import Array
from deepphase.corpus.clips import clips_in
from deepphase.motion.kinematics import velocities
from deepphase.terrain.fitting import PatchLibrary, fit_clip, fit_cycle
from deepphase.terrain.foot_track import FootTrack

_POINTS = ("LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase")
_STILL, _SHORTEST_S, _NEAR_M = 0.1, 0.2, 0.15


def on_clips(clips: list[Path], every: int, library: PatchLibrary) -> None:
    """Time, and distance of the best ground from the feet at contacts."""
    gaps, cycles, seconds, spent = [], 0, 0.0, 0.0
    for entry in clips_in(clips)[::every]:
        clip = entry.load()
        track = FootTrack.of_clip(clip)
        begun = time.process_time()
        fits = fit_clip(track, library)
        spent += time.process_time() - begun
        seconds, cycles = seconds + clip.duration, cycles + len(fits)
        for begin, end, (fit, *_) in fits:
            on = track.contacts[begin:end]
            gaps.append(np.abs(fit.at(track.places[begin:end][on]) - track.heights[begin:end][on]))
    away = 1000 * np.concatenate(gaps)
    print(
        f"{cycles} cycles, {seconds:.0f} s of motion: {spent / cycles:.3f} s of processor time a "
        f"cycle; {away.mean():.2f} mm at contacts, {np.percentile(away, 95):.1f} at the 95th "
        "percentile"
    )


def box_tops(path: Path) -> list[tuple[Array, Array, float]]:
    """Corner, edges (2, 2) and height of the top of each box, x and y of the file."""
    rows = [row.split()[1:4] for row in path.read_text().splitlines() if row.startswith("v ")]
    tops = []
    for corners in np.array(rows, float).reshape(-1, 8, 3):
        top = corners[corners[:, 2] > corners[:, 2].mean()]
        order = np.argsort(np.linalg.norm(top[1:, :2] - top[0, :2], axis=1))[:2] + 1
        tops.append((top[0, :2], top[order, :2] - top[0, :2], float(top[0, 2])))
    return tops


def true_ground(tops: list[tuple[Array, Array, float]], places: Array) -> Array:
    """(...) metres at places (..., 2) of the track, whose z is minus the file's y."""
    flat = places * np.array([1.0, -1.0])
    heights = np.zeros(places.shape[:-1])
    for corner, edges, top in tops:
        shares = (flat - corner) @ np.linalg.inv(edges)
        heights = np.where(((shares >= 0) & (shares <= 1)).all(axis=-1), top, heights)
    return heights


def on_climb(path: Path, library: PatchLibrary) -> None:
    """Distance of fitted ground from the boxes."""
    with np.load(path) as file:
        names, fps = [str(name) for name in file["names"]], float(file["fps"])
        found = file["positions"][:, [names.index(name) for name in _POINTS]].astype(float)
    points = np.stack([found[..., 0], found[..., 2], -found[..., 1]], axis=-1)
    still = np.linalg.norm(velocities(points, fps), axis=-1) < _STILL
    long = np.ones((round(_SHORTEST_S * fps), 1))
    track = FootTrack.of_points(points, binary_opening(still, long), fps)
    tops = box_tops(path.with_suffix(".obj"))
    under: list[list[float]] = []
    elsewhere: list[list[float]] = []
    for begin, end, fits in fit_clip(track, library):
        places, on = track.places[begin:end], track.contacts[begin:end]
        if not on.any():
            continue
        line = np.linspace(-0.6, 0.6, 13)
        around = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2) + places[on].mean(axis=0)
        away = np.linalg.norm(around[:, None] - places[on], axis=-1).min(axis=1)
        around = around[away > _NEAR_M]
        (footsteps,) = fit_cycle(track, begin, end, PatchLibrary.level())
        rivals = [[footsteps], fits]
        for found_in, each in ((under, places[on]), (elsewhere, around)):
            true = true_ground(tops, each)
            means = [[np.abs(fit.at(each) - true).mean() for fit in rival] for rival in rivals]
            found_in.append([np.mean(mean) for mean in means])
    below, beside = (np.round(np.mean(found, axis=0), 3) for found in (under, elsewhere))
    low = np.abs(track.heights - true_ground(tops, track.places))[track.contacts]
    print(
        f"{path.stem}: soles from the boxes at contacts {low.mean():.3f} m, median "
        f"{np.median(low):.3f}; footsteps, patches under contacts {below}, elsewhere {beside}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path, nargs="*")
    parser.add_argument("--every", type=int, default=1, help="use every nth clip")
    parser.add_argument("--climbs", type=Path)
    options = parser.parse_args()
    library = PatchLibrary.made()
    if options.clips:
        on_clips(options.clips, options.every, library)
    for path in sorted(options.climbs.glob("*.npz")) if options.climbs else []:
        on_climb(path, library)


if __name__ == "__main__":
    main()
