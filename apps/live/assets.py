"""Live assets of controllers and matchers: what the JavaScript runtime reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deepphase.apps.live.sources import live_sources
from deepphase.arrays import Array
from deepphase.controllers.data.captured_rows import rest_columns, rest_layout
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.engine_export import (
    describe_controller,
    describe_skeleton,
    goal_settings,
)
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import BLEND_S
from deepphase.features.feature import TRAJECTORY_DIRECTION, TRAJECTORY_PATH
from deepphase.features.layout import FeatureLayout
from deepphase.formats.array_file import read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import GROUND_HEIGHTS
from deepphase.matching.learned.matcher import FORMAT as MATCHER_FORMAT
from deepphase.matching.learned.matcher import Matcher, rounded
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import CONSTANTS, MomentFilter, PlayerSettings
from deepphase.matching.player.trajectory_search import KEEPING, max_improvement, rest_moments
from deepphase.motion.roles import find_roles
from deepphase.phase.rings import ring_projection
from deepphase.steering.foot_lock import FootLockSettings
from deepphase.steering.springs import CORRECTION

Weights = Literal["float32", "float16"]

_TYPES = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "int8": "|i1"}


def _asset_bytes(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The file of a header and of arrays: ``DPLIVE1``, the header's length, JSON, little-endian."""
    # The entry "arrays" has the start of each, in bytes from the end of the header; all are padded.
    table, parts, start = {}, [], 0
    for name, array in arrays.items():
        written = np.ascontiguousarray(array, _TYPES[array.dtype.name]).tobytes()
        table[name] = {"type": array.dtype.name, "shape": list(array.shape), "start": start}
        parts.append(_padded(written))
        start += len(parts[-1])
    text = json.dumps(
        {**header, "arrays": table}, default=lambda value: value.tolist(), separators=(",", ":")
    )
    content = text.encode()
    head = b"DPLIVE1\n" + len(content).to_bytes(4, "little") + content
    return b"".join([_padded(head), *parts])


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 16)


def _manifold_arrays(vectors: Array) -> dict[str, Array]:
    """Three dimensions of (points, 2 * channels) of a phase manifold, and their phase."""
    projection = ring_projection(vectors)
    pairs = vectors.astype(np.float64).reshape(len(vectors), -1, 2)
    strongest = np.square(pairs).sum(axis=(0, 2)).argmax()
    phase = np.arctan2(pairs[:, strongest, 0], pairs[:, strongest, 1]) / (2.0 * np.pi)
    arrays = {"mean": projection.mean, "basis": projection.axes, "points": projection(vectors)}
    return {
        f"manifold.{name}": each.astype(np.float32)
        for name, each in (arrays | {"phase": phase}).items()
    }


def controller_asset(controller: Controller, *, weights: Weights = "float32") -> bytes:
    """The asset of a controller; ParameterError where JavaScript cannot run it."""
    kind = controller.network.network.page_form
    config = controller.schema.config
    # The page evaluates closed splines only.
    if not kind or not getattr(controller.config.network, "cyclic", True):
        known = [name for name, network in NETWORKS.items() if network.has_page_form]
        raise ParameterError(
            f"the network {controller.name!r} has no JavaScript form, which pages need",
            hint=f"networks that have one: {', '.join(known)}; your own network names its form in "
            "`page_form`",
        )
    if config.tracks or config.ball:
        lacks = f"the tracks {', '.join(config.tracks)}" if config.tracks else "a ball"
        raise ParameterError(
            f"the controller needs {lacks}, which a character of the live page does not have",
            hint="choose another controller, or move this one with `deepphase control`",
        )
    header: dict[str, Any] = {
        "kind": "controller",
        **describe_controller(controller),
        "network": {"kind": kind, **asdict(controller.config.network)},
        "starts": list(controller.starts.names),
        "foot_lock": asdict(FootLockSettings()),
    }
    roles = find_roles(controller.skeleton, description=dict(controller.schema.body))
    header["skeleton"]["tail"] = list(roles.tail)
    arrays = _network_arrays(controller, weights)
    arrays |= {"starts.inputs": controller.starts.inputs, "starts.gate": controller.starts.gate}
    arrays["starts.frames"] = controller.starts.frames.astype(np.int32)
    if controller.rest is not None:
        moments = controller.rest.moments(controller.schema)
        blocks = rest_layout(controller.schema).slices
        header["rest"] = {
            **moments.described(),
            "columns": rest_columns(controller.schema),
            "blocks": {name: [place.start, place.stop] for name, place in blocks.items()},
        }
        arrays |= {"rest.outputs": controller.rest.outputs, "rest.poses": moments.poses}
    gate = controller.schema.gate
    if gate is not None and "phase_manifold" in gate:
        vectors = controller.starts.gate[:, gate.slices["phase_manifold"]]
        arrays |= _manifold_arrays(vectors.reshape(-1, 2 * controller.schema.channels))
    return _asset_bytes(header, arrays)


def _network_arrays(controller: Controller, weights: Weights) -> dict[str, Array]:
    """Parameters of the network under the names of its state dict, and the normalisations."""
    arrays = {
        f"network.{name}": tensor.detach().cpu().numpy().astype(weights)
        for name, tensor in controller.network.network.state_dict().items()
    }
    names = ("inputs_mean", "inputs_scale", "gate_mean", "gate_scale", "outputs_mean")
    for part in (*names, "outputs_unit"):
        arrays[part] = controller.network.get_buffer(part).cpu().numpy()
    if controller.schema.carried is not None:
        columns, arrays["carried_shares"] = controller.schema.carried
        arrays["carried_columns"] = columns.astype(np.int32)
    return arrays


