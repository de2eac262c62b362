"""A dancer and a song: the dance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.dance_config import MUSIC
from controllers.dance_lock import BeatLock
from controllers.dancer import Dancer
from controllers.rollout import Rollout, rollout
from controllers.starts import Starts
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.music.features import FPS, SURE, SongFeatures
from deepphase.progress import Progress

Array = np.ndarray

LOCK = 0.5
"""How firmly phases are held to the beat where nothing else is told."""

# A dance begins with one of so many moments whose music is most like the song's there.
_FITTING = 24
# Share of the noise of the training by which the first pose differs, too.
_SHAKEN = 0.5


@dataclass(frozen=True, eq=False)
class NetworkDance:
    """What a dancer did to a song.

    Parameters
    ----------
    run
        One character; its first frame is at `start_s` of the song.
    start_s
        Seconds.
    haste
        (frames,) share by which phases were hurried, or held back below 0; None without a lock.
    notes
        What deserves to be said, in words.
    """

    run: Rollout
    start_s: float
    haste: Array | None
    notes: tuple[str, ...]

    def clip(self, name: str) -> Clip:
        """The motion."""
        return self.run.clip(0, name)


def dance_to(
    dancer: Dancer,
    song: SongFeatures,
    *,
    start_s: float = 0.0,
    seconds: float | None = None,
    seed: int = 0,
    lock: float | None = None,
    settings: CharacterSettings | None = None,
    progress: Progress | None = None,
) -> NetworkDance:
    """Dance to a song from one of its seconds on.

    Parameters
    ----------
    start_s
        The song's second at the first frame.
    seconds
        How long; to the song's end if not given, and not beyond it.
    seed
        Of the moment that the dance begins with.
    lock
        From 0, phases go on as the network has them (eq. 9 of DeepPhase), to 1, they are held to
        the beats as firmly as stays natural; `LOCK` if not given.
    settings
        How the character runs.

    Raises
    ------
    ParameterError
        Where the song is over before the start, or a lock is told and there are no phases.
    """
    frames = dance_frames(song, dancer.controller.fps, start_s, seconds)
    fps, schema = dancer.controller.fps, dancer.controller.schema
    notes: list[str] = []
    if seconds is not None and frames < round(seconds * fps):
        notes.append(f"the song ends {frames / fps:.1f} s after the start: so does the dance")
    loop = _lock(dancer, song, start_s, lock, notes)
    music = dancer.music.rows(song)
    offsets = np.array(schema.config.offsets_s) * FPS

    def heard(step: int) -> dict[str, Array]:
        # What is seen of a frame leads to the next, and that one is at the start.
        moments = (start_s + (step - 1) / fps) * FPS + offsets
        rows = music[np.clip(np.rint(moments), 0, len(music) - 1).astype(np.intp)]
        return {MUSIC: rows[None]}

    start = _start(dancer, heard(0)[MUSIC], seed)
    character = Character(dancer.controller, start, settings=settings, seed=seed, phase_lock=loop)
    run = rollout(character, None, frames / fps, progress, heard)
    if not run.alive.all():
        notes.append(
            f"the network left all bounds after {run.survived_s[0]:.1f} s: the body stands still "
            "from there"
        )
    return NetworkDance(run, start_s, None if loop is None else np.array(loop.hastes), tuple(notes))


def dance_frames(song: SongFeatures, fps: float, start_s: float, seconds: float | None) -> int:
    """Frames of a dance to a song.

    Raises ParameterError where the start or the seconds are impossible.
    """
    if not (np.isfinite(start_s) and start_s >= 0):
        raise ParameterError(f"a start at {start_s} s", hint="seconds of the song, from 0")
    if seconds is not None and not (np.isfinite(seconds) and seconds > 0):
        raise ParameterError(f"a dance of {seconds} s", hint="give seconds above 0")
    left = song.duration_s - start_s
    if left * fps < 1:
        raise ParameterError(
            f"{song.name} has {song.duration_s:.2f} s, the dance starts at {start_s:g} s",
            hint="start earlier",
        )
    return max(round((left if seconds is None else min(seconds, left)) * fps), 1)


def _lock(
    dancer: Dancer, song: SongFeatures, start_s: float, lock: float | None, notes: list[str]
) -> BeatLock | None:
    if lock is not None and not 0.0 <= lock <= 1.0:
        raise ParameterError(f"a lock of {lock:g}", hint="from 0 (none) to 1")
    if dancer.ratios is None:
        if lock:
            raise ParameterError(
                "this dancer has no phases: there is nothing to lock to the beat",
                hint="leave out --lock, or train a dancer with phases",
            )
        return None
    strength = LOCK if lock is None else lock
    if not strength:
        return None
    if len(song.beats_s) < 2 or song.beat_confidence < SURE:
        notes.append("no beat can be told in this song: phases are not locked to it")
        return None
    if not dancer.ratios.weights.any():
        notes.append("the dances it learnt from keep to no beat: there is nothing to lock")
        return None
    fps = dancer.controller.fps
    return BeatLock(dancer.ratios, song, strength=strength, fps=fps, first_s=start_s)


def _start(dancer: Dancer, music: Array, seed: int) -> Starts:
    """One of the moments whose music is most like this (1, offsets, dims)."""
    known = dancer.controller.starts
    block = known.inputs[:, dancer.controller.schema.inputs.slices[MUSIC]]
    apart = np.square(block - music.reshape(1, -1)).mean(axis=1)
    fitting = np.argsort(apart, kind="stable")[:_FITTING]
    if not seed:
        return known.of(fitting[:1])
    generator = np.random.default_rng(seed)
    start = known.of(generator.choice(fitting, 1))
    # As much as it learnt to come back from: no two dances of one moment are the same.
    noise = _SHAKEN * dancer.controller.config.training.pose_noise
    inputs = start.inputs.copy()
    for name in ("joint_position", "joint_velocity"):
        place = dancer.controller.schema.inputs.slices[name]
        spread = known.inputs[:, place].std(axis=0)
        inputs[:, place] += noise * spread * generator.standard_normal(spread.shape)
    return replace(start, inputs=inputs)
