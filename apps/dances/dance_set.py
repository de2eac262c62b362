"""A folder of dances with their songs beside them, measured one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.prepare import corpus_of
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.evaluation.dance_measures import (
    MEASURED_METERS,
    DanceMeasures,
    DanceToSong,
    dance_to_song,
    measured_dance,
)
from deepphase.evaluation.dance_repeats import clip_segments
from deepphase.progress import Progress

_FPS = 60.0
# Songs of others that a dance is held against: enough for a mean.
_OTHER_SONGS = 5


@dataclass(frozen=True, eq=False)
class DanceSet:
    """The dances of one folder.

    Parameters
    ----------
    name
        What its row is called.
    measures
        Of every clip.
    beats
        Clip -> seconds of its song's beats on the clip's clock; without clips that have no song.
    bars
        Clip -> beats in its song's bars, and seconds of their first beats on the clip's clock;
        without clips to songs whose bars cannot be told.
    own
        Clip -> how it lies on its own song.
    others
        Clip -> how it lies on songs of the others.
    segments
        Of every clip (frames,) the number of its captured segment.
    """

    name: str
    measures: tuple[DanceMeasures, ...]
    beats: Mapping[str, Array]
    bars: Mapping[str, tuple[int, Array]]
    own: Mapping[str, DanceToSong]
    others: Mapping[str, tuple[DanceToSong, ...]]
    segments: tuple[Array, ...]

    def selected(self, name: str, label: str, value: str) -> DanceSet:
        """Those that are labelled so, as dances of their own; segments keep their numbers."""
        kept = [i for i, each in enumerate(self.measures) if each.labels.get(label) == value]
        return DanceSet(
            name,
            tuple(self.measures[i] for i in kept),
            self.beats,
            self.bars,
            self.own,
            self.others,
            tuple(self.segments[i] for i in kept),
        )

    @property
    def minutes(self) -> float:
        """Of all dances together."""
        return sum(each.seconds for each in self.measures) / 60.0


def read_dance_set(
    folder: Path,
    *,
    name: str = "",
    metres: Sequence[int] = MEASURED_METERS,
    warn: Callable[[str], None],
    progress: Progress | None = None,
    **options: Any,
) -> DanceSet:
    """Read and measure the clips of a folder, and listen to the songs beside them.

    Parameters
    ----------
    folder
        Motion files; of the same stem and beside each, its song.
    metres
        Beats in the bars that are asked for.
    warn
        Is told of clips without a song and of songs that cannot be read.
    options
        As those of :func:`deepphase.corpus.prepare.corpus_of`.

    Raises
    ------
    ParameterError
        Where the folder is none, or holds several skeletons.
    FormatError, SkeletonError
        Where nothing can be read, or a body lacks legs or arms.
    """
    if not folder.is_dir():
        raise ParameterError(
            "dances are read from a folder: motion files with their songs beside them", path=folder
        )
    store = corpus_of(folder, fps=_FPS, progress=progress, **options)
    for left in store.left_out:
        warn(f"{left['file']}: left out: {left['reason']}")
    measures = []
    for number, clip in enumerate(store):
        measures.append(measured_dance(clip))
        if progress is not None:
            progress(f"measuring {folder.name}", number + 1, len(store), clip.name)
    beats, bars = _heard(folder, store, warn, progress)
    own, others = {}, {}
    for number, dance in enumerate(measures):
        if dance.name not in beats:
            continue
        own[dance.name] = dance_to_song(dance, beats[dance.name], metres=metres)
        foreign = [each for each in measures if each.name in beats and each.song != dance.song]
        chosen = np.random.default_rng(number).permutation(len(foreign))[:_OTHER_SONGS]
        others[dance.name] = tuple(
            dance_to_song(dance, beats[foreign[i].name], metres=metres, draws=1) for i in chosen
        )
        if progress is not None:
            progress(f"comparing {folder.name}", number + 1, len(measures), dance.name)
    segments = clip_segments(store)
    return DanceSet(name or folder.name, tuple(measures), beats, bars, own, others, tuple(segments))


def _heard(
    folder: Path, store: Any, warn: Callable[[str], None], progress: Progress | None
) -> tuple[dict[str, Array], dict[str, tuple[int, Array]]]:
    """The beats and the bars of `DanceSet`."""
    from deepphase.music.cache import song_features

    beats: dict[str, Array] = {}
    bars: dict[str, tuple[int, Array]] = {}
    silent = []
    for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True)):
        if not source.song:
            silent.append(name)
            continue
        try:
            heard = song_features(folder / source.song)
        except DeepPhaseError as error:
            warn(f"{name} is measured without its song: {error}")
            continue
        if len(heard.beats_s) < 2:
            warn(f"{name} is measured without its song: {source.song} has no beats")
            continue
        beats[name] = heard.beats_s - source.song_start_s
        if heard.beats_per_bar is not None and heard.downbeats_s is not None:
            bars[name] = heard.beats_per_bar, heard.downbeats_s - source.song_start_s
        if progress is not None:
            progress(f"listening to {folder.name}", number + 1, len(store), name)
    if silent:
        shown = ", ".join(silent[:5]) + (f" and {len(silent) - 5} more" if silent[5:] else "")
        warn(f"no song beside {shown}: measured without one")
    return beats, bars
