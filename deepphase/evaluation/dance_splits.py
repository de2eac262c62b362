"""What is held out of a set of dances: songs, or captured segments; and what each then asks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.errors import ParameterError

Array = np.ndarray


def shared_share(groups: Sequence[Array]) -> float:
    """Share of all frames whose segment occurs in another clip as well."""
    clips = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    flat = np.concatenate(groups)
    pairs = np.unique(np.stack([flat, clips], axis=1), axis=0)
    return float((np.bincount(pairs[:, 0])[flat] > 1).mean())


def split_by_song(songs: Sequence[str], share: float = 0.2, seed: int = 0) -> Array:
    """(clips,) bool, True where held out: clips of one song are on one side.

    It asks: can it dance to a song that it never heard? Movement that several songs share is on
    both sides, so it does not ask whether movement was made up or learnt by heart.
    """
    held = _held_out(np.asarray(songs), share, seed)
    return np.isin(np.asarray(songs), held)


def split_by_segment(groups: Sequence[Array], share: float = 0.2, seed: int = 0) -> list[Array]:
    """Of each clip (frames,) bool, True where held out: frames of one segment are on one side.

    It asks: does it know movement that it never saw? Every song is on both sides, in pieces. Held
    out are whole segments that together have that share of the frames.
    """
    flat = np.concatenate(groups)
    held = _held_out(flat, share, seed)
    return [np.isin(each, held) for each in groups]


def _held_out(of_each: Array, share: float, seed: int) -> Array:
    if not 0 < share < 1:
        raise ParameterError(f"a share of {share} cannot be held out")
    names, counts = np.unique(of_each, return_counts=True)
    if len(names) < 2:
        raise ParameterError("one group alone cannot be split", hint="give more dances")
    order = np.random.default_rng(seed).permutation(len(names))
    reached = np.cumsum(counts[order]) / counts.sum()
    kept = int(np.clip(np.argmin(np.abs(reached - share)) + 1, 1, len(names) - 1))
    return names[order[:kept]]
