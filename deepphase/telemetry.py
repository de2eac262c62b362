"""Telemetry of libraries that are imported with ours."""

from __future__ import annotations

import os

# Read by ONNX Runtime when it is imported, which PyTorch does wherever it is installed.
_ONNX_RUNTIME = "ORT_DISABLE_TELEMETRY"


def disable_telemetry() -> None:
    """Keep ONNX Runtime from sending events to its makers, unless the variable is set already.

    This must be called before torch or onnxruntime is imported.
    """
    os.environ.setdefault(_ONNX_RUNTIME, "1")
