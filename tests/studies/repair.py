"""Repair of clips of other styles, beside interpolation and smoothing.

    python -m tests.studies.repair EDITOR TEST_STORE [--clips 30]

Clips of TEST_STORE, also of another body, are damaged in known ways; `--kinds "gap 1"` leaves out a
second of all joints.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from deepphase.corpus.store import open_store
from deepphase.edit.bound_editor import bound_editor
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.missing import NOISY
from deepphase.edit.repair import interpolated_pose, repaired
from deepphase.evaluation.motion_measures import joint_jerks
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.roles import find_roles


def damaged_by(
    name: str, clip: Clip, editor: MotionEditor, generator: np.random.Generator
) -> tuple[Clip, Damage]:
    """A clip with a kind of damage, and the damage."""
    frames, joints = len(clip), editor.space.joints
    known = np.ones((frames, len(joints) + 1), np.float32)
    kind, _, amount = name.partition(" ")
    rotations = clip.rotations.astype(np.float64).copy()
    places = clip.local_positions()[:, editor.space.hips].astype(np.float64)
    body = editor.space.points.joints
    if kind == "frames":
        known[:, 1:][generator.random((frames, len(joints))) < float(amount) / 100] = 0
    elif kind == "stretches":
        length = round(0.5 * clip.fps)
        blocks = generator.random((frames // length + 2, len(joints))) < float(amount) / 100
        shift = generator.integers(0, length, len(joints))
        index = (np.arange(frames)[:, None] + shift) // length
        known[:, 1:][blocks[index, np.arange(len(joints))]] = 0
    elif kind == "limb":
        roles = find_roles(clip.skeleton)
        top = {"arm": roles.left_shoulder, "leg": roles.left_hip}[amount]
        column = joints.index(clip.skeleton.names[top])
        below = editor.layout.depends[1:, column + 1]
        known[:, 1:][:, below] = 0
    elif kind == "gap":
        length = round(float(amount) * clip.fps)
        known[(frames - length) // 2 :][:length] = 0
    elif kind == "keys":
        known[np.arange(frames) % int(amount) != 0] = 0
    elif kind in ("noise", "bursts"):
        noisy = np.ones((frames, len(joints)), bool)
        if kind == "bursts":
            start = generator.integers(0, max(frames - 60, 1), len(joints))
            index = np.arange(frames)[:, None]
            noisy = (index >= start) & (index < start + 45)
            noisy &= generator.random(len(joints)) < 0.3
        vectors = generator.standard_normal((frames, len(joints), 3)) * np.radians(float(amount))
        turns = Rotation.from_rotvec((vectors * noisy[..., None]).reshape(-1, 3)).as_quat()
        rotations[:, body] = quaternions.multiply(rotations[:, body], turns.reshape(frames, -1, 4))
        known[:, 1:][noisy] = NOISY
    lost = known == 0
    for column in range(len(joints)):
        # A stream of zeros, as capture programs write for what they lost; keys are held.
        if kind == "keys":
            held = np.arange(frames) // int(amount) * int(amount)
            rotations[:, body[column]] = rotations[held, body[column]]
            places = places[held] if column == 0 else places
        else:
            rotations[lost[:, column + 1], body[column]] = quaternions.IDENTITY
    return editor.space.with_pose(clip, rotations[:, body], places), Damage(known, joints)


def interpolated(clip: Clip, editor: MotionEditor, damage: Damage) -> Clip:
    """Missing rotations by spherical, and places by linear interpolation; means if all are."""
    lines = interpolated_pose(clip, editor.space, damage, editor.statistics.mean)
    return editor.space.with_pose(clip, *lines)


def smoothed(clip: Clip, editor: MotionEditor, damage: Damage) -> Clip:
    """Rotations of noisy joints by a Savitzky-Golay filter of a quarter of a second."""
    rotations, places = editor.space.pose(clip)
    rotations = quaternions.sign_continuous(rotations)
    window = min(15, (len(clip) - 1) // 2 * 2 + 1)
    filtered = quaternions.normalized(savgol_filter(rotations, window, 3, axis=0))
    broken = damage.known[:, 1:] < 1
    return editor.space.with_pose(clip, np.where(broken[..., None], filtered, rotations), places)


def errors(made: Clip, true: Clip, editor: MotionEditor, damage: Damage) -> np.ndarray:
    """Metres: distances of the joints that the damage moves."""
    body = editor.space.points.joints
    groups = damage.groups(editor.layout.depends)
    # A joint is moved by its parent's rotation.
    moved = groups[:, editor.space.points.parents + 1] < 1
    moved[:, 0] = damage.known[:, 0] < 1
    apart = np.linalg.norm(joint_positions(made) - joint_positions(true), axis=-1)[:, body]
    return apart[moved]


def jerk(clip: Clip) -> float:
    """m/s3: mean of all joints."""
    return float(joint_jerks(joint_positions(clip), clip.fps).mean())


def sliding(made: Clip, true: Clip) -> float:
    """m/s: mean speed of the feet while the true ones are on the floor."""
    contacts = foot_contacts(true, find_roles(true.skeleton))
    return sliding_speed(joint_positions(made)[:, list(contacts.joints)], contacts.flags, true.fps)


def main() -> None:
    """Print a table of errors for each kind of damage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("test")
    parser.add_argument("--clips", type=int, default=30)
    parser.add_argument("--kinds", default="", help="kinds of damage, separated by commas")
    options = parser.parse_args()
    editor = MotionEditor.load(options.editor)
    store = open_store(options.test)
    chosen = np.linspace(0, len(store) - 1, options.clips).astype(int)
    clips = [store.clip(int(i)) for i in np.unique(chosen)]
    if editor.space.skeleton.names != clips[0].skeleton.names:
        editor = bound_editor(editor, clips[0])
    clips = [editor.space.on_hips(clip) for clip in clips]
    kinds = [f"frames {share}" for share in (10, 30, 50, 70)]
    kinds += [f"stretches {share}" for share in (10, 30, 50, 70)]
    kinds += ["limb arm", "limb leg", "keys 15", "keys 30", "noise 2", "noise 5", "bursts 10"]
    kinds = options.kinds.split(",") if options.kinds else kinds
    print(f"{len(clips)} clips; millimetres, then jerk / true and sliding - true (cm/s)")
    for kind in kinds:
        methods: dict[str, Callable[[Clip, Damage], Clip]] = {
            "editor": lambda clip, damage: repaired(clip, editor, damage),
            "interpolation": lambda clip, damage: interpolated(clip, editor, damage),
        }
        if kind.startswith(("noise", "bursts")):
            methods["damaged"] = lambda clip, damage: clip
            methods["savgol"] = lambda clip, damage: smoothed(clip, editor, damage)
            del methods["interpolation"]
        if kind.startswith(("keys", "bursts", "noise")):
            methods["found"] = lambda clip, damage: repaired(
                clip, editor, find_damage(clip, editor)
            )
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
        for number, clip in enumerate(clips):
            given, damage = damaged_by(kind, clip, editor, np.random.default_rng([7, number]))
            given = replace(given, rotations=given.rotations.astype(np.float32))
            for name, method in methods.items():
                made = method(given, damage)
                apart = errors(made, clip, editor, damage)
                if apart.size:
                    rows[name].append(
                        (
                            1000 * float(apart.mean()),
                            jerk(made) / max(jerk(clip), 1e-9),
                            100 * (sliding(made, clip) - sliding(clip, clip)),
                        )
                    )
        cells = [
            f"{name} {e:.1f} ({j:.2f}, {s:+.1f})"
            for name, (e, j, s) in ((n, np.mean(r, axis=0)) for n, r in rows.items() if r)
        ]
        print(f"{kind:14}", "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
