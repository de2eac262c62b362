"""The signals of a whole corpus in one array, as a training reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.roles import find_roles
from deepphase.phase.signals import JointVelocities, check_speed
from deepphase.progress import Progress

Array = np.ndarray

# A joint that moves less than this share of the liveliest one is left out of the signals.
_STILL = 1e-4


@dataclass(frozen=True, eq=False)
class SignalCorpus:
    """The signals of all clips of a store, one behind the other.

    Parameters
    ----------
    signals
        What they are.
    values
        (frames, 3 * joints) float32.
    starts, stops
        (clips,) the range of each clip.
    sources
        (clips,) the file of each clip.
    """

    signals: JointVelocities
    values: Array
    starts: Array
    stops: Array
    sources: list[str]

    @classmethod
    def read(
        cls,
        store: ClipStore,
        progress: Progress | None = None,
        signals: JointVelocities | None = None,
        description: Mapping[str, Any] | None = None,
    ) -> SignalCorpus:
        """Root-space joint velocities of every clip of a store.

        `signals` says which; if not given, those of all joints that move, where a skeleton
        `description` may say which joint is which.
        """
        told = signals is not None
        if signals is None:
            first = store.clip(int(np.argmax(store.lengths)))
            signals = JointVelocities.of_clip(
                first, find_roles(first.skeleton, description, clip=first)
            )
        parts, sources = [], []
        for index in range(len(store)):
            clip = store.clip(index)
            parts.append(signals.read(clip))
            check_speed(parts[-1], name=clip.name)
            sources.append(clip.source.path or clip.name)
            if progress is not None:
                progress("reading clips", index + 1, len(store), "")
        values = np.concatenate(parts)
        stops = np.cumsum([len(part) for part in parts])
        corpus = cls(signals, values, stops - [len(part) for part in parts], stops, sources)
        return corpus if told else corpus.moving()

    def moving(self) -> SignalCorpus:
        """Without the joints that never move, such as a root that stays at the origin.

        Raises
        ------
        ParameterError
            Where nothing moves.
        """
        power = np.square(self.values, dtype=np.float64).reshape(len(self.values), -1, 3)
        speed = np.sqrt(power.mean(0).sum(1))
        if not speed.max() > 1e-6:
            raise ParameterError(
                "nothing moves: every joint stands still in every clip",
                hint="phases are learnt from movement; see `deepphase inspect`",
            )
        moves = speed > _STILL * speed.max()
        if self.signals.partners:
            # A still left hand stays where the right one moves: mirroring needs both.
            moves |= moves[list(self.signals.partners)]
        columns = (3 * np.flatnonzero(moves)[:, None] + np.arange(3)).reshape(-1)
        return replace(
            self,
            signals=self.signals.of_joints(moves),
            values=np.ascontiguousarray(self.values[:, columns]),
        )
