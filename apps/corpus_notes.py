"""Notes of commands about the clips of a corpus: labels found in names, and kinds of moments."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.apps.terminal import note, table
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.name_labels import NameLabels
from deepphase.errors import DeepPhaseError
from deepphase.features.moment_kinds import KIND_LABEL, clip_kinds, kind_shares

if TYPE_CHECKING:
    from deepphase.corpus.store import StoreGroup
    from deepphase.phase.extractor import PhaseExtractor
    from deepphase.progress import Progress

# Values of a label that are listed, the most frequent ones.
_LISTED_VALUES = 12
# Frames in which kinds of moments are looked for, 17 minutes: more take longer and say the same.
_FRAMES = 60_000


def note_name_labels(found: NameLabels) -> None:
    """Print the labels found in names, their values, and how to read others."""
    counts = found.counts()
    if not counts:
        note("labels: none found in file names; --labels PATTERN reads them")
        return
    patterns = [f"--labels {shlex.quote(each)}" for each in found.patterns]
    if len(patterns) == 1:
        note(f"labels from file names, as by {patterns[0]}; --labels none leaves them out")
    else:
        note("labels from file names; --labels none leaves them out")
        for pattern, files in zip(patterns, found.patterns.values(), strict=True):
            note(f"  as by {pattern} in {files} files")
    for name, values in counts.items():
        note(f"  {name}: {listed_counts(values, 'files')}")


def read_corpus(path: Path, **options: Any) -> ClipStore:
    """The clips at a path, see `corpus_of`; prints which skeleton of several is used."""
    from deepphase.corpus.prepare import corpus_of

    corpus = corpus_of(path, **options)
    note_chosen_skeleton(corpus, path)
    return corpus


def note_chosen_skeleton(corpus: ClipStore, path: Path) -> None:
    """Print which skeleton of several at a path is used, where none was named."""
    if corpus.other_bodies:
        note(
            f"skeleton: {corpus.group}, the largest of {1 + len(corpus.other_bodies)} in {path} "
            f"with these joints and other rest frames ({', '.join(corpus.other_bodies)}); "
            "--skeleton NAME chooses another, and `deepphase prepare --retarget "
            f"{corpus.group}` puts all clips on one body"
        )
    elif len(corpus.header.get("groups", ())) > 1:
        note(f"skeleton: {corpus.group}, of {len(corpus.header['groups'])} in {path}")


def clips_of_model(
    model: Path, path: Path, skeleton: str | None, progress: Progress
) -> tuple[PhaseExtractor, ClipStore]:
    """A phase model, bound to the clips at a path, and these clips at its rate."""
    from deepphase.phase.extractor import load_model

    loaded = load_model(model)
    joints = loaded.signals.joints
    corpus = read_corpus(path, fps=loaded.fps, joints=joints, skeleton=skeleton, progress=progress)
    return loaded.bound(corpus, corpus.description), corpus


def skeleton_words(groups: Sequence[StoreGroup]) -> tuple[str, ...]:
    """The option that names the skeleton with the most motion, where there are several."""
    longest = max(groups, key=lambda group: group.minutes)
    return ("--skeleton", longest.name) if len(groups) > 1 else ()


def note_groups(groups: Sequence[StoreGroup]) -> None:
    """Print the skeleton groups of a store."""
    rows = [(g.name, str(len(g.joints)), str(g.clips), f"{g.minutes:.1f}") for g in groups]
    table(("skeleton", "joints", "clips", "minutes"), rows)


def note_kinds(shares: Mapping[str, float], before: str = "", of: str = "") -> None:
    """Print the shares of idle, locomotion and actions, with words before and after "moments"."""
    text = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    note(f"{before}moments{of}: {text}; a label '{KIND_LABEL}' of a clip overrules its kind")


def note_store_kinds(store: ClipStore, before: str = "") -> dict[str, float] | None:
    """Print and return the shares of a store; None for bodies whose kinds cannot be found."""
    step = max(1, math.ceil(int(store.lengths.sum()) / _FRAMES))
    try:
        found = [clip_kinds(store.clip(index)) for index in range(0, len(store), step)]
    except DeepPhaseError:
        return None
    shares = kind_shares(np.concatenate(found))
    note_kinds(shares, before, f" of one clip in {step}" if step > 1 else "")
    return shares


def listed_counts(values: Counter[str], of: str) -> str:
    """The most frequent values with their counts; a value alone where there is only one."""
    if len(values) == 1:
        return next(iter(values))
    shown = values.most_common(_LISTED_VALUES)
    text = ", ".join(f"{value or 'none'} ({count} {of})" for value, count in shown)
    rest = len(values) - len(shown)
    return f"{text} and {rest} more" if rest else text
