"""Inverse rig functions: the controls of poses, by regression and refinement, and their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, brief_repr
from deepphase.config import checked_mapping
from deepphase.errors import ParameterError
from deepphase.formats.array_file import (
    array_part,
    fitting_parts,
    joined_parts,
    read_arrays,
    write_arrays,
)
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.regression import MultiquadricProcess, ReluNetwork, RigScale, chosen_width

FORMAT, VERSION = "deepphase.rig", 2
Method = Literal["regression", "computed"]
METHODS: tuple[Method, ...] = ("regression", "computed")
"""Regression alone, or refined by the derivatives of the rig."""

# Metres, and times the median error of held-out poses.
_MIN_REACH_M, _REACH_RATIO = 0.01, 5.0
# Examples that the width of the kernel of a few joints is chosen with. Poses of the same effectors
# differ in other joints, so that these examples are not exact.
_WIDTH_EXAMPLES, _EFFECTOR_RIDGE = 300, 1e-2
_SIDES = ("left", "right")
_ITERATIONS = 10
# Root mean square of a joint's error at which a pose is done, metres.
_DONE_M = 2e-4
# The damping after a step that did not help, and after one that did.
_HARDER, _EASIER = 4.0, 0.7
# A pose whose steps do not help any more is left after this many of them; a step helps if it leaves
# less than this share of the error.
_TRIES, _HELPS = 3, 0.97
_BATCH = 128


@brief_repr
@dataclass(frozen=True, eq=False)
class RigSolution:
    """Controls of a motion, and how well they reach it.

    Attributes
    ----------
    errors
        Distances of the rig's joints from the desired ones.
    reached
        Whether the pose is one that the rig can take.
    """

    values: Array  # (frames, controls)
    errors: Array  # (frames, joints) metres
    reached: Array  # (frames,) bool


@brief_repr
@dataclass(eq=False)
class RigInverse:
    """A rig function with a learned inverse: regression of the controls, and its refinement."""

    rig: BodyRig
    scale: RigScale
    damping: float  # of refinement, see `refined`
    process: MultiquadricProcess  # regression of the controls from examples
    # Regression that is more exact than the process; None without one
    network: ReluNetwork | None = None
    # Config of the training, measures on held-out clips, and data
    config: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    # Indices of the joints that the regressions read and refinement follows, see
    # `inverse_of_effectors`; None for all
    joints: Array | None = None

    @property
    def used(self) -> Array:
        """Indices of the controls that move."""
        return self.scale.used

    def reach(self, method: Method) -> float:
        """Metres: root mean square error of joints above which a pose counts as out of reach."""
        measured = self.report.get("methods", {}).get(method, {})
        return max(_MIN_REACH_M, _REACH_RATIO * float(measured.get("usual_m", 0.0)))

    def regressed(self, positions: Array) -> Array:
        """(poses, controls) by regression alone, within the limits."""
        regression = self.process if self.network is None else self.network
        flat = positions.reshape(len(positions), -1) - self.scale.position_mean
        if self.joints is not None:
            flat = flat.reshape(positions.shape)[:, self.joints].reshape(len(flat), -1)
        values = self.scale.values(regression.predict(flat))
        return np.asarray(np.clip(values, self.rig.lower, self.rig.upper))

    def solve(
        self,
        positions: Array,
        method: Method = "computed",
        *,
        fps: float = 60.0,
        smoothing_s: float = 0.0,
    ) -> RigSolution:
        """Controls of a motion.

        Parameters
        ----------
        positions : (frames, joints, 3) metres
            In the space of the character.
        fps, smoothing_s
            Frames a second; standard deviation of the Gaussian that smooths what the regression
            says over time, before it is refined.

        Raises ParameterError if the positions do not fit the rig.
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
        weights = np.ones(len(self.rig.joints))
        if self.joints is not None:
            weights = np.isin(np.arange(len(weights)), self.joints).astype(np.float64)
        values = self.regressed(positions)
        if smoothing_s > 0 and len(values) > 1:
            values = gaussian_filter1d(values, smoothing_s * fps, axis=0, mode="nearest")
        if method == "regression":
            reached = self.rig.evaluate(values)
        else:
            values, reached = refined(
                self.rig,
                values,
                positions,
                columns=self.used,
                scale=self.scale.value_scale,
                damping=self.damping,
                weights=weights,
            )
        errors = np.linalg.norm(reached - positions, axis=-1)
        spread = np.sqrt((errors**2 * weights).sum(axis=1) / weights.sum())
        return RigSolution(values, errors, spread <= self.reach(method))

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        if self.joints is not None:
            raise ParameterError(
                "only the inverse of all joints has a file",
                hint="save the inverse that this one was made from",
            )
        rig_parts, rig_header = self.rig.parts()
        process = dict(vars(self.process))
        header = {
            "rig": rig_header,
            "widths": {"process": process.pop("width")},
            "damping": self.damping,
            "config": dict(self.config),
            "report": dict(self.report),
            "provenance": dict(self.provenance),
        }
        parts = {"scale": vars(self.scale), "process": process}
        if self.network is not None:
            parts["network"] = vars(self.network)
        write_arrays(path, joined_parts(parts | rig_parts), header, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> RigInverse:
        """Read the file; CheckpointError where it is damaged, foreign, or its parts do not fit."""
        arrays, header = read_arrays(path, format=FORMAT, version=VERSION)
        with fitting_parts("rig", "train it again", path):
            rig = BodyRig.from_parts(arrays, header["rig"])
            controls, inputs = len(rig.controls), 3 * len(rig.joints)
            used = np.array(arrays["scale.used"])
            if used.ndim != 1 or used.min() < 0 or used.max() >= controls:
                raise ValueError("controls that the rig does not have")
            moving, examples = len(used), len(arrays["process.inputs"])
            hidden = len(arrays.get("network.first", ()))
            shapes: dict[str, dict[str, tuple[int, ...]]] = {
                "scale": {
                    "position_mean": (inputs,),
                    "value_mean": (moving,),
                    "value_scale": (moving,),
                    "rest": (controls,),
                },
                "process": {
                    "inputs": (examples, inputs),
                    "weights": (examples, moving),
                    "mean": (moving,),
                },
                "network": {
                    "first": (hidden, inputs),
                    "first_bias": (hidden,),
                    "second": (moving, hidden),
                    "second_bias": (moving,),
                },
            }
            own = {part: array_part(arrays, part, its) for part, its in shapes.items()}
            width = float(header["widths"]["process"])
            return cls(
                rig,
                RigScale(**own["scale"]),
                float(header["damping"]),
                MultiquadricProcess(**own["process"], width=width),
                ReluNetwork(**own["network"]) if own["network"] else None,
                checked_mapping(header["config"], "config"),
                checked_mapping(header["report"], "report"),
                checked_mapping(header["provenance"], "provenance"),
            )


def named_effectors(rig: BodyRig, names: Sequence[str]) -> Array:
    """Indices of joints that a motion is made from.

    Parameters
    ----------
    names
        "seven" (hips, head, hands, feet, and the end of the tail or the chest), "feet" (all feet of
        an animal), "hands", "toes", roles such as left_hand, or names of joints of the rig.

    Raises ParameterError if the rig has no such joint, or no name is given.
    """
    roles = rig.roles
    known = {
        name: joint
        for name, joint in vars(roles).items()
        if isinstance(joint, int) and not name.endswith("_end")
    }
    if roles.tail:
        known["tail"] = roles.tail[-1]
    hands, feet, toes = ([f"{side}_{part}" for side in _SIDES] for part in ("hand", "foot", "toe"))
    groups = {
        "seven": ["hips", "head", *hands, *feet, "tail" if roles.tail else "chest"],
        "hands": hands,
        "feet": feet if roles.kind == "biped" else [*feet, *hands],
        "toes": toes,
    }
    joints: dict[int, None] = {}
    for name in names:
        own = [known[role] for role in groups.get(name, [name]) if role in known]
        if name not in groups and name in rig.joints:
            own = [rig.joints.index(name)]
        if not own:
            raise ParameterError(
                f"the rig has no joint {name!r}",
                hint=f"there are seven, feet, hands, {', '.join([*known, *rig.joints])}"[:400],
            )
        joints |= dict.fromkeys(own)
    if not joints:
        raise ParameterError("no joint is named", hint="give seven, feet, or names of joints")
    return np.array(list(joints), np.int64)


def inverse_of_effectors(inverse: RigInverse, joints: Array) -> RigInverse:
    """The inverse that knows some joints alone, out of the same examples.

    Its process reads these joints, and refinement follows them. What they leave open is as in the
    examples. It has no network.

    Parameters
    ----------
    joints
        Indices of joints of the rig, as of `named_effectors`.

    References
    ----------
    Holden 2017, section 3.8: whole-body inverse kinematics in the space of the rig.
    """
    process = inverse.process
    columns = (3 * joints[:, None] + np.arange(3)).ravel()
    inputs, outputs = process.inputs[:, columns], process.predict(process.inputs)
    some = np.random.default_rng(0).permutation(len(inputs))[:_WIDTH_EXAMPLES]
    width = chosen_width(inputs[some], outputs[some], ridge=_EFFECTOR_RIDGE)
    process = MultiquadricProcess.fit(inputs, outputs, width, _EFFECTOR_RIDGE)
    return replace(inverse, process=process, network=None, joints=joints)


def refined(
    rig: BodyRig,
    values: Array,
    targets: Array,
    *,
    columns: Array,
    scale: Array,
    damping: float,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """Values (poses, controls) whose joints are nearer to targets, and their positions.

    Damped least squares (Holden 2017, 3.13 and algorithm 1); joints with weight 0 are free.
    """
    found = np.clip(values, rig.lower, rig.upper)
    positions = np.empty((len(values), len(rig.joints), 3))
    importance = np.repeat(np.sqrt(np.ones(len(rig.joints)) if weights is None else weights), 3)
    done_at = _DONE_M**2 / 3.0 * np.square(importance).mean()
    diagonal = np.arange(len(importance))
    for start in range(0, len(values), _BATCH):
        part = slice(start, start + _BATCH)
        # What changes in the part changes in all.
        own, goal = found[part], targets[part].reshape(-1, len(importance))
        places = rig.evaluate(own).reshape(goal.shape)
        errors = np.square((goal - places) * importance).mean(axis=1)
        easing, failures = np.full(len(own), damping), np.zeros(len(own), np.int64)
        moved = np.ones(len(own), bool)
        derivatives = np.empty((*goal.shape, len(columns)))
        for _ in range(_ITERATIONS):
            rows = np.flatnonzero((errors > done_at) & (failures < _TRIES))
            if not len(rows):
                break
            again = rows[moved[rows]]
            if len(again):
                derivatives[again] = rig.jacobian(own[again], columns, positions=places[again])
            weighted = derivatives[rows] * importance[:, None] * scale
            square = weighted @ weighted.swapaxes(1, 2)
            square[:, diagonal, diagonal] += easing[rows, None] ** 2
            missing = (goal[rows] - places[rows]) * importance
            steps = weighted.swapaxes(1, 2) @ np.linalg.solve(square, missing[..., None])
            trial = own[rows]
            trial[:, columns] += scale * steps[..., 0]
            trial = np.clip(trial, rig.lower, rig.upper)
            reached = rig.evaluate(trial).reshape(len(rows), -1)
            after = np.square((goal[rows] - reached) * importance).mean(axis=1)
            better, helps = after < errors[rows], after <= _HELPS * errors[rows]
            own[rows[better]], places[rows[better]] = trial[better], reached[better]
            errors[rows[better]], moved[rows] = after[better], better
            failures[rows] = np.where(helps, 0, failures[rows] + 1)
            easing[rows] *= np.where(better, _EASIER, _HARDER)
        positions[part] = places.reshape(len(own), -1, 3)
    return found, positions
