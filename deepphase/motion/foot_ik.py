"""Two-joint inverse kinematics of limbs: feet reach targets at constant limb lengths."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace

import numpy as np
from numba import float64, int64, njit, void

from deepphase.arrays import Array, compiled
from deepphase.motion import quaternions
from deepphase.motion.hinges import NO_HINGES, Hinges
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors, joint_depths

_NO_TILTS = np.zeros((0, 4))
# Sine of the angle at the middle joint up to which its hinge is blended into the limb's own plane,
# and its share for a straight limb: a stretched knee passes through straight and ten degrees
# beyond, where the limb's own plane would flip.
_NEARLY_STRAIGHT, _STRAIGHT_SHARE = 0.5, 0.4
# A nearly straight limb bends as if it were bent by this angle, radians: for a straight knee a
# tiny change of length is a large change of angle. This damping fades out at twice the angle, and
# for target bends of up to four times. The remaining error at the target is millimetres.
_FIRM_BEND = 0.15
_TINY = 1e-12
# Bends of a middle joint that is no hinge, radians.
_ANY_BEND = (-0.1, 3.0)


@dataclass(frozen=True, eq=False)
class LegChains:
    """Limbs of a skeleton that end in feet."""

    upper: Array  # (limbs,) joints: hip, knee and ankle, or shoulder, elbow and front paw
    middle: Array
    last: Array
    tips: Array  # (limbs,) joints that touch the floor: toes, or `last` where a limb has none
    # (limbs,) direction in which a straight limb bends: 1 forward (knees), -1 backward (elbows).
    bends: Array

    @classmethod
    def from_skeleton(cls, skeleton: Skeleton, roles: Roles) -> LegChains:
        """Legs, left first, then the front legs of a quadruped; without limbs that lack roles."""
        parts = [(("hip", "knee", "foot", "toe"), 1)]
        if roles.kind == "quadruped":
            parts.append((("shoulder", "elbow", "hand", "hand"), -1))
        rows = []
        for names, bend in parts:
            for side in ("left", "right"):
                upper, middle, last, tip = (getattr(roles, f"{side}_{name}") for name in names)
                # The upper joint of a limb has a parent: it is not the root.
                if upper != 0 and all(
                    below is not None and above in ancestors(skeleton, below)
                    for above, below in ((upper, middle), (middle, last))
                ):
                    rows.append([upper, middle, last, last if tip is None else tip, bend])
        uppers, middles, lasts, tips, bends = np.array(rows, np.int64).reshape(-1, 5).T
        return cls(uppers, middles, lasts, tips, bends.astype(float))

    def __len__(self) -> int:
        return len(self.upper)

    def ends(self, skeleton: Skeleton, roles: Roles) -> Array:
        """(limbs, 3) metres from each tip, in its frame, to the end that touches the floor.

        Hocks and wrists of quadrupeds are over the floor and turn about the ends of their feet.
        """
        found = np.zeros((len(self), 3))
        for joint, end in _feet_and_ends(roles, ("foot", "hand")):
            found[self.tips == joint] = skeleton.end_offsets[end]
        return found

    def on_floor(self, skeleton: Skeleton, roles: Roles) -> LegChains:
        """The limbs with the joints that stand on the floor as tips: below wrists, as of paws."""
        tips = self.tips.copy()
        for hand, end in _feet_and_ends(roles, ("hand",)):
            tips[(self.tips == hand) & (self.last == hand)] = skeleton.end_parents[end]
        return replace(self, tips=tips)

    def ending_in(self, feet: Collection[int]) -> LegChains:
        """The limbs whose last joint is one of these."""
        chosen = np.isin(self.last, list(feet))
        return LegChains(*(getattr(self, item.name)[chosen] for item in fields(self)))


def _feet_and_ends(roles: Roles, parts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Joints and end sites of a quadruped's feet that have both."""
    names = [f"{side}_{part}" for side in ("left", "right") for part in parts]
    both = [(getattr(roles, name), getattr(roles, f"{name}_end")) for name in names]
    return [pair for pair in both if None not in pair] if roles.kind == "quadruped" else []


@dataclass(frozen=True, eq=False)
class LimbTransforms:
    """World transforms of limbs."""

    # (3, limbs, frames, 3, 3) rotation matrices of the parents of upper, middle and last joints.
    above: Array
    positions: Array  # (4, limbs, frames, 3) metres: upper, middle and last joints, and tips

    @property
    def lengths(self) -> Array:
        """(limbs, frames) metres: from the upper to the last joint along the limb."""
        upper, middle, last = self.positions[:3]
        thigh, shin = middle - upper, last - middle
        return np.sqrt(np.vecdot(thigh, thigh)) + np.sqrt(np.vecdot(shin, shin))

    def within_reach(self, targets: Array, share: float = 0.999) -> Array:
        """Targets (limbs, frames, 3), moved to a share of a limb's length where it is too short."""
        way = targets - self.positions[0]
        most = share * self.lengths / np.maximum(np.linalg.norm(way, axis=-1), 1e-9)
        return self.positions[0] + way * np.minimum(1.0, most)[..., None]


