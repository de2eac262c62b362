"""Generation of dances: a trained dancer runs to songs, and the motion is smoothed afterwards.

The controller predicts frame by frame, and its poses jitter above the bandwidth of the recorded
dances. The whole run is therefore low-passed after the rollout, with zero phase shift, and feet in
contact are locked in the smoothed motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.restart_states import initial_states
from deepphase.controllers.dance.stall_guard import StallGuard
from deepphase.controllers.runtime.body_pose import BodyPoses, CharacterFeet
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed, low_passed_rotations
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.conditioning import sample_at
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.short_repr import brief_repr
from deepphase.steering.run import Frame, Run, rollout

DEFAULT_VARIETY = 1.5
"""Default variety of dances by a network. Without it they settle into one figure."""

LOCKED_BAND = 1.25
"""Multiple of the band of the recorded dances at which dances are low-passed after their feet were
locked. Foot locking adds jerk, which this takes off again."""

# Seconds after which a dance of variety 1 continues from another training pose.
_CHANGES_S = 8.0


def smooth_and_lock_feet(run: Run, controller: Controller, bandwidth_hz: float, feet: bool) -> Run:
    """Low-pass a run with zero phase shift, and lock the feet in contact.

    The network predicts every frame separately, which adds jitter. This jitter lies above the
    bandwidth of the recordings and explains most of the extra jerk. Foot locking adds the rest,
    which a second low-pass at `LOCKED_BAND` takes off.

    Parameters
    ----------
    run
        Rollout without foot locking.
    controller
        Controller of the run, for its skeleton and schema.
    bandwidth_hz
        Cutoff frequency, as in `DanceReference.bandwidth_hz`.
    feet
        Whether feet in contact are locked after the smoothing.

    Returns
    -------
    The run with new rotations, translations and root states.
    """
    rotations = _low_passed_rotations(run.rotations, bandwidth_hz, run.fps)
    translations = np.stack(
        [low_passed(each.astype(np.float64), bandwidth_hz, run.fps) for each in run.translations]
    ).astype(np.float32)
    if feet:
        poses = BodyPoses(controller.skeleton, controller.schema)
        locks = CharacterFeet(controller.skeleton, controller.schema, run.characters)
        for frame in range(len(run)):
            # `hold` changes the rotations in place.
            locked = rotations[:, frame].copy()
            local = poses.local_positions(translations[:, frame])
            locks.hold(locked, local, run.contacts[:, frame], run.angles[:, frame], 1.0 / run.fps)
            rotations[:, frame] = locked
        rotations = _low_passed_rotations(rotations, LOCKED_BAND * bandwidth_hz, run.fps)
    positions, angles = (
        np.stack([low_passed(each, bandwidth_hz, run.fps) for each in values])
        for values in (run.positions, run.angles)
    )
    return replace(
        run, rotations=rotations, translations=translations, positions=positions, angles=angles
    )


def with_path_share(run: Run, share: float) -> Run:
    """The run with a share of its path over the ground; poses and facings stay.

    Parameters
    ----------
    run
        Rollout without foot locking.
    share
        Factor of the path of each character from its first place on.
    """
    if share == 1.0:
        return run
    moved = (share - 1.0) * (run.positions - run.positions[:, :1])
    translations = run.translations.astype(np.float64)
    translations[:, :, 0, [0, 2]] += moved
    ahead = run.trajectory
    if ahead is not None:
        ahead = ahead + (share - 1.0) * (ahead - run.positions[:, :1, None])
    return replace(
        run,
        positions=run.positions + moved,
        translations=translations.astype(np.float32),
        trajectory=ahead,
    )


def _low_passed_rotations(rotations: Array, bandwidth_hz: float, fps: float) -> Array:
    """(characters, frames, joints, 4) float32 rotations without what is faster than the band."""
    smooth = [low_passed_rotations(each, bandwidth_hz, fps) for each in rotations]
    return np.stack(smooth).astype(np.float32)


@brief_repr
@dataclass(frozen=True, eq=False)
class NetworkDance:
    """Dance of a trained dancer to a song.

    Parameters
    ----------
    run
        Run of the whole batch, smoothed and with locked feet.
    character
        Index of this dance in the batch.
    frames
        Number of frames of the dance; the run is as long as the longest of its batch.
    start_s
        Time in the song at the first frame, in seconds.
    notes
        Remarks for the user, such as a missing beat.
    restarts_s
        Times in the dance at which it was restarted because it had stalled, in seconds.
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
    def root(self) -> RootTrajectory:
        """The root trajectory."""
        run, stop = self.run, self.frames
        return RootTrajectory.of_ground(
            run.positions[self.character, :stop], run.angles[self.character, :stop]
        )

    @property
    def phases(self) -> PhaseParameters | None:
        """(frames, channels) each; None if the dancer has no phases."""
        phases = self.run.phases
        return None if phases is None else phases[self.character][: self.frames]

    @property
    def gating(self) -> Array | None:
        """(frames, experts) blend weights; None if the run has none."""
        weights = self.run.gating
        return None if weights is None else weights[self.character, : self.frames]

    @property
    def alive(self) -> Array:
        """(frames,) bool: whether the predicted pose stayed within bounds."""
        return self.run.alive[self.character, : self.frames]


