"""Training samples of controllers: pairs of a frame and the next one, of all clips of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.ball.ball_track import IMPLAUSIBLE, ClipBalls
from deepphase.controllers.networks.normalised import normalisation_of
from deepphase.controllers.schema.config import AUTO, Gate, SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks, PhaseSource, SuddenGoal
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import Normalisation
from deepphase.features.moment_kinds import ACTION, clip_kinds
from deepphase.files import mapped_array
from deepphase.motion.clip import Clip
from deepphase.motion.mirror import MirrorMap, mirror_map, mirrored
from deepphase.motion.roles import find_roles
from deepphase.terrain.grounded_clip import ClipGrounds, GroundedClip
from deepphase.work import Progress

ClipTracks = Callable[[Clip], Mapping[str, Array]]
Ends = Literal["left_out", "continued"]
# Larger samples, in bytes, are memory-mapped in an unnamed temporary file.
_MAX_IN_MEMORY = 1 << 30
# Number of rows that are normalised at a time.
_ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class ControllerSamples:
    """Raw pairs of a frame and the next one: row r holds inputs, gate -> outputs."""

    schema: ControllerSchema
    # inputs, gate, outputs: (samples, dims) float32 each: inputs and gate of a frame, outputs of
    # the next one.
    inputs: Array
    gate: Array
    outputs: Array
    # run_starts, run_stops: (runs,) samples run_starts[i] to run_stops[i] - 1 are consecutive
    # frames of one clip.
    run_starts: Array
    run_stops: Array
    first_frames: Array  # (runs,) first frame of each run in its clip
    # names, sources: (runs,) name of the clip, and the file that it comes from.
    names: tuple[str, ...]
    sources: tuple[str, ...]
    mirrored: Array  # (runs,) bool: the run belongs to a clip's mirror image

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
        actions: bool = True,
        tracks: ClipTracks | None = None,
        grounds: ClipGrounds | None = None,
        balls: ClipBalls | None = None,
        sudden: Mapping[str, tuple[SuddenGoal, ...]] | None = None,
        progress: Progress | None = None,
    ) -> ControllerSamples:
        """Read the samples of all clips.

        `ends`: frames whose trajectory or phase window reaches past an end of their clip are
        "left_out", or their trajectory is "continued" in a straight line, for short clips. Of a
        schema with a ball, clips without one and frames whose ball is implausible are left out; by
        default a ball is fitted to every clip.
        """
        if ends not in get_args(Ends):
            raise ParameterError(
                f"ends are 'left_out' or 'continued', not {ends!r}", hint="give one of these two"
            )
        grounds = grounds if schema.config.heights else None
        each = 1 if grounds is None else 1 + grounds.most
        rows = store.frames * each * (2 if mirror else 1)
        arrays = _Columns(schema, rows)
        runs: list[tuple[int, int, int, str, str, bool]] = []
        count = 0
        # Contacts and phases of a clip are found once for each ground: it is read before training.
        for done, (clip, grounded, is_mirrored) in enumerate(
            _clips(store, schema, mirror, grounds), start=1
        ):
            ball = None
            if balls is not None and schema.config.ball:
                ball = balls.of_clip(clip, mirrored=is_mirrored)
                if ball is None:
                    continue
            blocks = FrameBlocks.from_clip(
                clip,
                schema,
                phases,
                tracks(clip) if tracks else None,
                grounded,
                ball,
                () if sudden is None else sudden.get(clip.name, ()),
            )
            usable = blocks.inside() if ends == "left_out" else np.ones(len(blocks), bool)
            if not actions:
                usable = usable & (clip_kinds(clip, dict(schema.body)) != ACTION)
            if blocks.ball is not None:
                usable = usable & (blocks.ball.plausible >= IMPLAUSIBLE)
            pairs = np.flatnonzero(usable[:-1] & usable[1:])
            arrays.fill(count, blocks, pairs)
            source = clip.source.path or clip.name
            for first, last in _without_gaps(pairs):
                start = count + first
                frame = int(pairs[first])
                runs.append((start, count + last + 1, frame, clip.name, source, is_mirrored))
            count += len(pairs)
            if progress is not None:
                total = len(store) + (0 if grounds is None else len(grounds))
                total = max(done, total * (2 if mirror else 1))
                progress("reading frames", done, total, clip.name)
        if not count:
            if not actions:
                raise ParameterError(
                    "no training frame that is idle or locomotion",
                    hint="set training.actions=kept, or use longer clips",
                )
            past, future = schema.inputs.reach_s
            raise ParameterError(
                f"no training frame: the longest clip has "
                f"{store.lengths.max() / store.fps:.2f} s, but the trajectory reaches {past:g} s "
                f"back and {future:g} s ahead",
                hint="use longer clips, or reduce schema.past_samples or schema.future_samples",
            )
        starts, stops, first_frames, names, sources, flags = zip(*runs, strict=True)
        inputs, gate, outputs = arrays.filled(count)
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

    def joined(self, other: ControllerSamples) -> ControllerSamples:
        """These samples, then others of the same schema."""
        count, arrays = len(self), []
        for name in ("inputs", "gate", "outputs"):
            mine, theirs = getattr(self, name), getattr(other, name)
            size = mine.nbytes + theirs.nbytes
            both = _allocated((count + len(other), mine.shape[1]), size)
            both[:count], both[count:] = mine, theirs
            arrays.append(both)
        inputs, gate, outputs = arrays
        return ControllerSamples(
            self.schema,
            inputs,
            gate,
            outputs,
            np.concatenate([self.run_starts, count + other.run_starts]),
            np.concatenate([self.run_stops, count + other.run_stops]),
            np.concatenate([self.first_frames, other.first_frames]),
            (*self.names, *other.names),
            (*self.sources, *other.sources),
            np.concatenate([self.mirrored, other.mirrored]),
        )

    def run_of(self, rows: Array) -> Array:
        """Index of the run that each row lies in."""
        return np.searchsorted(self.run_stops, np.asarray(rows), side="right")

    def following(self, rows: Array) -> Array:
        """(rows,) number of consecutive rows of the same run from each of the rising rows on."""
        run = self.run_of(rows)
        ends = np.append((np.diff(rows) != 1) | (np.diff(run) != 0), True)[: len(rows)]
        last = np.flatnonzero(ends)
        return rows[last][np.searchsorted(last, np.arange(len(rows)))] - rows + 1

    def label_values(self, rows: Array) -> Array:
        """(rows,) index of the label's value among the schema's, of samples with a label."""
        block = self.schema.inputs.slices[self.schema.config.label]
        # The label is the same at all offsets.
        first = slice(block.start, block.start + len(self.schema.label_values))
        return np.argmax(self.inputs[rows, first], axis=1)

    def rows_of_runs(self, chosen: Array) -> Array:
        """(rows,) all rows of the chosen runs (runs,) bool."""
        lengths = self.run_stops - self.run_starts
        return np.flatnonzero(np.repeat(chosen, lengths))

    def normalisations(
        self, rows: Array | None = None
    ) -> tuple[Normalisation, Normalisation, Normalisation]:
        """Normalisations over these rows, or over all rows."""
        schema, carried = self.schema, self.schema.carried
        chosen = np.arange(len(self)) if rows is None else np.asarray(rows)
        batches = [
            chosen[start : start + _ROWS_AT_ONCE] for start in range(0, len(chosen), _ROWS_AT_ONCE)
        ]

        def outputs(batch: Array) -> Array:
            if carried is None:
                return self.outputs[batch]
            columns, shares = carried
            return self.outputs[batch] - shares * self.inputs[batch][:, columns]

        return (
            normalisation_of(schema.inputs, (self.inputs[rows] for rows in batches)),
            normalisation_of(schema.gate, (self.gate[rows] for rows in batches)),
            normalisation_of(schema.outputs, map(outputs, batches)),
        )


def schema_of_store(
    store: ClipStore,
    gate: Gate,
    config: SchemaConfig,
    *,
    channels: int,
    tracks: ClipTracks | None,
    description: Mapping[str, Any] | None = None,
) -> ControllerSchema:
    """The schema for a store's skeleton, with the label values of its clips."""
    values: list[str] = []
    if config.label not in ("", AUTO):
        column = store.label_column(config.label)
        if "" in column:
            clip = store.names[int(np.flatnonzero(column == "")[0])]
            raise ParameterError(
                f"{clip}: there is no label {config.label!r}", hint="select the clips that have it"
            )
        values = sorted(set(column.tolist()))
    longest = store.clip(int(np.argmax(store.lengths)))
    widths = {
        name: each.reshape(len(each), -1).shape[1]
        for name, each in (tracks(longest) if tracks else {}).items()
    }
    return ControllerSchema.from_clip(
        longest,
        gate,
        config,
        channels=channels,
        label_values=values,
        track_widths=widths,
        description=description,
    )


