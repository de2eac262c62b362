"""Clips stitched together: the second goes on where the first ends, at its place and velocity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.inertialization import (
    angular_velocities,
    from_rotation_vectors,
    rotation_offsets,
)

_UP = np.array([0.0, 1.0, 0.0])
# A body comes to rest without going back if it moves at least this much times the distance that
# it would cover in the same time at its first velocity.
_LEAST_WAY = 0.4
# Seconds of a transition, those for every m/s, the longest, and how long a step to rest takes as a
# multiple of the time to its end at the first velocity.
_SHORTEST_S, _S_PER_SPEED, _LONGEST_S, _USUAL_WAY = 0.35, 0.1, 0.9, 2.2
# Share of the usual time in a quick transition.
_QUICK = 2.0 / 3.0
# Transitions between bodies that are slower than this in m/s take the longest time.
_SLOW = 0.3


def stitched(
    first: Clip, second: Clip, roles: Roles, foot: int, turn: float = 0.0, *, quick: bool = False
) -> Clip:
    """A clip that goes on as another one, with one foot where it stands.

    The second clip is placed on the ground so that the foot is where it is at the end of the first.
    What is left between the two, in place, rotation and velocity, fades away as polynomials of
    time (Bollo 2018, Inertialization).

    Parameters
    ----------
    first, second
        Clips of one skeleton and rate, of three frames or more.
    roles
        Their joints.
    foot
        Joint that keeps its place.
    turn
        Radians from the facing of the first clip to that of the second.
    quick
        Whether the transition takes two thirds of the usual time.

    Returns
    -------
    The frames of both but the first one of the second, with name and labels of the first.
    """
    dt = 1.0 / first.fps
    base = _base(first, roles.hips)
    parent = int(first.skeleton.parents[base])
    rotations, positions = global_transforms(first)
    new_rotations, new_positions = (each.astype(np.float64) for each in global_transforms(second))
    # Without smoothing, which lacks the frames beyond the ends.
    here, there = (
        root_trajectory(clip, roles, smoothing_s=0.0).angles[frame]
        for clip, frame in ((first, -1), (second, 0))
    )
    placed = quaternions.about_axis(_UP, np.array(here - there + turn))
    new_rotations = quaternions.multiply(placed, new_rotations[:, base])
    stand = quaternions.rotate(placed, new_positions[0, foot])
    shift = (positions[-1, foot].astype(np.float64) - stand) * (1.0, 0.0, 1.0)
    places = quaternions.rotate(placed, new_positions[:, base]) + shift
    way = positions[:, base].astype(np.float64)
    change = _velocity(way[::-1], -dt) - _velocity(places, dt)
    seconds, short = _duration(places[0] - way[-1], change, _QUICK if quick else 1.0)
    places += short
    time = np.arange(1, len(second)) * dt / seconds
    value, rate = _fading(time)
    rate = rate * seconds

    def moved(old: Array, new: Array) -> Array:
        change = _velocity(old[::-1], -dt) - _velocity(new, dt)
        shape = (-1, *(1,) * (old.ndim - 1))
        left = value.reshape(shape) * (old[-1] - new[0]) + rate.reshape(shape) * change
        return new[1:] + left

    def turned(old: Array, new: Array) -> Array:
        offset, change = rotation_offsets(
            old[-1], _angular_velocity(old[::-1], -dt), new[0], _angular_velocity(new, dt)
        )
        shape = (-1, *(1,) * (old.ndim - 1))
        left = value.reshape(shape) * offset + rate.reshape(shape) * change
        return quaternions.multiply(from_rotation_vectors(left), new[1:])

    before = first.rotations[-3:].astype(np.float64)
    local = turned(before, second.rotations.astype(np.float64))
    moves = moved(
        first.translations[-3:].astype(np.float64), second.translations.astype(np.float64)
    )
    # The base is placed in the world; what it hangs from stays as it is.
    above, moving = _chain(first, base), first.translated_joints.tolist()
    local[:, above] = before[-1, above]
    for joint in set(above) & set(moving):
        moves[:, moving.index(joint)] = first.translations[-1, moving.index(joint)]
    world = turned(rotations[-3:, base].astype(np.float64), new_rotations)
    place = moved(way[-3:], places)
    if parent >= 0:
        back = quaternions.conjugate(rotations[-1, parent].astype(np.float64))
        world = quaternions.multiply(back, world)
        place = quaternions.rotate(back, place - positions[-1, parent])
    local[:, base] = world
    moves[:, moving.index(base)] = place
    dtype = first.rotations.dtype
    return replace(
        first,
        rotations=np.concatenate([first.rotations, quaternions.normalized(local).astype(dtype)]),
        translations=np.concatenate([first.translations, moves.astype(dtype)]),
    )


def _velocity(places: Array, dt: float) -> Array:
    """Velocity at the first of three places, of second order in time."""
    return (-1.5 * places[0] + 2.0 * places[1] - 0.5 * places[2]) / dt


def _angular_velocity(rotations: Array, dt: float) -> Array:
    """The same of rotations, rad/s."""
    steps = [angular_velocities(rotations[i], rotations[i + 1], dt) for i in range(2)]
    return 1.5 * steps[0] - 0.5 * steps[1]


def _base(clip: Clip, hips: int) -> int:
    """The lowest joint from the hips upwards whose place changes; it moves the body."""
    joint, moving = hips, set(clip.translated_joints.tolist())
    while joint not in moving:
        joint = int(clip.skeleton.parents[joint])
    return joint


def _chain(clip: Clip, joint: int) -> list[int]:
    """The joints above one."""
    above: list[int] = []
    while (joint := int(clip.skeleton.parents[joint])) >= 0:
        above.append(joint)
    return above


def _duration(away: Array, velocity: Array, share: float) -> tuple[float, Array]:
    """Seconds of a transition, and by how much further (3,) m it must lead not to go back.

    `share` is that of the usual seconds.
    """
    flat = velocity * (1.0, 0.0, 1.0)
    speed = float(np.linalg.norm(flat))
    if speed < _SLOW:
        return share * _LONGEST_S, np.zeros(3)
    way = float(away @ flat) / speed
    shortest = _SHORTEST_S + _S_PER_SPEED * speed
    seconds = share * float(np.clip(_USUAL_WAY * way / speed, shortest, _LONGEST_S))
    return seconds, max(_LEAST_WAY * speed * seconds - way, 0.0) * flat / speed


def _fading(time: Array) -> tuple[Array, Array]:
    """Polynomials from 1 to 0 of the value, and from slope 1 of the velocity, at times 0 to 1.

    Value, slope and curvature are 0 at 1; at 0 the others are.
    """
    s = np.minimum(time, 1.0)
    value = 1.0 + s**3 * (-10.0 + s * (15.0 - 6.0 * s))
    rate = s + s**3 * (-6.0 + s * (8.0 - 3.0 * s))
    return value, rate
