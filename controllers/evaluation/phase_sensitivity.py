"""How much a controller's outputs depend on its phase (Holden et al. 2017, section 8)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from controllers.data.initial_states import InitialStates
from controllers.runtime.controller import Controller
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout

# Radians to both sides: in double precision neither the curve nor rounding is seen.
_STEP = 1e-4


@dataclass(frozen=True)
class PhaseSensitivity:
    """Change of normalised outputs y with the phase p, averaged over moments.

    Parameters
    ----------
    norm
        ||dy/dp|| a radian.
    per_output
        The same over the square root of the number of outputs: of controllers with different
        outputs.
    moments
        At so many.
    """

    norm: float
    per_output: float
    moments: int


def phase_sensitivity(
    controller: Controller, starts: InitialStates | None = None
) -> PhaseSensitivity:
    """||dy/dp|| by central differences, the inputs held.

    Of a gate of several channels all of them, now and at all other moments of the gate, are
    turned together: all that the network knows of time goes on, the pose does not. A network that
    draws has the same noise on both sides.

    Parameters
    ----------
    starts
        Moments to measure at; the controller's own if left out.

    Raises
    ------
    ParameterError
        Where the network sees no phase.
    """
    layout = controller.schema.gate
    if layout is None or not {"phase", "phase_manifold"} & set(layout.slices):
        raise ParameterError(f"{controller.name!r} sees no phase, so nothing depends on it")
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
    """The gate with its phases so much later."""
    found = gate.clone()
    if "phase" in layout.slices:
        found[:, layout.slices["phase"]] += radians / (2.0 * math.pi)
        return found
    block = layout.slices["phase_manifold"]
    sine, cosine = gate[:, block].unflatten(1, (-1, 2)).unbind(-1)
    later = (
        sine * math.cos(radians) + cosine * math.sin(radians),
        cosine * math.cos(radians) - sine * math.sin(radians),
    )
    found[:, block] = torch.stack(later, dim=-1).flatten(1)
    return found
