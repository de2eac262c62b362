"""Starts and stops, made of the clips' locomotion and of their idle moments.

Most captured clips begin and end in motion. A controller that is trained on them alone neither
comes to rest nor leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.controllers.data.sample_rows import STANDING_M_S, rarity
from deepphase.controllers.schema.frame_blocks import SuddenGoal
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.feature import complex_of
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, clip_kinds
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.contacts import Contacts, foot_contacts
from deepphase.motion.resample import resample
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.springs import angular_velocities, rotation_offsets

# Shortest idle moment and stretch of locomotion that are used.
_IDLE_S, _MOVING_S = 0.5, 1.2
# Seconds of rest before and after, beyond what the trajectory reaches, and seconds of locomotion
# between: the least and the most.
_REST_S, _TRAVEL_S = (0.3, 1.5), (1.0, 2.5)
# A start and a stop are looked for within this time of where they are wanted.
_SEARCH_S = 0.8
# Largest turn between the facing at rest and that of the start.
_MAX_TURN = np.radians(100.0)
# A stick is released at most this time before the foot comes down that stops the body, which
# stands after the other.
_STEP_S, _SETTLED_S = 0.5, 1.2
# A stick is pressed between these times before the root moves, which travels some time after the
# foot has left that starts the body.
_REACTION_S, _UNDER_WAY_S = (0.05, 0.2), 0.4
# Speeds of slowed locomotion, as shares of the median speed, and the least share of its own speed
# that it is slowed down to.
_SLOW_SPEEDS, _SLOWEST = (0.12, 0.5), 0.5
# Share of the clips that go on after a pause, and its seconds: less than trajectories reach ahead,
# which then show a stop and the next start.
_PAUSED, _PAUSE_S = 0.4, (0.5, 2.0)
# Locomotion is chosen by this multiple of the balance of frames: a start is short, and one
# backward or aside must not be rare.
_BALANCE = 3.0
# Of so many random idle moments, the one whose pose is nearest follows another.
_CANDIDATES = 4
# Maximum number of clips that are searched for idle moments and locomotion.
_MAX_CLIPS = 600


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Frames of one kind of a clip, with contacts of the feet, slowed down to a share."""

    clip: Clip
    roles: Roles
    contacts: Contacts
    share: float = 1.0

    def slowed(self, share: float) -> _Stretch:
        """The same motion with its times divided by a share."""
        clip = resample(replace(self.clip, fps=share * self.clip.fps), self.clip.fps)
        frames = np.minimum(np.round(np.arange(len(clip)) * share), len(self.clip) - 1)
        contacts = replace(self.contacts, flags=self.contacts.flags[frames.astype(np.int64)])
        return replace(self, clip=clip, contacts=contacts, share=share)


