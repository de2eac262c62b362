"""The report of a training: which clips or songs its page shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from apps.reports.example_window import example_window
from apps.reports.training_page import training_page
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.phase.metrics import read_metrics
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.progress import Progress

Array = np.ndarray

_CLIPS = 8


def training_report(
    model: PhaseModel,
    clips: ClipStore | SignalCorpus,
    folder: str | Path,
    *,
    metrics: Path | None = None,
    pictures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Encode some clips of the store and write the page, FOLDER/index.html, and its `pictures`.

    The clips are spread evenly over the store among those with whole windows; the window that is
    shown is the liveliest clip's middle one.

    Parameters
    ----------
    clips
        What was learnt from: a store, or the corpus of songs.
    metrics
        The training's CSV, whose curves the page shows.
    """
    if isinstance(clips, SignalCorpus):
        lengths, read = clips.stops - clips.starts, _songs_of(clips)
    else:
        lengths, read = clips.lengths, clips.clip
    usable = np.flatnonzero(lengths >= model.window)
    if not usable.size:
        usable = np.arange(len(lengths))
    chosen = usable[np.unique(np.linspace(0, usable.size - 1, _CLIPS).round().astype(int))]
    phases: list[ClipPhases] = []
    for done, index in enumerate(chosen, start=1):
        phases.append(model.encode(read(int(index))))
        if progress is not None:
            progress("writing the report", done, len(chosen) + 1, "")
    liveliest = int(np.argmax([each.parameters.amplitude.mean() for each in phases]))
    signals = model.signals.read(read(int(chosen[liveliest])))
    name = phases[liveliest].name
    example = example_window(model, signals, len(signals) // 2, clip=name)
    page = training_page(
        model,
        phases,
        example,
        Path(folder) / "index.html",
        metrics=None if metrics is None else read_metrics(metrics),
        pictures=pictures,
    )
    if progress is not None:
        progress("writing the report", len(chosen) + 1, len(chosen) + 1, "")
    return page


def _songs_of(corpus: SignalCorpus) -> Callable[[int], Clip | SongFeatures]:
    return lambda index: song_features(corpus.sources[index])
