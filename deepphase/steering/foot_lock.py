"""Feet that stay where they stand: locked while in contact, blended in and out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.foot_ik import LimbSolver
from deepphase.steering.springs import faded, spring_rate

# Further than the motion itself a limb is stretched softly, and up to this share of its length: a
# knee that comes straight within a frame or two pops.
_LONGEST_STRETCH = 0.99
_GRAVITY = 9.81


@dataclass(frozen=True)
class FootLockSettings:
    """How feet are held.

    Parameters
    ----------
    catch_halflife_s
        Seconds in which a foot that comes to be held loses half of its way on.
    release_halflife_s
        Seconds in which a foot that is let go comes half the way back to where the motion has it.
    catch_speed
        Share of sqrt(g * limb length), at which bodies of all sizes move alike: a foot that is
        shown faster than this swings still, whatever the motion says, and is not held yet.
    release_share
        Share of the limb's length: a foot this far from where the motion wants it is let go, and
        held again when it has come back half of that.
    """

    catch_halflife_s: float = 0.05
    release_halflife_s: float = 0.1
    catch_speed: float = 0.3
    release_share: float = 0.45

    def __post_init__(self) -> None:
        spring_rate(self.catch_halflife_s)
        spring_rate(self.release_halflife_s)
        for name in ("catch_speed", "release_share"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} {getattr(self, name)}: it must be above 0")


class FootLock:
    """The feet of many characters, frame after frame.

    A foot in contact is held where it came to rest, on the ground: its height stays the motion's.
    It is let go when the contact ends, or where the motion leaves it behind.

    Parameters
    ----------
    solver
        Of the characters' limbs.
    characters
        How many.
    settings
        How feet are held.
    """

    def __init__(
        self, solver: LimbSolver, characters: int, settings: FootLockSettings | None = None
    ) -> None:
        self._solver = solver
        self._settings = settings or FootLockSettings()
        # Limbs first, as the solver has them.
        shape = (len(solver.limbs), characters)
        self._locked = np.zeros(shape, bool)
        self._point = np.zeros((*shape, 2))
        self._offset = np.zeros((*shape, 2))
        self._speed = np.zeros((*shape, 2))
        self._moving: Array | None = None
        self._shown = np.zeros((*shape, 2))
        self._rates = tuple(
            spring_rate(each)
            for each in (self._settings.catch_halflife_s, self._settings.release_halflife_s)
        )

    @property
    def locked(self) -> Array:
        """(characters, limbs) bool: feet that are held."""
        return self._locked.T

    def apply(
        self,
        rotations: Array,
        local_positions: Array,
        contacts: Array,
        left: Array,
        seconds: float,
    ) -> None:
        """Hold the feet of one frame.

        Parameters
        ----------
        rotations : (characters, joints, 4)
            Local rotations, the root's in the world; changed in place.
        local_positions : (characters, joints, 3)
            Metres.
        contacts : (characters, limbs)
            Whether the motion has the foot on the ground.
        left : (characters, 3)
            Unit vector to each body's left.
        seconds
            Since the frame before.
        """
        solver = self._solver
        if not len(solver.limbs):
            return
        transforms = solver.transforms(rotations, local_positions)
        upper, _, last, tips = transforms.positions
        ground, length = tips[..., ::2], transforms.lengths
        targets = last.copy()
        targets[..., ::2] += self._held(ground, contacts.T, length, seconds) - ground
        solver.reach(rotations, transforms, _within_reach(upper, last, targets, length), left)

    def _held(self, ground: Array, contacts: Array, length: Array, seconds: float) -> Array:
        """(limbs, characters, 2) metres: where the tips shall be, x and z."""
        settings = self._settings
        if self._moving is None:
            self._moving, self._shown = ground, ground
        # Of free feet how far and how fast they are from where the motion has them, of held feet
        # from where they are held.
        gap = np.where(self._locked[..., None], self._point - ground, self._offset)
        gap2 = np.vecdot(gap, gap)
        release2 = (settings.release_share * length) ** 2
        ends = self._locked & (~contacts | (gap2 > release2))
        begins = contacts & ~self._locked & (gap2 < 0.25 * release2)
        if begins.any() or ends.any():
            moving = (ground - self._moving) / seconds
            velocity = np.where(self._locked[..., None], 0.0, moving) + self._speed
            slow2 = settings.catch_speed**2 * _GRAVITY * length
            begins &= np.vecdot(velocity, velocity) < slow2
            change = (begins | ends)[..., None]
            # A spring takes over from the foot as it was shown: its place and its velocity.
            holds = begins[..., None]
            self._point = np.where(holds, self._shown, self._point)
            offset = np.where(holds, 0.0, self._shown - self._moving)
            self._offset = np.where(change, offset, self._offset)
            speed = velocity - np.where(holds, 0.0, moving)
            self._speed = np.where(change, speed, self._speed)
            self._locked = (self._locked | begins) & ~ends
        held = self._locked[..., None]
        rate = np.where(held, *self._rates)
        self._offset, self._speed = faded(self._offset, self._speed, rate, seconds)
        self._moving = ground
        self._shown = np.where(held, self._point, ground) + self._offset
        return self._shown


def _within_reach(upper: Array, last: Array, targets: Array, length: Array) -> Array:
    """Targets, drawn towards the limb's upper joint where they would stretch it out."""
    drawn, natural = targets - upper, last - upper
    asked, own = np.sqrt(np.vecdot(drawn, drawn)), np.sqrt(np.vecdot(natural, natural))
    over = asked - own
    if not (over > 0).any():
        return targets
    room = np.maximum(_LONGEST_STRETCH * length - own, 1e-6)
    soft = np.where(over > 0, own + room * np.tanh(over / room), asked)
    return upper + drawn * (soft / np.maximum(asked, 1e-9))[..., None]
