"""Controls of poses found by fitting, for rigs without a rule and without examples of an animator.

Few controls that carry much move the body; each pose is fitted from the most similar one before it,
and what the joints do not need stays near the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import parse_names
from deepphase.motion.kinematics import end_positions, global_transforms
from deepphase.progress import Progress
from deepphase.rigs.blender_rig import BlenderRig
from deepphase.rigs.keying import BodyMotion

# Bones of these names change the shape of a limb rather than its pose.
_SHAPING = ("tweak", "stretch", "twist", "squash", "bendy", "rubber")
# Small movements about a pose: share of the turns of other poses, and of the hips' place, metres.
_SMALL, _SHIFT_M = 0.05, 0.002
_MOVEMENTS, _POSES = 60, 6
# Deviation of the controls of a pose beside the rest pose, radians and metres.
_BESIDE = 0.15
# Metres for a radian or metre of a control: what moves joints by less is not moved.
_RIDGE_M = 0.005
# Shares of the movement of joints: a bone that explains less is not a control of the body, and when
# the rest is less no more are looked for.
_LEAST_GAIN, _ENOUGH = 5e-4, 1e-3
_MAX_BONES = 40
# Metres for a radian or metre: pull of a pose to the rest pose, and damping of a step.
_PULL_M, _DAMPING_M = 0.004, 0.02
_STEPS = 12
# Root mean square error at which a pose is fitted, and change that ends its fit, metres.
_DONE_M, _STILL_M = 1e-3, 5e-5
# Steps with derivatives that are only corrected, before they are computed again.
_CORRECTED = 4
_MAX_STEP = 0.5
_PLACES = {f"{letter}{axis}" for letter in "tr" for axis in "xyz"}


def movable(rig: BlenderRig) -> Array:
    """Indices of the controls that place and turn bones; scales and properties stay at rest."""
    kinds = np.array([name.rpartition(".")[2] in _PLACES for name in rig.names])
    return np.flatnonzero(kinds)


def named_controls(rig: BlenderRig, patterns: Sequence[str]) -> Array:
    """Indices of the controls that place and turn bones of these names.

    Parameters
    ----------
    patterns
        Names of bones, with * for any letters.

    Raises
    ------
    ParameterError
        If a pattern fits no control.
    """
    found: set[int] = set()
    for pattern in patterns:
        fits = [row for row in movable(rig) if fnmatchcase(rig.groups[row], pattern)]
        if not fits:
            bones = list(dict.fromkeys(rig.groups))
            raise ParameterError(
                f"no control bone fits {pattern!r}", hint=f"there are {', '.join(bones)[:400]}"
            )
        found.update(int(row) for row in fits)
    return np.array(sorted(found))


def find_pattern(rig: BlenderRig) -> None:
    """Find which controls move which joints.

    What a control moves can be hidden in one pose: a straight arm does not show the turn of its
    elbow. It is looked for at rest and in a pose beside.
    """
    columns = movable(rig)
    beside = rig.rest.copy()
    beside[columns] += _BESIDE * np.random.default_rng(0).standard_normal(len(columns))
    rig.learn_pattern(np.stack([rig.rest, np.clip(beside, rig.lower, rig.upper)]))


def chosen_controls(rig: BlenderRig, motions: Sequence[BodyMotion]) -> Array:
    """Indices of the controls of few bones that move the body as the clips do.

    Bone after bone is taken that explains most of what is left of small movements, first about the
    rest pose, then about poses of the clips that the controls found at first can reach. Bones that
    are named after the shape of limbs ("tweak", "stretch", "twist" and others) are left out.

    Parameters
    ----------
    motions
        On the skeleton of the rig.

    Raises
    ------
    ParameterError
        If no bone moves the body.
    """
    columns = movable(rig)
    shaping = [any(word in rig.groups[each].lower() for word in _SHAPING) for each in columns]
    columns = columns[~np.array(shaping, bool)]
    rng = np.random.default_rng(0)
    turned = np.concatenate([motion.turns for motion in motions])
    targets = np.concatenate([motion.positions for motion in motions])
    rows = rng.permutation(len(turned))
    still = np.tile(np.eye(3), (len(rig.skeleton), 1, 1))
    vectors = _vectors(_local(rig, turned[rows[:_MOVEMENTS]]))
    movements = [_movements(rig, still, vectors, rng)]
    derivatives = [rig.jacobian(rig.rest[None], columns)[0]]
    first = _explaining(rig, columns, derivatives, movements)
    if not len(first):
        raise ParameterError(
            "no bone was found that moves the body as the poses do",
            hint="name the bones with --controls",
            path=rig.path,
        )
    poses = _local(rig, turned[rows[:_POSES]])
    values = fitted(rig, targets[rows[:_POSES]], first)
    for pose, value in zip(poses, values, strict=True):
        movements.append(_movements(rig, pose, vectors, rng))
        derivatives.append(rig.jacobian(value[None], columns)[0])
    return _explaining(rig, columns, derivatives, movements)


def _explaining(
    rig: BlenderRig, columns: Array, derivatives: Sequence[Array], movements: Sequence[Array]
) -> Array:
    """The columns of bones whose derivatives explain movements, by forward selection."""
    groups = np.array([rig.groups[column] for column in columns])
    count = len(columns)
    # All joints count alike: hands move far, and a neck does not.
    size = np.square(np.concatenate(movements, axis=1)).reshape(len(rig.joints), -1).mean(axis=1)
    weights = np.repeat(np.sqrt(size.mean() / np.maximum(size, 1e-2 * size.mean())), 3)[:, None]
    # With a ridge, as further outputs that are wanted to be 0.
    inputs = [np.concatenate([weights * each, _RIDGE_M * np.eye(count)]) for each in derivatives]
    left = [
        np.concatenate([weights * each, np.zeros((count, each.shape[1]))]) for each in movements
    ]
    whole = sum(float((each**2).sum()) for each in left)
    chosen: list[str] = []
    bases = [np.zeros((len(each), 0)) for each in inputs]
    explained = 0.0

    def directions(name: str, row: int) -> Array:
        part = inputs[row][:, groups == name]
        return np.linalg.qr(part - bases[row] @ (bases[row].T @ part))[0]

    while len(chosen) < _MAX_BONES and explained < 1.0 - _ENOUGH:
        gains = {
            name: sum(
                float(((directions(name, row).T @ each) ** 2).sum())
                for row, each in enumerate(left)
            )
            / whole
            for name in dict.fromkeys(groups.tolist())
            if name not in chosen
        }
        best = max(gains, key=lambda name: gains[name], default="")
        if not best or gains[best] < _LEAST_GAIN:
            break
        chosen.append(best)
        for row, each in enumerate(left):
            bases[row] = np.concatenate([bases[row], directions(best, row)], axis=1)
            left[row] = each - bases[row] @ (bases[row].T @ each)
        explained += gains[best]
    names = list(dict.fromkeys(groups.tolist()))
    both = {side for name in chosen for side in (name, _mirrored(name, names))}
    return columns[np.isin(groups, sorted(both))]


def _mirrored(name: str, names: list[str]) -> str:
    """The bone of the other side; itself on the middle line."""
    parts = parse_names(tuple(names))
    own = parts[names.index(name)]
    for other, part in zip(names, parts, strict=True):
        if part.key == own.key and part.side and own.side and part.side != own.side:
            return other
    return name


def _movements(rig: BlenderRig, pose: Array, vectors: Array, rng: np.random.Generator) -> Array:
    """(3 joints, movements) of the joints from a pose, by small turns and shifts.

    Parameters
    ----------
    pose : (joints, 3, 3)
        Local turns.
    vectors : (movements, joints, 3)
    """
    count = len(vectors)
    small = Rotation.from_rotvec((_SMALL * vectors).reshape(-1, 3)).as_matrix()
    turns = pose @ small.reshape(count, -1, 3, 3)
    shifts = _SHIFT_M * rng.standard_normal((count, 3))
    moved = _joints(rig, turns) + shifts[:, None]
    return np.asarray((moved - _joints(rig, pose[None])).reshape(count, -1).T)


def _local(rig: BlenderRig, turned: Array) -> Array:
    """(poses, joints, 3, 3) turns against the joint above."""
    local = turned.copy()
    parents = rig.skeleton.parents[1:]
    local[:, 1:] = turned[:, parents].swapaxes(-1, -2) @ turned[:, 1:]
    return np.asarray(local)


def _vectors(turns: Array) -> Array:
    """(poses, joints, 3) rotation vectors of turns (poses, joints, 3, 3)."""
    vectors = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_rotvec()
    return np.asarray(vectors.reshape(*turns.shape[:2], 3))


def _joints(rig: BlenderRig, turns: Array) -> Array:
    """(poses, joints, 3) of local turns, the hips at rest."""
    skeleton = rig.skeleton
    rotations = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_quat()
    places = np.repeat(skeleton.offsets[None, :1], len(turns), axis=0)
    clip = Clip(skeleton, rotations.reshape(*turns.shape[:2], 4), places, 60.0)
    transforms = global_transforms(clip)
    return np.concatenate([transforms[1], end_positions(clip, transforms)], axis=1).astype(float)


def fitted(
    rig: BlenderRig,
    positions: Array,
    columns: Array,
    progress: Progress | None = None,
) -> Array:
    """Controls of poses by damped least squares.

    Derivatives are computed where they are needed, and corrected by what steps do (Broyden 1965).

    Parameters
    ----------
    positions : (poses, joints, 3) metres
    columns : (used,)
        Controls that may move.

    Returns
    -------
    (poses, controls)
    """
    count = len(positions)
    values = np.repeat(rig.rest[None], count, axis=0)
    flat = positions.reshape(count, -1)
    done_values = [rig.rest]
    done_places = [rig.evaluate(rig.rest[None])[0].ravel()]
    done_derivatives: list[Array | None] = [None]
    left = np.ones(count, bool)
    nearest = ((flat - done_places[0]) ** 2).sum(axis=1)
    origin = np.zeros(count, np.int64)
    for number in range(count):
        row = int(np.argmin(np.where(left, nearest, np.inf)))
        start = int(origin[row])
        pose, place, derivatives = _fit_pose(
            rig, done_values[start], done_places[start], done_derivatives[start], flat[row], columns
        )
        values[row], left[row] = pose, False
        done_values.append(pose)
        done_places.append(place)
        done_derivatives.append(derivatives)
        distances = ((flat - place) ** 2).sum(axis=1)
        closer = distances < nearest
        nearest[closer], origin[closer] = distances[closer], len(done_values) - 1
        if progress is not None and (number % 10 == 9 or number + 1 == count):
            progress("fitting controls", number + 1, count, "poses")
    return values


def _fit_pose(
    rig: BlenderRig,
    values: Array,
    place: Array,
    derivatives: Array | None,
    target: Array,
    columns: Array,
) -> tuple[Array, Array, Array]:
    values, place = values.copy(), place.copy()
    rest = rig.rest[columns]
    age = _CORRECTED
    error = _cost(target - place, values[columns] - rest)
    damping = _DAMPING_M
    fresh = False
    if derivatives is None:
        derivatives, age, fresh = _derivatives(rig, values, place, columns), 0, True
    derivatives = derivatives.copy()
    for _ in range(_STEPS):
        if np.sqrt(np.square(target - place).mean() * 3.0) < _DONE_M:
            break
        step = _step(derivatives, target - place, values[columns] - rest, damping)
        trial = values.copy()
        trial[columns] += step
        trial = np.clip(trial, rig.lower, rig.upper)
        step = trial[columns] - values[columns]
        there = rig.evaluate(trial[None])[0].ravel()
        size = float(step @ step)
        if size > 1e-12:
            change = there - place - derivatives @ step
            derivatives += np.outer(change, step / size)
        after = _cost(target - there, trial[columns] - rest)
        gained = np.sqrt(error) - np.sqrt(after)
        if after < error:
            values, place, error = trial, there, after
            damping *= 0.5
            fresh = False
            age += 1
        else:
            damping *= 4.0
        if gained < 0.1 * np.sqrt(error):
            if gained >= 0 and gained < _STILL_M and fresh:
                break
            if not fresh and age >= 1:
                derivatives, age, fresh = _derivatives(rig, values, place, columns), 0, True
            elif 0 <= gained < _STILL_M:
                break
    return values, place, derivatives


def _derivatives(rig: BlenderRig, values: Array, place: Array, columns: Array) -> Array:
    joints = place.reshape(1, -1, 3)
    return rig.jacobian(values[None], columns, positions=joints)[0]


def _cost(off: Array, away: Array) -> float:
    """Mean square distance of a joint with the pull to the rest, square metres."""
    return float((off @ off + _PULL_M**2 * (away @ away)) / (len(off) / 3.0))


def _step(derivatives: Array, off: Array, away: Array, damping: float) -> Array:
    square = derivatives.T @ derivatives
    square[np.diag_indices_from(square)] += damping**2 + _PULL_M**2
    step = np.linalg.solve(square, derivatives.T @ off - _PULL_M**2 * away)
    return np.asarray(np.clip(step, -_MAX_STEP, _MAX_STEP))
