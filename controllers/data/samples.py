"""Training pairs of a whole store: what a controller sees of a frame, and what follows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from controllers.networks.normalised import normalisation_of
from controllers.schema.config import Gate, SchemaConfig
from controllers.schema.frame_blocks import FrameBlocks, PhaseSource
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.normalisation import Normalisation
from deepphase.motion.clip import Clip
from deepphase.motion.mirror import MirrorMap, mirror_map, mirrored
from deepphase.motion.roles import find_roles
from deepphase.progress import Progress

ClipTracks = Callable[[Clip], Mapping[str, Array]]
Ends = Literal["left_out", "continued"]
# Samples that take more bytes than this lie in a file without a name, mapped.
_MOST_IN_MEMORY = 1 << 30


@dataclass(frozen=True, eq=False)
class ControllerSamples:
    """Pairs of a frame and the next, raw: row r is inputs, gate -> outputs.

    Parameters
    ----------
    schema
        What the columns are.
    inputs, gate, outputs
        (samples, dims) float32 each; inputs and gate of a frame, outputs of the one behind it.
    run_starts, run_stops
        (runs,) samples run_starts[i] to run_stops[i] - 1 are frames of one clip without a gap:
        what sequences are taken of.
    first_frames
        (runs,) the frame of the clip that a run begins at.
    names, sources
        (runs,) the clip, and the file that it comes from: what is held out is chosen by files.
    mirrored
        (runs,) bool: the run is of a clip's mirror image.
    """

    schema: ControllerSchema
    inputs: Array
    gate: Array
    outputs: Array
    run_starts: Array
    run_stops: Array
    first_frames: Array
    names: tuple[str, ...]
    sources: tuple[str, ...]
    mirrored: Array

    def __len__(self) -> int:
        return len(self.inputs)

    @classmethod
    def read(
        cls,
        store: ClipStore,
        schema: ControllerSchema,
        phases: PhaseSource | None = None,
        *,
        mirror: bool = False,
        ends: Ends = "left_out",
        tracks: ClipTracks | None = None,
        progress: Progress | None = None,
    ) -> ControllerSamples:
        """The samples of every clip.

        Parameters
        ----------
        phases
            The phase model, where the schema has phases.
        mirror
            Whether the mirror image of every clip is read as well.
        ends
            Frames whose trajectory or phase window reaches past an end of their clip are
            "left_out", or the trajectory is "continued" straight on there: for short clips.
        tracks
            Gives the tracks of a clip, where the schema names some.

        Raises
        ------
        ParameterError
            Where no frame is left, and as `FrameBlocks.of_clip` does.
        """
        if ends not in get_args(Ends):
            raise ParameterError(f"ends are 'left_out' or 'continued', not {ends!r}")
        rows = store.frames * (2 if mirror else 1)
        arrays = _Columns(schema, rows)
        runs: list[tuple[int, int, int, str, str, bool]] = []
        count = 0
        for done, (clip, is_mirrored) in enumerate(_clips(store, schema, mirror), start=1):
            blocks = FrameBlocks.of_clip(clip, schema, phases, tracks(clip) if tracks else None)
            kept = blocks.inside() if ends == "left_out" else np.ones(len(blocks), bool)
            # A pair is a frame and the next one, both of this clip.
            pairs = np.flatnonzero(kept[:-1] & kept[1:])
            arrays.fill(count, blocks, pairs)
            source = clip.source.path or clip.name
            for first, last in _without_gaps(pairs):
                start = count + first
                frame = int(pairs[first])
                runs.append((start, count + last + 1, frame, clip.name, source, is_mirrored))
            count += len(pairs)
            if progress is not None:
                progress("reading frames", done, len(store) * (2 if mirror else 1), clip.name)
        if not count:
            past, future = schema.inputs.reach_s
            raise ParameterError(
                f"no frame can be learnt from: the longest clip has "
                f"{store.lengths.max() / store.fps:.2f} s, but the trajectory reaches {past:g} s "
                f"back and {future:g} s ahead",
                hint="take longer clips, fewer samples, or let their ends be continued",
            )
        starts, stops, first_frames, names, sources, flags = zip(*runs, strict=True)
        inputs, gate, outputs = arrays.first(count)
        return cls(
            schema,
            inputs,
            gate,
            outputs,
            np.array(starts),
            np.array(stops),
            np.array(first_frames),
            names,
            sources,
            np.array(flags, bool),
        )

    def run_of(self, rows: Array) -> Array:
        """Index of the run that each row lies in."""
        return np.searchsorted(self.run_stops, np.asarray(rows), side="right")

    def following(self, rows: Array) -> Array:
        """(rows,) how many of the rows, rising, follow each other from each on, in its run."""
        run = self.run_of(rows)
        ends = np.append((np.diff(rows) != 1) | (np.diff(run) != 0), True)[: len(rows)]
        last = np.flatnonzero(ends)
        return rows[last][np.searchsorted(last, np.arange(len(rows)))] - rows + 1

    def rows_of_runs(self, chosen: Array) -> Array:
        """(rows,) all rows of the chosen runs (runs,) bool."""
        lengths = self.run_stops - self.run_starts
        return np.flatnonzero(np.repeat(chosen, lengths))

    def normalisations(
        self, rows: Array | None = None
    ) -> tuple[Normalisation, Normalisation, Normalisation]:
        """Normalisations of inputs, gate and outputs, by these rows (all if left out)."""
        schema = self.schema
        pairs = (
            (schema.inputs, self.inputs),
            (schema.gate, self.gate),
            (schema.outputs, self.outputs),
        )
        found = [normalisation_of(lay, each if rows is None else each[rows]) for lay, each in pairs]
        return found[0], found[1], found[2]


def schema_of_store(
    store: ClipStore,
    gate: Gate,
    config: SchemaConfig,
    *,
    channels: int,
    tracks: ClipTracks | None,
    description: Mapping[str, Any] | None = None,
) -> ControllerSchema:
    """The schema for a store's skeleton, with the values that its clips have of the label.

    Raises as `ControllerSchema.of_clip` does, and where some clip lacks the label.
    """
    values: list[str] = []
    if config.label:
        column = store.label_column(config.label)
        if "" in column:
            clip = store.names[int(np.flatnonzero(column == "")[0])]
            raise ParameterError(
                f"{clip}: no label {config.label!r}", hint="select the clips that have it"
            )
        values = sorted(set(column.tolist()))
    longest = store.clip(int(np.argmax(store.lengths)))
    widths = {
        name: each.reshape(len(each), -1).shape[1]
        for name, each in (tracks(longest) if tracks else {}).items()
    }
    return ControllerSchema.of_clip(
        longest,
        gate,
        config,
        channels=channels,
        label_values=values,
        track_widths=widths,
        description=description,
    )


class _Columns:
    """Room for the samples of a store, filled clip by clip."""

    def __init__(self, schema: ControllerSchema, rows: int) -> None:
        widths = (schema.dims.inputs, schema.dims.gate, schema.dims.outputs)
        mapped = 4 * rows * sum(widths) > _MOST_IN_MEMORY
        self._schema = schema
        self._arrays = [_room((rows, width), mapped) for width in widths]

    def fill(self, start: int, blocks: FrameBlocks, pairs: Array) -> None:
        """Write the pairs that begin at these frames of a clip, from row `start` on."""
        schema = self._schema
        layouts = ((schema.inputs, 0), (schema.gate, 0), (schema.outputs, 1))
        for array, (layout, later) in zip(self._arrays, layouts, strict=True):
            array[start : start + len(pairs)] = blocks.rows(layout)[pairs + later]

    def first(self, count: int) -> list[Array]:
        """The rows that were filled."""
        return [array[:count] for array in self._arrays]


def _room(shape: tuple[int, int], mapped: bool) -> Array:
    if not mapped or not shape[1]:
        return np.empty(shape, np.float32)
    # Without a name on disk: gone with the array, whatever ends the program.
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.float32, "w+", shape=shape)


def _clips(store: ClipStore, schema: ControllerSchema, mirror: bool) -> Iterator[tuple[Clip, bool]]:
    mapping: MirrorMap | None = None
    if mirror:
        first = store.clip(0)
        roles = find_roles(first.skeleton, description=dict(schema.body), clip=first)
        mapping = mirror_map(first, roles)
    for clip in store:
        yield clip, False
        if mapping is not None:
            yield mirrored(clip, mapping), True


def _without_gaps(frames: Array) -> list[tuple[int, int]]:
    """First and last index of each stretch of frames that follow each other."""
    if not len(frames):
        return []
    breaks = np.flatnonzero(np.diff(frames) != 1)
    firsts = np.concatenate([[0], breaks + 1])
    lasts = np.concatenate([breaks, [len(frames) - 1]])
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
