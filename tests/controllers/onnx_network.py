"""Exported controllers at run time, with ONNX Runtime in place of PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from deepphase.arrays import Array
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.network_state import RunningNetwork
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import CheckpointError
from deepphase.packages import extra_packages


class OnnxNetwork(RunningNetwork):
    """The network of a controller from its ONNX file.

    Parameters
    ----------
    controller
        The exported controller, which draws the noise and computes the blend weights.
    path
        File of `onnx_export.export_controller`.
    characters, seed
        As for `RunningNetwork`.
    threads
        Number of threads of ONNX Runtime.

    Raises
    ------
    ParameterError
        If ONNX Runtime is not installed, or the file's controller has another schema.
    CheckpointError
        If the file is not an exported controller.
    """

    def __init__(
        self,
        controller: Controller,
        path: str | Path,
        characters: int,
        seed: int = 0,
        *,
        threads: int = 1,
    ) -> None:
        super().__init__(controller.network, characters, seed)
        with extra_packages("ONNX files"):
            import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        try:
            self._session = onnxruntime.InferenceSession(
                Path(path).read_bytes(), options, providers=["CPUExecutionProvider"]
            )
            metadata = self._session.get_modelmeta().custom_metadata_map
            schema = ControllerSchema.from_mapping(json.loads(metadata["schema"]))
        except Exception as error:  # ONNX Runtime's errors have no common class
            raise CheckpointError(
                f"not an exported controller: {' '.join(str(error).split())[:200]}",
                hint="export the controller with `deepphase export`",
                path=path,
            ) from None
        assert schema == controller.schema
        self._names = controller.network.network.state_names
        self._gated = controller.schema.gate is not None
        self._outputs = [each.name for each in self._session.get_outputs()]

    def step(self, inputs: Array, gate: Array) -> Array:
        """As `RunningNetwork.step`."""
        tensors = {"inputs": inputs} | ({"gate": gate} if self._gated else {})
        state = (each.cpu().numpy() for each in self._state)
        tensors |= dict(zip(self._names, state, strict=True))
        results = dict(zip(self._outputs, self._session.run(None, tensors), strict=True))
        if len(results) > 1:
            self._state = tuple(torch.from_numpy(results[f"next_{name}"]) for name in self._names)
        return results["outputs"]