def matcher_asset(matcher: Matcher) -> bytes:
    """The asset of a matcher, with 8-bit states and 16-bit weights, without actions."""
    database, motion = matcher.database, matcher.motion
    kept, values = matcher.kept, matcher.values
    played = MomentFilter().rows(database)
    if not (played & database.offered).any():
        raise ParameterError(
            "the matcher has no moment that can be searched for and played",
            hint="train it on longer clips, with idle or locomotion",
        )
    header = {
        "kind": "matcher",
        **_motion_header(motion, database.layout, played),
        "label": _label(database),
        "clips": {
            "names": database.clip_names,
            "starts": database.range_starts,
            "stops": database.range_stops,
            "labels": [dict(labels) for labels in database.labels],
        },
        "spacing": kept.spacing,
        "counts": kept.counts,
        "values": {name: columns.start for name, columns in values.slices.items()},
        "moved": list(values.moved),
    }
    arrays = {
        "mean": database.normalisation.mean,
        "scale": database.normalisation.scale,
        "kept.weights": kept.weights,
        "played.bits": _bits(played),
        "idle.bits": _bits(database.rows_of_kinds(["idle"])),
        "offered.bits": _bits(matcher.offered),
        "contacts.bits": _bits(matcher.contacts),
    }
    for part in ("features", "latents"):
        arrays[part], arrays[f"{part}.step"] = rounded(getattr(kept, part))
    for index, layer in enumerate(matcher.decompressor):
        arrays[f"decompressor.{index}.weight"] = layer.weight.astype(np.float16)
        arrays[f"decompressor.{index}.bias"] = layer.bias
    rest = rest_moments(database, motion, played, PlayerSettings().keep)
    if len(rest):
        header |= {"rest": rest.described(), "breathing": motion.breathing}
        arrays["rest_poses"] = rest.poses
    return _asset_bytes(header, arrays)


def _bits(flags: Array) -> Array:
    """Flags as int8, eight in each."""
    return np.packbits(flags).view(np.int8)


def _motion_header(motion: Playback, layout: FeatureLayout, played: Array) -> dict[str, Any]:
    """The entries of an asset about a motion of which rows (rows,) bool are played."""
    coverage = motion.facing_coverage(played)
    settings = {name: each for name, each in asdict(PlayerSettings()).items() if name != "moments"}
    return {
        "frame_rate": motion.fps,
        "skeleton": describe_skeleton(motion.skeleton, motion.roles)
        | {"tail": list(motion.roles.tail)},
        "feet": motion.limbs.last,
        "dims": layout.dims,
        "trajectory": _trajectory(layout),
        "legs": {
            "joints": np.stack(
                [getattr(motion.limbs, part) for part in ("upper", "middle", "last", "tips")],
                axis=1,
            ),
            "ends": motion.limbs.ends(motion.skeleton, motion.roles),
            "contacts": np.arange(len(motion.limbs)),
            "lowest": motion.lowest_tips,
            "fastest": None if motion.fastest is None else motion.fastest.reshape(3, -1).T,
        },
        "hinges": asdict(motion.limb_solver.hinges),
        "body": motion.body,
        "translated_joints": motion.translated_joints,
        "usual_acceleration": motion.usual_acceleration,
        "blend_s": BLEND_S,
        "limits": {"speed": motion.goal_limits.speed},
        "speeds": {"walk": motion.travelling_speed, "run": motion.goal_limits.top_speed},
        "facing_coverage": {"covered": coverage.covered, "standing_speed": coverage.standing_speed},
        "settings": {
            **goal_settings(),
            **settings,
            "max_improvement": max_improvement(layout),
            "keeping": KEEPING,
        },
        "player": asdict(CONSTANTS) | asdict(CORRECTION) | {"candidates": motion.candidates},
        "ground": {"soles": motion.soles},
        "ground_heights": _ground_heights(layout),
        "foot_lock": asdict(PlayerSettings().foot_lock_settings),
    }


def _label(database: MotionDatabase) -> dict[str, Any]:
    """The label to steer by: one with several values; style or gait if there is one."""
    names = {name for labels in database.labels for name in labels}
    for name in sorted(names, key=lambda each: (each not in ("style", "gait"), each)):
        values = {labels[name] for labels in database.labels if name in labels}
        if len(values) > 1:
            return {"name": name, "values": sorted(values)}
    return {"name": "", "values": []}


def _ground_heights(layout: FeatureLayout) -> int | None:
    """First column of the heights of the ground ahead; None without them."""
    for feature in layout.of_kind("track"):
        if feature.track == GROUND_HEIGHTS:
            return layout.slices[feature.name].start
    return None


def _trajectory(layout: FeatureLayout) -> list[dict[str, Any]]:
    """Every future sample of the trajectory features: its time, first column, and what it holds."""
    samples = []
    for kind in TRAJECTORY_PATH:
        for feature in layout.of_kind(kind):
            start, turns = layout.slices[feature.name].start, kind == TRAJECTORY_DIRECTION
            samples += [
                {"time": time, "column": start + 2 * index, "direction": turns}
                for index, time in enumerate(feature.offsets_s)
                if time > 0
            ]
    if not samples:
        raise ParameterError(
            "the matcher's features have no trajectory ahead",
            hint="build its database with --config phase_trajectory or another layout with one",
        )
    return samples


def asset_of(path: Path) -> bytes:
    """The live asset of a file, with 16-bit weights."""
    (file,) = live_sources(path).values()
    if read_header(file)["format"] == MATCHER_FORMAT:
        return matcher_asset(Matcher.load(file))
    return controller_asset(Controller.load(file), weights="float16")
