"""Sensitivity of a controller's outputs to its phase (Holden et al. 2017, section 8)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.controller import Controller
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout

# Radians to both sides; small against curvature, large against rounding in double precision.
_STEP = 1e-4


@dataclass(frozen=True)
class PhaseSensitivity:
    """Derivative of normalised outputs y by the phase p, averaged over states.

    Parameters
    ----------
    norm
        ||dy/dp|| per radian.
    per_output
        The norm divided by the square root of the number of outputs, to compare controllers with
        different outputs.
    states
        Number of states.
    """

    norm: float
    per_output: float
    states: int


def phase_sensitivity(
    controller: Controller, starts: InitialStates | None = None
) -> PhaseSensitivity:
    """||dy/dp|| by central differences, with constant inputs.

    If the gate has several channels, all of them are advanced together, at all offsets of the gate.
    A stochastic network has the same noise on both sides.

    Parameters
    ----------
    starts
        States to measure at; by default those of the controller's file.

    Raises
    ------
    ParameterError
        If the network has no phase input.
    """
    layout = controller.schema.gate
    if layout is None or not {"phase", "phase_manifold"} & set(layout.slices):
        raise ParameterError(f"the network {controller.name!r} has no phase input")
    starts = controller.starts if starts is None else starts
    network = copy.deepcopy(controller.network).double().cpu().eval()
    inputs = torch.from_numpy(np.asarray(starts.inputs, np.float64))
    gate = torch.from_numpy(np.asarray(starts.gate, np.float64))
    with torch.no_grad():
        state = tuple(each.double() for each in network.network.initial_state(len(inputs)))
        sides = [
            network.network.step(*network.normalised(inputs, _turned(gate, layout, turn)), state)[0]
            for turn in (_STEP, -_STEP)
        ]
    slopes = torch.linalg.vector_norm(sides[0] - sides[1], dim=1) / (2.0 * _STEP)
    norm = float(slopes.mean())
    return PhaseSensitivity(norm, norm / math.sqrt(sides[0].shape[1]), len(inputs))


def _turned(gate: Tensor, layout: FeatureLayout, radians: float) -> Tensor:
    """The gate with its phases advanced by an angle."""
    turned = gate.clone()
    if "phase" in layout.slices:
        turned[:, layout.slices["phase"]] += radians / (2.0 * math.pi)
        return turned
    block = layout.slices["phase_manifold"]
    sine, cosine = gate[:, block].unflatten(1, (-1, 2)).unbind(-1)
    later = (
        sine * math.cos(radians) + cosine * math.sin(radians),
        cosine * math.cos(radians) - sine * math.sin(radians),
    )
    turned[:, block] = torch.stack(later, dim=-1).flatten(1)
    return turned