@dataclass(frozen=True, eq=False)
class _Travel:
    """A clip that stands for some frames, travels and stands again, with its sudden changes."""

    clip: Clip
    rest: list[int]
    start: SuddenGoal | None
    stop: SuddenGoal | None

    def paused(self, other: _Travel, frames: int, roles: Roles, foot: int) -> _Travel:
        """This one, and another one after a pause of some frames, which is seen coming."""
        first = self.clip.sliced(0, len(self.clip) - self.rest[1] + frames // 2)
        begin = other.rest[0] - frames // 2
        second = other.clip.sliced(begin, len(other.clip))
        stop, later = other.stop, len(first) - 1 - begin
        if stop is not None:
            stop = SuddenGoal(stop.frame + later, stop.settled + later)
        clip = stitched(first, second, roles, foot)
        return _Travel(clip, [self.rest[0], other.rest[1]], self.start, stop)


def starts_and_stops(
    store: ClipStore,
    clips: Sequence[int],
    body: Mapping[str, str],
    frames: int,
    *,
    reach_s: float,
    sudden: float = 0.0,
    slow: float = 0.0,
    balance: float = 0.0,
    label: str = "",
    seed: int = 0,
) -> Iterator[tuple[Clip, tuple[SuddenGoal, ...]]]:
    """Clips that stand, start, travel, stop and stand, each with its sudden start and stop.

    The body stops with a foot that has come down, and starts with one that is about to leave the
    floor; in between, both are captured motion. Some go on after a pause. See `stitched`. Clips
    have the labels and the source of the locomotion; there are none without an idle moment or
    without locomotion.

    `sudden`: share of the starts, and of the stops, by a stick: the trajectory ahead stands until
    it is pressed, just before the root moves, or goes straight on until it is released, up to half
    a second before the last step. That step is quick.
    """
    generator, sticks = np.random.default_rng([seed, 7]), np.random.default_rng([seed, 8])
    chosen = np.asarray(clips)
    if len(chosen) > _MAX_CLIPS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _MAX_CLIPS).astype(int)]
    idle, moving = _stretches(store, chosen.tolist(), body)
    if not (idle and moving):
        return
    fps = store.fps
    made, number = 0, 0
    waiting: dict[str, _Travel] = {}
    order = generator.permutation(len(moving))
    travels = np.array([_travel(clip) for clip in moving])
    shares, speeds = rarity(travels, min(_BALANCE * balance, 1.0)), np.abs(travels)
    shares /= shares.sum()
    while made < frames:
        index = order[number % len(order)]
        stretch = moving[generator.choice(len(moving), p=shares) if balance else index]
        number += 1
        if slow and sticks.random() < slow:
            speed = sticks.uniform(*_SLOW_SPEEDS) * np.median(speeds)
            able = np.flatnonzero((speeds > speed) & (_SLOWEST * speeds < speed))
            if len(able):
                index = sticks.choice(able, p=shares[able] / shares[able].sum())
                stretch = moving[index].slowed(float(speed / speeds[index]))
        rest = [round((reach_s + generator.uniform(*_REST_S)) * fps) for _ in range(2)]
        travel = round(generator.uniform(*_TRAVEL_S) * fps / stretch.share)
        released_s = _STEP_S * sticks.random() if sticks.random() < sudden else None
        pressed_s = sticks.uniform(*_REACTION_S) if sticks.random() < sudden else None
        found = _made(stretch, idle, rest, travel, (pressed_s, released_s), generator)
        if found is None:
            if number > 20 * len(moving) and not made:
                return
            continue
        value = stretch.clip.labels.get(label, "")
        if value in waiting:
            pause = round(sticks.uniform(*_PAUSE_S) * fps)
            foot = stretch.contacts.joints[0]
            found = waiting.pop(value).paused(found, pause, stretch.roles, foot)
        elif sticks.random() < _PAUSED:
            waiting[value] = found
            continue
        made += len(found.clip) - 2 * round(reach_s * fps)
        clip = replace(found.clip, name=f"{stretch.clip.name} (start and stop {number})")
        yield clip, tuple(change for change in (found.start, found.stop) if change is not None)


def _stretches(
    store: ClipStore, clips: list[int], body: Mapping[str, str]
) -> tuple[list[_Stretch], list[_Stretch]]:
    """Idle moments, and locomotion."""
    found: dict[int, list[_Stretch]] = {IDLE: [], LOCOMOTION: []}
    shortest = {IDLE: _IDLE_S, LOCOMOTION: _MOVING_S}
    for index in clips:
        clip = store.clip(index)
        roles = find_roles(clip.skeleton, description=dict(body), clip=clip)
        kinds, contacts = clip_kinds(clip, body), None
        for kind, stretches in found.items():
            for start, stop in true_runs(kinds == kind):
                if stop - start < shortest[kind] * store.fps:
                    continue
                contacts = contacts or foot_contacts(clip, roles)
                part = replace(contacts, flags=contacts.flags[start:stop])
                stretches.append(_Stretch(clip.sliced(start, stop), roles, part))
    return found[IDLE], found[LOCOMOTION]


def _travel(stretch: _Stretch) -> complex:
    """Mean velocity of the root in m/s, relative to its facing."""
    root = root_trajectory(stretch.clip, stretch.roles)
    steps = np.diff(complex_of(root.positions[:, ::2].reshape(1, -1))[0])
    return complex((steps * np.exp(1j * root.angles[:-1])).mean() * stretch.clip.fps)


