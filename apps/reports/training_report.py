"""The report of a training: which clips of a store its page shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from apps.reports.example_window import example_window
from apps.reports.training_page import training_page
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.progress import Progress

_CLIPS = 8


def training_report(
    model: PhaseModel,
    store: ClipStore,
    folder: str | Path,
    *,
    pictures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Encode some clips of the store and write the page, FOLDER/index.html, and its `pictures`.

    The clips are spread evenly over the store among those with whole windows; the window that is
    shown is the liveliest clip's middle one.
    """
    lengths = store.lengths
    usable = np.flatnonzero(lengths >= model.window)
    if not usable.size:
        usable = np.arange(len(store))
    chosen = usable[np.unique(np.linspace(0, usable.size - 1, _CLIPS).round().astype(int))]
    clips: list[ClipPhases] = []
    for done, index in enumerate(chosen, start=1):
        clips.append(model.encode(store.clip(int(index))))
        if progress is not None:
            progress("writing the report", done, len(chosen) + 1, "")
    liveliest = int(np.argmax([clip.parameters.amplitude.mean() for clip in clips]))
    clip = store.clip(int(chosen[liveliest]))
    signals = model.signals.read(clip)
    example = example_window(model, signals, len(signals) // 2, clip=clip.name)
    page = training_page(model, clips, example, Path(folder) / "index.html", pictures=pictures)
    if progress is not None:
        progress("writing the report", len(chosen) + 1, len(chosen) + 1, "")
    return page
