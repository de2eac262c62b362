"""Animations of glTF files, .glb and .gltf, as clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.frame_rates import (
    CORRECTED,
    allowed_poses,
    are_milliseconds,
    frame_count,
    is_plausible_rate,
    merged_times,
    sampling_rate,
)
from deepphase.formats.gltf.document import GltfFile, Item, open_gltf
from deepphase.formats.gltf.joint_motion import sample_joints
from deepphase.formats.gltf.joints import EXTRAS_KEY, JointTree, find_joints, named_number
from deepphase.formats.gltf.nodes import NodeTree, read_nodes
from deepphase.formats.gltf.tracks import Keys, channel_target, read_tracks
from deepphase.formats.reading import checked_body, checked_options, unique_names
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import rotate_up, scaled


@dataclass(frozen=True, eq=False)
class _Scene:
    """A file with its joints and those of its animations that move them."""

    file: GltfFile
    tree: NodeTree
    joints: JointTree
    animations: list[Item]
    moving: list[int]

    def name(self, number: int) -> str:
        return self.animations[number].text("name")


def load_gltf(
    path: str | Path,
    *,
    animation: str | int | None = None,
    skin: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
) -> Clip:
    """Read one animation of a .glb or .gltf as a clip. `clip.source.notes` says what was chosen.

    The joints of a skin are the joints; without a skin, the animated nodes are. Nodes between
    joints and above the root are folded into the joints below. The skeleton's offsets are the
    file's rest pose.

    Parameters
    ----------
    animation
        Name or number; None takes the first that moves the joints.
    skin
        Name or number; None takes the one with the most animated joints.
    fps
        Frames a second at which the keys are sampled; None infers it from their times.
    unit, up
        As in `load_bvh`; None takes what glTF says, metres and "y".
    """
    options = _checked_options(fps, unit, up)
    scene = _opened(path, skin)
    number, notes = _chosen(scene, animation)
    clip = _read(scene, number, _Budget(scene), {}, *options)
    clip = replace(clip, name=scene.name(number) or Path(path).stem)
    return replace(clip, source=replace(clip.source, notes=notes + clip.source.notes))


def load_gltf_clips(
    path: str | Path,
    *,
    skin: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
) -> tuple[Clip, ...]:
    """Read all animations of a .glb or .gltf that move the joints, each as a clip of its name.

    Those that no clip can hold are left out, with a note in the others.

    Parameters and errors are those of `load_gltf`.
    """
    options = _checked_options(fps, unit, up)
    scene = _opened(path, skin)
    budget = _Budget(scene)
    keys: dict[int, Keys] = {}
    clips, faults = [], {}
    for number, name in _named_animations(scene):
        try:
            clips.append(replace(_read(scene, number, budget, keys, *options), name=name))
        except _TooManyPosesError:
            raise
        except FormatError as error:
            faults[name] = error
    if not clips:
        raise next(iter(faults.values()))
    notes = tuple(f"animation {name!r} is left out: {faults[name].fact}" for name in faults)
    return tuple(
        replace(clip, source=replace(clip.source, notes=notes + clip.source.notes))
        for clip in clips
    )


def gltf_animations(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Number and name of every animation that `load_gltf_clips` reads, without reading its keys.

    Raises FormatError as `load_gltf`.
    """
    return _named_animations(_opened(path, None))


def _checked_options(
    fps: float | None, unit: str | float | None, up: str | None
) -> tuple[float | None, float, str]:
    return fps, checked_options(unit, up, fps) or 1.0, up or "y"


def _opened(path: str | Path, skin: str | int | None) -> _Scene:
    file = open_gltf(path)
    animations = file.document.elements("animations")
    tree = read_nodes(file.document)
    targets = [_targets(item, tree.world) for item in animations]
    joints = find_joints(tree, set().union(*targets), skin)
    path_nodes = set(joints.path_nodes)
    moving = [number for number, nodes in enumerate(targets) if not path_nodes.isdisjoint(nodes)]
    if not moving:
        raise FormatError(
            "no animation moves the joints of the skin",
            path=path,
            hint="export the file with its animation",
        )
    return _Scene(file, tree, joints, animations, moving)


def _targets(animation: Item, nodes: int) -> set[int]:
    targets = {channel_target(each, nodes)[0] for each in animation.elements("channels")}
    return {node for node in targets if node is not None}


