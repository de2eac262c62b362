"""Half-second windows of motion in root space, described by posture, dynamics and feet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip, end_positions, joint_positions
from deepphase.motion.resample import low_passed, resample
from deepphase.motion.roles import Roles, body_parts, find_roles
from deepphase.motion.root_trajectory import root_trajectory, to_root_space
from deepphase.motion.skeleton import subtree_mask

FPS = 60.0
WINDOW_S = 0.5
STRIDE_S = 0.25
CUTOFF_HZ = 8.0
"""Above this frequency lies the noise of the capture, which no generator has to learn."""
SPEED_BIN = 0.25
"""m/s: width of the bins within which as many captured as generated windows are compared."""
TURN_BIN = np.radians(30.0)
_EDGE_S = 0.25


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of clips, one row each.

    Parameters
    ----------
    values
        (windows, columns) float32.
    groups, parts
        (columns,) what a column describes ("posture", "dynamics" or "feet"), and the body part.
    takes
        (windows,) name of the captured clip that a window plays, or else of its own clip.
    speeds, turn_rates
        (windows,) m/s of the root, and rad/s of its facing without sign.
    """

    values: Array
    groups: Array
    parts: Array
    takes: Array
    speeds: Array
    turn_rates: Array

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, chosen: Array) -> Windows:
        """Windows chosen by (n,) indices or a (windows,) mask."""
        per_window = ("values", "takes", "speeds", "turn_rates")
        return replace(self, **{name: getattr(self, name)[chosen] for name in per_window})

    @property
    def cells(self) -> Array:
        """(windows, 2) bins of speed and of turning."""
        return np.stack([self.speeds // SPEED_BIN, self.turn_rates // TURN_BIN], axis=1).astype(int)


def windows_of(clips: Iterable[Clip], takes: Iterable[Sequence[str]] | None = None) -> Windows:
    """Windows of clips of one skeleton.

    `takes`: of each clip, (frames,) names of the captured clips that it plays. Windows of one take
    lie in one half of a split, whatever clips they are in: a take that is played again and again
    would be known otherwise. By default each clip is one.

    Raises
    ------
    ParameterError
        Where no clip has a whole window.
    """
    found = []
    names = repeat(None) if takes is None else takes
    for clip, played in zip(clips, names, strict=takes is not None):
        if clip.duration >= WINDOW_S + 2 * _EDGE_S:
            windows, middles = _of_clip(resample(clip, FPS))
            own = [clip.name] if played is None else played
            frames = np.minimum(np.round(middles * clip.fps).astype(int), len(own) - 1)
            found.append(replace(windows, takes=np.array(own, str)[frames]))
    if not found:
        raise ParameterError(
            f"no clip is as long as {WINDOW_S + 2 * _EDGE_S} s", hint="give longer clips"
        )
    joined = {
        name: np.concatenate([getattr(each, name) for each in found])
        for name in ("values", "takes", "speeds", "turn_rates")
    }
    return replace(found[0], **joined)


def _of_clip(clip: Clip) -> tuple[Windows, Array]:
    """Windows without takes, and (windows,) seconds of their middles."""
    roles = find_roles(clip.skeleton, clip=clip)
    world = low_passed(joint_positions(clip).astype(np.float64), CUTOFF_HZ, FPS)
    root = root_trajectory(clip, roles, world)
    # Joints above the hips carry the travel in another way in every file.
    body = subtree_mask(clip.skeleton, roles.hips)
    local = to_root_space(world, root)[:, body]
    rates = [np.gradient(local, axis=0) * FPS]
    for _ in range(2):
        rates.append(np.gradient(rates[-1], axis=0) * FPS)
    frames, step, edge = round(WINDOW_S * FPS), round(STRIDE_S * FPS), round(_EDGE_S * FPS)
    begins = np.arange(edge, len(world) - edge - frames + 1, step)
    inside = begins[:, None] + np.arange(frames)

    def spread(values: Array) -> Array:
        return np.sqrt(np.mean(values[inside] ** 2, axis=1)).reshape(len(begins), -1)

    posture = local[inside].mean(axis=1).reshape(len(begins), -1)
    sway = local[inside].std(axis=1).reshape(len(begins), -1)
    feet = _feet(clip, roles)
    foot_speeds = np.linalg.norm(np.gradient(feet, axis=0)[..., ::2], axis=-1) * FPS
    foot_columns = [foot_speeds[inside].min(axis=1), feet[..., 1][inside].min(axis=1)]
    per_joint = np.repeat(np.array(body_parts(clip.skeleton, roles), object)[body], 3)
    columns = [posture, sway, *map(spread, rates)]
    groups = [np.full(block.shape[1], name) for block, name in zip(columns, _GROUPS, strict=True)]
    foot_group = np.full(2 * feet.shape[1], "feet")
    travel = np.diff(root.positions[inside][..., ::2], axis=1)
    turns = root.angles[begins + frames - 1] - root.angles[begins]
    windows = Windows(
        # Rounding: that the hips are over the root up to the last bit tells one file from another.
        values=np.round(np.concatenate([*columns, *foot_columns], axis=1), 4).astype(np.float32),
        groups=np.concatenate([*groups, foot_group]),
        parts=np.concatenate([np.tile(per_joint, len(columns)), foot_group]).astype(str),
        takes=np.full(len(begins), ""),
        speeds=np.linalg.norm(travel, axis=-1).mean(axis=1) * FPS,
        turn_rates=np.abs(turns) / WINDOW_S,
    )
    return windows, (begins + frames / 2) / FPS


_GROUPS = ("posture", "dynamics", "dynamics", "dynamics", "dynamics")


def _feet(clip: Clip, roles: Roles) -> Array:
    """(frames, feet, 3) metres: the tips of the feet, in the world, low-passed."""
    joints, ends = joint_positions(clip), end_positions(clip)
    tips = []
    for side in ("left", "right"):
        for limb in ("foot", "hand") if roles.kind == "quadruped" else ("foot",):
            end = getattr(roles, f"{side}_{limb}_end")
            toe = roles.both("toe") if limb == "foot" else None
            joint = getattr(roles, f"{side}_{'toe' if toe else limb}")
            if end is not None:
                tips.append(ends[:, end])
            elif joint is not None:
                tips.append(joints[:, joint])
    if not tips:
        return np.zeros((len(joints), 0, 3))
    return low_passed(np.stack(tips, axis=1).astype(np.float64), CUTOFF_HZ, FPS)
