"""Whether the clip that is nearest by hidden units has the same action and style.

    python -m tests.benchmarks.measure_similar EDITOR STORE PHASE_MODEL [--every 2]

Each clip is compared with all others, by hidden units, mean poses and phases.
"""

from __future__ import annotations

import argparse

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.editing.editor import MotionEditor
from deepphase.editing.similarity import _traits
from deepphase.phase.model import PhaseModel


def distances(values: np.ndarray) -> np.ndarray:
    """(clips, clips) Euclidean distances of (clips, values), infinite to a clip itself."""
    squares = (values**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * values @ values.T, 0.0))
    np.fill_diagonal(apart, np.inf)
    return apart


def main() -> None:
    """Print shares by each distance, and by chance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("store")
    parser.add_argument("model")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    editor, store = MotionEditor.load(options.editor), open_store(options.store)
    model = PhaseModel.load(options.model)
    which = np.arange(0, len(store), options.every)
    traits = [_traits(store.clip(int(index)), editor, model) for index in which]
    actions, styles = (store.label_column(name)[which] for name in ("action", "style"))
    sets = np.array(["dataset-1" in store.names[index] for index in which])
    values = {
        "hidden": np.stack([each.hidden for each in traits]),
        "pose": np.stack([each.pose.ravel() for each in traits]),
        "phases": np.stack([each.phases for each in traits]),
        "chance": np.random.default_rng(0).standard_normal((len(which), 8)),
    }
    every = ~np.eye(len(which), dtype=bool)
    cases = {
        "nearest of all: action": (actions, every),
        "nearest of all: style": (styles, every),
        "nearest of another style: action": (actions, every & (styles[:, None] != styles)),
        "nearest of another action: style": (styles, every & (actions[:, None] != actions)),
        "nearest of the other set: action": (actions, sets[:, None] != sets),
    }
    print(f"{len(which)} clips; share of the nearest clips with the same label")
    for title, (labels, allowed) in cases.items():
        for name, here in (("all", slice(None)), ("set 1", sets)):
            part = allowed[here]
            # The rows of one set, with neighbours of both.
            rows = []
            for kind, each in values.items():
                nearest = np.where(part, distances(each)[here], np.inf).argmin(axis=1)
                has = part.any(axis=1)
                rows.append(f"{kind} {(labels[nearest] == labels[here])[has].mean():.2f}")
            print(f"{title} ({name}):", ", ".join(rows), flush=True)


if __name__ == "__main__":
    main()