def _named_animations(scene: _Scene) -> tuple[tuple[int, str], ...]:
    stem = scene.file.path.stem
    names, _ = unique_names([scene.name(number) or stem for number in scene.moving])
    return tuple(zip(scene.moving, names, strict=True))


def _chosen(scene: _Scene, given: str | int | None) -> tuple[int, tuple[str, ...]]:
    if given is not None:
        number = named_number(scene.animations, given, "animation")
        if number not in scene.moving:
            raise scene.animations[number].fault("moves none of the joints")
        return number, ()
    first, *others = scene.moving
    if not others:
        return first, ()
    listed = ", ".join(f"{number} {scene.name(number)!r}" for number in others[:12])
    listed += ", ..." if len(others) > 12 else ""
    return first, (f"animation {first} {scene.name(first)!r} was read; there are also {listed}",)


class _TooManyPosesError(FormatError):
    """Few keys ask for too many poses."""


class _Budget:
    """How many more poses of joints the animations of a file may ask for."""

    def __init__(self, scene: _Scene) -> None:
        self.scene = scene
        self.spent = 0

    def spend(self, item: Item, frames: int, seconds: float, fps: float) -> None:
        self.spent += frames * len(self.scene.joints.nodes)
        if self.spent > allowed_poses(self.scene.file.bytes_read):
            fault = item.fault(
                f"{seconds:.6g} s at {fps:.6g} frames a second are {frames:,} frames of "
                f"{len(self.scene.joints.nodes)} joints, in a file of "
                f"{self.scene.file.size:,} bytes",
                "give a lower rate (fps=), or check the key times",
            )
            raise _TooManyPosesError(fault.fact, hint=fault.hint, path=fault.path)


def _read(
    scene: _Scene,
    number: int,
    budget: _Budget,
    known_keys: dict[int, Keys],
    fps: float | None,
    unit_m: float,
    up: str,
) -> Clip:
    item, path = scene.animations[number], scene.file.path
    on_path = set(scene.joints.path_nodes)
    tracks = [track for track in read_tracks(scene.file, item, known_keys) if track.node in on_path]
    times = list({track.keys.index: track.keys.times for track in tracks}.values())
    start = min(float(each[0]) for each in times)
    stop = max(float(each[-1]) for each in times)
    extras = _our_extras(item)
    notes: tuple[str, ...] = ()
    per_second = 1.0
    if are_milliseconds(merged_times(times)):
        per_second = 1000.0
        notes = (f"{CORRECTED}key times are in milliseconds",)
    rate, note = sampling_rate([each / per_second for each in times], _stated_fps(extras))
    if fps is not None:
        note = f"sampled at {fps:g} frames a second as given; inferred: {rate:.6g}"
        rate = float(fps)
    elif not is_plausible_rate(rate):
        raise item.fault(
            f"keys at {rate:.6g} frames a second: no body is captured at such a rate",
            "give the rate: fps=, or --file-fps on the command line",
        )
    duration = (stop - start) / per_second
    frames = frame_count(duration, rate, stop / per_second)
    budget.spend(item, frames, duration, rate)
    seconds = start + np.arange(frames) * (per_second / rate)
    motion = sample_joints(scene.tree, scene.joints, tracks, seconds)
    notes = (*notes, *scene.joints.notes, note, *motion.notes)
    source = Source(str(path), unit_m, up, rate, notes=notes)
    try:
        clip = Clip(
            motion.skeleton,
            motion.rotations,
            motion.translations,
            rate,
            motion.translated_joints,
            _labels(extras),
            source,
        )
        return rotate_up(checked_body(scaled(clip, unit_m), path), up)
    except DeepPhaseError as error:
        raise item.fault(error.fact, error.hint) from None


def _our_extras(animation: Item) -> Mapping[str, Any]:
    extras = animation.value.get("extras")
    ours = extras.get(EXTRAS_KEY) if isinstance(extras, dict) else None
    return ours if isinstance(ours, dict) else {}


def _stated_fps(extras: Mapping[str, Any]) -> float | None:
    fps = extras.get("fps")
    if not isinstance(fps, int | float) or isinstance(fps, bool):
        return None
    return float(fps) if is_plausible_rate(fps) else None


def _labels(extras: Mapping[str, Any]) -> dict[str, str]:
    labels = extras.get("labels")
    if not isinstance(labels, dict):
        return {}
    return {name: value for name, value in labels.items() if isinstance(value, str)}
