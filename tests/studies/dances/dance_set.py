"""Sets of dances: folders of clips with their songs, measured clip by clip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    measure_dance,
)
from deepphase.evaluation.dance_repeats import clip_segments
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress
from tests.studies.dances.dance_features import DanceFeatures

_FPS = 60.0
# Number of other songs that a dance is compared with.
_OTHER_SONGS = 5


@dataclass(frozen=True, eq=False)
class DanceSet:
    """The dances of one folder.

    Parameters
    ----------
    name
        Name of the set in the report.
    measures
        Measures of every clip.
    beats
        Clip -> times of its song's beats in seconds from the clip's first frame; without clips that
        have no song.
    bars
        Clip -> beats per bar of its song, and times of the downbeats in seconds from the clip's
        first frame; without clips whose song has no clear bars.
    own
        Clip -> its measures against its own song.
    others
        Clip -> its measures against songs of other clips.
    segments
        For every clip (frames,) the number of the captured segment.
    songs
        Clip -> features of its song; without clips that have no song.
    features
        Kinetic and geometric features of every clip.
    """

    name: str
    measures: tuple[DanceMeasures, ...]
    beats: Mapping[str, Array]
    bars: Mapping[str, tuple[int, Array]]
    own: Mapping[str, DanceToSong]
    others: Mapping[str, tuple[DanceToSong, ...]]
    segments: tuple[Array, ...]
    songs: Mapping[str, SongFeatures] = field(default_factory=dict)
    features: tuple[DanceFeatures, ...] = ()

    def selected(self, name: str, label: str, value: str) -> DanceSet:
        """The dances with this value of a label, as a set; segments keep their numbers."""
        kept = [i for i, each in enumerate(self.measures) if each.labels.get(label) == value]
        return DanceSet(
            name,
            tuple(self.measures[i] for i in kept),
            self.beats,
            self.bars,
            self.own,
            self.others,
            tuple(self.segments[i] for i in kept),
            self.songs,
            tuple(self.features[i] for i in kept),
        )

    @property
    def minutes(self) -> float:
        """Total length of the dances."""
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
    """Read and measure the clips of a folder and their songs.

    Parameters
    ----------
    folder
        Folder of motion files, each beside a song of the same stem.
    name
        Name of the set in the report; that of the folder if empty.
    metres
        Beats per bar for which the rhythm is measured.
    warn
        Called with a message for clips without a song and songs that cannot be read.
    progress
        Called with the number of clips done.
    options
        Those of :func:`deepphase.corpus.prepare.corpus_of`.

    Raises
    ------
    ParameterError
        If the path is not a folder, or it holds several skeletons.
    FormatError, SkeletonError
        If nothing can be read, or a body lacks legs or arms.
    """
    if not folder.is_dir():
        raise ParameterError(
            "not a folder of dances",
            hint="give a folder of motion files with their songs beside them",
            path=folder,
        )
    store = corpus_of(folder, fps=_FPS, progress=progress, **options)
    for left in store.left_out:
        warn(f"{left['file']}: left out: {left['reason']}")
    measures, features = [], []
    for number, clip in enumerate(store):
        measures.append(measure_dance(clip))
        features.append(DanceFeatures.of_clip(clip))
        if progress is not None:
            progress(f"measuring {folder.name}", number + 1, len(store), clip.name)
    beats, bars, songs = _song_beats(folder, store, warn, progress)
    own, others = {}, {}
    for number, dance in enumerate(measures):
        if dance.name not in beats:
            continue
        own[dance.name] = dance_to_song(dance, beats[dance.name], metres=metres)
        rest = [each for each in measures if each.name in beats and each.song != dance.song]
        chosen = np.random.default_rng(number).permutation(len(rest))[:_OTHER_SONGS]
        others[dance.name] = tuple(
            dance_to_song(dance, beats[rest[i].name], metres=metres, draws=1) for i in chosen
        )
        if progress is not None:
            progress(f"comparing {folder.name}", number + 1, len(measures), dance.name)
    segments = clip_segments(store)
    return DanceSet(
        name or folder.name,
        tuple(measures),
        beats,
        bars,
        own,
        others,
        tuple(segments),
        songs,
        tuple(features),
    )


def _song_beats(
    folder: Path, store: Any, warn: Callable[[str], None], progress: Progress | None
) -> tuple[dict[str, Array], dict[str, tuple[int, Array]], dict[str, SongFeatures]]:
    """`DanceSet.beats`, `DanceSet.bars` and `DanceSet.songs` of the clips of a store."""
    from deepphase.music.cache import song_features

    beats: dict[str, Array] = {}
    bars: dict[str, tuple[int, Array]] = {}
    songs: dict[str, SongFeatures] = {}
    without_song = []
    for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True)):
        if not source.song:
            without_song.append(name)
            continue
        try:
            song = song_features(folder / source.song)
        except DeepPhaseError as error:
            warn(f"{name} is measured without its song: {error}")
            continue
        if len(song.beats_s) < 2:
            warn(f"{name} is measured without its song: {source.song} has no beats")
            continue
        songs[name] = song
        beats[name] = song.beats_s - source.song_start_s
        if song.beats_per_bar is not None and song.downbeats_s is not None:
            bars[name] = song.beats_per_bar, song.downbeats_s - source.song_start_s
        if progress is not None:
            progress(f"reading the songs of {folder.name}", number + 1, len(store), name)
    if without_song:
        more = f" and {len(without_song) - 5} more" if without_song[5:] else ""
        warn(f"no song beside {', '.join(without_song[:5])}{more}: measured without one")
    return beats, bars, songs
