"""Networks as ONNX files, each checked against the network that it was exported from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.export.onnx_file import export_phase_model as export_phase_model

__getattr__, __dir__, __all__ = lazy_names(__name__)