def _made(
    moving: _Stretch,
    idle: list[_Stretch],
    rest: list[int],
    travel: int,
    stick_s: tuple[float | None, float | None],
    generator: np.random.Generator,
) -> _Travel | None:
    """One clip with its sudden start and stop.

    A stick is pressed so many seconds before the root moves, and released so many before the last
    step; without seconds both are seen coming. None if no foot comes down or leaves where it
    should.
    """
    pressed_s, released_s = stick_s
    clip, flags = moving.clip, moving.contacts.flags
    search = round(_SEARCH_S * clip.fps / moving.share)
    first = int(generator.integers(3, max(len(clip) - travel - search, 4)))
    start = _change(~flags, first, first + search)
    if start is None:
        return None
    begin, foot = start
    stop = _change(flags, begin + travel, begin + travel + search)
    if stop is None or stop[0] >= len(clip) - 1:
        return None
    end, landing = stop
    roles, joints = moving.roles, moving.contacts.joints
    part = clip.sliced(begin, end + 1)
    after = _standing(idle, rest[1], part, roles, generator)
    whole = stitched(part, after, roles, joints[landing], quick=released_s is not None)
    # A start is a stop that runs backwards.
    turn = generator.uniform(-_MAX_TURN, _MAX_TURN) * generator.integers(2)
    backwards = _reversed(whole)
    before = _standing(idle, rest[0], backwards, roles, generator)
    quick = pressed_s is not None
    made = _reversed(stitched(backwards, before, roles, joints[foot], turn, quick=quick))
    starts = stops = None
    # The first frame of the clip before is that of the captured part.
    start_at, stop_at = len(before) - 1, len(before) - 1 + len(part) - 1
    if pressed_s is not None:
        places = root_trajectory(made, roles).positions[:start_at, ::2]
        speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) * clip.fps
        moves = int(np.flatnonzero(np.append(True, speeds < STANDING_M_S))[-1])
        pressed = max(moves - round(pressed_s * clip.fps), 0)
        starts = SuddenGoal(pressed, start_at + round(_UNDER_WAY_S * clip.fps))
    if released_s is not None:
        released = stop_at - round(released_s * clip.fps)
        stops = SuddenGoal(released, stop_at + round(_SETTLED_S * clip.fps))
    return _Travel(made, rest, starts, stops)


def _change(flags: Array, begin: int, end: int) -> tuple[int, int] | None:
    """The first frame of the range in which a foot's flag rises, and the foot."""
    rises = flags[1:] & ~flags[:-1]
    frames, feet = np.nonzero(rises[max(begin - 1, 0) : max(end - 1, 0)])
    if not len(frames):
        return None
    return max(begin, 1) + int(frames[0]), int(feet[0])


def _standing(
    idle: list[_Stretch], frames: int, before: Clip, roles: Roles, generator: np.random.Generator
) -> Clip:
    """Idle motion of a length, of one moment after another, each in either direction of time."""
    clip: Clip | None = None
    while clip is None or len(clip) < frames:
        last = before if clip is None else clip
        some = [idle[index] for index in generator.integers(len(idle), size=_CANDIDATES)]
        turned = [_reversed(pause.clip) if generator.integers(2) else pause.clip for pause in some]
        begins = np.stack([clip.rotations[0, 1:] for clip in turned])
        nearness = np.abs(np.vecdot(last.rotations[-1, 1:], begins)).mean(axis=1)
        following = turned[int(nearness.argmax())]
        if clip is None:
            clip = following
        else:
            clip = stitched(clip, following, roles, some[0].contacts.joints[0])
    return clip.sliced(0, frames)


def _reversed(clip: Clip) -> Clip:
    return replace(clip, rotations=clip.rotations[::-1], translations=clip.translations[::-1])


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

    `turn`: radians from the facing of the first clip to that of the second. Returns the frames of
    both but the first one of the second, with name and labels of the first.
    """
    dt = 1.0 / first.fps
    # The lowest joint from the hips upwards whose place changes; it moves the body.
    base, moving = roles.hips, set(first.translated_joints.tolist())
    while base not in moving:
        base = int(first.skeleton.parents[base])
    parent = int(first.skeleton.parents[base])
    rotations, positions = global_transforms(first)
    new_rotations, new_positions = (part.astype(np.float64) for part in global_transforms(second))
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
        return quaternions.multiply(quaternions.from_rotation_vectors(left), new[1:])

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


def _chain(clip: Clip, joint: int) -> list[int]:
    """The joints above one."""
    above: list[int] = []
    while (joint := int(clip.skeleton.parents[joint])) >= 0:
        above.append(joint)
    return above


def _duration(away: Array, velocity: Array, share: float) -> tuple[float, Array]:
    """Seconds of a transition, and by how much further (3,) m it must lead not to go back."""
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
