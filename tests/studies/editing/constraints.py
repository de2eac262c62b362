"""Constraints on clips of other styles: hands at places, bent paths, held feet.

python -m tests.studies.editing.constraints EDITOR TEST_STORE [--clips 8]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.edit.constrain import constrained
from deepphase.edit.editor import MotionEditor
from deepphase.edit.targets import JointTarget
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.path import GroundPath


def bones(clip: Clip, editor: MotionEditor) -> np.ndarray:
    """(frames, joints) metres: lengths of bones below the hips, from the positions of joints."""
    positions, below = joint_positions(clip).astype(np.float64), editor.space.points.joints[1:]
    above = clip.skeleton.parents[below]
    return np.linalg.norm(positions[:, below] - positions[:, above], axis=-1)


def hand_target(
    clip: Clip, side: str, away: float, seconds: float, rng: np.random.Generator
) -> JointTarget | None:
    """A place that far from where a hand is in the middle, within the arm's reach all the time."""
    roles = find_roles(clip.skeleton)
    shoulder, elbow, hand = (getattr(roles, f"{side}_{p}") for p in ("shoulder", "elbow", "hand"))
    positions, frame = joint_positions(clip), len(clip) // 2
    arm = np.linalg.norm(clip.skeleton.offsets[[elbow, hand]], axis=1).sum()
    last = min(frame + round(seconds * clip.fps), len(clip) - 1)
    for _ in range(1000):
        turn = rng.standard_normal(3)
        place = positions[frame, hand] + away * turn / np.linalg.norm(turn)
        reach = np.linalg.norm(place - positions[frame : last + 1, shoulder], axis=-1) / arm
        if reach.min() > 0.4 and reach.max() < 0.95:
            return JointTarget(clip.skeleton.names[hand], frame, last, tuple(place.tolist()))
    return None


def curve(clip: Clip, degrees: float) -> GroundPath:
    """The clip's own way, bent evenly by an angle over its length."""
    places = root_trajectory(clip, find_roles(clip.skeleton)).positions[:, ::2].astype(np.float64)
    steps = np.diff(places, axis=0)
    arc = np.cumsum(np.linalg.norm(steps, axis=1))
    angles = np.radians(degrees) * arc / max(arc[-1], 1e-9)
    sine, cosine = np.sin(angles), np.cos(angles)
    x, z = steps.T
    bent = np.stack([cosine * x + sine * z, cosine * z - sine * x], axis=1)
    whole = places[0] + np.concatenate([np.zeros((1, 2)), np.cumsum(bent, axis=0)])
    return GroundPath(np.arange(len(clip)) / clip.fps, whole)


def main() -> None:
    """Print one line for each kind of constraint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("test")
    parser.add_argument("--clips", type=int, default=8)
    options = parser.parse_args()
    editor, store = MotionEditor.load(options.editor), open_store(options.test)
    chosen = np.linspace(0, len(store) - 1, options.clips).astype(int)
    kinds = ["frame 0.15", "frame 0.3", "stretch 0.15", "feet", "path 45", "path 90"]
    for kind in kinds:
        rows = []
        for number, index in enumerate(chosen.tolist()):
            clip = editor.space.on_hips(store.clip(index))
            name, _, amount = kind.partition(" ")
            rng = np.random.default_rng([11, number])
            side = "left" if number % 2 else "right"
            targets, path = [], None
            if name in ("frame", "stretch"):
                seconds = 0.0 if name == "frame" else 0.5
                target = hand_target(clip, side, float(amount), seconds, rng)
                if target is None:
                    continue
                targets = [target]
            if name == "path":
                path = curve(clip, float(amount))
            began = time.process_time()
            made = constrained(clip, editor, targets, path=path, feet=name == "feet")
            spent = time.process_time() - began
            roles = find_roles(clip.skeleton)
            tips = LegChains.of_skeleton(clip.skeleton, roles).tips
            flags = foot_contacts(clip, roles).flags
            slid = [
                sliding_speed(joint_positions(each)[:, tips], flags, clip.fps)
                for each in (clip, made.clip)
            ]
            off = 0.0
            if path is not None:
                root = root_trajectory(made.clip, roles).positions[:, ::2]
                wanted = path.positions_at(np.arange(len(clip)) / clip.fps)
                off = float(np.linalg.norm(root - wanted, axis=1).max())
            bone = np.abs(bones(made.clip, editor) - bones(clip, editor)).max()
            rows.append(
                (
                    1000 * made.searched.max(initial=0.0),
                    1000 * made.distances.max(initial=0.0),
                    made.iterations,
                    1000 * bone,
                    100 * slid[0],
                    100 * slid[1],
                    1000 * off,
                    spent,
                    clip.duration,
                )
            )
        table = np.array(rows)
        means, most = table.mean(axis=0), table.max(axis=0)
        print(
            f"{kind:12} searched {means[0]:.1f} (max {most[0]:.1f}) mm, reached {most[1]:.2f} mm, "
            f"{means[2]:.0f} steps, bones {most[3]:.4f} mm, sliding {means[4]:.2f} -> "
            f"{means[5]:.2f} cm/s, path {most[6]:.1f} mm, {means[7]:.1f} s for {means[8]:.1f} s "
            f"({len(rows)} clips)",
            flush=True,
        )


if __name__ == "__main__":
    main()
