"""Inverse rig functions: the controls of poses, by regression and refinement, and their file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import array_part, joined_parts, read_arrays, write_arrays
from deepphase.formats.header_values import checked_mapping
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.gaussian_process import MultiquadricProcess
from deepphase.rigs.refinement import refined
from deepphase.rigs.rig_function import RigFunction
from deepphase.short_repr import brief_repr, counted, short_repr

FORMAT, VERSION = "deepphase.rig", 2
Method = Literal["regression", "computed"]
METHODS: tuple[Method, ...] = ("regression", "computed")
"""Regression alone, or refined by the derivatives of the rig."""

# A control that moves by less, in its unit, is not used.
_MOVES = 1e-3
# Smallest deviation of a control, in its unit: it measures errors and steps.
_LEAST_DEVIATION = 5e-3
# Metres, and times the median error of held-out poses.
_MIN_REACH_M, _REACH_RATIO = 0.01, 5.0


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    """One hidden layer with ReLU (Holden 2017, equation 3.14).

    Parameters
    ----------
    first, first_bias, second, second_bias
        (hidden, inputs), (hidden,), (outputs, hidden) and (outputs,).
    """

    first: Array
    first_bias: Array
    second: Array
    second_bias: Array

    def predict(self, inputs: Array) -> Array:
        """(n, outputs) of inputs (n, inputs)."""
        hidden = np.maximum(inputs.astype(np.float32) @ self.first.T + self.first_bias, 0.0)
        return np.asarray(hidden @ self.second.T + self.second_bias, np.float64)


@brief_repr
@dataclass(frozen=True, eq=False)
class RigSolution:
    """Controls of a motion, and how well they reach it.

    Parameters
    ----------
    values
        (frames, controls)
    errors
        (frames, joints) metres: distances of the rig's joints from the desired ones.
    reached
        (frames,) whether the pose is one that the rig can take.
    """

    values: Array
    errors: Array
    reached: Array


@dataclass(frozen=True, eq=False)
class RigScale:
    """Means and deviations of joints and controls.

    Parameters
    ----------
    used
        Indices of the controls that move in the examples; the others keep their values.
    position_mean
        (3 joints,) metres.
    value_mean, value_scale
        (used,) of the controls that move.
    rest
        (controls,) values of the others.
    """

    used: Array
    position_mean: Array
    value_mean: Array
    value_scale: Array
    rest: Array

    @classmethod
    def of_examples(cls, values: Array, positions: Array) -> RigScale:
        """The scale of poses: values (poses, controls) and positions (poses, joints, 3)."""
        deviations = values.std(axis=0)
        used = np.flatnonzero(deviations > _MOVES)
        return cls(
            used,
            positions.reshape(len(values), -1).mean(axis=0),
            values[:, used].mean(axis=0),
            np.maximum(deviations[used], _LEAST_DEVIATION),
            values.mean(axis=0),
        )

    def normalised(self, values: Array) -> Array:
        """(poses, used) values (poses, controls) in deviations."""
        return np.asarray((values[:, self.used] - self.value_mean) / self.value_scale)

    def values(self, normalised: Array) -> Array:
        """(poses, controls) of what `normalised` returns."""
        values = np.repeat(self.rest[None], len(normalised), axis=0)
        values[:, self.used] = normalised * self.value_scale + self.value_mean
        return values


@dataclass(eq=False)
class RigInverse:
    """A rig function with a learned inverse.

    Parameters
    ----------
    rig
        The rig function.
    scale
        Normalisation.
    damping
        Of refinement, see `refined`.
    process
        Regression of the controls from examples.
    network
        Regression that is more exact than the process; None without one.
    config, report, provenance
        Config of the training, measures on held-out clips, and data.
    joints
        Indices of the joints that the regressions read and refinement follows, see
        `inverse_of_effectors`; None for all.
    """

    rig: RigFunction
    scale: RigScale
    damping: float
    process: MultiquadricProcess
    network: ReluNetwork | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    joints: Array | None = None

    def __repr__(self) -> str:
        return short_repr(
            self,
            f"{len(self.used)} of {counted(len(self.rig.controls), 'control')}",
        )

    @property
    def used(self) -> Array:
        """Indices of the controls that move."""
        return self.scale.used

    def reach(self, method: Method) -> float:
        """Root mean square error of joints above which a pose counts as out of reach, metres.

        The limit is well above the errors of held-out clips, whose poses the rig can take.
        """
        measured = self.report.get("methods", {}).get(method, {})
        return max(_MIN_REACH_M, _REACH_RATIO * float(measured.get("usual_m", 0.0)))

    def inputs(self, positions: Array) -> Array:
        """(poses, 3 joints read) what regressions read of positions (poses, joints, 3)."""
        flat = positions.reshape(len(positions), -1) - self.scale.position_mean
        if self.joints is None:
            return np.asarray(flat)
        return np.asarray(flat.reshape(positions.shape)[:, self.joints].reshape(len(flat), -1))

    def regressed(self, positions: Array) -> Array:
        """(poses, controls) by regression alone, within the limits."""
        regression = self.process if self.network is None else self.network
        values = self.scale.values(regression.predict(self.inputs(positions)))
        return np.asarray(np.clip(values, self.rig.lower, self.rig.upper))

    def solve(
        self,
        positions: Array,
        method: Method = "computed",
        *,
        fps: float = 60.0,
        smoothing_s: float = 0.0,
        weights: Array | None = None,
    ) -> RigSolution:
        """Controls of a motion.

        Parameters
        ----------
        positions : (frames, joints, 3) metres
            In the space of the character.
        fps, smoothing_s
            Frames a second; standard deviation of the Gaussian that smooths what the regression
            says over time, before it is refined.
        weights : (joints,), optional
            Of the joints in refinement; 1 for those that are followed if not given.

        Raises
        ------
        ParameterError
            If the positions do not fit the rig.
        """
        if method not in METHODS:
            raise ParameterError(
                f"there is no method {method!r}", hint=f"methods: {', '.join(METHODS)}"
            )
        positions = np.asarray(positions, np.float64)
        if positions.shape[1:] != (len(self.rig.joints), 3) or not np.isfinite(positions).all():
            raise ParameterError(
                f"positions must be finite and of {len(self.rig.joints)} joints, but have shape "
                f"{positions.shape}",
                hint="give motion on the body of the rig (`motion_on_rig`)",
            )
        if weights is None and self.joints is not None:
            weights = np.zeros(len(self.rig.joints))
            weights[self.joints] = 1.0
        values = self.regressed(positions)
        if smoothing_s > 0 and len(values) > 1:
            values = gaussian_filter1d(values, smoothing_s * fps, axis=0, mode="nearest")
        if method == "regression":
            made = self.rig.evaluate(values)
        else:
            values, made = refined(
                self.rig,
                values,
                positions,
                columns=self.used,
                scale=self.scale.value_scale,
                damping=self.damping,
                weights=weights,
            )
        errors = np.linalg.norm(made - positions, axis=-1)
        counted_ = np.ones(errors.shape[1]) if weights is None else np.asarray(weights)
        spread = np.sqrt((errors**2 * counted_).sum(axis=1) / counted_.sum())
        return RigSolution(values, errors, spread <= self.reach(method))

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        if not isinstance(self.rig, BodyRig) or self.joints is not None:
            raise ParameterError(
                "only the inverse of all joints of a body's rig has a file",
                hint="save the inverse that this one was made from",
            )
        rig_parts, rig_header = self.rig.parts()
        parts = {
            "scale": vars(self.scale),
            "process": {
                name: getattr(self.process, name) for name in ("inputs", "weights", "mean")
            },
        }
        if self.network is not None:
            parts["network"] = vars(self.network)
        header = {
            "rig": rig_header,
            "widths": {"process": self.process.width},
            "damping": self.damping,
            "config": dict(self.config),
            "report": dict(self.report),
            "provenance": dict(self.provenance),
        }
        write_arrays(path, joined_parts(parts | rig_parts), header, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> RigInverse:
        """Read the file.

        Raises
        ------
        CheckpointError
            If the file is damaged, foreign, or its parts do not fit each other.
        """
        arrays, header = read_arrays(path, format=FORMAT, version=VERSION)
        try:
            rig = BodyRig.from_parts(arrays, header["rig"])
            count, outputs = len(rig.controls), 3 * len(rig.joints)
            used = np.array(arrays["scale.used"])
            if used.ndim != 1 or used.min() < 0 or used.max() >= count:
                raise ValueError("controls that the rig does not have")
            moving = (len(used),)
            shapes: dict[str, tuple[int, ...]] = {"position_mean": (outputs,), "rest": (count,)}
            shapes |= dict.fromkeys(("value_mean", "value_scale"), moving)
            scale = RigScale(**array_part(arrays, "scale", shapes))
            examples = len(arrays["process.inputs"])
            shapes = {"inputs": (examples, outputs), "weights": (examples, len(used))}
            own = array_part(arrays, "process", shapes | {"mean": moving})
            process = MultiquadricProcess(**own, width=float(header["widths"]["process"]))
            network = None
            if "network.first" in arrays:
                hidden = len(arrays["network.first"])
                shapes = {"first": (hidden, outputs), "first_bias": (hidden,)}
                shapes |= {"second": (len(used), hidden), "second_bias": moving}
                network = ReluNetwork(**array_part(arrays, "network", shapes))
            return cls(
                rig,
                scale,
                float(header["damping"]),
                process,
                network,
                checked_mapping(header["config"], "config"),
                checked_mapping(header["report"], "report"),
                checked_mapping(header["provenance"], "provenance"),
            )
        except (
            KeyError,
            IndexError,
            TypeError,
            ValueError,
            AttributeError,
            DeepPhaseError,
        ) as error:
            raise CheckpointError(
                f"the parts of the rig do not fit: {' '.join(str(error).split())[:200]}",
                hint="the file is of an earlier version or was changed: train it again",
                path=path,
            ) from None
