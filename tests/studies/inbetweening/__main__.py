"""In-betweens by editors beside interpolation, by the protocol of the LAFAN1 benchmark.

    python -m tests.studies.inbetweening TRAINING_STORE TEST_STORE [--editor NAME=EDITOR]
        [--rival DELTA] [--missing 5 15 30 60] [--windows 300]

TRAINING_STORE gives the scale of positions. Windows have 65 frames as in the benchmark; those with
more than 54 missing frames, which it does not have, are as long as they must be. On LAFAN1
(subjects 1 to 4 and 5) the row of interpolation must be .373, 1.249, 2.316 for 5, 15 and 30
frames, and that of the truth 0.
"""

from __future__ import annotations

import argparse

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.edit.editor import MotionEditor
from deepphase.edit.inbetween import in_between
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion.resample import resample
from tests.studies.inbetweening.delta_interpolator import DeltaInterpolator
from tests.studies.inbetweening.protocol import (
    FPS,
    PAST,
    STATISTICS_WINDOWS,
    TEST_WINDOWS,
    Scale,
    Windows,
    clip_of,
    held,
    measures,
    straight,
    windows_of,
)


def by_editor(windows: Windows, missing: int, editor: MotionEditor, template) -> Windows:
    """The missing frames by an editor, window by window."""
    space, joints = editor.space, editor.space.points.joints
    rotations, places = [], []
    for window in range(len(windows)):
        whole = clip_of(windows, window, space, template)
        first = whole.sliced(0, PAST)
        target = whole.sliced(PAST + missing, PAST + missing + 1)
        made = in_between(first, target, (missing + 1) / FPS, editor, feet=False)
        inside = slice(PAST, PAST + missing)
        rotations.append(made.rotations[inside][:, joints])
        places.append(made.local_positions()[inside, space.hips])
    return windows.with_motion(np.array(rotations, np.float64), np.array(places, np.float64))


def main() -> None:
    """Print one table for each measure."""
    parser = argparse.ArgumentParser(prog="tests.studies.inbetweening")
    parser.add_argument("training")
    parser.add_argument("test")
    parser.add_argument("--editor", action="append", default=[], metavar="NAME=EDITOR")
    parser.add_argument("--rival", help="file of delta_interpolator")
    parser.add_argument("--windows", type=int, default=300)
    parser.add_argument("--missing", type=int, nargs="+", default=[5, 15, 30, 60])
    options = parser.parse_args()
    training, test = open_store(options.training), open_store(options.test)
    longest = training.clip(int(np.argmax(training.lengths)))
    space = MotionSpace.of_clip(longest, FPS)
    template = resample(space.on_hips(longest), FPS)
    scale = Scale.of(windows_of(training, space, *STATISTICS_WINDOWS))
    editors = {
        name: MotionEditor.load(path)
        for name, path in (each.split("=", 1) for each in options.editor)
    }
    rival = None if options.rival is None else DeltaInterpolator.load(options.rival)
    print(f"{'missing':>8} {'windows':>8} {'method':<16} {'L2P':>7} {'L2Q':>7} {'NPSS':>8}")
    for missing in options.missing:
        frames = max(TEST_WINDOWS[0], PAST + missing + 1)
        windows = windows_of(test, space, frames, TEST_WINDOWS[1])
        if len(windows) > options.windows:
            chosen = np.linspace(0, len(windows) - 1, options.windows).round().astype(int)
            windows = windows.with_motion(windows.rotations[chosen], windows.places[chosen])
        true = windows.part(PAST, PAST + missing)
        made = {"held": held(windows, missing), "interpolation": straight(windows, missing)}
        if rival is not None:
            made["delta"] = rival.between(windows, missing)
        for name, editor in editors.items():
            made[name] = by_editor(windows, missing, editor, template)
        for name, each in made.items():
            found = measures(each, true, scale)
            values = f"{found.l2p:7.3f} {found.l2q:7.3f} {found.npss:8.4f}"
            print(f"{missing:>8} {len(windows):>8} {name:<16} {values}", flush=True)


if __name__ == "__main__":
    main()