def generate_dances(
    dancer: Dancer,
    requests: Sequence[tuple[SongFeatures, DanceRequest]],
    *,
    settings: CharacterSettings | None = None,
    progress: Progress | None = None,
    guard: bool = True,
) -> list[NetworkDance]:
    """Generate dances to songs, all of them in one batch.

    Parameters
    ----------
    dancer
        Trained dancer.
    requests
        Songs, and for each the part, length and seed of the dance.
    settings
        Settings of the characters. Feet are locked after the smoothing, see
        `smooth_and_lock_feet`.
    progress
        Called with the number of frames done.
    guard
        Whether dances that stall or leave all bounds are restarted, see `StallGuard`.

    Returns
    -------
    One dance per request.

    Raises
    ------
    ParameterError
        If a song ends before the start of its dance.
    """
    fps, schema = dancer.controller.fps, dancer.controller.schema
    notes: list[list[str]] = [[] for _ in requests]
    frames = [
        request.frames(song, fps, song_notes)
        for (song, request), song_notes in zip(requests, notes, strict=True)
    ]
    for (song, _), song_notes in zip(requests, notes, strict=True):
        song_notes += _beat_notes(dancer, song)
    music = [dancer.music.rows(song) for song, _ in requests]
    offsets = np.array(schema.config.offsets_s)

    def audio(step: int) -> Array:
        """(dances, offsets, dims) network input of a step: audio around the frame before it."""
        return np.stack(
            [
                sample_at(rows, request.start_s + (step - 1) / fps + offsets)
                for rows, (_, request) in zip(music, requests, strict=True)
            ]
        )

    seeds = [request.seed for _, request in requests]
    settings = settings or CharacterSettings(*BLENDS["natural"])
    # Feet are locked after the smoothing.
    foot_ik, settings = settings.foot_ik, replace(settings, foot_ik=False)
    starts = initial_states(dancer, audio(0), seeds)
    character: Characters | StallGuard
    character = Characters(dancer.controller, starts, settings=settings, seed=seeds[0])
    if guard:
        changes_s = [_change_interval_s(request.variety) for _, request in requests]
        character = StallGuard(dancer, character, settings, seeds, changes_s)

    def step(index: int) -> Frame:
        return character.step(None, {MUSIC: audio(index)})

    run = rollout(character, None, max(frames) / fps, progress, step=step)
    run = with_path_share(run, dancer.path_share)
    run = smooth_and_lock_feet(run, dancer.controller, dancer.reference.bandwidth_hz, foot_ik)
    restarts = character.restarts if isinstance(character, StallGuard) else [[] for _ in requests]
    return [
        _dance(run, index, count, request.start_s, song_notes, restarts[index])
        for index, (count, (_, request), song_notes) in enumerate(
            zip(frames, requests, notes, strict=True)
        )
    ]


def _change_interval_s(variety: float | None) -> float:
    """Seconds from one change of the pose to the next; infinite at a variety of 0."""
    variety = DEFAULT_VARIETY if variety is None else variety
    return _CHANGES_S / variety if variety else np.inf


def _dance(
    run: Run, index: int, frames: int, start_s: float, notes: list[str], restarts: Sequence[int]
) -> NetworkDance:
    dance = NetworkDance(run, index, frames, start_s, ())
    restarts_s = tuple(frame / run.fps for frame in restarts if frame < frames)
    alive = dance.alive
    if not alive.all():
        note = f"the network left all bounds after {alive.argmin() / run.fps:.1f} s"
        recovered = alive[alive.argmin() :].any()
        notes.append(note if recovered else f"{note}: the body stands still from there on")
    if restarts_s:
        count = f"{len(restarts_s)} times" if len(restarts_s) > 1 else "once"
        notes.append(
            f"the dance stalled and was restarted {count}, first after {restarts_s[0]:.1f} s"
        )
    return replace(dance, notes=tuple(notes), restarts_s=restarts_s)


def _beat_notes(dancer: Dancer, song: SongFeatures) -> list[str]:
    """Notes on the beats of a song."""
    if not song.has_beat:
        return ["no reliable beat in this song: the dance does not follow its beat"]
    counted = dancer.music.in_tempo_range(song)
    if counted is song:
        return []
    return [
        f"the song is counted at {counted.tempo_bpm:.0f} beats a minute, not at "
        f"{song.tempo_bpm:.0f}, to match the tempo range of the training songs"
    ]
