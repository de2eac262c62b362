"""Every frame of many clips as one row of features, and what a search or a player asks of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Normalisation
from deepphase.features.trajectory import facing_directions
from deepphase.motion.clip import Clip
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress
from matching.row_queries import RowQueries
from matching.store_link import StoreLink

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

Array = np.ndarray
Tracks = Callable[[Clip], Mapping[str, Array]]
END_MARGIN_S = 0.25
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class MotionDatabase(RowQueries):
    """Feature rows of clips; row range_starts[i] + f is frame f of clip i.

    Every frame has its row, so that row + 1 is the next frame of the same clip up to the clip's
    end. Rows whose offsets reach past a clip's end, or that have next to nothing left to play,
    are there but not `offered`: a search never returns them.

    Parameters
    ----------
    layout
        What the values of a row are; joints by name.
    fps
        Frames a second.
    features
        (rows, dims) float32, normalised and weighted: Euclidean distance is the cost.
    normalisation
        How they were made of raw values.
    range_starts, range_stops
        (clips,) clip i is rows range_starts[i] to range_stops[i] - 1; contiguous, rising.
    clip_names, labels
        One a clip.
    root_positions
        (rows, 3) float32 metres: the root trajectory in the clip's world.
    root_angles
        (rows,) float32 radians: facing about Y from +Z, continuous within a clip.
    phases
        (rows, channels) each; None where no phase model was given.
    interior
        (rows,) bool: the phase window lies inside the clip; all where there are no phases.
    offered
        (rows,) bool: rows that a search may return.
    links
        The stores that the clips come from.
    clip_links
        (clips,) which of them each clip comes from.
    body
        Role -> joint name, as the facing was found with.
    made_with
        What built it: model hash, options.
    path
        The database's file, if there is one.
    """

    layout: FeatureLayout
    fps: float
    features: Array
    normalisation: Normalisation
    range_starts: Array
    range_stops: Array
    clip_names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    root_positions: Array
    root_angles: Array
    phases: PhaseParameters | None
    interior: Array
    offered: Array
    links: tuple[StoreLink, ...]
    clip_links: Array
    body: Mapping[str, str]
    made_with: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    def __post_init__(self) -> None:
        rows, clips = len(self.features), len(self.clip_names)
        if self.features.ndim != 2 or self.features.shape[1] != self.layout.dims:
            raise ParameterError(
                f"feature rows {self.features.shape}, but the layout has {self.layout.dims} values",
                hint=f"the layout:\n    {self.layout}",
            )
        shapes = {
            "root_positions": (rows, 3),
            "root_angles": (rows,),
            "interior": (rows,),
            "offered": (rows,),
            "range_starts": (clips,),
            "range_stops": (clips,),
            "clip_links": (clips,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ParameterError(f"{name} {getattr(self, name).shape}, expected {shape}")
        starts, stops = self.range_starts, self.range_stops
        if not clips or starts[0] != 0 or stops[-1] != rows or (stops <= starts).any():
            raise ParameterError(f"clip ranges that do not cover the {rows} rows")
        if (starts[1:] != stops[:-1]).any() or len(self.labels) != clips:
            raise ParameterError("clip ranges or labels that do not follow each other")
        if self.phases is not None and len(self.phases.phase) != rows:
            raise ParameterError(f"phases of {len(self.phases.phase)} frames for {rows} rows")
        if len(self.normalisation.mean) != self.layout.dims:
            raise ParameterError("a normalisation of another layout")

    def __len__(self) -> int:
        return len(self.features)

    @property
    def root_directions(self) -> Array:
        """(rows, 3) float32 unit vectors on the ground: the facing."""
        return facing_directions(self.root_angles)

    def clip(self, index: int) -> Clip:
        """A clip with its rotations, from its store.

        Raises
        ------
        CheckpointError
            Where the store is gone or is another one by now.
        """
        store, place = self._in_store(index)
        return store.clip(place)

    def stored(self, index: int) -> tuple[ClipStore, int]:
        """The store that a clip is in, and the clip's first frame in it; errors as of `clip`."""
        store, place = self._in_store(index)
        return store, int(store.range_starts[place])

    def _in_store(self, index: int) -> tuple[ClipStore, int]:
        link = self.links[self.clip_links[index]]
        frames = int(self.range_stops[index] - self.range_starts[index])
        return link.found(self.clip_names[index], frames, beside=self.path)

    @cached_property
    def offered_rows(self) -> Array:
        """(offered,) rows that a search may return, rising."""
        return np.flatnonzero(self.offered)

    @cached_property
    def rows_sha256(self) -> str:
        """Hash of the features and of which rows are offered: what an index was made of."""
        digest = hashlib.sha256(np.array(self.features.shape, np.int64).tobytes())
        for start in range(0, len(self), _ROWS_AT_ONCE):
            piece = np.ascontiguousarray(self.features[start : start + _ROWS_AT_ONCE])
            digest.update(piece.view(np.uint8).data)
        digest.update(np.packbits(self.offered).data)
        return digest.hexdigest()

    @classmethod
    def build(
        cls,
        store: ClipStore,
        layout: FeatureLayout | str | Path,
        model: PhaseExtractor | None = None,
        *,
        tracks: Tracks | None = None,
        end_margin_s: float = END_MARGIN_S,
        spool: Path | None = None,
        progress: Progress | None = None,
    ) -> MotionDatabase:
        """The features of every frame of a store.

        Parameters
        ----------
        store
            At the model's rate. `store.selected` takes those of chosen labels.
        layout
            A layout, a YAML file, or a shipped layout's name.
        model
            Reads the phases; needed only where the layout has them.
        tracks
            Gives the tracks of a clip, name -> (frames, values), where the layout names some.
        end_margin_s
            Frames with less than this left in their clip are not offered.
        spool
            Folder for the rows while they are made, where they may exceed memory.

        Raises
        ------
        ParameterError
            Where layout, model and store do not fit, or no frame can be offered.
        """
        from matching.database_build import built

        layout = layout if isinstance(layout, FeatureLayout) else FeatureLayout.load(layout)
        return built(
            store,
            layout,
            model,
            tracks=tracks,
            end_margin_s=end_margin_s,
            spool=spool,
            progress=progress,
        )

    def extended(
        self,
        store: ClipStore,
        model: PhaseExtractor | None = None,
        *,
        tracks: Tracks | None = None,
        spool: Path | None = None,
        progress: Progress | None = None,
    ) -> MotionDatabase:
        """This database with more clips behind its own; only the new ones are computed.

        The normalisation stays, so that old rows and queries keep their meaning. Parameters and
        errors as those of `build`; the model must be the one that it was built with.
        """
        from matching.database_build import extended

        return extended(self, store, model, tracks=tracks, spool=spool, progress=progress)

    def save(self, path: str | Path) -> Path:
        """Write the database as one file, whole or not at all."""
        from matching.database_file import save_database

        return save_database(self, path)

    @classmethod
    def load(
        cls, path: str | Path, *, store: ClipStore | None = None, verify: bool = True
    ) -> MotionDatabase:
        """Open a database file; its rows stay on disk until they are looked at.

        Parameters
        ----------
        store
            Stands in for the store that the clips came from, where that has moved.
        verify
            Compare hashes: reads the whole file once.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign or of a newer version.
        """
        from matching.database_file import load_database

        return load_database(path, store=store, verify=verify)
