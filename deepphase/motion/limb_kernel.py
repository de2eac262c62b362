"""Transforms and turns of limbs, compiled by numba: the arithmetic of `foot_ik.LimbSolver`."""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64, njit, void

from deepphase.compiled import compiled

# Sine of the angle at the middle joint up to which the hinge axis of the body is blended into the
# limb's own plane, and its share for a straight limb: a stretched knee passes through straight
# and ten degrees beyond, where the limb's own plane would flip.
_NEARLY_STRAIGHT, _STRAIGHT_SHARE = 0.5, 0.4
# A nearly straight limb bends as if it were bent by this angle, radians: for a straight knee a
# tiny change of length is a large change of angle. This damping fades out at twice the angle, and
# for target bends of up to four times. The remaining error at the target is millimetres.
_FIRM_BEND = 0.15
_TINY = 1e-12


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
def limb_transforms(rotations, places, parents, chain, above, matrices, positions):
    """Fill the world transforms of limbs by forward kinematics, in the frames of `LimbSolver`.

    From local `rotations` (frames, joints, 4) and `places` (frames, joints, 3) of joints with
    `parents`, parents first: `matrices` (3, limbs * frames, 3, 3) of the joints `above` (3, limbs),
    and `positions` (4, limbs * frames, 3) of the joints of `chain` (4, limbs), limb by limb.
    """
    frames, joints = rotations.shape[0], rotations.shape[1]
    turned = np.empty((joints, 3, 3))
    moved = np.empty((joints, 3))
    own = np.empty((3, 3))
    for n in range(frames):
        for j in range(joints):
            x, y, z, w = (
                rotations[n, j, 0],
                rotations[n, j, 1],
                rotations[n, j, 2],
                rotations[n, j, 3],
            )
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
def limb_turn(upper, middle, last, target, hinge, turn_upper, turn_middle):
    """Fill the rotations of a limb's upper and middle joint that bring the last one to its target.

    The middle joint bends until the limb is as long as the distance to the target; then the whole
    limb swings there by the smallest rotation. A limb that is at its target does not change.
    Lengths do not change; a limb points at a target out of reach, straight except for the damping
    of nearly straight limbs. A straight limb bends about the unit axis `hinge`, from its upper
    part to its lower one; a limb bent by more than 30 degrees stays in its plane. `turn_upper`
    rotates the upper part in the world, and `turn_upper` times `turn_middle` the lower one.
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
    # Radians from the bend to the goal, damped for small bends.
    firm = bend
    if bend < 2.0 * _FIRM_BEND:
        firm = _FIRM_BEND + max(bend, 0.0) ** 2 / (4.0 * _FIRM_BEND)
    damped = math.sqrt(max(firm * firm + goal * goal - bend * bend, 0.0)) - firm
    exact = min(max(goal / (2.0 * _FIRM_BEND) - 1.0, 0.0), 1.0)
    change = damped + exact * (goal - bend - damped)
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
        *(float64[::1], float64[:, ::1], float64[:, :, ::1]),
    ),
    error_model="numpy",
)
def turn_limbs(positions, above, targets, left, bends, tilts, local):
    """Turn the joints of limbs so that their last joints are at `targets` (limbs * frames, 3).

    The body's left is (frames, 3), `bends` (limbs,) are those of `LegChains`, and `tilts` (limbs *
    frames, 4), or none, turn the last joints in the world. The local rotations (frames, 3 * limbs,
    4) of all upper, all middle and all last joints are changed in place.
    """
    frames, limbs = len(left), len(bends)
    hinge, turns, turned = np.empty(3), np.empty((3, 4)), np.empty(4)
    for n in range(frames):
        for limb in range(limbs):
            row = limb * frames + n
            for c in range(3):
                hinge[c] = bends[limb] * left[n, c]
            upper, middle, last = positions[0, row], positions[1, row], positions[2, row]
            limb_turn(upper, middle, last, targets[row], hinge, turns[0], turns[1])
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
