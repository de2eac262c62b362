"""Starts and stops, made of the clips' locomotion and of their idle moments.

Most captured clips begin and end in motion. A controller that is trained on them alone neither
comes to rest nor leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from controllers.data.stitched import stitched
from controllers.schema.sudden_goals import SuddenGoal
from deepphase.arrays import Array, true_runs
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, clip_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import Contacts, foot_contacts
from deepphase.motion.roles import Roles, find_roles

# Shortest idle moment and stretch of locomotion that are used.
_IDLE_S, _MOVING_S = 0.5, 1.2
# Seconds of rest before and after, beyond what the trajectory reaches, and seconds of locomotion
# between: the least and the most.
_REST_S, _TRAVEL_S = (1.0, 2.5), (1.0, 2.5)
# A start and a stop are looked for within this time of where they are wanted.
_SEARCH_S = 0.8
# Largest turn between the facing at rest and that of the start.
_MAX_TURN = np.radians(100.0)
# A stick is released at most this time before the foot comes down that stops the body, which
# stands after the other.
_STEP_S, _SETTLED_S = 0.5, 1.2
# Of so many random idle moments, the one whose pose is nearest follows another.
_CANDIDATES = 4
# Maximum number of clips that are searched for idle moments and locomotion.
_MAX_CLIPS = 600


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Frames of one kind of a clip, with contacts of the feet."""

    clip: Clip
    roles: Roles
    contacts: Contacts


def starts_and_stops(
    store: ClipStore,
    clips: Sequence[int],
    body: Mapping[str, str],
    frames: int,
    *,
    reach_s: float,
    sudden: float = 0.0,
    seed: int = 0,
) -> Iterator[tuple[Clip, SuddenGoal | None]]:
    """Clips that stand, start, travel, stop and stand.

    The body stops with a foot that has come down, and starts with one that is about to leave the
    floor; in between, both are captured motion. See `stitched`.

    Parameters
    ----------
    clips
        Indices of the clips to make them of.
    body
        Role -> joint name.
    frames
        Number of frames that they have together, at least, not counting the reach.
    reach_s
        Seconds of rest added to both ends.
    sudden
        Share of the clips that are stopped by a stick: their trajectory ahead goes straight on
        until it is released, up to half a second before the last step, which is quick.

    Yields
    ------
    Clips with the labels and the source of the locomotion, each with its sudden stop, if it has
    one; no clips if there is no idle moment, or no locomotion.
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
    order = generator.permutation(len(moving))
    while made < frames:
        stretch = moving[order[number % len(order)]]
        number += 1
        rest = [round((reach_s + generator.uniform(*_REST_S)) * fps) for _ in range(2)]
        travel = round(generator.uniform(*_TRAVEL_S) * fps)
        released_s = _STEP_S * sticks.random() if sticks.random() < sudden else None
        found = _made(stretch, idle, rest, travel, released_s, generator)
        if found is None:
            if number > 20 * len(moving) and not made:
                return
            continue
        clip, stop = found
        made += len(clip) - 2 * round(reach_s * fps)
        yield replace(clip, name=f"{stretch.clip.name} (start and stop {number})"), stop


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


def _made(
    moving: _Stretch,
    idle: list[_Stretch],
    rest: list[int],
    travel: int,
    released_s: float | None,
    generator: np.random.Generator,
) -> tuple[Clip, SuddenGoal | None] | None:
    """One clip with its sudden stop, if a stick is released so many seconds before the last step.

    None if no foot comes down or leaves where it should.
    """
    clip, flags = moving.clip, moving.contacts.flags
    search = round(_SEARCH_S * clip.fps)
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
    quick = released_s is not None
    whole = stitched(part, after, roles, joints[landing], quick=quick)
    # A start is a stop that runs backwards.
    turn = generator.uniform(-_MAX_TURN, _MAX_TURN) * generator.integers(2)
    backwards = _reversed(whole)
    before = _standing(idle, rest[0], backwards, roles, generator)
    made = _reversed(stitched(backwards, before, roles, joints[foot], turn))
    if released_s is None:
        return made, None
    # The first frame of the clip before is that of the captured part.
    standing = len(before) - 1 + len(part) - 1
    released = standing - round(released_s * clip.fps)
    return made, SuddenGoal(released, standing + round(_SETTLED_S * clip.fps))


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
        turned = [_reversed(each.clip) if generator.integers(2) else each.clip for each in some]
        following = min(turned, key=lambda each: _apart(last, each))
        if clip is None:
            clip = following
        else:
            clip = stitched(clip, following, roles, some[0].contacts.joints[0])
    return clip.sliced(0, frames)


def _apart(first: Clip, second: Clip) -> float:
    """How far the local rotations at the end of one clip are from those at the begin of another."""
    cosines = np.abs(np.vecdot(first.rotations[-1, 1:], second.rotations[0, 1:]))
    return float(1.0 - cosines.mean())


def _reversed(clip: Clip) -> Clip:
    return replace(clip, rotations=clip.rotations[::-1], translations=clip.translations[::-1])
