"""A controller's exported step as what a run is made with: ONNX Runtime in place of PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from controllers.runtime.controller import Controller
from controllers.runtime.network_state import RunningNetwork
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.errors import CheckpointError
from deepphase.extras import packages_for


class OnnxNetwork(RunningNetwork):
    """Steps the ONNX file of a controller.

    Parameters
    ----------
    controller
        What was exported: it says when noise is drawn anew, and how gates blend.
    path
        The file that `onnx_export.export_controller` wrote.
    characters, seed
        As for `RunningNetwork`.
    threads
        Of ONNX Runtime.

    Raises
    ------
    ParameterError
        Where ONNX Runtime is not installed, or the file is of a controller of another schema.
    CheckpointError
        Where the file is none of a controller.
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
        with packages_for("ONNX files", "deepphase[onnx]"):
            import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        try:
            self._session = onnxruntime.InferenceSession(
                Path(path).read_bytes(), options, providers=["CPUExecutionProvider"]
            )
            stated = self._session.get_modelmeta().custom_metadata_map
            schema = ControllerSchema.from_mapping(json.loads(stated["schema"]))
        except Exception as error:  # ONNX Runtime's own errors have no class in common
            raise CheckpointError(
                f"no exported controller: {' '.join(str(error).split())[:200]}",
                hint="write it by exporting the controller as ONNX",
                path=path,
            ) from None
        controller.schema.check_same(schema, ours="the controller", theirs="the ONNX file")
        self._names = controller.network.network.state_names
        self._gated = controller.schema.gate is not None
        self._outputs = [each.name for each in self._session.get_outputs()]

    def step(self, inputs: Array, gate: Array) -> Array:
        """As `RunningNetwork.step`."""
        given = {"inputs": inputs} | ({"gate": gate} if self._gated else {})
        state = (each.cpu().numpy() for each in self._state)
        given |= dict(zip(self._names, state, strict=True))
        found = dict(zip(self._outputs, self._session.run(None, given), strict=True))
        if len(found) > 1:
            self._state = tuple(torch.from_numpy(found[f"next_{name}"]) for name in self._names)
        return found["outputs"]
