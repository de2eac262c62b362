"""Repair and in-betweening of clips of other styles, beside interpolation, PCA and smoothing.

    python -m tests.studies.editing.repair EDITOR TRAINING_STORE TEST_STORE [--clips 30]

TRAINING_STORE gives the principal components, TEST_STORE the clips that are damaged.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from deepphase.arrays import true_runs
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.missing import NOISY
from deepphase.edit.motion_rows import MotionRows
from deepphase.edit.repair import interpolated, repaired
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import global_transforms, joint_positions
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.steering.springs import angular_velocities, from_rotation_vectors

# Frames of a window of principal components; 384 of them have the size of the hidden units.
WINDOW, COMPONENTS = 8, 384


class PrincipalComponents:
    """Masked reconstruction of windows of rows by principal components."""

    def __init__(self, editor: MotionEditor, store: ClipStore) -> None:
        windows = []
        for index in range(0, len(store), 4):
            clip = resample(editor.space.on_hips(store.clip(index)), editor.fps)
            rows = editor.normalised(editor.space.rows(clip)[0].array())
            count = len(rows) // WINDOW
            windows.append(rows[: count * WINDOW].reshape(count, -1))
        values = np.concatenate(windows).astype(np.float64)
        self.mean = values.mean(axis=0)
        self.axes = np.linalg.svd(values - self.mean, full_matrices=False)[2][:COMPONENTS]

    def restored(self, rows: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Rows (frames, values); unknown values are those of the nearest point of the subspace."""
        extra = -len(rows) % WINDOW
        result = np.pad(rows, ((0, extra), (0, 0)), mode="edge").reshape(-1, self.mean.size)
        has = np.pad(known, ((0, extra), (0, 0)), mode="edge").reshape(-1, self.mean.size)
        given = result.copy()
        for _ in range(1 if has.all() else 40):
            result = self.mean + (result - self.mean) @ self.axes.T @ self.axes
            if not has.all():
                result = np.where(has, given, result)
        return result.reshape(-1, rows.shape[1])[: len(rows)]


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


def by_components(
    components: PrincipalComponents, clip: Clip, editor: MotionEditor, damage: Damage
) -> Clip:
    """The clip with what is damaged from principal components."""
    plain = interpolated(clip, editor, damage)
    sampled = resample(plain, editor.fps)
    rows, root = editor.space.rows(sampled)
    index = np.minimum(
        np.round(np.arange(len(rows)) * clip.fps / editor.fps).astype(int), len(clip) - 1
    )
    groups = Damage(damage.known[index], damage.joints).groups(editor.layout.depends)
    known = groups[:, editor.layout.group] == 1
    soft = (groups == NOISY).any()
    values = components.restored(
        editor.normalised(rows.array()), np.ones_like(known) if soft else known
    )
    made = editor.space.clip(
        MotionRows(editor.rows(values).points, rows.velocities, rows.contacts),
        sampled,
        root,
        floor=editor.space.floor(rows, sampled),
    )
    made = resample(made, clip.fps)
    frames = min(len(made), len(plain))
    body = editor.space.points.joints
    rotations = plain.rotations[:, body].astype(np.float64).copy()
    broken = damage.known[:frames, 1:] < 1
    rotations[:frames][broken] = made.rotations[:frames, body][broken]
    return editor.space.with_pose(plain, rotations, plain.local_positions()[:, editor.space.hips])


