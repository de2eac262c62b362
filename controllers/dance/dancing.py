"""Generation of dances: a trained dancer runs to songs, and the motion is smoothed afterwards.

The controller predicts frame by frame, and its poses jitter above the bandwidth of the recorded
dances. The whole run is therefore low-passed after the rollout, with zero phase shift, and feet in
contact are locked in the smoothed motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.stall_guard import StallGuard
from deepphase.controllers.dance.starts import initial_states
from deepphase.controllers.runtime.body_pose import BodyPoses, CharacterFeet
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.motion.resample import low_passed, low_passed_rotations
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.music.features import SongFeatures, sample_at
from deepphase.steering.dance import LOCKED_BAND, DanceRequest, DanceResult
from deepphase.steering.run import Frame, Run, rollout
from deepphase.work import Progress

# Seconds after which a dance of variety 1 continues from another training pose, and the usual
# variety, without which dances settle into one figure.
_CHANGES_S, _VARIETY = 8.0, 1.5


def generate_dances(
    dancer: Dancer,
    requests: Sequence[tuple[SongFeatures, DanceRequest]],
    *,
    settings: CharacterSettings | None = None,
    progress: Progress | None = None,
    guard: bool = True,
) -> list[DanceResult]:
    """Generate dances to songs, all of them in one batch.

    Parameters
    ----------
    requests
        Songs, and for each the part, length and seed of the dance.
    settings
        Settings of the characters. Feet are locked after the smoothing.
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
    foot_ik, settings = settings.foot_ik, replace(settings, foot_ik=False)
    starts = initial_states(dancer, audio(0), seeds)
    character: Characters | StallGuard
    character = Characters(dancer.controller, starts, settings=settings, seed=seeds[0])
    if guard:
        varieties = [_VARIETY if each.variety is None else each.variety for _, each in requests]
        changes_s = [_CHANGES_S / variety if variety else np.inf for variety in varieties]
        character = StallGuard(dancer, character, settings, seeds, changes_s)

    def step(index: int) -> Frame:
        return character.step(None, {MUSIC: audio(index)})

    run = rollout(character, None, max(frames) / fps, progress, step=step)
    run = _with_path_share(run, dancer.path_share)
    run = smooth_and_lock_feet(run, dancer.controller, dancer.reference.bandwidth_hz, foot_ik)
    restarts = character.restarts if isinstance(character, StallGuard) else [[] for _ in requests]
    return [
        _result(run, index, count, song, request, song_notes, restarts[index])
        for index, (count, (song, request), song_notes) in enumerate(
            zip(frames, requests, notes, strict=True)
        )
    ]


def smooth_and_lock_feet(run: Run, controller: Controller, bandwidth_hz: float, feet: bool) -> Run:
    """Low-pass a run with zero phase shift, and lock the feet in contact.

    The network predicts every frame separately, which adds jitter. This jitter lies above the
    bandwidth of the recordings and explains most of the extra jerk. Foot locking adds the rest,
    which a second low-pass at `LOCKED_BAND` takes off.
    """
    rotations = _low_passed_rotations(run.rotations, bandwidth_hz, run.fps)
    translations, positions, angles = (
        np.stack([low_passed(curve.astype(np.float64), bandwidth_hz, run.fps) for curve in values])
        for values in (run.translations, run.positions, run.angles)
    )
    translations = translations.astype(np.float32)
    locks = CharacterFeet(
        controller.skeleton, controller.schema, run.characters, poses=controller.poses
    )
    if feet:
        poses = BodyPoses(controller.skeleton, controller.schema)
        for frame in range(len(run)):
            # The lock changes the rotations in place.
            locked = rotations[:, frame].copy()
            local = poses.local_positions(translations[:, frame])
            touching = locks.touching(run.contacts[:, frame])
            locks.lock.apply(locked, local, touching, 1.0 / run.fps)
            rotations[:, frame] = locked
        rotations = _low_passed_rotations(rotations, LOCKED_BAND * bandwidth_hz, run.fps)
    for dance in rotations:
        locks.hinges.constrain(dance)
    return replace(
        run, rotations=rotations, translations=translations, positions=positions, angles=angles
    )


def _with_path_share(run: Run, share: float) -> Run:
    """The run with a share of its path over the ground; poses and facings stay."""
    if share == 1.0:
        return run
    moved = (share - 1.0) * (run.positions - run.positions[:, :1])
    translations = run.translations.astype(np.float64)
    translations[:, :, 0, [0, 2]] += moved
    return replace(
        run, positions=run.positions + moved, translations=translations.astype(np.float32)
    )


def _low_passed_rotations(rotations: Array, bandwidth_hz: float, fps: float) -> Array:
    """(characters, frames, joints, 4) float32 rotations without what is faster than the band."""
    smooth = [low_passed_rotations(dance, bandwidth_hz, fps) for dance in rotations]
    return np.stack(smooth).astype(np.float32)


def _result(
    run: Run,
    index: int,
    frames: int,
    song: SongFeatures,
    request: DanceRequest,
    notes: list[str],
    restarts: Sequence[int],
) -> DanceResult:
    alive = run.alive[index, :frames]
    restarts_s = tuple(frame / run.fps for frame in restarts if frame < frames)
    if not song.has_beat:
        notes.append("no reliable beat in this song: the dance does not follow its beat")
    if not alive.all():
        note = f"the network left all bounds after {alive.argmin() / run.fps:.1f} s"
        recovered = alive[alive.argmin() :].any()
        notes.append(note if recovered else f"{note}: the body stands still from there on")
    if restarts_s:
        count = f"{len(restarts_s)} times" if len(restarts_s) > 1 else "once"
        notes.append(
            f"the dance stalled and was restarted {count}, first after {restarts_s[0]:.1f} s"
        )
    return DanceResult(
        clip=run.clip(index, song.name).sliced(0, frames),
        song=song,
        start_s=request.start_s,
        hips=int(run.spec.joint_indices[0]),
        root=RootTrajectory.from_ground(run.positions[index, :frames], run.angles[index, :frames]),
        alive=alive,
        phases=None if run.phases is None else run.phases[index][:frames],
        gating=None if run.gating is None else run.gating[index, :frames],
        marks=tuple(("restart", second) for second in restarts_s),
        restarts_s=restarts_s,
        notes=tuple(notes),
    )
