"""Measures of an editor on held-out clips: reconstruction, and repair of made gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import MotionRows
from deepphase.work import Progress, report

# Seconds of the made gaps, and the share of stretches of joints that are missing.
_GAPS_S = (0.25, 0.5, 1.0)
_MISSING_SHARE, _STRETCH_S = 0.5, 0.5
_MAX_MOTIONS = 60


def editor_report(
    editor: MotionEditor, motions: Sequence[MotionRows], progress: Progress | None = None
) -> dict[str, Any]:
    """Mean joint errors in metres on held-out damage, each with that of linear interpolation."""
    motions = [motion for motion in motions if len(motion) >= 8]
    motions = motions[:: max(len(motions) // _MAX_MOTIONS, 1)]
    depends, fps = editor.layout.depends, editor.fps
    generator = np.random.default_rng(editor.config.training.seed)
    whole: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {}
    for done, motion in enumerate(motions, start=1):
        frames, groups = len(motion), len(depends)
        decoded = editor.decode(editor.encode(motion), frames)
        whole.append(float(np.linalg.norm(decoded.points - motion.points, axis=-1).mean()))
        cases = {}
        for seconds in _GAPS_S:
            gap = round(seconds * fps)
            if frames > gap + 4:
                start = 2 + (frames - gap - 4) // 2
                cases[f"{seconds:g}"] = known = np.ones((frames, groups), np.float32)
                known[start : start + gap] = 0
        cases["joints"] = _stretches(frames, depends, fps, generator)
        cases["limb"] = known = np.ones((frames, groups), np.float32)
        known[:, depends[:, generator.integers(2, groups)]] = 0
        for name, known in cases.items():
            pairs.setdefault(name, []).append(_compared(editor, motion, known))
        report(progress, "measuring", done, len(motions), "on held-out clips")
    means = {
        name: dict(zip(("editor_m", "linear_m"), np.mean(own, axis=0).tolist(), strict=True))
        for name, own in pairs.items()
    }
    nothing = {"editor_m": 0.0, "linear_m": 0.0}
    return {
        "motions": len(motions),
        "reconstruction_m": float(np.mean(whole)) if whole else 0.0,
        "joints": means.pop("joints", nothing),
        "limb": means.pop("limb", nothing),
        "gaps": means,
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
    """Mean error of the unknown joints by the editor and by linear interpolation."""
    points = editor.space.points
    place = points.of_joints
    lost = known[:, points.carriers[place] + 1] == 0
    linear = editor.inputs(motion.array(), known)[0][0, :, : len(motion)].T.numpy()
    errors = [
        np.linalg.norm((made.points - motion.points)[:, place], axis=-1)[lost]
        for made in (editor.restored(motion, known), editor.rows(linear))
    ]
    return tuple(float(own.mean()) if own.size else 0.0 for own in errors)  # type: ignore[return-value]