def smoothed(clip: Clip, editor: MotionEditor, damage: Damage) -> Clip:
    """Rotations of noisy joints by a Savitzky-Golay filter of a quarter of a second."""
    body = editor.space.points.joints
    rotations = quaternions.sign_continuous(clip.rotations[:, body].astype(np.float64))
    window = min(15, (len(clip) - 1) // 2 * 2 + 1)
    filtered = quaternions.normalized(savgol_filter(rotations, window, 3, axis=0))
    broken = damage.known[:, 1:] < 1
    return editor.space.with_pose(
        clip,
        np.where(broken[..., None], filtered, rotations),
        clip.local_positions()[:, editor.space.hips],
    )


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
    return float(
        np.linalg.norm(np.diff(joint_positions(clip), n=3, axis=0), axis=-1).mean() * clip.fps**3
    )


def sliding(made: Clip, true: Clip) -> float:
    """m/s: mean speed of the feet while the true ones are on the floor."""
    contacts = foot_contacts(true, find_roles(true.skeleton))
    feet = joint_positions(made)[:, list(contacts.joints)][:, :, ::2]
    speed = np.linalg.norm(np.diff(feet, axis=0), axis=-1) * true.fps
    on = contacts.flags[1:] & contacts.flags[:-1]
    return float(speed[on].mean()) if on.any() else 0.0


def power_similarity(made: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Sum of the distances of power spectra of (frames, values), and of their weights (NPSS).

    References
    ----------
    Gopalakrishnan et al. 2019, section 4.2: normalised power spectrum similarity.
    """
    powers = [np.abs(np.fft.fft(each, axis=0)) ** 2 for each in (made, true)]
    total = powers[1].sum(axis=0)
    shares = [each / np.maximum(each.sum(axis=0), 1e-12) for each in powers]
    distance = np.abs(np.cumsum(shares[0], axis=0) - np.cumsum(shares[1], axis=0)).sum(axis=0)
    return float((distance * total).sum()), float(total.sum())


def inertialized(clip: Clip, editor: MotionEditor, damage: Damage, longest_s: float = 0.5) -> Clip:
    """Interpolation with the velocities of both ends, whose differences from its own decay.

    Parameters
    ----------
    longest_s
        Longest duration of a decay in seconds; otherwise it is that of the gap.

    References
    ----------
    Bollo 2018, Inertialization: the polynomial of degree 5 in time.
    """
    plain = interpolated(clip, editor, damage)
    body, hips = editor.space.points.joints, editor.space.hips
    rotations = plain.rotations[:, body].astype(np.float64)
    places = plain.local_positions()[:, hips].astype(np.float64)
    given = rotations.copy(), places.copy()
    ((start, stop),) = true_runs(damage.frames)
    for frames in (np.arange(start - 2, stop + 1), np.arange(stop + 1, start - 2, -1)):
        # The last two whole frames, then the gap and the first whole frame beyond it.
        turns, moved = given[0][frames], given[1][frames]
        own, straight = (angular_velocities(turns[i], turns[i + 1], 1 / clip.fps) for i in (0, 1))
        change = np.diff(moved[:3], axis=0) * clip.fps
        times = np.arange(1, len(frames) - 2)[:, None] / clip.fps
        share = np.minimum(times / min(times[-1, 0] + 1 / clip.fps, longest_s), 1.0)
        decay = times * (1.0 - share) ** 3 * (1.0 + 3.0 * share)
        inside = frames[2:-1]
        turn = from_rotation_vectors(decay[:, None] * (own - straight))
        rotations[inside] = quaternions.multiply(turn, rotations[inside])
        places[inside] += decay * (change[0] - change[1])
    return editor.space.with_pose(plain, rotations, places)


METHODS: dict[str, Callable[[Clip, MotionEditor, Damage], Clip]] = {
    "editor": repaired,
    "free feet": lambda clip, editor, damage: repaired(clip, editor, damage, feet=False),
    "interpolation": interpolated,
    "inertialized": inertialized,
}


def measure_gaps(editor: MotionEditor, clips: list[Clip]) -> None:
    """Print errors over gaps of all joints: 5, 15, 30 and 45 frames at 30 Hz."""
    print("gap in frames at 30 Hz: mm, L2 of world quaternions, NPSS, sliding - true in cm/s")
    for gap in (5, 15, 30, 45):
        sums: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
        for clip in clips:
            lost = round(gap * clip.fps / 30.0)
            start = (len(clip) - lost) // 2
            if start < clip.fps / 3:
                continue
            here = slice(start, start + lost)
            damage = Damage.stated(
                len(clip), editor.space.joints, stretches=[(start, start + lost - 1)]
            )
            rotations = clip.rotations.copy()
            rotations[here] = quaternions.IDENTITY
            translations = clip.translations.copy()
            translations[here] = 0.0
            given = replace(clip, rotations=rotations, translations=translations)
            world = quaternions.sign_continuous(global_transforms(clip)[0])[here]
            for name, method in METHODS.items():
                made = method(given, editor, damage)
                turned, places = (each[here] for each in global_transforms(made))
                turned = turned * np.where((turned * world).sum(-1, keepdims=True) < 0, -1.0, 1.0)
                apart = np.linalg.norm(places - joint_positions(clip)[here], axis=-1).mean()
                angles = np.linalg.norm(turned - world, axis=-1).mean()
                power = power_similarity(turned.reshape(lost, -1), world.reshape(lost, -1))
                slid = sliding(made.sliced(start, start + lost), clip.sliced(start, start + lost))
                own = sliding(clip.sliced(start, start + lost), clip.sliced(start, start + lost))
                sums[name].append((1000 * apart, angles, *power, 100 * (slid - own)))
        for name, rows in sums.items():
            error, angle, power, weight, slid = np.mean(rows, axis=0)
            print(
                f"gap {gap:2} {name:13} {error:6.1f}  {angle:.4f}  {power / weight:.4f}  "
                f"{slid:+.1f}  ({len(rows)} clips)",
                flush=True,
            )


def main() -> None:
    """Print a table of errors for each kind of damage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("training")
    parser.add_argument("test")
    parser.add_argument("--clips", type=int, default=30)
    parser.add_argument("--kinds", default="", help="kinds of damage, or gaps")
    options = parser.parse_args()
    editor = MotionEditor.load(options.editor)
    store = open_store(options.test)
    chosen = np.linspace(0, len(store) - 1, options.clips).astype(int)
    clips = [editor.space.on_hips(store.clip(int(i))) for i in np.unique(chosen)]
    if options.kinds == "gaps":
        return measure_gaps(editor, clips)
    components = PrincipalComponents(editor, open_store(options.training))
    kinds = [f"frames {share}" for share in (10, 30, 50, 70)]
    kinds += [f"stretches {share}" for share in (10, 30, 50, 70)]
    kinds += ["limb arm", "limb leg", "keys 15", "keys 30", "noise 2", "noise 5", "bursts 10"]
    kinds = options.kinds.split(",") if options.kinds else kinds
    print(f"{len(clips)} clips; millimetres, then jerk / true and sliding - true (cm/s)")
    for kind in kinds:
        methods: dict[str, Callable[[Clip, Damage], Clip]] = {
            "editor": lambda clip, damage: repaired(clip, editor, damage),
            "interpolation": lambda clip, damage: interpolated(clip, editor, damage),
            "pca": lambda clip, damage: by_components(components, clip, editor, damage),
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
