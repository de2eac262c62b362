"""Live assets of matchers: the networks with moments of rest and states to start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes
from deepphase.apps.live.database_asset import motion_header
from deepphase.matching.learned.matcher import NETWORKS, Matcher
from deepphase.matching.learned.rows import DecompressedFrames, DecompressedMotion
from deepphase.matching.learned.search import ProjectedSearch
from deepphase.matching.player.player import PlayerSettings


def matcher_asset(matcher: Matcher, name: str, weights: str) -> bytes:
    """The asset of a matcher.

    Parameters
    ----------
    name
        What the page calls it.
    weights
        "float32" or "float16": type of weights and states.
    """
    frames = DecompressedFrames(matcher, 1)
    motion = DecompressedMotion.of_frames(frames)
    rest, values = matcher.rest, matcher.values
    starts = matcher.decompressed(matcher.starts.states)
    header: dict[str, Any] = {
        "kind": "matcher",
        "name": name,
        **motion_header(motion, matcher.layout, None, starts.rotations, starts.translations),
        "label": {"name": matcher.label, "values": list(matcher.styles)},
        "channels": 0,
        "values": {name: each.start for name, each in values.slices.items()},
        "moved": list(values.moved),
        "rest_rows": len(rest),
        "rest_stretches": {"starts": rest.starts, "stops": rest.stops},
    }
    arrays = {
        "mean": matcher.normalisation.mean,
        "scale": matcher.normalisation.scale,
        "limits": matcher.limits,
        "starts.states": matcher.starts.states.astype(weights),
        "starts.styles": matcher.starts.styles.astype(np.int32),
    }
    for name in NETWORKS:
        for index, layer in enumerate(getattr(matcher, name)):
            arrays[f"{name}.{index}.weight"] = layer.weight.astype(weights)
            arrays[f"{name}.{index}.bias"] = layer.bias
    if len(rest):
        moments = ProjectedSearch(frames).rest(motion, PlayerSettings().keep)
        header["rest"] = moments.described()
        header["breathing"] = motion.breathing
        arrays |= {"rest_poses": moments.poses, "rest.states": rest.states.astype(weights)}
        for name in ("rotations", "translations", "steps", "contacts"):
            arrays[f"rest.{name}"] = getattr(rest.poses, name).astype(np.float32)
        for name in ("rotations", "translations", "steps"):
            arrays[f"rest.{name}"] = arrays[f"rest.{name}"].astype(weights)
    return asset_bytes(header, arrays)
