"""Dancers and songs: the dances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.dance_config import MUSIC
from controllers.dance_lock import BeatLock, BeatLocks
from controllers.dancer import Dancer
from controllers.rollout import Rollout, rollout
from controllers.starts import Starts
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.music.features import FPS, SURE, SongFeatures
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress

Array = np.ndarray

LOCK = 0.5
"""How firmly phases are held to the beat where nothing else is told."""

# A dance begins with one of so many moments whose music is most like the song's there.
_FITTING = 24
# Share of the noise of the training by which the first pose differs, too.
_SHAKEN = 0.5


@dataclass(frozen=True)
class Wish:
    """What is asked of a dancer.

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
    """

    start_s: float = 0.0
    seconds: float | None = None
    seed: int = 0
    lock: float | None = None


@dataclass(frozen=True, eq=False)
class NetworkDance:
    """What a dancer did to a song.

    Parameters
    ----------
    run
        Of all that danced at once; the first frame is at `start_s` of the song.
    character
        Which of them this is.
    frames
        How many are the dance.
    start_s
        Seconds.
    haste
        (frames,) share by which phases were hurried, or held back below 0; None without a lock.
    notes
        What deserves to be said, in words.
    """

    run: Rollout
    character: int
    frames: int
    start_s: float
    haste: Array | None
    notes: tuple[str, ...]

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
    """Dance to a song from one of its seconds on; see `Wish`, and `dances_to` for errors."""
    wish = Wish(start_s, seconds, seed, lock)
    return dances_to(dancer, [(song, wish)], settings=settings, progress=progress)[0]


def dances_to(
    dancer: Dancer,
    wishes: Sequence[tuple[SongFeatures, Wish]],
    *,
    settings: CharacterSettings | None = None,
    progress: Progress | None = None,
) -> list[NetworkDance]:
    """Dance to songs, all at once as one batch.

    Parameters
    ----------
    wishes
        Songs, and what is asked for.
    settings
        How the characters run.

    Raises
    ------
    ParameterError
        Where a song is over before the start, or a lock is told and there are no phases.
    """
    fps, schema = dancer.controller.fps, dancer.controller.schema
    frames = [dance_frames(song, fps, wish.start_s, wish.seconds) for song, wish in wishes]
    notes: list[list[str]] = [[] for _ in wishes]
    for (_, wish), count, said in zip(wishes, frames, notes, strict=True):
        if wish.seconds is not None and count < round(wish.seconds * fps):
            said.append(f"the song ends {count / fps:.1f} s after the start: so does the dance")
    locks = [
        _lock(dancer, song, wish, said) for (song, wish), said in zip(wishes, notes, strict=True)
    ]
    music = [dancer.music.rows(song) for song, _ in wishes]
    offsets = np.array(schema.config.offsets_s) * FPS

    def heard(step: int) -> dict[str, Array]:
        # What is seen of a frame leads to the next, and that one is at the start.
        seen = []
        for rows, (_, wish) in zip(music, wishes, strict=True):
            moments = np.rint((wish.start_s + (step - 1) / fps) * FPS + offsets)
            seen.append(rows[np.clip(moments, 0, len(rows) - 1).astype(np.intp)])
        return {MUSIC: np.stack(seen)}

    seeds = [wish.seed for _, wish in wishes]
    character = Character(
        dancer.controller,
        _starts(dancer, heard(0)[MUSIC], seeds),
        settings=settings,
        seed=seeds[0],
        phase_lock=BeatLocks(locks) if any(locks) else None,
    )
    run = rollout(character, None, max(frames) / fps, progress, heard)
    made = []
    for index, count in enumerate(frames):
        alive = run.alive[index, :count]
        if not alive.all():
            notes[index].append(
                f"the network left all bounds after {alive.sum() / fps:.1f} s: the body stands "
                "still from there"
            )
        loop = locks[index]
        haste = None if loop is None else np.array(loop.hastes[:count])
        start_s = wishes[index][1].start_s
        made.append(NetworkDance(run, index, count, start_s, haste, tuple(notes[index])))
    return made


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


def _lock(dancer: Dancer, song: SongFeatures, wish: Wish, notes: list[str]) -> BeatLock | None:
    lock = wish.lock
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
    return BeatLock(dancer.ratios, song, strength=strength, fps=fps, first_s=wish.start_s)


def _starts(dancer: Dancer, music: Array, seeds: Sequence[int]) -> Starts:
    """Of each (dances, offsets, dims) one of the moments whose music is most like it."""
    known, slices = dancer.controller.starts, dancer.controller.schema.inputs.slices
    block = known.inputs[:, slices[MUSIC]]
    noise = _SHAKEN * dancer.controller.config.training.pose_noise
    rows = np.zeros(len(seeds), np.int64)
    shaken = np.zeros((len(seeds), known.inputs.shape[1]), np.float32)
    for index, seed in enumerate(seeds):
        apart = np.square(block - music[index].reshape(1, -1)).mean(axis=1)
        fitting = np.argsort(apart, kind="stable")[:_FITTING]
        rows[index] = fitting[0]
        if not seed:
            continue
        generator = np.random.default_rng(seed)
        rows[index] = generator.choice(fitting)
        # As much as it learnt to come back from: no two dances of one moment are the same.
        for name in ("joint_position", "joint_velocity"):
            spread = known.inputs[:, slices[name]].std(axis=0)
            shaken[index, slices[name]] = noise * spread * generator.standard_normal(len(spread))
    starts = known.of(rows)
    return replace(starts, inputs=starts.inputs + shaken)
