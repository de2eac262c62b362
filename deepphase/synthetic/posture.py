"""Feet over their footholds, and every joint from the degrees of freedom, legs by exact IK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import convolve1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.quaternions import IDENTITY, about_axis, conjugate, multiply, rotate
from deepphase.synthetic.bodies import Body, BodyLimb
from deepphase.synthetic.gait import brisk_step, on_ground, smooth_bump, smooth_step
from deepphase.synthetic.program import Timeline

# A step shorter than this is left out: the foot stays where it is.
_SHORTEST_SWING_S = 0.07
# In cycles: a shorter hop, or one with a shorter landing, is none; steps shorter than a usual
# one rise less.
_SHORTEST_HOP, _SHORTEST_LANDING, _USUAL_SWING = 0.1, 0.06, 0.3
# A foot that stands longer than this stands for the body at rest, not for its travel.
_LONG_STANCE_S = 1.3
# Metres that a body goes over a standing foot at most, per metre of leg.
_LONGEST_STANCE = 1.65
# The body rests where a stand has this weight; no swing lasts so long there.
_STANDS, _LONG_SWING_S = 0.97, 0.5
# Share of the stance after which the heel rises.
_HEEL_RISE = 0.42
# Share of the swing after which it is highest.
_HEEL_TOP = 0.2
# How far the toes of a swinging foot hang, as a share of its pitch.
_TOE_HANG = 0.5


@dataclass(frozen=True, eq=False)
class Footholds:
    """The stances of one limb, one after the other, on any clock that never runs backwards."""

    touch_downs: Array  # (stances,) readings of the clock (cycles, beats)
    lift_offs: Array  # (stances,) each before the next touch-down
    positions: Array  # (stances, 2) metres: x and z of the toe joint
    yaws: Array  # (stances,) radians that the foot points from +Z to +X, not wrapped


@dataclass(frozen=True, eq=False)
class FootMotion:
    """One foot over time."""

    contact: Array  # (frames,) whether it stands
    aloft: Array  # (frames,) 0 in stance, smoothly 1 in the middle of a swing
    toe: Array  # (frames, 3) metres: the toe joint
    yaw: Array  # (frames,) radians: where the foot points
    pitch: Array  # (frames,) radians, toe up positive
    toe_pitch: Array  # (frames,) of the toes


def follow_footholds(
    limb: BodyLimb, holds: Footholds, clock: Array, tracks: dict[str, Array]
) -> FootMotion:
    """The motion of a foot over its footholds, at (frames,) readings of their clock.

    Of the tracks it reads step_height (m), strike, toe_off, swing_flexion (radians) and loading
    (clock units).
    """
    index = np.searchsorted(holds.touch_downs, clock, side="right") - 1
    index = np.clip(index, 0, len(holds.touch_downs) - 2)
    down, lift = holds.touch_downs[index], holds.lift_offs[index]
    following = holds.touch_downs[index + 1]
    contact, air, left = clock < lift, following - lift, clock - lift
    swing = np.where(contact, 0.0, left / np.maximum(air, 1e-9))
    moved, travelled = smooth_step(swing), brisk_step(swing)
    steps = holds.positions[index + 1] - holds.positions[index]
    ground = holds.positions[index] + travelled[:, None] * steps
    yaw = holds.yaws[index] + moved * (holds.yaws[index + 1] - holds.yaws[index])

    strike, toe_off = tracks["strike"], tracks["toe_off"]
    # Paws may roll on and off at once, a heel is down before it rises.
    flat_by = _HEEL_RISE if limb.heel is not None else 0.7
    loading = np.minimum(tracks["loading"], flat_by * (lift - down))
    landed = np.where(contact, 1 - smooth_step((clock - down) / loading), moved)
    rising, falling = (1 - _HEEL_RISE) * (lift - down), _HEEL_TOP * air
    # The heel goes on rising as the foot leaves; both flanks in clock units, smooth across it.
    peeled = smooth_step((left + rising) / np.maximum(rising + falling, 1e-9))
    peeled = peeled * (1 - smooth_step((left - falling) / np.maximum(air - falling, 1e-9)))
    bump = np.where(contact, 0.0, smooth_bump(swing)) * np.minimum(air / _USUAL_SWING, 1.0) ** 2
    pitch = strike * landed - toe_off * peeled - tracks["swing_flexion"] * bump
    height = limb.standing[1] + tracks["step_height"] * bump
    toe_pitch = -_TOE_HANG * toe_off * np.where(contact, 0.0, moved * (1 - moved))
    if limb.heel is not None:
        landing = np.maximum(strike, 0.0)
        rise = _ball_rise(limb, landing * landed)
        height = height + np.where(contact, rise, landed * _ball_rise(limb, landing))
        toe_pitch = toe_pitch + landing * landed
    toe = np.stack([ground[:, 0], height, ground[:, 1]], axis=1)
    aloft = np.where(contact, 0.0, smooth_step(swing / 0.3) * smooth_step((1 - swing) / 0.3))
    return FootMotion(contact, aloft, toe, yaw, pitch, toe_pitch)


def _ball_rise(limb: BodyLimb, pitch: Array) -> Array:
    """(frames,) metres by which a pitch, toe up, lifts the toe joint of a foot on its heel."""
    _, up, along = limb.ball - limb.heel
    return up * np.cos(pitch) + along * np.sin(pitch) - up


def gait_footholds(body: Body, line: Timeline, number: int, toe_out: float) -> Footholds:
    """A limb's footholds: each lies under the middle of the body's travel in its stance."""
    limb = body.limbs[number]
    clock, seconds = line.limb_cycles[:, number], line.seconds
    # A leg cannot stand while the body goes further than this.
    longest = _LONGEST_STANCE * sum(limb.lengths)
    sweeps = abs(float(limb.standing[2])) * np.abs(np.diff(line.heading))
    downs, lifts = _stances(line, clock, longest, sweeps, body.longest_sweep)
    down_s, lift_s = (_time_of(event, clock, seconds) for event in (downs, lifts))
    middle_s = 0.5 * (down_s + lift_s)

    def at(moments: Array, curve: Array) -> Array:
        return np.interp(moments, seconds, curve)

    first, middle, last = (
        np.stack([at(moments, curve) for curve in line.path.T], axis=-1)
        for moments in (down_s, middle_s, lift_s)
    )
    centre, half = 0.5 * (first + last), 0.5 * np.linalg.norm(last - first, axis=-1)
    # Standing long, it rather stands where the body rests, as far as the leg lets it.
    rest = middle - centre
    goal = np.clip((lift_s - down_s) / _LONG_STANCE_S - 1.0, 0.0, 0.7)
    room = np.maximum(0.4 * longest - half, 0.0) / np.maximum(np.linalg.norm(rest, axis=-1), 1e-9)
    centre = centre + np.minimum(goal, room)[:, None] * rest
    heading = 0.5 * (at(down_s, line.heading) + at(lift_s, line.heading))
    side = np.sign(limb.standing[0])
    across = limb.standing[0] + side * at(middle_s, line.tracks["width"])
    ahead = limb.standing[2] + at(middle_s, line.tracks["forward"])
    return Footholds(
        downs, lifts, centre + on_ground(heading, across, ahead), heading + side * toe_out
    )


def _time_of(event: Array, clock: Array, seconds: Array) -> Array:
    # The slope makes a clock that stands or trembles invertible.
    rising = np.maximum.accumulate(clock) + 1e-9 * np.arange(len(clock))
    return np.interp(event, rising, seconds)


def _stances(
    line: Timeline, clock: Array, longest: float, sweeps: Array, longest_sweep: float
) -> tuple[Array, Array]:
    """Clock readings of the touch-downs and lift-offs of one limb."""
    seconds, stands = line.seconds, line.tracks["stands"]
    rising = np.maximum.accumulate(clock)
    cycle = np.arange(np.floor(clock[0]) - 1, np.ceil(rising[-1]) + 1)

    def reached(share: Array) -> Array:
        """Clock reading at which each cycle first passes a share of itself; inf for never."""
        moments = _time_of(cycle, clock - share, seconds)
        return np.where(cycle < (clock - share).max(), np.interp(moments, seconds, rising), np.inf)

    # Each cycle has a touch-down and a lift-off, and with a hop another two.
    lifts = reached(line.tracks["duty"])
    hop_lifts, hop_downs = (reached(share) for share in line.tracks["hop"].T)
    hops = np.isfinite(hop_downs) & (hop_downs + _SHORTEST_LANDING < lifts)
    hops[hops] = hop_downs[hops] - hop_lifts[hops] >= _SHORTEST_HOP
    downs = np.concatenate([cycle, hop_downs[hops]])
    lifts = np.concatenate([np.where(hops, hop_lifts, lifts), lifts[hops]])
    order = np.argsort(downs, kind="stable")
    downs, lifts = downs[order], lifts[order]
    # A foot leaves before the body is out of its reach, straight on or in a turn.
    steps = np.linalg.norm(np.diff(line.path, axis=0), axis=1)
    for moved, most in ((steps, longest), (sweeps, longest_sweep)):
        travelled = np.concatenate([[0.0], np.cumsum(moved)])
        limits = np.interp(_time_of(downs, clock, seconds), seconds, travelled) + most
        out_of_reach = np.interp(limits, travelled + 1e-9 * np.arange(len(clock)), rising)
        lifts = np.where(limits < travelled[-1], np.minimum(lifts, out_of_reach), lifts)
    lifts[:-1] = np.clip(lifts[:-1], downs[:-1], downs[1:])

    left_s, landed_s = (_time_of(event, clock, seconds) for event in (lifts[:-1], downs[1:]))
    rests = np.interp(0.5 * (left_s + landed_s), seconds, stands) > _STANDS
    stuck = rests & (landed_s - left_s > _LONG_SWING_S)
    # A foot that would not come down again before the body rests for good does not leave either.
    stuck |= (downs[1:] > rising[-1]) & (stands[-1] > _STANDS)
    short = (landed_s - left_s < _SHORTEST_SWING_S) & (downs[1:] <= rising[-1])
    keep = ~(stuck | short) & (lifts[:-1] < downs[1:])
    downs = np.append(downs[np.append(True, keep)], rising[-1] + 2.0)
    lifts = np.append(lifts[np.append(keep, False)], [rising[-1] + 1.0, rising[-1] + 3.0])
    return downs, lifts


_AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
# Shares of the spine's and the neck's bend in each of their joints.
_SPINE = {"Spine": 0.3, "Spine1": 0.35, "Spine2": 0.35}
_NECK = {"Neck": 0.3, "Neck1": 0.2, "Head": 0.5}
# An arm that waves: raised sideways, forearm up, swinging about the bent elbow. Mean and swing.
_WAVING = {
    "arm_swing": (0.15, 0.0),
    "arm_raise": (1.6, 0.12),
    "elbow": (1.25, 0.5),
    "arm_twist": (-1.5, 0.0),
}
# A tail that wags, joint by joint with this delay in cycles.
_TAIL = ("Tail", "Tail1", "Tail2", "Tail3")
_TAIL_SWING, _TAIL_DELAY = 0.3, 0.06
# A standing leg is stretched to this share of its length at most: near 1 the knee would snap.
_STRETCH = 0.986
# A swinging leg is bent a little more, and drawn in over this range of its length.
_SWING_BEND, _SWING_RANGE = 0.035, 0.012
_LOWERING_S = 0.14


def pose_trunk(body: Body, values: Mapping[str, Array], cycles: Array, amplitude: Array) -> Array:
    """Local rotations (frames, joints, 4) of all joints but those of the limbs, which rest.

    `values` are (frames,), or (frames, 2) left and right; of oscillators (frames, oscillators).
    """
    names = body.skeleton.names
    rotations = np.tile(IDENTITY, (len(values["heading"]), len(names), 1))

    def put(name: str, **turns: Array) -> None:
        rotations[:, names.index(name)] = _product(turns)

    put("Hips", y=values["heading"] + values["turn"], x=values["tilt"], z=values["list"])
    for name, share in _SPINE.items():
        turn, tilt, bend = (share * values[f"spine_{way}"] for way in ("turn", "tilt", "list"))
        put(name, y=turn, x=tilt, z=bend)
    for name, share in _NECK.items():
        put(name, y=share * values["head_turn"], x=share * values["head_tilt"])
    if body.kind == "biped":
        waved = np.cos(2 * np.pi * cycles)
        swing, lift, elbow, twist = (
            (1 - amplitude) * values[name] + amplitude * (mean + size * waved)
            for name, (mean, size) in _WAVING.items()
        )
        for side, (name, sign) in enumerate((("Left", 1.0), ("Right", -1.0))):
            raised = -sign * (np.pi / 2 - lift[:, side])
            put(f"{name}Arm", x=-swing[:, side], z=raised, x_after=twist[:, side])
            put(f"{name}ForeArm", y=-sign * elbow[:, side])
            put(f"{name}Hand", y=-0.25 * sign * elbow[:, side])
            put(f"{name}HandMiddle1", z=np.full(len(rotations), -0.25 * sign))
        return rotations
    for side, name in enumerate(("Left", "Right")):
        put(f"{name}Shoulder", x=-values["scapula"][:, side])
    for link, name in enumerate(_TAIL):
        wag = amplitude[:, 0] * np.cos(2 * np.pi * (cycles[:, 0] - _TAIL_DELAY * link))
        put(name, y=_TAIL_SWING * wag, x=values["tail_raise"] * (0.7 - 0.15 * link))
    return rotations


def _product(turns: Mapping[str, Array]) -> Array:
    """(frames, 4) product of turns about axes, the first applied last."""
    product, *others = (about_axis(_AXES[axis[0]], angle) for axis, angle in turns.items())
    for turn in others:
        product = multiply(product, turn)
    return product


def plant_feet(
    body: Body, rotations: Array, root: Array, heading: Array, feet: list[FootMotion], fps: float
) -> tuple[Array, Array]:
    """Rotations with legs that reach their feet, and a root that is low enough for it."""
    parents = body.skeleton.parents
    posed = Clip(body.skeleton, rotations, root[:, None], fps)
    turns, positions = global_transforms(posed)
    roots = np.stack([positions[:, limb.upper] for limb in body.limbs])
    world_feet = [_product({"y": foot.yaw, "x": -foot.pitch}) for foot in feet]
    ankles = np.stack(
        [
            foot.toe - rotate(rotation, limb.ball)
            for limb, foot, rotation in zip(body.limbs, feet, world_feet, strict=True)
        ]
    )
    lowered = _root_lowering(body, roots, ankles, feet, fps)[:, None] * _AXES["y"]
    root, roots = root - lowered, roots - lowered
    rotations = rotations.copy()
    for number, (limb, foot) in enumerate(zip(body.limbs, feet, strict=True)):
        between = 0.5 * (heading + foot.yaw)
        forward = np.stack([np.sin(between), np.zeros_like(between), np.cos(between)], axis=1)
        ankle = _foot_in_reach(limb, roots[number], ankles[number], foot.aloft)
        upper, lower = _two_joint_rotations(body, limb, roots[number], ankle, forward)
        above = turns[:, parents[limb.upper]]
        toes = _product({"y": foot.yaw, "x": -foot.toe_pitch})
        for joint, world in (
            (limb.upper, upper),
            (limb.lower, lower),
            (limb.foot, world_feet[number]),
            (limb.toe, toes),
        ):
            rotations[:, joint] = multiply(conjugate(above), world)
            above = world
    return rotations, root


def _root_lowering(
    body: Body, roots: Array, ankles: Array, feet: list[FootMotion], fps: float
) -> Array:
    """(frames,) metres by which a body must come down for its standing legs to reach their feet."""
    needed = np.zeros(roots.shape[1])
    for limb, root, ankle, foot in zip(body.limbs, roots, ankles, feet, strict=True):
        length = _STRETCH * sum(limb.lengths)
        apart = np.hypot(root[:, 0] - ankle[:, 0], root[:, 2] - ankle[:, 2])
        highest = ankle[:, 1] + np.sqrt(np.maximum(length**2 - apart**2, (0.3 * length) ** 2))
        needed = np.maximum(needed, np.where(foot.contact, root[:, 1] - highest, 0.0))
    reach = max(int(np.ceil(_LOWERING_S * fps)), 2)
    # The largest of a window, averaged over a window no wider, is nowhere less than the need.
    kernel = np.bartlett(2 * reach + 3)[1:-1] ** 2
    envelope = maximum_filter1d(needed, 2 * reach + 1, mode="nearest")
    return convolve1d(envelope, kernel / kernel.sum(), mode="nearest")


def _foot_in_reach(limb: BodyLimb, root: Array, ankle: Array, aloft: Array) -> Array:
    """(frames, 3) the foot joint, drawn in where a swinging leg would be stretched for it."""
    length, vector = sum(limb.lengths), ankle - root
    distance = np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-9)
    start = _STRETCH - _SWING_BEND * aloft[:, None]
    over = np.maximum(distance / length - start, 0.0)
    drawn = start + _SWING_RANGE * np.tanh(over / _SWING_RANGE)
    return np.where(over > 0, root + vector * (drawn * length / distance), ankle)


def _two_joint_rotations(
    body: Body, limb: BodyLimb, root: Array, ankle: Array, forward: Array
) -> tuple[Array, Array]:
    """World rotations of the upper and the lower joint that bring the foot joint to its place."""
    first, second = limb.lengths
    vector = ankle - root
    length = np.linalg.norm(vector, axis=1, keepdims=True)
    distance = np.clip(length, abs(first - second) + 1e-6, first + second - 1e-9)
    axis = vector / np.maximum(length, 1e-9)
    pole = limb.bends * forward
    pole = pole - axis * np.einsum("fc,fc->f", pole, axis)[:, None]
    pole /= np.maximum(np.linalg.norm(pole, axis=1, keepdims=True), 1e-9)
    along = (first**2 - second**2 + distance**2) / (2 * distance)
    across = np.sqrt(np.maximum(first**2 - along**2, 0.0))
    middle = axis * along + pole * across
    hinge = limb.bends * np.cross(pole, axis)
    offsets = body.skeleton.offsets
    upper = _aligned(offsets[limb.lower], middle / first, hinge)
    lower = _aligned(offsets[limb.foot], (axis * distance - middle) / second, hinge)
    return upper, lower


def _aligned(rest: Array, direction: Array, hinge: Array) -> Array:
    """(frames, 4) rotations that bring a rest offset to a direction, and +X to the hinge."""
    rest = rest / np.linalg.norm(rest)
    from_frame = np.stack([_AXES["x"], rest, np.cross(_AXES["x"], rest)], axis=1)
    to_frame = np.stack([hinge, direction, np.cross(hinge, direction)], axis=2)
    return Rotation.from_matrix(to_frame @ from_frame.T).as_quat()
