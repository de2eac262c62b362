"""Measures of an editor on held-out clips: reconstruction, and repair of made gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.edit.data import EditorData
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import MotionRows
from deepphase.progress import Progress

# Seconds of the made gaps, and the share of stretches of joints that are missing.
_GAPS_S = (0.25, 0.5, 1.0)
_MISSING_SHARE, _STRETCH_S = 0.5, 0.5
_MAX_MOTIONS = 60


def editor_report(
    editor: MotionEditor, data: EditorData, progress: Progress | None = None
) -> dict[str, Any]:
    """Mean joint errors in metres on held-out motion, each with that of linear interpolation.

    Returns
    -------
    ``reconstruction_m``; ``gaps``: seconds -> ``editor_m``, ``linear_m`` for all joints missing;
    ``joints`` and ``limb`` -> the same, for half of all joints missing in stretches, and for a limb
    missing over each whole clip.
    """
    motions = [each for each in data.held_out_motions() if len(each) >= 8]
    motions = motions[:: max(len(motions) // _MAX_MOTIONS, 1)]
    depends, fps = data.layout.depends, data.space.fps
    generator = np.random.default_rng(editor.config.training.seed)
    whole: list[float] = []
    gaps: dict[str, list[tuple[float, float]]] = {f"{seconds:g}": [] for seconds in _GAPS_S}
    joints: list[tuple[float, float]] = []
    limbs: list[tuple[float, float]] = []
    for done, motion in enumerate(motions, start=1):
        whole.append(
            float(_errors(editor.decode(editor.encode(motion), len(motion)), motion, None).mean())
        )
        frames, groups = len(motion), len(depends)
        for seconds in _GAPS_S:
            gap = round(seconds * fps)
            if frames > gap + 4:
                start = 2 + (frames - gap - 4) // 2
                known = np.ones((frames, groups), np.float32)
                known[start : start + gap] = 0
                gaps[f"{seconds:g}"].append(_compared(editor, motion, known))
        joints.append(_compared(editor, motion, _stretches(frames, depends, fps, generator)))
        known = np.ones((frames, groups), np.float32)
        known[:, depends[:, generator.integers(2, groups)]] = 0
        limbs.append(_compared(editor, motion, known))
        if progress is not None:
            progress("measuring", done, len(motions), "on held-out clips")
    return {
        "motions": len(motions),
        "reconstruction_m": float(np.mean(whole)) if whole else 0.0,
        "gaps": {name: _means(pairs) for name, pairs in gaps.items() if pairs},
        "joints": _means(joints),
        "limb": _means(limbs),
    }


def report_lines(report: dict[str, Any] | Any) -> list[str]:
    """The report as sentences."""
    lines = [
        f"held-out motion is reconstructed to {1000 * report['reconstruction_m']:.1f} mm "
        f"({report['motions']} clips)"
    ]
    named = [(f"{name} s without any joint", pair) for name, pair in report["gaps"].items()]
    named += [
        ("half of the joints missing for half-second stretches", report["joints"]),
        ("a limb missing over the whole clip", report["limb"]),
    ]
    lines += [
        f"{name}: {1000 * pair['editor_m']:.1f} mm, interpolation {1000 * pair['linear_m']:.1f} mm"
        for name, pair in named
    ]
    return lines


def _stretches(frames: int, depends: Array, fps: float, generator: np.random.Generator) -> Array:
    """(frames, groups) 0 where a joint is missing for a stretch, and all that hangs on it."""
    length = max(round(_STRETCH_S * fps), 1)
    blocks = generator.random((frames // length + 1, len(depends))) < _MISSING_SHARE
    # Each joint's stretches begin at other frames.
    shift = generator.integers(0, length, len(depends))
    index = (np.arange(frames)[:, None] + shift) // length
    missing = blocks[np.minimum(index, len(blocks) - 1), np.arange(len(depends))]
    missing[:, 0] = False
    lost = missing.astype(float) @ depends.T.astype(float) > 0
    return (~lost).astype(np.float32)


def _compared(editor: MotionEditor, motion: MotionRows, known: Array) -> tuple[float, float]:
    """Error of the editor and of linear interpolation, over the unknown joints."""
    frames = len(motion)
    linear = editor.inputs(motion.array(), known)[0][0, :, :frames].T.numpy()
    return (
        float(_errors(editor.restored(motion, known), motion, _lost(editor, known)).mean()),
        float(_errors(editor.rows(linear), motion, _lost(editor, known)).mean()),
    )


def _lost(editor: MotionEditor, known: Array) -> Array:
    """(frames, joints) bool: joints whose place is not known."""
    points = editor.space.points
    place = np.flatnonzero(points.point_joints >= 0)
    return known[:, points.carriers[place] + 1] == 0


def _errors(made: MotionRows, true: MotionRows, which: Array | None) -> Array:
    """Distances in metres of the joints in root space."""
    points = np.linalg.norm(made.points - true.points, axis=-1)
    if which is None:
        return points
    chosen = points[:, : which.shape[1]][which]
    return chosen if chosen.size else np.zeros(1)


def _means(pairs: list[tuple[float, float]]) -> dict[str, float]:
    editor, linear = np.mean(pairs, axis=0).tolist() if pairs else (0.0, 0.0)
    return {"editor_m": editor, "linear_m": linear}
