"""Balanced accuracy of a random forest that tells one set of windows from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from tests.studies.motion_classifier.windows import Windows

_TREES = 200
_MIN_WINDOWS = 40
_MOST_WINDOWS = 4000


@dataclass(frozen=True)
class Verdict:
    """How well motion is told from captured motion.

    Parameters
    ----------
    accuracy
        Balanced accuracy on takes outside of the training: .5 where nothing gives it away.
    by_group, by_part
        Group of columns, or body part -> accuracy with these columns alone.
    windows
        Number of windows of each set that were compared.
    covered
        Share of the judged windows whose speed and turning occur in the captured motion.
    """

    accuracy: float
    by_group: dict[str, float]
    by_part: dict[str, float]
    windows: int
    covered: float


def told_apart(captured: Windows, judged: Windows, seed: int = 0, trees: int = _TREES) -> Verdict:
    """Train forests of `trees` on half of the takes of both sets, and test them on the other half.

    Both sets have equally many windows in each bin of speed and turning, so that the course of the
    motion gives nothing away.

    Raises
    ------
    ParameterError
        Where a set has fewer than two takes, or too few windows at speeds that both have.
    """
    generator = np.random.default_rng(seed)
    for windows in (captured, judged):
        if len(np.unique(windows.takes)) < 2:
            raise ParameterError("one of the sets has one clip", hint="give two clips or more")
    first, second, covered = _equal_courses(captured, judged, generator)
    values = np.concatenate([first.values, second.values])
    classes = np.repeat([0, 1], [len(first), len(second)])
    halves = _halves(first.takes, second.takes, generator)

    def accuracy(columns: Array) -> float:
        scores = []
        for half in (0, 1):
            train, test = halves != half, halves == half
            forest = RandomForestClassifier(
                trees, min_samples_leaf=2, class_weight="balanced", random_state=seed
            )
            forest.fit(values[train][:, columns], classes[train])
            right = forest.predict(values[test][:, columns]) == classes[test]
            scores += [right[classes[test] == each].mean() for each in (0, 1)]
        return float(np.mean(scores))

    groups, parts = captured.groups, captured.parts
    return Verdict(
        accuracy=accuracy(np.ones(len(groups), bool)),
        by_group={str(name): accuracy(groups == name) for name in np.unique(groups)},
        by_part={str(name): accuracy(parts == name) for name in np.unique(parts)},
        windows=len(first),
        covered=covered,
    )


def _equal_courses(
    captured: Windows, judged: Windows, generator: np.random.Generator
) -> tuple[Windows, Windows, float]:
    if captured.values.shape[1] != judged.values.shape[1]:
        raise ParameterError(
            "the two sets have different skeletons", hint="compare motion of one skeleton"
        )
    bins, own = np.unique(captured.cells, axis=0), judged.cells
    chosen_captured, chosen_judged, shared = [], [], 0
    for cell in bins:
        there = np.flatnonzero((captured.cells == cell).all(axis=1))
        here = np.flatnonzero((own == cell).all(axis=1))
        count = min(len(there), len(here))
        shared += len(here)
        chosen_captured.append(generator.permutation(there)[:count])
        chosen_judged.append(generator.permutation(here)[:count])
    pairs = np.stack([np.concatenate(chosen_captured), np.concatenate(chosen_judged)])
    if pairs.shape[1] < _MIN_WINDOWS:
        raise ParameterError(
            f"{pairs.shape[1]} windows have a speed and turning that both sets have",
            hint=f"give longer motion of equal speeds, with {_MIN_WINDOWS} windows or more",
        )
    pairs = generator.permutation(pairs, axis=1)[:, :_MOST_WINDOWS]
    return captured.rows(pairs[0]), judged.rows(pairs[1]), shared / len(judged)


def _halves(captured: Array, judged: Array, generator: np.random.Generator) -> Array:
    """(windows of both,) 0 or 1: whole takes, about half of the windows in each half.

    A take that both sets have is in the same half of both.
    """
    half: dict[str, int] = {}
    for takes in (captured, judged):
        names, counts = np.unique(takes[~np.isin(takes, list(half))], return_counts=True)
        order = generator.permutation(len(names))
        middle = np.cumsum(counts[order]) - counts[order] / 2 > counts.sum() / 2
        middle[:1], middle[-1:] = False, True
        half |= dict(zip(names[order].tolist(), middle.astype(int).tolist(), strict=True))
    halves = [np.array([half[name] for name in takes.tolist()]) for takes in (captured, judged)]
    if any(len(np.unique(own)) < 2 for own in halves):
        raise ParameterError(
            "all windows of one set are of one half", hint="give motion of more captured clips"
        )
    return np.concatenate(halves)
