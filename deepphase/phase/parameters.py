"""Phase parameters and their conventions; phases of a clip or song, their files and their picture.

A phase channel describes a window of motion around a frame by one sinusoid,

    latent(t) = amplitude * sin(2 pi (frequency * t + phase)) + offset,

with t in seconds from the frame. `phase` is in cycles in [-0.5, 0.5) and grows with time: one
step of `dt` seconds is phase += frequency * dt. (Starke et al. 2022 write the shift S of eq. 4
with the other sign: phase = -S.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from deepphase.arrays import Array, counted, short_repr, timed, wrapped
from deepphase.config import checked_text
from deepphase.errors import FormatError, ParameterError
from deepphase.files import atomic_write
from deepphase.formats.array_file import checked_rate, fitting_parts, read_arrays, write_arrays
from deepphase.formats.npz.archive import read_npz, write_npz

CURVES = ("phase", "frequency", "amplitude", "offset")
"""Names of the phase parameters, in the order of `PhaseParameters`."""


@dataclass(frozen=True, eq=False)
class PhaseParameters:
    """Phase, frequency, amplitude and offset of every channel, each (..., channels).

    Parameters
    ----------
    phase
        Cycles in [-0.5, 0.5), growing with time.
    frequency
        Hz, not negative.
    amplitude, offset
        In the latent's unit; amplitude is not negative.

    Raises
    ------
    ParameterError
        Where the shapes differ or a value is not finite.
    """

    phase: Array
    frequency: Array
    amplitude: Array
    offset: Array

    def __post_init__(self) -> None:
        for name, value in zip(CURVES, self._curves(), strict=True):
            if value.shape != self.phase.shape:
                raise ParameterError(
                    f"{name} {value.shape}, but phase {self.phase.shape}: shapes must agree"
                )
            if not np.isfinite(value).all():
                raise ParameterError(
                    f"{name} has values that are not finite", hint="check the signals"
                )

    @classmethod
    def trusted(cls, phase: Array, frequency: Array, amplitude: Array, offset: Array) -> Self:
        """Parameters of arrays that were checked before, such as those of a file with hashes.

        Nothing is read, so that files larger than memory can be opened.
        """
        parameters = object.__new__(cls)
        parameters.__dict__.update(zip(CURVES, (phase, frequency, amplitude, offset), strict=True))
        return parameters

    @classmethod
    def joined(cls, parts: Sequence[PhaseParameters]) -> PhaseParameters:
        """Parameters of successive frames, each (frames, channels), as one."""
        return PhaseParameters(*map(np.concatenate, zip(*map(cls._curves, parts), strict=True)))

    def __repr__(self) -> str:
        shape = f"shape {self.phase.shape}: phase in cycles, frequency in Hz, amplitude, offset"
        return short_repr(self, shape)

    @property
    def channels(self) -> int:
        """Number of phase channels."""
        return self.phase.shape[-1]

    def __getitem__(self, index: Any) -> PhaseParameters:
        return PhaseParameters(*(curve[index] for curve in self._curves()))

    def _curves(self) -> tuple[Array, ...]:
        return self.phase, self.frequency, self.amplitude, self.offset

    def manifold(self) -> Array:
        """(..., 2 * channels): A sin 2 pi phase, A cos 2 pi phase, interleaved by channel.

        References
        ----------
        Starke et al. 2022, eq. 8.
        """
        angle = 2.0 * np.pi * self.phase
        pair = np.stack([self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)], axis=-1)
        return pair.reshape(*self.phase.shape[:-1], 2 * self.channels)

    def advanced(self, seconds: float | Array) -> PhaseParameters:
        """The same sinusoids seen from `seconds` later: phase += frequency * seconds.

        `seconds` is a number or an array that broadcasts against (..., channels).
        """
        turned = self.phase + self.frequency * np.asarray(seconds, self.phase.dtype)
        return PhaseParameters(wrapped(turned), self.frequency, self.amplitude, self.offset)

    def sinusoid(self, times: Array) -> Array:
        """(..., channels, times): the fitted latent at `times` (times,) seconds from the frame."""
        turns = self.frequency[..., None] * times + self.phase[..., None]
        return self.amplitude[..., None] * np.sin(2.0 * np.pi * turns) + self.offset[..., None]


FORMAT, VERSION = "deepphase.phases", 1
CONVENTIONS = (
    "phase is in cycles in [-0.5, 0.5) and grows with time: "
    "latent(t) = amplitude * sin(2 pi (frequency * t + phase)) + offset, t in seconds from the "
    "frame; frequency in Hz; manifold = (A sin 2 pi phase, A cos 2 pi phase), interleaved by "
    "channel; one step is phase += frequency * dt"
)
# Largest share by which steps of one rate may differ: times are rounded to microseconds.
_TIME_TOLERANCE = 1e-3
# Rounding of a phase just below half a cycle.
_MAX_PHASE = 0.5 + 1e-6
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class ClipPhases:
    """The phases of every frame of one clip or song.

    Parameters
    ----------
    parameters
        (frames, channels) each.
    interior
        (frames,) bool: the whole window lies inside the clip. The other frames have the sinusoids
        of the nearest whole window, advanced to the frame.
    fps
        Frames a second: the model's rate.
    name, source
        The clip and its file.
    """

    parameters: PhaseParameters
    interior: Array
    fps: float
    name: str
    source: str = ""

    def __repr__(self) -> str:
        channels = counted(self.parameters.channels, "channel")
        inside = f"{self.interior.mean():.0%} interior"
        return short_repr(self, repr(self.name), timed(len(self), self.fps), channels, inside)

    def __len__(self) -> int:
        return len(self.interior)

    def __getitem__(self, frames: slice) -> ClipPhases:
        """The same clip's phases of some of its frames."""
        return replace(self, parameters=self.parameters[frames], interior=self.interior[frames])

    @property
    def time(self) -> Array:
        """(frames,) seconds from the clip's start."""
        return np.arange(len(self)) / self.fps

    def to_numpy(self) -> dict[str, Array]:
        """All values by name, as in a phases file.

        ``phase``, ``frequency``, ``amplitude`` and ``offset`` (frames, channels), ``manifold``
        (frames, 2 * channels), ``time`` (frames,) in seconds, and ``interior`` (frames,).
        """
        curves = {name: getattr(self.parameters, name) for name in CURVES}
        rest = {"manifold": self.parameters.manifold(), "time": self.time}
        return curves | rest | {"interior": self.interior}

    @classmethod
    def from_numpy(
        cls, arrays: Mapping[str, Array], fps: float, *, name: str = "", source: str = ""
    ) -> ClipPhases:
        """Phases of the arrays of :meth:`to_numpy`, or of the first four of them.

        Frames are interior where the arrays do not have ``interior``. Raises ParameterError where
        an array is missing, the shapes differ or a value is not finite.
        """
        missing = [curve for curve in CURVES if curve not in arrays]
        if missing:
            raise ParameterError(
                f"the phases lack the array {missing[0]!r}",
                hint=f"give {', '.join(CURVES)}, each (frames, channels)",
            )
        parameters = PhaseParameters(*(np.asarray(arrays[curve], np.float32) for curve in CURVES))
        interior = np.asarray(arrays.get("interior", np.ones(len(parameters.phase))), bool)
        return cls(parameters, interior, fps, name, source)

    def columns(self) -> dict[str, Array]:
        """Columns of a table with a row for each frame.

        ``time`` and ``interior``; ``phase_0``, ``phase_1`` and so on for all four parameters;
        ``manifold_0_sin``, ``manifold_0_cos`` and so on.
        """
        arrays = self.to_numpy()
        channels = range(self.parameters.channels)
        named = {name: arrays[name] for name in ("time", "interior")}
        for curve in CURVES:
            named |= {f"{curve}_{channel}": arrays[curve][:, channel] for channel in channels}
        pairs = [f"manifold_{channel}_{part}" for channel in channels for part in ("sin", "cos")]
        return named | dict(zip(pairs, arrays["manifold"].T, strict=True))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each frame, whose index is the time in seconds.

        Its other columns are those of :meth:`columns` and of ``encode --csv``. Its `attrs` have
        ``fps``, ``name`` and ``source``.
        """
        import pandas

        table = pandas.DataFrame(self.columns()).set_index("time")
        table.attrs = {"fps": self.fps, "name": self.name, "source": self.source}
        return table

    @classmethod
    def from_pandas(cls, table: Any) -> ClipPhases:
        """Phases of a table of :meth:`to_pandas`, or of a CSV file that pandas read.

        The rate is that of its `attrs`, or else of its times. Raises ParameterError where a column
        is missing, its times do not give a rate, or a value is not finite.
        """
        if "time" in table.columns:
            table = table.set_index("time")
        attrs = table.attrs
        if "fps" not in attrs:
            steps = np.diff(np.asarray(table.index, float))
            if not len(steps) or steps[0] <= 0 or np.ptp(steps) > _TIME_TOLERANCE * steps[0]:
                raise ParameterError(
                    "the times of the table are not those of one frame rate",
                    hint="give times in seconds that rise by equal steps",
                )
            # Times of a CSV file are rounded to microseconds.
            attrs = {"fps": round(1.0 / float(steps.mean()), 3)}
        arrays = {}
        for curve in CURVES:
            names = takewhile(table.columns.__contains__, (f"{curve}_{n}" for n in count()))
            columns = [np.asarray(table[name]) for name in names]
            if columns:
                arrays[curve] = np.stack(columns, axis=1)
        if "interior" in table.columns:
            arrays["interior"] = np.asarray(table["interior"])
        return cls.from_numpy(
            arrays, attrs["fps"], name=attrs.get("name", ""), source=attrs.get("source", "")
        )


def save_phases(
    phases: ClipPhases, path: str | Path, *, window_s: float, model_sha256: str
) -> None:
    """Write <clip>.phases.npz, whole or not at all, with the window and the hash of the model."""
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "clip": phases.name,
        "source": phases.source,
        "fps": phases.fps,
        "window_s": window_s,
        "channels": phases.parameters.channels,
        "model_sha256": model_sha256,
        "conventions": CONVENTIONS,
    }
    arrays = {
        name: value if name in ("time", "interior") else value.astype(np.float32)
        for name, value in phases.to_numpy().items()
    }
    write_npz(path, arrays | {"meta": np.array(json.dumps(meta))})


def load_phases(path: str | Path) -> tuple[ClipPhases, dict[str, Any]]:
    """Read a phases file: the phases and its `meta`.

    Raises
    ------
    FormatError
        Where it cannot be read, is not such a file, is of another version, or its arrays do not fit
        each other.
    """
    archive = read_npz(path)
    meta = archive.meta(FORMAT, VERSION)
    try:
        fps = checked_rate(meta["fps"])
        clip, source = (checked_text(meta[name], name) for name in ("clip", "source"))
        phase = archive.array("phase", (None, None))
        frames, channels = phase.shape
        others = [archive.array(name, (frames, channels)) for name in CURVES[1:]]
        parameters = PhaseParameters(phase, *others)
        manifold = archive.array("manifold", (frames, 2 * channels))
        time = archive.array("time", (frames,))
        interior = archive.array("interior", (frames,), "bool")
        _check_agreement(parameters, manifold, time, fps)
        return ClipPhases(parameters, interior, fps, clip, source), meta
    except (KeyError, ValueError, ParameterError) as error:
        fact = f"there is no {error} in its 'meta'" if isinstance(error, KeyError) else str(error)
        raise FormatError(
            f"this is not a phases file: {fact}",
            hint="phases files are what `deepphase encode` writes",
            path=path,
        ) from None


def _check_agreement(parameters: PhaseParameters, manifold: Array, time: Array, fps: float) -> None:
    """Raise ValueError unless the arrays of a file describe the same phases."""
    if not (np.abs(parameters.phase) <= _MAX_PHASE).all():
        raise ValueError("its phases are outside [-0.5, 0.5]")
    tolerance = _TOLERANCE * max(1.0, float(np.abs(parameters.amplitude).max(initial=0.0)))
    # Differences that overflow are not within the tolerance.
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(parameters.manifold() - manifold).max(initial=0.0)
        late = np.abs(np.arange(len(time)) - time * fps).max(initial=0.0)
    if not apart <= tolerance:
        raise ValueError("its manifold is not that of its phases")
    if not late <= _TOLERANCE * max(len(time), 1):
        raise ValueError(f"its times are not those of {fps:g} frames a second")


def save_csv(phases: ClipPhases, path: str | Path) -> None:
    """Write the same values as a table, one row a frame."""
    columns = phases.columns()
    values = np.stack(list(columns.values()), axis=1, dtype=np.float64)
    formats = ["%.6f", "%d", *["%.6g"] * (len(columns) - 2)]
    with atomic_write(path) as file:
        np.savetxt(file, values, formats, ",", header=",".join(columns), comments="")


_PROJECTION: dict[str, Any] = {"format": "deepphase.projection", "version": 1}
_VIEW_AXES = 3


@dataclass(frozen=True, eq=False)
class ManifoldProjection:
    """The leading principal axes of a manifold; new clips land in the same picture.

    Parameters
    ----------
    mean
        (2 * channels,)
    axes
        (3, 2 * channels) orthonormal rows; zeros where the manifold has fewer dimensions.
    explained
        (3,) share of the variance on each axis.
    """

    mean: Array
    axes: Array
    explained: Array

    def __repr__(self) -> str:
        shares = " + ".join(f"{share:.0%}" for share in self.explained)
        return short_repr(self, f"{len(self.mean)} values to 3 axes", f"{shares} of the variance")

    @classmethod
    def fit(cls, manifold: Array) -> ManifoldProjection:
        """Principal axes of (frames, 2 * channels).

        The sign of an axis is arbitrary; here its largest component is positive, so that two
        pictures of the same manifold agree.

        Raises
        ------
        ParameterError
            Where there are no frames or a value is not finite.
        """
        if manifold.ndim != 2 or not len(manifold) or not np.isfinite(manifold).all():
            raise ParameterError(
                "a manifold must have frames, and finite values", hint="encode clips that move"
            )
        values = manifold.astype(np.float64)
        mean = values.mean(0)
        variance, vectors = np.linalg.eigh(np.atleast_2d(np.cov(values.T, bias=True)))
        order = np.argsort(variance)[::-1][:_VIEW_AXES]
        axes = np.zeros((_VIEW_AXES, values.shape[1]))
        axes[: len(order)] = vectors[:, order].T
        largest = np.abs(axes).argmax(1)
        axes *= np.where(axes[np.arange(_VIEW_AXES), largest] < 0, -1.0, 1.0)[:, None]
        explained = np.zeros(_VIEW_AXES)
        total = variance.sum()
        if total > 0:
            explained[: len(order)] = np.maximum(variance[order], 0) / total
        return cls(*(item.astype(np.float32) for item in (mean, axes, explained)))

    def save(self, path: str | Path) -> None:
        """Write the projection as a file of its own, whole or not at all."""
        write_arrays(path, self.as_arrays(), {}, **_PROJECTION)

    @classmethod
    def load(cls, path: str | Path) -> ManifoldProjection:
        """Read what `save` wrote.

        Raises
        ------
        CheckpointError
            Where the file is damaged or foreign.
        """
        arrays, _ = read_arrays(path, **_PROJECTION, types={"*": "F32"})
        with fitting_parts("projection", "save it again", path):
            return cls.from_arrays(arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str = "") -> ManifoldProjection:
        """From what `as_arrays` made.

        Raises
        ------
        KeyError
            Where one is missing.
        ValueError
            Where their shapes do not fit.
        """
        cloud = cls(*(np.array(arrays[prefix + item.name]) for item in fields(cls)))
        shapes = (cloud.mean.shape[:1], (_VIEW_AXES, *cloud.mean.shape), (_VIEW_AXES,))
        if (cloud.mean.shape, cloud.axes.shape, cloud.explained.shape) != shapes:
            raise ValueError(f"its mean has shape {cloud.mean.shape}, its axes {cloud.axes.shape}")
        return cloud

    def as_arrays(self, prefix: str = "") -> dict[str, Array]:
        """Its arrays by name, for a file that holds others, too."""
        return {prefix + item.name: getattr(self, item.name) for item in fields(self)}

    def __call__(self, manifold: Array) -> Array:
        """(..., 2 * channels) -> (..., 3)."""
        return (manifold - self.mean) @ self.axes.T
