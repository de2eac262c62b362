"""Dancers and songs: the dances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.dance_config import MUSIC
from controllers.dance_finish import finished
from controllers.dance_guard import LivelyDances
from controllers.dance_lock import APART_S, BeatLock, DanceClock
from controllers.dance_starts import first_starts
from controllers.dancer import Dancer
from controllers.rollout import Rollout, rollout
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.resample import at_frames
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SURE, SongFeatures
from deepphase.music.heard import at_moments
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress

Array = np.ndarray

LOCK = 0.0
"""How firmly a dance is held to the beat where nothing else is told: measured, it gains nothing."""


@dataclass(frozen=True, eq=False)
class NetworkDance:
    """What a dancer did to a song.

    Parameters
    ----------
    run
        Of all that danced at once, as fast as the network has them, calm and with feet held.
    character
        Which of them this is.
    moments
        (frames,) which of the run's frames each frame of the dance is, with fractions.
    start_s
        The song's second at the first frame.
    haste
        (frames,) share by which the dance was hurried, or held back below 0; None without a lock.
    notes
        What deserves to be said, in words.
    anew_s
        Seconds of the dance at which it began anew, because it had come to a halt.
    """

    run: Rollout
    character: int
    moments: Array
    start_s: float
    haste: Array | None
    notes: tuple[str, ...]
    anew_s: tuple[float, ...] = ()

    def clip(self, name: str) -> Clip:
        """The motion."""
        whole = self.run.clip(self.character, name)
        if self.haste is None:
            return whole.sliced(0, len(self.moments))
        return at_frames(whole, self.moments)

    @property
    def phases(self) -> PhaseParameters | None:
        """(frames, channels) each, at the dance's own speed; None where the dancer has none."""
        if self.run.phases is None:
            return None
        phases = self.run.phases[self.character][self._nearest]
        if self.haste is None:
            return phases
        faster = phases.frequency * (1.0 + self.haste[:, None])
        return replace(phases, frequency=faster.astype(np.float32))

    @property
    def gating(self) -> Array | None:
        """(frames, experts), where they were kept."""
        weights = self.run.gating
        return None if weights is None else weights[self.character, self._nearest]

    @property
    def alive(self) -> Array:
        """(frames,) bool: the values are those of a body."""
        return self.run.alive[self.character, self._nearest]

    @property
    def _nearest(self) -> Array:
        return np.rint(self.moments).astype(np.intp)


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
    guard: bool = True,
) -> NetworkDance:
    """Dance to a song from one of its seconds on; see `DanceWish`, and `dances_to` for errors."""
    wish = DanceWish(start_s, seconds, seed, lock)
    wishes = [(song, wish)]
    return dances_to(dancer, wishes, settings=settings, progress=progress, guard=guard)[0]


