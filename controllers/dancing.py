"""Dancers and songs: the dances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.dance_config import MUSIC
from controllers.dance_finish import finished
from controllers.dance_guard import LivelyDances
from controllers.dance_starts import first_starts
from controllers.dancer import Dancer
from deepphase.motion.clip import Clip
from deepphase.music.dance_wish import DanceWish
from deepphase.music.features import SURE, SongFeatures
from deepphase.music.heard import at_moments
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from deepphase.steering.run import Frame, Run, rollout

Array = np.ndarray


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
    anew_s: tuple[float, ...] = ()

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
        Where a song is over before the start.
    """
    fps, schema = dancer.controller.fps, dancer.controller.schema
    notes: list[list[str]] = [[] for _ in wishes]
    frames = [
        wish.frames(song, fps, said) for (song, wish), said in zip(wishes, notes, strict=True)
    ]
    for (song, _), said in zip(wishes, notes, strict=True):
        said += _beat_notes(dancer, song)
    music = [dancer.music.rows(song) for song, _ in wishes]
    offsets = np.array(schema.config.offsets_s)

    def audio(step: int) -> Array:
        """(dances, offsets, dims) around the frame before a step's: the network's input."""
        return np.stack(
            [
                at_moments(rows, wish.start_s + (step - 1) / fps + offsets)
                for rows, (_, wish) in zip(music, wishes, strict=True)
            ]
        )

    seeds = [wish.seed for _, wish in wishes]
    settings = settings or CharacterSettings()
    # Feet are held when the dance is calm.
    shown, settings = settings, replace(settings, foot_ik=False)
    starts = first_starts(dancer, audio(0), seeds)
    character: Character | LivelyDances
    character = Character(dancer.controller, starts, settings=settings, seed=seeds[0])
    if guard:
        character = LivelyDances(dancer, character, settings, seeds)

    def step(index: int) -> Frame:
        return character.step(None, {MUSIC: audio(index)})

    run = rollout(character, None, max(frames) / fps, progress, step=step)
    run = finished(run, dancer.controller, dancer.reference.bandwidth_hz, shown.foot_ik)
    begun = character.begun if isinstance(character, LivelyDances) else [[] for _ in wishes]
    return [
        _made(run, index, count, wish.start_s, said, begun[index])
        for index, (count, (_, wish), said) in enumerate(zip(frames, wishes, notes, strict=True))
    ]


def _made(
    run: Run, index: int, frames: int, start_s: float, notes: list[str], begun: Sequence[int]
) -> NetworkDance:
    made = NetworkDance(run, index, frames, start_s, ())
    anew_s = tuple(frame / run.fps for frame in begun if frame < frames)
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


def _beat_notes(dancer: Dancer, song: SongFeatures) -> list[str]:
    """What is to be said of the song's beats."""
    if len(song.beats_s) < 2 or song.beat_confidence < SURE:
        return ["no beat was found in this song: the dance follows none"]
    counted = dancer.music.counted(song)
    if counted is song:
        return []
    return [
        f"the song is counted at {counted.tempo_bpm:.0f} beats a minute, not at "
        f"{song.tempo_bpm:.0f}: as long as those that were danced to in training"
    ]
