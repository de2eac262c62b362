"""Causal encoders of a phase model: the trained network with its errors, and their file form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from torch import nn

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.formats.header_values import checked_mapping
from deepphase.phase.causal.network import LAGS_S, CausalForm, CausalNetwork
from deepphase.phase.parameter_errors import PhaseErrors
from deepphase.phase.parameters import PhaseParameters
from deepphase.short_repr import short_repr


@dataclass(frozen=True, eq=False)
class CausalEncoder:
    """A causal network, and how far its phases are from those of whole windows.

    Parameters
    ----------
    network
        In evaluation mode.
    errors
        Seconds before now -> errors on held-out clips, against the phases of whole windows.
    advanced_errors
        The same of the phases of the last whole window, advanced to that moment.
    provenance
        Data and length of the training.
    """

    network: CausalNetwork
    errors: Mapping[float, PhaseErrors]
    advanced_errors: Mapping[float, PhaseErrors]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        error = f"{self.errors[0.0].phase:.4f} cycles from whole windows now"
        return short_repr(self, f"{self.network.form.hidden} units", error)

    def as_mapping(self) -> dict[str, Any]:
        """All but the weights, as values for JSON."""
        return {
            "form": asdict(self.network.form),
            "lags_s": list(LAGS_S),
            "errors": [asdict(each) for each in self.errors.values()],
            "advanced_errors": [asdict(each) for each in self.advanced_errors.values()],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_mapping(cls, content: Any, joints: int, channels: int, fps: float) -> CausalEncoder:
        """From the header of a model file, without its weights.

        Raises
        ------
        KeyError, TypeError, ValueError, ParameterError
            If a part is missing or impossible.
        """
        values = checked_mapping(content, "causal")
        form = CausalForm.from_mapping(checked_mapping(values["form"], "form"))
        errors = [
            {
                lag: PhaseErrors(**{name: float(each[name]) for name in _ERRORS})
                for lag, each in zip(LAGS_S, values[name], strict=True)
            }
            for name in ("errors", "advanced_errors")
        ]
        provenance = checked_mapping(values["provenance"], "provenance")
        own, advanced = errors
        return cls(CausalNetwork(joints, channels, fps, form), own, advanced, provenance)

    def words(self) -> list[str]:
        """One sentence for each moment."""
        return [
            f"phases of {f'{lag:g} s before now' if lag else 'now'} are {own.phase:.4f} cycles "
            f"from those of whole windows, frequencies {own.frequency:.1%} (advanced: "
            f"{advanced.phase:.4f}, {advanced.frequency:.1%})"
            for (lag, own), advanced in zip(
                self.errors.items(), self.advanced_errors.values(), strict=True
            )
        ]


_ERRORS = tuple(PhaseErrors.__dataclass_fields__)


def network_arrays(network: CausalNetwork) -> dict[str, Array]:
    """Weights of a causal network without its normalisation, float32, for other programs.

    ``basis`` (averages, window), ``weight0`` (hidden, features), ``bias0`` and so on, ``unit``
    (channels,). The first layer reads the features as they are.
    """
    arrays = {"basis": network.basis.numpy(), "unit": network.unit.numpy()}
    for index, layer in enumerate(network.layers):
        assert isinstance(layer, nn.Linear)
        weight = layer.weight.detach().double().numpy()
        bias = layer.bias.detach().double().numpy()
        if index == 0:
            weight = weight / network.scale.double().numpy()
            bias = bias - weight @ network.mean.double().numpy()
        arrays |= {f"weight{index}": weight, f"bias{index}": bias}
    return {name: np.ascontiguousarray(value, np.float32) for name, value in arrays.items()}


def parameters_of(values: Array, unit: Array) -> PhaseParameters:
    """Phase parameters (..., channels) of what a network gives, (..., channels, values)."""
    sine, cosine, offset, logarithm = np.moveaxis(values, -1, 0)
    return PhaseParameters(
        wrapped(np.arctan2(sine, cosine) / np.float32(2.0 * np.pi)),
        np.exp(logarithm),
        np.hypot(sine, cosine) * unit,
        offset * unit,
    )
