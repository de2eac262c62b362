"""`deepphase export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import deepphase as dp
from deepphase.apps.input_checks import claim, claim_file
from deepphase.apps.terminal import next_step, note, working
from deepphase.errors import ParameterError
from deepphase.files import atomic_write
from deepphase.formats.array_file import read_header

if TYPE_CHECKING:
    from deepphase.export.onnx_file import Parity


def command(
    model: Path,
    output: Path,
    web: bool = False,
    body: Path | None = None,
    terrain: str | None = None,
) -> None:
    """Export a model as ONNX for other engines, and print how closely the file reproduces it.

    With --web, write a page in which the character is steered by hand. It is one file that opens
    offline in any browser.

    Parameters
    ----------
    model
        Phase model, controller, dancer, matcher or editor; with --web, a controller or a matcher. A
        matcher becomes two ONNX files, as walk.motion.onnx and walk.search.onnx for walk.onnx.
    output
        ONNX file or page (.html) to write.
    web
        Write the page in which a controller's character is steered.
    """
    claim_file(output)
    for part in ("motion", "search"):
        claim(output.with_suffix(f".{part}.onnx"))
    if web:
        from deepphase.apps.live.assets import asset_of
        from deepphase.apps.live.page import live_page
        from deepphase.apps.options import chosen_ground

        ground = chosen_ground(terrain)
        page = live_page(asset_of(model), name=model.stem, body=body, ground=ground)
        with atomic_write(output) as written_page:
            size = written_page.write(page.encode("utf-8", "replace"))
        note(f"page: {output} ({size / 1e6:.1f} MB)")
        next_step("live", model)
        return
    for name, value in {"terrain": terrain, "body": body}.items():
        if value is not None:
            raise ParameterError(f"--{name} belongs to a page", hint="add --web")
    with working("exporting", str(output)):
        written = _exported(model, output)
    note(f"{'batch':>6}  {'output':<10} largest difference from the original")
    for file, parity in written.items():
        for each in parity:
            note(f"{each.batch:>6}  {each.output:<10} {each.difference:.1e}")
        note(f"ONNX file: {file}")


def _exported(model: Path, output: Path) -> dict[Path, list[Parity]]:
    """ONNX files of a model with their differences from it."""
    kind = read_header(model)["format"]
    if kind == "deepphase.controller":
        from deepphase.controllers.runtime.engine_export import engine_metadata

        controller = dp.controllers.Controller.load(model)
        network, metadata = controller.network, engine_metadata(controller)
        parity = dp.controllers.export_controller(
            network, controller.schema, output, metadata=metadata
        )
        return {output: parity}
    if kind == "deepphase.matcher":
        from deepphase.matching.learned.onnx_export import export_matcher

        return export_matcher(dp.matching.Matcher.load(model), output)
    if kind == "deepphase.editor":
        from deepphase.edit.editor import export_editor

        return {output: export_editor(dp.edit.MotionEditor.load(model), output)}

    return {output: dp.export.export_phase_model(dp.PhaseModel.load(model), output)}