class LimbSolver:
    """Forward and inverse kinematics of a skeleton's limbs, for many frames or characters at once.

    `ends` (limbs, 3), as of `LegChains.ends`, are the points that count as tips, in metres from the
    tips' joints, which are then last joints. `hinges` are those that inverse kinematics keeps in
    their ranges.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        limbs: LegChains,
        ends: Array | None = None,
        hinges: Hinges = NO_HINGES,
    ) -> None:
        self.limbs, self.hinges = limbs, hinges
        self._ends = None if ends is None or not ends.any() else ends
        chain = np.stack([limbs.upper, limbs.middle, limbs.last, limbs.tips])
        needed = {above for joint in chain.flat for above in ancestors(skeleton, int(joint))}
        # Parents come before children, in order of depth.
        joints = np.array(sorted(needed), np.int64)
        self._joints = joints[np.argsort(joint_depths(skeleton)[joints], kind="stable")]
        # The last place is that of the parent of the root.
        place = np.full(len(skeleton) + 1, -1)
        place[self._joints] = np.arange(len(joints))
        self._parents = place[skeleton.parents[self._joints]]
        self._solved, self._chain = chain[:3], place[chain]
        self._above = self._parents[self._chain[:3]]
        self._axes, self._ranges = np.zeros((len(limbs), 3)), np.tile(_ANY_BEND, (len(limbs), 1))
        limb, hinge = np.nonzero(limbs.middle[:, None] == hinges.joints)
        self._axes[limb], self._ranges[limb] = hinges.axes[hinge], hinges.ranges[hinge]

    @classmethod
    def from_poses(
        cls,
        skeleton: Skeleton,
        roles: Roles,
        limbs: LegChains,
        poses: Array | None = None,
        ends: Array | None = None,
    ) -> LimbSolver:
        """A solver that keeps the hinges of `Hinges.from_poses` in their ranges."""
        return cls(skeleton, limbs, ends, Hinges.from_poses(skeleton, roles, poses))

    def transforms(self, rotations: Array, local_positions: Array) -> LimbTransforms:
        """Forward kinematics of local rotations (frames, joints, 4) and positions."""
        frames, limbs = len(rotations), len(self.limbs)
        matrices, positions = np.empty((3, limbs * frames, 3, 3)), np.empty((4, limbs * frames, 3))
        _limb_transforms(
            rotations.take(self._joints, axis=1).astype(np.float64),
            local_positions.take(self._joints, axis=1).astype(np.float64),
            *(self._parents, self._chain, self._above, matrices, positions),
        )
        found = LimbTransforms(
            matrices.reshape(3, limbs, frames, 3, 3), positions.reshape(4, limbs, frames, 3)
        )
        if self._ends is not None:
            own = rotations[:, self.limbs.last].swapaxes(0, 1)
            ends = quaternions.rotate(own.astype(np.float64), self._ends[:, None])
            found.positions[3] += np.einsum("lfij,lfj->lfi", found.above[2], ends)
        return found

    @property
    def joints(self) -> Array:
        """(joints,) of the skeleton that `reach` turns."""
        return self._solved.reshape(-1)

    def reach(
        self,
        rotations: Array,
        transforms: LimbTransforms,
        targets: Array,
        tilts: Array | None = None,
    ) -> Array:
        """Change local rotations (frames, joints, 4) so that last joints are at (limbs, frames, 3).

        They keep their orientation in the world, or are turned there by `tilts` (limbs, frames, 4).
        Hinges that are turned stay in their ranges. Returns (frames,) bool: a range kept a joint
        from its target.
        """
        before = self.hinges.bends(rotations)
        local = rotations.take(self.joints, axis=1).astype(np.float64)
        _turn_limbs(
            np.ascontiguousarray(transforms.positions).reshape(4, -1, 3),
            np.ascontiguousarray(transforms.above).reshape(3, -1, 3, 3),
            np.array(targets, np.float64, order="C").reshape(-1, 3),
            self._axes,
            self._ranges,
            _NO_TILTS if tilts is None else np.array(tilts, np.float64, order="C").reshape(-1, 4),
            local,
        )
        rotations[:, self.joints] = local
        return self.hinges.constrain(rotations, before)


@compiled(
    void(
        float64[:, :, ::1],
        float64[:, :, ::1],
        int64[::1],
        int64[:, ::1],
        int64[:, ::1],
        float64[:, :, :, ::1],
        float64[:, :, ::1],
    ),
    error_model="numpy",
)
def _limb_transforms(rotations, places, parents, chain, above, matrices, positions):
    """Fill the world transforms of limbs by forward kinematics, in the frames of `LimbSolver`."""
    frames, joints = rotations.shape[0], rotations.shape[1]
    turned = np.empty((joints, 3, 3))
    moved = np.empty((joints, 3))
    own = np.empty((3, 3))
    for n in range(frames):
        for j in range(joints):
            x, y, z = rotations[n, j, 0], rotations[n, j, 1], rotations[n, j, 2]
            w = rotations[n, j, 3]
            own[0, 0] = 1.0 - 2.0 * (y * y + z * z)
            own[0, 1] = 2.0 * (x * y - z * w)
            own[0, 2] = 2.0 * (x * z + y * w)
            own[1, 0] = 2.0 * (x * y + z * w)
            own[1, 1] = 1.0 - 2.0 * (x * x + z * z)
            own[1, 2] = 2.0 * (y * z - x * w)
            own[2, 0] = 2.0 * (x * z - y * w)
            own[2, 1] = 2.0 * (y * z + x * w)
            own[2, 2] = 1.0 - 2.0 * (x * x + y * y)
            parent = parents[j]
            for r in range(3):
                if parent < 0:
                    moved[j, r] = places[n, j, r]
                    for c in range(3):
                        turned[j, r, c] = own[r, c]
                    continue
                a, b, d = turned[parent, r, 0], turned[parent, r, 1], turned[parent, r, 2]
                moved[j, r] = moved[parent, r] + (
                    a * places[n, j, 0] + b * places[n, j, 1] + d * places[n, j, 2]
                )
                for c in range(3):
                    turned[j, r, c] = a * own[0, c] + b * own[1, c] + d * own[2, c]
        for limb in range(chain.shape[1]):
            row = limb * frames + n
            for part in range(4):
                for c in range(3):
                    positions[part, row, c] = moved[chain[part, limb], c]
            for part in range(3):
                for r in range(3):
                    for c in range(3):
                        matrices[part, row, r, c] = turned[above[part, limb], r, c]


@njit(error_model="numpy")
def limb_turn(upper, middle, last, target, hinge, least, largest, turn_upper, turn_middle):
    """Fill the rotations of a limb's upper and middle joint that bring the last one to its target.

    The middle joint bends until the limb is as long as the distance to the target; then the whole
    limb swings there by the smallest rotation. A limb points at a target out of reach, straight
    except for the damping of nearly straight limbs. A straight limb bends about the unit axis
    `hinge`; one bent by more than 30 degrees stays in its plane; one that is bent to the other side
    is bent to its own, continuously, by `least` to `largest` radians. `turn_upper` rotates the
    upper part in the world, and `turn_upper` times `turn_middle` the lower one.
    """
    tx, ty, tz = middle[0] - upper[0], middle[1] - upper[1], middle[2] - upper[2]
    sx, sy, sz = last[0] - middle[0], last[1] - middle[1], last[2] - middle[2]
    wx, wy, wz = target[0] - upper[0], target[1] - upper[1], target[2] - upper[2]
    hx, hy, hz = hinge[0], hinge[1], hinge[2]
    first2, second2 = tx * tx + ty * ty + tz * tz, sx * sx + sy * sy + sz * sz
    target2, between = wx * wx + wy * wy + wz * wz, tx * sx + ty * sy + tz * sz
    both = max(math.sqrt(first2 * second2), _TINY)
    # The unit axis about which the limb bends, and the sine of its bend about it.
    ox, oy, oz = (
        (ty * sz - tz * sy) / both,
        (tz * sx - tx * sz) / both,
        (tx * sy - ty * sx) / both,
    )
    sine = math.sqrt(ox * ox + oy * oy + oz * oz)
    nx, ny, nz = ox, oy, oz
    against = min(ox * hx + oy * hy + oz * hz, 0.0)
    if against < 0.0:
        # The mirrored axis: it turns to the hinge's side without a jump.
        nx, ny, nz = nx - 2.0 * against * hx, ny - 2.0 * against * hy, nz - 2.0 * against * hz
    if sine < _NEARLY_STRAIGHT:
        share = _STRAIGHT_SHARE * (1.0 - sine / _NEARLY_STRAIGHT) ** 2
        whole2 = max(first2 + 2.0 * between + second2, _TINY)
        lean = (tx * hx + ty * hy + tz * hz + sx * hx + sy * hy + sz * hz) / whole2
        nx += share * (hx - lean * (tx + sx))
        ny += share * (hy - lean * (ty + sy))
        nz += share * (hz - lean * (tz + sz))
    length = max(math.sqrt(nx * nx + ny * ny + nz * nz), _TINY)
    nx, ny, nz = nx / length, ny / length, nz / length
    sine_along = nx * ox + ny * oy + nz * oz
    # This part of the cosine does not change if the axis is not perpendicular to the limb.
    along = nx * sx + ny * sy + nz * sz
    askew = (nx * tx + ny * ty + nz * tz) * along / both
    cosine = between / both - askew
    bend = math.atan2(sine_along, cosine)
    wanted = 0.5 * (target2 - first2 - second2) / both - askew
    size = max(math.sqrt(sine_along * sine_along + cosine * cosine), _TINY)
    goal = math.acos(min(max(wanted / size, -1.0), 1.0))
    # Radians from the nearest bend of the range to the goal, damped for small bends.
    start = max(bend, least)
    firm = start
    if start < 2.0 * _FIRM_BEND:
        firm = _FIRM_BEND + max(start, 0.0) ** 2 / (4.0 * _FIRM_BEND)
    damped = math.sqrt(max(firm * firm + goal * goal - start * start, 0.0)) - firm
    exact = min(max(goal / (2.0 * _FIRM_BEND) - 1.0, 0.0), 1.0)
    reached = start + damped + exact * (goal - start - damped)
    change = min(max(reached, min(start, 0.0)), largest) - bend
    half_sine, half_cosine = math.sin(0.5 * change), math.cos(0.5 * change)
    turn_middle[0], turn_middle[1] = half_sine * nx, half_sine * ny
    turn_middle[2], turn_middle[3] = half_sine * nz, half_cosine
    sine, one_less = 2.0 * half_sine * half_cosine, 2.0 * half_sine * half_sine
    # The limb with its turned lower part, and the smallest rotation from there to the target.
    lx = tx + sx + sine * (ny * sz - nz * sy) + one_less * (along * nx - sx)
    ly = ty + sy + sine * (nz * sx - nx * sz) + one_less * (along * ny - sy)
    lz = tz + sz + sine * (nx * sy - ny * sx) + one_less * (along * nz - sz)
    lengths = math.sqrt((lx * lx + ly * ly + lz * lz) * target2)
    real = lengths + lx * wx + ly * wy + lz * wz
    if real <= 1e-9 * lengths:
        # Opposite directions.
        x, y, z, real = nx, ny, nz, 0.0
    else:
        x, y, z = ly * wz - lz * wy, lz * wx - lx * wz, lx * wy - ly * wx
    length = math.sqrt(x * x + y * y + z * z + real * real)
    turn_upper[0], turn_upper[1] = x / length, y / length
    turn_upper[2], turn_upper[3] = z / length, real / length


@njit(error_model="numpy")
def _multiply(a, b, product):
    """Fill the Hamilton product (4,) of two quaternions, which may be one of them."""
    ax, ay, az, aw = a[0], a[1], a[2], a[3]
    bx, by, bz, bw = b[0], b[1], b[2], b[3]
    product[0] = aw * bx + ax * bw + ay * bz - az * by
    product[1] = aw * by - ax * bz + ay * bw + az * bx
    product[2] = aw * bz + ax * by - ay * bx + az * bw
    product[3] = aw * bw - ax * bx - ay * by - az * bz


@compiled(
    void(
        *(float64[:, :, ::1], float64[:, :, :, ::1], float64[:, ::1], float64[:, ::1]),
        *(float64[:, ::1], float64[:, ::1], float64[:, :, ::1]),
    ),
    error_model="numpy",
)
def _turn_limbs(positions, above, targets, hinges, ranges, tilts, local):
    """Turn, in place, the limbs of `LimbSolver` so that last joints are at `targets` (limbs *
    frames, 3)."""
    frames, limbs = len(local), len(hinges)
    hinge, turns, turned = np.empty(3), np.empty((3, 4)), np.empty(4)
    for n in range(frames):
        for limb in range(limbs):
            row = limb * frames + n
            side = hinges[limb]
            for c in range(3):
                own = above[1, row, c]
                hinge[c] = own[0] * side[0] + own[1] * side[1] + own[2] * side[2]
            upper, middle, last = positions[0, row], positions[1, row], positions[2, row]
            least, largest = ranges[limb]
            limb_turn(upper, middle, last, targets[row], hinge, least, largest, turns[0], turns[1])
            _multiply(turns[0], turns[1], turns[2])
            for c in range(3):
                turns[2, c] = -turns[2, c]
            if len(tilts):
                _multiply(turns[2], tilts[row], turns[2])
            for part in range(3):
                # Local rotations are in the frame of the joint's parent.
                axes = above[part, row]
                for c in range(3):
                    turned[c] = (
                        turns[part, 0] * axes[0, c]
                        + turns[part, 1] * axes[1, c]
                        + turns[part, 2] * axes[2, c]
                    )
                turned[3] = turns[part, 3]
                place = part * limbs + limb
                _multiply(turned, local[n, place], local[n, place])
