"""`deepphase export`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import note, progress


def command(model: Path, output: Path, onnx: bool = True) -> None:
    """Write a model for other engines, and print how near the file comes to the original.

    Parameters
    ----------
    model
        A phase model.
    output
        The file to write.
    onnx
        As ONNX, the only form so far.
    """
    from deepphase.errors import ParameterError
    from deepphase.export.phase_encoder import export_phase_model
    from deepphase.phase.model import PhaseModel
    from deepphase.replacing import check_writable

    if not onnx:
        raise ParameterError("nothing to write", hint="--onnx is the only form so far")
    check_writable(output)
    network = PhaseModel.load(model)
    with progress() as shown:
        shown("exporting", 0, 1, str(output))
        parity = export_phase_model(network, output)
        shown("exporting", 1, 1, str(output))
    note(f"{'batch':>6}  {'output':<10} largest difference from the original")
    for each in parity:
        note(f"{each.batch:>6}  {each.output:<10} {each.difference:.1e}")
    note(f"ONNX file: {output}")
