"""Durations and steps that phases give for gaps cut out of walks, beside the recorded ones.

    python -m tests.studies.editing.phase_timing EDITOR PHASE_MODEL TEST_STORE [--clips 30]

The motion in the gap is made by the editor with the duration by phases, with the recorded one and
with that of the way at the speed of both ends.
"""

from __future__ import annotations

import argparse

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.edit.editor import MotionEditor
from deepphase.edit.inbetween import in_between
from deepphase.edit.timing import passed_cycles, phase_timing, travel_seconds
from deepphase.errors import DeepPhaseError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import values_at_frames
from deepphase.motion.roles import Roles, find_roles
from deepphase.phase.model import PhaseModel

WALKS = ("walk", "walk-turn-left", "walk-turn-right")
# Gaps in frames at 30 Hz.
GAPS = (30, 45, 60, 90)


def steps_between(clip: Clip, roles: Roles, start: int, stop: int) -> int:
    """Number of touch-downs in frames of a clip."""
    flags = foot_contacts(clip, roles).flags
    return int((flags[1:] & ~flags[:-1])[start:stop].sum())


def apart(made: Clip, true: Clip, start: int, missing: int) -> float:
    """Metres: mean distance of joints in a gap; the made one is stretched to the true duration."""
    frames = len(made) - (len(true) - missing)
    places = joint_positions(made)[start - 1 : start + frames + 1]
    at = np.linspace(0.0, len(places) - 1.0, missing + 2)
    places = values_at_frames(places, at)
    own = joint_positions(true)[start - 1 : start + missing + 1]
    return float(np.linalg.norm(places - own, axis=-1)[1:-1].mean())


def main() -> None:
    """Print a table of errors for each gap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("phases")
    parser.add_argument("test")
    parser.add_argument("--clips", type=int, default=30)
    options = parser.parse_args()
    editor, model = MotionEditor.load(options.editor), PhaseModel.load(options.phases)
    store = open_store(options.test)
    walks = [i for i in range(len(store)) if store.labels[i].get("action") in WALKS]
    walks = [i for i in walks if store.lengths[i] >= 5.2 * 60]
    chosen = np.linspace(0, len(walks) - 1, options.clips).astype(int)
    clips = [editor.space.on_hips(store.clip(walks[i])) for i in np.unique(chosen)]
    print(
        "gap at 30 Hz; duration error (ms): phases mean, largest, way alone mean, largest; other "
        "number of steps: phases, way; cycles of the result off by (mean, share over a half); "
        "joints (mm): phases, recorded duration, way"
    )
    for gap in GAPS:
        rows = []
        for clip in clips:
            missing = round(gap * clip.fps / 30.0)
            start = (len(clip) - missing) // 2
            parts = clip.sliced(0, start), clip.sliced(start + missing, len(clip))
            roles = find_roles(clip.skeleton, editor.space.description, clip=clip)
            true = (missing + 1) / clip.fps
            try:
                timing = phase_timing(*parts, model, roles=roles)
            except DeepPhaseError as error:
                print(f"{clip.name}: {error}")
                continue
            way = travel_seconds(*parts, roles) or true
            counted = steps_between(clip, roles, start, start + missing)
            errors = []
            for seconds in (timing, true, way):
                made = in_between(*parts, seconds, editor)
                frames = len(made) - (len(clip) - missing)
                steps = steps_between(made, roles, start, start + frames)
                errors += [apart(made, clip, start, missing), steps != counted]
                if seconds is timing:
                    stop = start + frames
                    passed = passed_cycles(made, model, timing.channel, start - 1, stop)
                    whole = passed_cycles(clip, model, timing.channel, start - 1, start + missing)
            off = abs(passed - timing.cycles)
            rows.append(
                (
                    1e3 * abs(timing.seconds - true), 1e3 * abs(way - true), errors[1], errors[3],
                    errors[5], abs(timing.cycles - whole) > 0.5, off, off > 0.5,
                    1e3 * errors[0], 1e3 * errors[2], 1e3 * errors[4],
                )
            )  # fmt: skip
        table = np.array(rows, float)
        mean, largest = table.mean(axis=0), table.max(axis=0)
        print(
            f"gap {gap} ({len(rows)} clips): duration phases {mean[0]:.0f}, {largest[0]:.0f}, way "
            f"{mean[1]:.0f}, {largest[1]:.0f}; another count of cycles {table[:, 5].sum():.0f}; "
            f"another count of steps in the result: phases {table[:, 2].sum():.0f}, recorded "
            f"duration {table[:, 3].sum():.0f}, way {table[:, 4].sum():.0f}; cycles of the result "
            f"off by {mean[6]:.2f}, over a half {table[:, 7].sum():.0f}; joints {mean[8]:.1f}, "
            f"{mean[9]:.1f}, {mean[10]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
