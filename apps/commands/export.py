"""`deepphase export`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deepphase.apps.terminal import next_step, note, progress

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
        Phase model, controller, dancer, matcher or editor; with --web, a motion database, too. A
        matcher becomes two ONNX files, as walk.motion.onnx and walk.search.onnx for walk.onnx.
    output
        ONNX file or page (.html) to write.
    web
        Write the page in which a controller's character is steered.
    body
        With --web, glb file with a skinned mesh that the character has in place of the mannequin.
        Its joints have the names of the model's skeleton, or common ones.
    terrain
        Ground that the page begins on: its kind, or a file with heights (.npz, .npy or a greyscale
        image) around the origin. The page offers the kinds of ground in any case.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.errors import ParameterError
    from deepphase.formats.array_file import read_header

    check_writable(output)
    if web:
        _web_page(model, output, body, terrain)
        return
    if terrain is not None:
        raise ParameterError("--terrain belongs to a page", hint="add --web")
    if body is not None:
        raise ParameterError("--body belongs to a page", hint="add --web")
    kind = read_header(model)["format"]
    exporters = {
        "deepphase.controller": _controller,
        "deepphase.matcher": _matcher,
        "deepphase.editor": _editor,
    }
    export = exporters.get(kind, _phase_model)(model)
    with progress() as on_progress:
        on_progress("exporting", 0, 1, str(output))
        written = export(output)
        on_progress("exporting", 1, 1, str(output))
    note(f"{'batch':>6}  {'output':<10} largest difference from the original")
    for file, parity in written.items():
        for each in parity:
            note(f"{each.batch:>6}  {each.output:<10} {each.difference:.1e}")
        note(f"ONNX file: {file}")
    if kind == "deepphase.controller":
        next_step("control", model, "--path", "square", "-o", "run")
    elif kind == "deepphase.editor":
        next_step("edit", "inbetween", "FIRST", "SECOND", "--editor", model, "-o", "joined.bvh")
    elif kind == "deepphase.matcher":
        next_step("match", "run", model, "--path", "square", "-o", "run")
    else:
        next_step("encode", model, "FILES", "-o", "phases")


def _web_page(
    model: Path,
    output: Path,
    body: Path | None,
    terrain: str | None,
) -> None:
    from deepphase.apps.live.page import save_live_page
    from deepphase.apps.live.sources import asset_of
    from deepphase.apps.runs.goals import chosen_ground, ground_notes

    chosen = chosen_ground(terrain)
    asset = asset_of(model, "float16")
    for text in ground_notes(chosen):
        note(text)
    size = save_live_page(output, asset, name=model.stem, body=body, ground=chosen)
    note(f"page: {output} ({size / 1e6:.1f} MB)")
    next_step("live", model)


Written = dict[Path, list["Parity"]]


def _matcher(path: Path) -> Callable[[Path], Written]:
    from deepphase.matching.learned.matcher import Matcher
    from deepphase.matching.learned.onnx_export import export_matcher

    matcher = Matcher.load(path)
    return lambda output: export_matcher(matcher, output)


def _editor(path: Path) -> Callable[[Path], Written]:
    from deepphase.edit.editor import MotionEditor
    from deepphase.edit.onnx_export import export_editor

    editor = MotionEditor.load(path)
    return lambda output: {output: export_editor(editor, output)}


def _phase_model(path: Path) -> Callable[[Path], Written]:
    from deepphase.export.phase_encoder import export_phase_model
    from deepphase.phase.model import PhaseModel

    model = PhaseModel.load(path)
    return lambda output: {output: export_phase_model(model, output)}


def _controller(path: Path) -> Callable[[Path], Written]:
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.engine_export import engine_metadata, export_controller

    controller = Controller.load(path)
    metadata = engine_metadata(controller)
    return lambda output: {
        output: export_controller(controller.network, controller.schema, output, metadata=metadata)
    }