def dances_to(
    dancer: Dancer,
    wishes: Sequence[tuple[SongFeatures, DanceWish]],
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
        Where a song is over before the start, or a lock is told and there are no phases.
    """
    fps, schema = dancer.controller.fps, dancer.controller.schema
    notes: list[list[str]] = [[] for _ in wishes]
    frames = [
        wish.frames(song, fps, said) for (song, wish), said in zip(wishes, notes, strict=True)
    ]
    clocks = [
        DanceClock(wish.start_s, fps, _lock(dancer, song, wish, said))
        for (song, wish), said in zip(wishes, notes, strict=True)
    ]
    for (song, _), said in zip(wishes, notes, strict=True):
        said += _counting(dancer, song)
    music = [dancer.music.rows(song) for song, _ in wishes]
    offsets = np.array(schema.config.offsets_s)

    def heard() -> Array:
        """(dances, offsets, dims) around the last frame: what is seen of it leads to the next."""
        return np.stack(
            [
                at_moments(rows, clock.heard_at(offsets))
                for rows, clock in zip(music, clocks, strict=True)
            ]
        )

    def tracks(step: int) -> dict[str, Array]:
        if step:
            _advance(clocks, character)
        return {MUSIC: heard()}

    seeds = [wish.seed for _, wish in wishes]
    settings = settings or CharacterSettings()
    # Feet are held when the dance is calm.
    shown, settings = settings, replace(settings, foot_ik=False)
    starts = first_starts(dancer, heard(), seeds)
    character: Character | LivelyDances
    character = Character(dancer.controller, starts, settings=settings, seed=seeds[0])
    if guard:
        character = LivelyDances(dancer, character, settings, seeds)
    run = rollout(character, None, _longest(frames, clocks, fps) / fps, progress, tracks)
    _advance(clocks, character)
    run = finished(run, dancer.controller, dancer.reference.bandwidth_hz, shown.foot_ik)
    begun = character.begun if isinstance(character, LivelyDances) else [[] for _ in wishes]
    return [
        _made(run, index, count, wish.start_s, clock, said, begun[index])
        for index, (count, (_, wish), clock, said) in enumerate(
            zip(frames, wishes, clocks, notes, strict=True)
        )
    ]


def _advance(clocks: Sequence[DanceClock], character: Character | LivelyDances) -> None:
    phases = character.phases
    for index, clock in enumerate(clocks):
        clock.advance(None if phases is None else phases[index])


def _longest(frames: Sequence[int], clocks: Sequence[DanceClock], fps: float) -> int:
    """Frames of a run in which every dance is over, however much it is hurried."""
    every = zip(frames, clocks, strict=True)
    return max(
        count if clock.lock is None else count + math.ceil(APART_S * fps) + 2
        for count, clock in every
    )


def _made(
    run: Rollout,
    index: int,
    frames: int,
    start_s: float,
    clock: DanceClock,
    notes: list[str],
    begun: Sequence[int],
) -> NetworkDance:
    wanted = start_s + np.arange(frames) / run.fps
    moments, haste = np.arange(frames, dtype=np.float64), None
    if clock.lock is not None:
        # Without the frame before the first.
        moments = np.interp(wanted, clock.times_s[1:], np.arange(len(clock.times_s) - 1))
        haste = np.interp(wanted, clock.times_s[1:], clock.hastes[1:])
    made = NetworkDance(run, index, moments, start_s, haste, ())
    anew_s = tuple(
        float(np.interp(frame, moments, np.arange(frames))) / run.fps
        for frame in begun
        if frame <= moments[-1]
    )
    alive = made.alive
    if not alive.all():
        note = f"the network left all bounds after {alive.argmin() / run.fps:.1f} s"
        again = alive[alive.argmin() :].any()
        notes.append(note if again else f"{note}: the body stands still from there")
    if anew_s:
        often = f"{len(anew_s)} times" if len(anew_s) > 1 else "once"
        notes.append(
            f"the dance had come to a halt: it began anew {often}, at first after {anew_s[0]:.1f} s"
        )
    return replace(made, notes=tuple(notes), anew_s=anew_s)


def _counting(dancer: Dancer, song: SongFeatures) -> list[str]:
    counted = dancer.music.counted(song)
    if counted is song or song.beat_confidence < SURE:
        return []
    return [
        f"the song is counted at {counted.tempo_bpm:.0f} beats a minute, not at "
        f"{song.tempo_bpm:.0f}: as long as those that were danced to in training"
    ]


def _lock(dancer: Dancer, song: SongFeatures, wish: DanceWish, notes: list[str]) -> BeatLock | None:
    lock = wish.lock
    if dancer.ratios is None:
        if lock:
            raise ParameterError(
                "this dancer has no phases: there is nothing to lock to the beat",
                hint="leave out --lock, or train a dancer with phases",
            )
        return None
    if len(song.beats_s) < 2 or song.beat_confidence < SURE:
        notes.append("no beat can be told in this song: the dance keeps to none")
        return None
    strength = LOCK if lock is None else lock
    if not strength:
        return None
    if not dancer.ratios.weights.any():
        notes.append("the dances it learnt from keep to no beat: there is nothing to lock")
        return None
    return BeatLock(dancer.ratios, dancer.music.counted(song), strength)
