"""Reading of stored quaternions that agrees with the stored positions of the same joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton

SPACES = ("local", "global")
_FRAMES_COMPARED = 200
# Movement of joints in their parents' frames, as a share of the bone length, up to which rotations
# belong to positions; readings as near to each other as the second are alike.
_FITS, _ALIKE = 0.2, 1e-3
# The same share beyond which a joint is translated, and up to which positions are local.
_MOVES, _CONSTANT = 1e-3, 0.02
# Quaternions are written with two decimals at least.
_UNIT_LENGTH = 0.02


def unit_quaternions(stored: Array, what: str, path: Path) -> Array:
    """(frames, joints, 4) quaternions made to have length 1.

    Raises FormatError if a length is another; `what` names the place in the file.
    """
    # A square may overflow; such a length is refused.
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(stored, axis=-1)
    wrong = ~(np.abs(lengths - 1.0) <= _UNIT_LENGTH)
    if wrong.any():
        frame, joint = np.argwhere(wrong)[0]
        raise FormatError(
            f"frame {frame}, joint {joint}: a quaternion of length {lengths[frame, joint]:.3g} in "
            f"{what} is not possible",
            hint="quaternions have length 1",
            path=path,
        )
    return np.asarray(stored / lengths[..., None])


def fitted_clip(
    names: tuple[str, ...],
    parents: Array,
    stored: Array,
    positions: Array,
    fps: float,
    *,
    space: str | None = None,
    local_positions: bool | None = None,
) -> tuple[Clip | None, list[str]]:
    """The clip in the reading in which rotations and positions fit best, and notes.

    In the right reading every joint stands still in its parent's frame. Among readings that fit
    alike, local rotations and the order in which the last (or else the first) component is the
    larger one are preferred.

    Parameters
    ----------
    names, parents
        As of a `Skeleton`.
    stored
        (frames, joints, 4) unit quaternions, w first or last.
    positions
        (frames, joints, 3) in the world, or in the frames of the parents.
    space
        "local" or "global" quaternions; None finds it.
    local_positions
        Whether positions are in the parents' frames; None finds it.

    Returns
    -------
    clip
        None if no reading fits.
    notes
        What was found, one sentence each.
    """
    w_first = float(np.abs(stored[..., 0]).mean()) > float(np.abs(stored[..., 3]).mean())
    step = max(1, len(stored) // _FRAMES_COMPARED)
    some, places = stored[::step], positions[::step]
    spreads = {
        (each, first): _spread_in_parents(parents, _globals(parents, some, each, first), places)
        for each in (SPACES if space is None else (space,))
        for first in (w_first, not w_first)
    }
    if local_positions is None:
        constant = _spread(places[:, 1:], np.linalg.norm(places[:, 1:], axis=-1))
        local_positions = constant < _CONSTANT and min(spreads.values()) > _CONSTANT
    if local_positions:
        spreads = dict.fromkeys(spreads, 0.0)
    least = min(spreads.values())
    # The preferred readings come first.
    kind, first = next(each for each, spread in spreads.items() if spread <= least + _ALIKE)
    if least > _FITS:
        return None, [
            f"the quaternions contradict the positions (joints move by {100 * least:.0f} % of "
            "their bones in their parents' frames) and were left out"
        ]
    world = _globals(parents, stored, kind, first)
    by = "assumed to be" if local_positions else "by the positions,"
    notes = [f"quaternions {by} {kind}, in the order {'w x y z' if first else 'x y z w'}"]
    above = parents[1:]
    to_parent = quaternions.conjugate(world[:, above])
    rotations, local = world.copy(), positions.copy()
    rotations[:, 1:] = quaternions.multiply(to_parent, world[:, 1:])
    if local_positions:
        notes.append("positions are in the frames of the parents")
    else:
        local[:, 1:] = quaternions.rotate(to_parent, positions[:, 1:] - positions[:, above])
    offsets = np.median(local, axis=0)
    bone = float(np.median(np.linalg.norm(offsets[1:], axis=-1))) if len(names) > 1 else 0.0
    moves = np.abs(local - offsets).max(axis=(0, 2)) > _MOVES * bone
    moves[0] = True
    moving = np.flatnonzero(moves)
    rotations = quaternions.sign_continuous(quaternions.normalized(rotations))
    return Clip(Skeleton(names, parents, offsets), rotations, local[:, moving], fps, moving), notes


def _globals(parents: Array, stored: Array, space: str, w_first: bool) -> Array:
    """(frames, joints, 4) rotations in the world, x y z w."""
    rotations = np.roll(stored, -1, axis=-1) if w_first else stored
    if space == "global":
        return rotations
    world = rotations.copy()
    for joint, parent in enumerate(parents[1:].tolist(), start=1):
        world[:, joint] = quaternions.multiply(world[:, parent], rotations[:, joint])
    return world


def _spread_in_parents(parents: Array, world: Array, positions: Array) -> float:
    """Mean movement of the joints in their parents' frames, as a share of the bones."""
    bones = positions[:, 1:] - positions[:, parents[1:]]
    local = quaternions.rotate(quaternions.conjugate(world[:, parents[1:]]), bones)
    return _spread(local, np.linalg.norm(bones, axis=-1))


def _spread(local: Array, lengths: Array) -> float:
    mean_lengths = lengths.mean(axis=0)
    clear = mean_lengths > 1e-6 * max(float(mean_lengths.max(initial=0.0)), 1e-12)
    if not clear.any():
        return 0.0
    moved = np.linalg.norm(local - local.mean(axis=0), axis=-1)
    shares = np.sqrt(np.square(moved).mean(axis=0))[clear] / mean_lengths[clear]
    return float(np.minimum(shares, 1.0).mean())
