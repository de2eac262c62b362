"""The live page, one HTML file that opens offline, and the runs that it sends back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deepphase.apps.live.sources import read_glb
from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.files import parsed_json
from deepphase.motion.clip import Clip
from deepphase.steering.run import Run, RunnerSpec
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.page import json_in_page, mode_page, palette

Look = Literal["auto", "light", "dark"]

# Most characters of a motion that is read: a minute of a large skeleton has some 20 million.
_MAX_TEXT = 100_000_000
# Points along each side of a ground that a page holds: 1.4 MB of heights.
_MAX_GROUND_POINTS = 600


def live_page(
    asset: bytes,
    *,
    name: str,
    look: Look = "auto",
    choices: Mapping[str, str] | None = None,
    chosen: str = "",
    keeps: str = "",
    body: Path | None = None,
    large_panels: bool = False,
    ground: str | Heightmap | None = None,
) -> str:
    """The HTML of a page in which a character is steered, from the content of a live asset.

    `choices` are names and addresses of the pages of other characters. `keeps` adds a button that
    records: "page" sends what was driven to the page around, as a message that `read_driven` reads;
    an address on the page's own server gets it as BVH, and answers with a sentence.
    """
    about_ground, heights = _ground_parts(ground)
    content = {
        "name": name,
        "choices": list((choices or {}).items()),
        "chosen": chosen,
        "keeps": keeps,
        "body": body.name if body else "",
        "ground": about_ground,
        "palette": palette(),
    }
    data = {"asset": asset, "body-data": read_glb(body) if body else b"", "ground-data": heights}
    return mode_page(
        "steer",
        title=name,
        scene=json_in_page(content),
        data={id: base64.b64encode(each).decode("ascii") for id, each in data.items()},
        connects=keeps.startswith("/"),
        attributes={"data-look": look, "data-panels": "large" if large_panels else "small"},
    )


def _ground_parts(ground: str | Heightmap | None) -> tuple[Any, bytes]:
    """What a page says about its ground, and its heights."""
    if not isinstance(ground, Heightmap):
        return ground, b""
    spacing, origin, cuts = float(ground.spacing_m), [], []
    # Columns go along x, rows along z.
    for start, count in zip(ground.origin, ground.heights.shape[::-1], strict=True):
        around = round(-start / spacing) - _MAX_GROUND_POINTS // 2
        first = min(max(around, 0), max(count - _MAX_GROUND_POINTS, 0))
        cuts.append(slice(first, first + _MAX_GROUND_POINTS))
        origin.append(start + spacing * first)
    heights = np.ascontiguousarray(ground.heights[cuts[1], cuts[0]], "<f4")
    about = {"name": ground.name, "columns": heights.shape[1], "spacing": spacing, "origin": origin}
    return about, heights.tobytes()


def read_driven(text: Any, feet: int) -> tuple[str, dict[str, Array]]:
    """The BVH text and the arrays of a message, with contacts of some feet; FormatError otherwise.

    Arrays are ``positions`` (frames, 2) m, ``angles`` (frames,) rad, ``contacts`` (frames, feet),
    ``velocities`` (frames, 2) m/s and ``facings`` (frames, 2), 0 without a facing.
    """
    widths = {"positions": 2, "angles": 0, "contacts": feet, "velocities": 2, "facings": 2}
    try:
        given: Any = parsed_json(text) if isinstance(text, str) and len(text) < _MAX_TEXT else None
        bvh, facings = given["bvh"], [each or (0.0, 0.0) for each in given["facings"]]
        lists = {**{name: given[name] for name in widths if name != "facings"}, "facings": facings}
        arrays = {name: np.array(each, np.float64) for name, each in lists.items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _foreign() from error
    frames = arrays["angles"].size
    for name, each in arrays.items():
        shape = (frames, widths[name]) if widths[name] else (frames,)
        if each.shape != shape or not np.isfinite(each).all():
            raise _foreign(f": its {name} have the shape {each.shape}")
    if not isinstance(bvh, str):
        raise _foreign(": it has no BVH text")
    return bvh, arrays


def _foreign(why: str = "") -> FormatError:
    return FormatError(
        f"this is not a motion of the live page{why}", hint="save it there once more"
    )


def driven_run(clip: Clip, arrays: dict[str, Array], spec: RunnerSpec) -> Run:
    """The run of one character from the clip and the arrays of `read_driven`, on a spec."""
    missing = {*spec.joints, *spec.feet} - set(clip.skeleton.names)
    if missing or len(clip) != len(arrays["angles"]):
        raise FormatError(
            "the motion has another skeleton or length than its goals",
            hint="save it with the file that it is read with",
        )
    spec = replace(
        spec,
        fps=clip.fps,
        skeleton=clip.skeleton,
        translated_joints=clip.translated_joints,
        note="steered by hand",
        # The page sends no poses of before the lock.
        locked_joints=np.zeros(0, np.int64),
    )
    facings = arrays["facings"]
    # Without a facing, the body faces the way that it is steered.
    facings = np.where(facings.any(axis=1, keepdims=True), facings, arrays["velocities"])
    angles = np.arctan2(facings[:, 0], facings[:, 1])
    return Run(
        spec=spec,
        rotations=clip.rotations[None],
        translations=clip.translations[None],
        positions=arrays["positions"][None],
        angles=arrays["angles"][None],
        contacts=arrays["contacts"][None],
        alive=np.ones((1, len(clip)), bool),
        commanded_velocities=arrays["velocities"][None],
        commanded_angles=angles[None],
    )
