"""Trainings of phase models from a command line: of one skeleton, of songs, or of any skeleton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepphase.apps.options.groups import StoreOptions
from deepphase.apps.terminal import list_left_out, note, progress
from deepphase.apps.training.command import TrainingInputs
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import is_store, open_store, store_groups
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.progress import Progress

if TYPE_CHECKING:
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.signal_corpus import SignalCorpus


@dataclass
class PhaseTraining:
    """Training on the clips of one skeleton or of several, or on songs.

    Parameters
    ----------
    stores
        Store, folder or file of clips or songs. There is one of them, unless the config is for any
        skeleton: all skeleton groups of the stores are then read.
    """

    stores: Sequence[Path]
    config: PhaseConfig
    reading: StoreOptions
    features: tuple[str, ...] | None = None
    start: Path | None = None
    memory: int | None = None
    corpora: list[Any] = field(default_factory=list)

    def prepare(self, inputs: TrainingInputs) -> Callable[..., Any]:
        """Read clips or songs; returns the function that trains."""
        from deepphase.corpus.songs import holds_only_songs
        from deepphase.phase.training.train import train_phase

        description = inputs.description
        store, several = self.stores[0], self.config.any_skeleton
        if several:
            for path in self.stores:
                self.corpora += _groups(path, inputs.options) or [inputs.clips(path)]
        elif self.features is not None or holds_only_songs(store):
            if self.reading != StoreOptions():
                raise ParameterError(
                    "--skeleton applies to clips, and these are songs", hint="leave it out"
                )
            self.corpora.append(_songs(store, self.features, inputs.progress))
        else:
            self.corpora.append(inputs.clips(store))
        config, first, start = self.config, None, self.start
        if start is not None:
            first = _start(start, self.corpora[0], description)
            config = PhaseConfig(first.config.network, config.training)
        return partial(
            train_phase,
            self.corpora if several else self.corpora[0],
            config,
            description=description,
            memory=self.memory,
            start=first,
        )

    def lines(self, model: PhaseModel[Any]) -> Iterable[str]:
        """Sentences on the trained model, or on each of its skeletons."""
        yield from model.health.words() if model.health else ()
        for skeleton in model.skeletons:
            yield skeleton.words()

    def pages(self, model: PhaseModel[Any], folder: Path, output: Path) -> Iterator[Path]:
        """Write a report, or one for each skeleton."""
        if not self.config.any_skeleton:
            yield _report(model, self.corpora[0], folder, output)
        for number, skeleton in enumerate(model.skeletons, start=1):
            store = self.corpora[number - 1]
            bound = replace(model.bound(store, self.reading.description), health=skeleton.health)
            yield _report(bound, store, folder / f"{number}_{store.group}", output)


def _report(model: PhaseModel, corpus: Any, folder: Path, output: Path) -> Path:
    from deepphase.apps.reports.training_report import training_report
    from deepphase.training.metrics_file import metrics_beside

    metrics = metrics_beside(output)
    with progress() as shown:
        return training_report(model, corpus, folder, metrics=metrics, progress=shown)


def _groups(path: Path, options: dict[str, Any]) -> list[ClipStore]:
    """All skeleton groups of a store, if none is named; empty for other paths."""
    if options["skeleton"] is not None or not is_store(path):
        return []
    return [open_store(path, group.name) for group in store_groups(path)]


def _start(path: Path, corpus: Any, description: dict[str, Any] | None) -> PhaseModel:
    """The model that a training starts from; one for any skeleton is bound to the clips."""
    from deepphase.phase.extractor import load_model, reads_songs
    from deepphase.phase.model import PhaseModel

    model: Any = PhaseModel.load(path) if reads_songs(path) else load_model(path)
    if isinstance(corpus, ClipStore):
        model = model.bound(corpus, description)
    if not isinstance(model, PhaseModel):
        raise ParameterError(
            "a training starts from a trained network of the same kind",
            hint="give a file of `deepphase train phase`",
            path=path,
        )
    return model


def _songs(path: Path, features: tuple[str, ...] | None, on_progress: Progress) -> SignalCorpus:
    """Audio features of the songs at a path; prints how many songs there are."""
    from deepphase.corpus.songs import find_songs
    from deepphase.phase.signal_corpus import SignalCorpus
    from deepphase.phase.song_signals import SONG_FEATURES

    refused: list[DeepPhaseError] = []
    songs = find_songs(path)
    corpus = SignalCorpus.from_songs(
        songs,
        features or SONG_FEATURES,
        progress=on_progress,
        refused=refused if len(songs) > 1 else None,
    )
    list_left_out("left out", refused)
    minutes = len(corpus.values) / corpus.signals.fps / 60
    note(
        f"songs: {len(corpus.starts)} with {minutes:.1f} minutes in all; training on "
        + ", ".join(corpus.signals.features)
    )
    return corpus
