"""Dancers and songs: the dances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controllers.dance.config import MUSIC
from controllers.dance.dancer import Dancer
from controllers.dance.restart_states import first_starts
from controllers.dance.stall_guard import StallGuard
from controllers.runtime.body_pose import BodyPoses, CharacterFeet
from controllers.runtime.characters import Characters
from controllers.runtime.controller import Controller
from controllers.runtime.frame import CharacterSettings
from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed
from deepphase.music.conditioning import sample_at
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import MIN_CONFIDENCE, SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.steering.run import Frame, Run, rollout


def smooth_and_lock_feet(run: Run, controller: Controller, bandwidth_hz: float, feet: bool) -> Run:
    """A run without what is faster than the dances that were learnt from, forth and back in time.

    A network gives every frame anew, each a little beside the last: that trembling, to which no
    movement of the recorded dances belongs, is most of what its dances jerk more than those.

    Parameters
    ----------
    run
        Of characters whose feet were not held.
    bandwidth_hz
        As `DanceReference` has it.
    feet
        Whether feet in contact are held where they stand, afterwards.
    """
    calm = [
        low_passed(quaternions.sign_continuous(each.astype(np.float64)), bandwidth_hz, run.fps)
        for each in run.rotations
    ]
    rotations = quaternions.normalized(np.stack(calm)).astype(np.float32)
    translations = np.stack(
        [low_passed(each.astype(np.float64), bandwidth_hz, run.fps) for each in run.translations]
    ).astype(np.float32)
    if feet:
        poses = BodyPoses(controller.skeleton, controller.schema)
        held = CharacterFeet(controller.skeleton, controller.schema, run.characters)
        for frame in range(len(run)):
            # Changed in place.
            shown = rotations[:, frame].copy()
            local = poses.local_positions(translations[:, frame])
            held.hold(shown, local, run.contacts[:, frame], run.angles[:, frame], 1.0 / run.fps)
            rotations[:, frame] = shown
    return replace(run, rotations=rotations, translations=translations)


@dataclass(frozen=True, eq=False)
class NetworkDance:
    """What a dancer did to a song.

    Parameters
    ----------
    run
        Of all that danced at once, as fast as the network has them, calm and with feet held.
    character
        Which of them this is.
    frames
        How many of the run's frames are the dance.
    start_s
        The song's second at the first frame.
    notes
        What deserves to be said, in words.
    anew_s
        Seconds of the dance at which it began anew, because it had come to a halt.
    """

    run: Run
    character: int
    frames: int
    start_s: float
    notes: tuple[str, ...]
    restarts_s: tuple[float, ...] = ()

    def clip(self, name: str) -> Clip:
        """The motion."""
        return self.run.clip(self.character, name).sliced(0, self.frames)

    @property
    def phases(self) -> PhaseParameters | None:
        """(frames, channels) each; None where the dancer has none."""
        phases = self.run.phases
        return None if phases is None else phases[self.character][: self.frames]

    @property
    def gating(self) -> Array | None:
        """(frames, experts), where they were kept."""
        weights = self.run.gating
        return None if weights is None else weights[self.character, : self.frames]

    @property
    def alive(self) -> Array:
        """(frames,) bool: the values are those of a body."""
        return self.run.alive[self.character, : self.frames]


def dances_to(
    dancer: Dancer,
    requests: Sequence[tuple[SongFeatures, DanceRequest]],
    *,
    settings: CharacterSettings | None = None,
    progress: Progress | None = None,
    guard: bool = True,
) -> list[NetworkDance]:
    """Dance to songs, all at once as one batch.

    Parameters
    ----------
    wishes
        Songs, and what is asked for.
    settings
        How the characters run. What is shown is without what is faster than the recorded dances.
    guard
        Whether dances that come to stand, or whose network leaves all bounds, begin anew.

    Raises
    ------
    ParameterError
        Where a song is over before the start.
    """
    fps, schema = dancer.controller.fps, dancer.controller.schema
    notes: list[list[str]] = [[] for _ in requests]
    frames = [
        request.frames(song, fps, said)
        for (song, request), said in zip(requests, notes, strict=True)
    ]
    for (song, _), said in zip(requests, notes, strict=True):
        said += _beat_notes(dancer, song)
    music = [dancer.music.rows(song) for song, _ in requests]
    offsets = np.array(schema.config.offsets_s)

    def audio(step: int) -> Array:
        """(dances, offsets, dims) around the frame before a step's: the network's input."""
        return np.stack(
            [
                sample_at(rows, request.start_s + (step - 1) / fps + offsets)
                for rows, (_, request) in zip(music, requests, strict=True)
            ]
        )

    seeds = [request.seed for _, request in requests]
    settings = settings or CharacterSettings()
    # Feet are held when the dance is calm.
    shown, settings = settings, replace(settings, foot_ik=False)
    starts = first_starts(dancer, audio(0), seeds)
    character: Characters | StallGuard
    character = Characters(dancer.controller, starts, settings=settings, seed=seeds[0])
    if guard:
        character = StallGuard(dancer, character, settings, seeds)

    def step(index: int) -> Frame:
        return character.step(None, {MUSIC: audio(index)})

    run = rollout(character, None, max(frames) / fps, progress, step=step)
    run = smooth_and_lock_feet(run, dancer.controller, dancer.reference.bandwidth_hz, shown.foot_ik)
    begun = character.begun if isinstance(character, StallGuard) else [[] for _ in requests]
    return [
        _made(run, index, count, request.start_s, said, begun[index])
        for index, (count, (_, request), said) in enumerate(
            zip(frames, requests, notes, strict=True)
        )
    ]


def _made(
    run: Run, index: int, frames: int, start_s: float, notes: list[str], begun: Sequence[int]
) -> NetworkDance:
    made = NetworkDance(run, index, frames, start_s, ())
    restarts_s = tuple(frame / run.fps for frame in begun if frame < frames)
    alive = made.alive
    if not alive.all():
        note = f"the network left all bounds after {alive.argmin() / run.fps:.1f} s"
        again = alive[alive.argmin() :].any()
        notes.append(note if again else f"{note}: the body stands still from there")
    if restarts_s:
        often = f"{len(restarts_s)} times" if len(restarts_s) > 1 else "once"
        notes.append(
            f"the dance stalled and was restarted {often}, at first after {restarts_s[0]:.1f} s"
        )
    return replace(made, notes=tuple(notes), restarts_s=restarts_s)


def _beat_notes(dancer: Dancer, song: SongFeatures) -> list[str]:
    """What is to be said of the song's beats."""
    if len(song.beats_s) < 2 or song.beat_confidence < MIN_CONFIDENCE:
        return ["no beat was found in this song: the dance follows none"]
    counted = dancer.music.counted(song)
    if counted is song:
        return []
    return [
        f"the song is counted at {counted.tempo_bpm:.0f} beats a minute, not at "
        f"{song.tempo_bpm:.0f}: as long as those that were danced to in training"
    ]