class _Columns:
    """Arrays for the samples of a store, filled clip by clip."""

    def __init__(self, schema: ControllerSchema, rows: int) -> None:
        widths = (schema.dims.inputs, schema.dims.gate, schema.dims.outputs)
        size = 4 * rows * sum(widths)
        self._schema = schema
        self._arrays = [_allocated((rows, width), size) for width in widths]

    def fill(self, start: int, blocks: FrameBlocks, pairs: Array) -> None:
        """Write the pairs with these first frames to the rows from `start` on."""
        schema = self._schema
        layouts = ((schema.inputs, 0), (schema.gate, 0), (schema.outputs, 1))
        for array, (layout, later) in zip(self._arrays, layouts, strict=True):
            array[start : start + len(pairs)] = blocks.rows(layout)[pairs + later]

    def filled(self, count: int) -> list[Array]:
        """The first `count` rows."""
        return [array[:count] for array in self._arrays]


def _allocated(shape: tuple[int, int], size: int) -> Array:
    if size <= _MAX_IN_MEMORY or not shape[1]:
        return np.empty(shape, np.float32)
    return mapped_array(shape, np.float32)


def _clips(
    store: ClipStore, schema: ControllerSchema, mirror: bool, grounds: ClipGrounds | None
) -> Iterator[tuple[Clip, GroundedClip | None, bool]]:
    """Clips, and their mirror images, on each of their grounds."""
    mapping: MirrorMap | None = None
    first = store.clip(0)
    roles = find_roles(first.skeleton, description=dict(schema.body), clip=first)
    if mirror:
        mapping = mirror_map(first, roles)
    for clip in store:
        images = [(clip, False)]
        if mapping is not None:
            images.append((mirrored(clip, mapping), True))
        for image, is_mirrored in images:
            if grounds is None:
                yield image, None, is_mirrored
                continue
            for grounded in grounds.on_ground(image, roles, mirrored=is_mirrored):
                yield image, grounded, is_mirrored


def _without_gaps(frames: Array) -> list[tuple[int, int]]:
    """First and last index of each range of consecutive frames."""
    if not len(frames):
        return []
    breaks = np.flatnonzero(np.diff(frames) != 1)
    firsts = np.concatenate([[0], breaks + 1])
    lasts = np.concatenate([breaks, [len(frames) - 1]])
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
