"""A run of characters, recorded: motion, contacts, gating, phases, and what was wished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from controllers.character import Tracks
from controllers.character_frame import Frame
from controllers.controller import Controller
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.steering.followers import Follower

Array = np.ndarray
TracksOfStep = Callable[[int], Mapping[str, Array]]
"""Step, from 0 -> name -> (characters, offsets, values)."""


class Runs(Protocol):
    """What a rollout asks of what runs; see `character.Character`."""

    controller: Controller

    def __len__(self) -> int: ...

    @property
    def translated_joints(self) -> Array:
        """As `Character.translated_joints`."""
        ...

    def step(self, follower: Follower | None = None, tracks: Tracks | None = None) -> Frame:
        """As `Character.step`."""
        ...


@dataclass(frozen=True, eq=False)
class Rollout:
    """Frames of all characters, in order: the first is a frame behind the starts.

    Parameters
    ----------
    fps
        Frames a second.
    skeleton, translated_joints
        What moves, and which joints have translations.
    rotations
        (characters, frames, joints, 4) float32 local rotations, as `Frame` has them.
    translations
        (characters, frames, translated joints, 3) float32 metres.
    positions, angles
        (characters, frames, 2) m and (characters, frames) rad: the roots.
    contacts
        (characters, frames, feet) float32 in [0, 1].
    feet
        Names of the feet.
    alive
        (characters, frames) bool: see `Frame`.
    limb_errors
        (characters, frames) metres: see `Frame`.
    gating
        (characters, frames, experts or control points) float32, or None.
    phases
        (characters, frames, channels) each, or None.
    trajectory, trajectory_angles
        (characters, frames, samples, 2) m, world, and (characters, frames, samples) rad: what lay
        ahead when the frame was made.
    offsets_s
        (samples,) seconds of those from then.
    wished_positions, wished_angles
        (characters, frames, 2) m and (characters, frames) rad: where they would best have been;
        None without a wish.
    """

    fps: float
    skeleton: Skeleton
    translated_joints: Array
    rotations: Array
    translations: Array
    positions: Array
    angles: Array
    contacts: Array
    feet: tuple[str, ...]
    alive: Array
    limb_errors: Array
    gating: Array | None
    phases: PhaseParameters | None
    trajectory: Array
    trajectory_angles: Array
    offsets_s: Array
    wished_positions: Array | None
    wished_angles: Array | None

    def __len__(self) -> int:
        return self.positions.shape[1]

    @property
    def characters(self) -> int:
        """How many."""
        return len(self.positions)

    @property
    def survived_s(self) -> Array:
        """(characters,) seconds until the network left all bounds; the whole run if it did not."""
        return self.alive.sum(axis=1) / self.fps

    def clip(self, character: int = 0, name: str = "run") -> Clip:
        """The motion of one character."""
        notes = ["made by a controller"]
        if not self.alive[character].all():
            stop = int(self.alive[character].argmin())
            note = f"the network left all bounds at frame {stop}"
            again = self.alive[character, stop:].any()
            notes.append(note if again else f"{note}; it stands still from there")
        return Clip(
            skeleton=self.skeleton,
            rotations=quaternions.sign_continuous(self.rotations[character]),
            translations=self.translations[character],
            fps=self.fps,
            translated_joints=self.translated_joints,
            source=Source(fps=self.fps, notes=tuple(notes)),
            name=name,
        )


def rollout(
    character: Runs,
    follower: Follower | None,
    seconds: float,
    progress: Progress | None = None,
    tracks: TracksOfStep | None = None,
) -> Rollout:
    """Let characters run for some seconds, and record it.

    Parameters
    ----------
    follower, tracks
        As for `Character.step`; tracks are asked for at every step.

    Raises
    ------
    ParameterError
        Where the seconds are not above 0, and as `Character.step` does.
    """
    controller = character.controller
    schema = controller.schema
    frames = round(seconds * schema.fps) if np.isfinite(seconds) else 0
    if frames < 1:
        raise ParameterError(f"a run of {seconds} s", hint="give seconds above 0")
    recording = _Recording(len(character), frames)
    for index in range(frames):
        frame = character.step(follower, None if tracks is None else tracks(index))
        values = {name: getattr(frame, name) for name in _PER_FRAME}
        if frame.phases is not None:
            values |= {name: getattr(frame.phases, name) for name in _OF_PHASES}
        if follower is not None:
            values["wished_positions"], values["wished_angles"] = follower.point()
        recording.add(index, values)
        if progress is not None:
            living = int(frame.alive.sum())
            word = "" if living == len(character) else f"{living} of {len(character)} alive"
            progress("running", index + 1, frames, word)
    found = recording.arrays
    phases = None
    if "phase" in found:
        phases = PhaseParameters(*(found.pop(name) for name in _OF_PHASES))
    names = (*_PER_FRAME, "wished_positions", "wished_angles")
    recorded: dict[str, Any] = {name: found.get(name) for name in names}
    return Rollout(
        fps=schema.fps,
        skeleton=controller.skeleton,
        translated_joints=character.translated_joints,
        feet=schema.feet,
        phases=phases,
        offsets_s=np.array([offset for offset in schema.config.later_s if offset > 0.0]),
        **recorded,
    )


_OF_PHASES = ("phase", "frequency", "amplitude", "offset")
_PER_FRAME = (
    *("rotations", "translations", "positions", "angles", "contacts", "alive", "limb_errors"),
    *("gating", "trajectory", "trajectory_angles"),
)
# Metres of places in the world need more digits than float32 has far from the origin.
_WIDE = ("positions", "angles", "wished_positions", "wished_angles")


class _Recording:
    """Arrays (characters, frames, ...), made when their first values come."""

    def __init__(self, characters: int, frames: int) -> None:
        self._shape = (characters, frames)
        self.arrays: dict[str, Array] = {}

    def add(self, index: int, values: Mapping[str, Array | None]) -> None:
        """Write a frame's values (characters, ...); None is left out."""
        for name, value in values.items():
            if value is None:
                continue
            if name not in self.arrays:
                kind = value.dtype if name in _WIDE or value.dtype == bool else np.float32
                self.arrays[name] = np.empty((*self._shape, *value.shape[1:]), kind)
            self.arrays[name][:, index] = value
