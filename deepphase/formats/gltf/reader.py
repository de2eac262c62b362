"""Animations of glTF files, .glb and .gltf, as clips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.frame_rates import (
    CORRECTED,
    are_milliseconds,
    frame_count,
    merged_times,
    sampling_rate,
)
from deepphase.formats.gltf.document import open_gltf
from deepphase.formats.gltf.nodes import find_joints, our_extras, read_nodes
from deepphase.formats.gltf.tracks import Keys, channel_target, read_tracks, sample_joints
from deepphase.formats.reading import (
    RawMotion,
    are_too_many,
    checked_options,
    in_metres_y_up,
    listed,
    numbered,
    unique_names,
)
from deepphase.motion.clip import Clip, Source, is_plausible_rate


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

    The joints are those of the skin with the most animated ones, else the animated nodes; the rest
    pose is the file's. Animation and skin are names or numbers. Keys are sampled at the rate.
    """
    scene = _Scene(path, skin, fps, unit, up)
    number, *others = scene.moving
    notes: tuple[str, ...] = ()
    if animation is not None:
        animations = [item.text("name") for item in scene.animations]
        number = numbered(animations, animation, "animation")
        if number not in scene.moving:
            raise scene.animations[number].fault("moves none of the joints")
    elif others:
        names = listed([f"{other} {scene.name(other)!r}" for other in others], 12)
        notes = (f"animation {number} {scene.name(number)!r} was read; there are also {names}",)
    clip = scene.read(number)
    return _named(clip, scene.name(number) or Path(path).stem, notes)


def load_gltf_clips(
    path: str | Path,
    *,
    skin: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
) -> tuple[Clip, ...]:
    """Read all animations of a .glb or .gltf that move the joints, each as a clip of its name."""
    scene = _Scene(path, skin, fps, unit, up)
    clips, faults = {}, {}
    for number, name in scene.named_animations():
        try:
            clips[name] = scene.read(number)
        except FormatError as error:
            if scene.asks_too_much:
                raise
            faults[name] = error
    if not clips:
        raise next(iter(faults.values()))
    notes = tuple(f"animation {name!r} is left out: {faults[name].fact}" for name in faults)
    return tuple(_named(clip, name, notes) for name, clip in clips.items())


def gltf_animations(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Number and name of every animation that `load_gltf_clips` reads, without reading its keys."""
    return _Scene(path).named_animations()


def _named(clip: Clip, name: str, notes: tuple[str, ...]) -> Clip:
    source = replace(clip.source, notes=notes + clip.source.notes)
    return replace(clip, name=name, source=source)


class _Scene:
    """A file with its joints, those of its animations that move them, and the options."""

    def __init__(
        self,
        path: str | Path,
        skin: str | int | None = None,
        fps: float | None = None,
        unit: str | float | None = None,
        up: str | None = None,
    ) -> None:
        self.unit_m, self.up, self.fps = checked_options(unit, up, fps) or 1.0, up or "y", fps
        self.file = open_gltf(path)
        self.animations = self.file.document.elements("animations")
        self.tree = read_nodes(self.file.document)
        self.targets = [
            [channel_target(channel, self.tree.world) for channel in item.elements("channels")]
            for item in self.animations
        ]
        moved = [{node for node, _ in own if node is not None} for own in self.targets]
        self.joints = find_joints(self.tree, set().union(*moved), skin)
        self.on_path = set(self.joints.path_nodes)
        # Numbers of the animations that move the joints
        self.moving = [n for n, nodes in enumerate(moved) if not self.on_path.isdisjoint(nodes)]
        # Key times by accessor, and poses of joints, of the animations that were read
        self.keys: dict[int, Keys] = {}
        self.poses = 0
        if not self.moving:
            hint = "export the file with its animation"
            raise FormatError("no animation moves the joints of the skin", path=path, hint=hint)

    def name(self, number: int) -> str:
        return self.animations[number].text("name")

    def named_animations(self) -> tuple[tuple[int, str], ...]:
        stem = self.file.path.stem
        names, _ = unique_names([self.name(number) or stem for number in self.moving])
        return tuple(zip(self.moving, names, strict=True))

    @property
    def asks_too_much(self) -> bool:
        """Whether few keys ask for too many poses of joints, in all animations together."""
        return are_too_many(self.poses, self.file.bytes_read)

    def _left_out(self, number: int) -> Iterator[str]:
        """Notes on the channels of an animation that move no joint."""
        targets = self.targets[number]
        if others := sorted({path[:60] for node, path in targets if node is None}):
            yield f"channels that move no node were left out: {listed(others)}"
        if nodes := sorted({node for node, _ in targets if node is not None} - self.on_path):
            names = listed([self.tree.name(node) for node in nodes])
            yield f"animated nodes that are not joints were left out: {names}"

    def read(self, number: int) -> Clip:
        """One animation, named after the file."""
        item, joints = self.animations[number], self.joints
        every = read_tracks(self.file, item, self.keys)
        tracks = [track for track in every if track.node in self.on_path]
        times = list({track.keys.index: track.keys.times for track in tracks}.values())
        start, stop = float(min(keys[0] for keys in times)), float(max(keys[-1] for keys in times))
        extras = our_extras(item)
        notes: tuple[str, ...] = ()
        per_second = 1.0
        if are_milliseconds(merged_times(times)):
            per_second, notes = 1000.0, (f"{CORRECTED}key times are in milliseconds",)
        stated = extras.get("fps")
        if type(stated) not in (int, float) or not is_plausible_rate(stated):  # type: ignore[arg-type]
            stated = None
        rate, note = sampling_rate([keys / per_second for keys in times], stated)  # type: ignore[arg-type]
        if self.fps is not None:
            note = f"sampled at {self.fps:g} frames a second as given; inferred: {rate:.6g}"
            rate = float(self.fps)
        elif not is_plausible_rate(rate):
            fact = f"keys at {rate:.6g} frames a second: no body is captured at such a rate"
            raise item.fault(fact, "give the rate: fps=, or --file-fps on the command line")
        duration = (stop - start) / per_second
        frames = frame_count(duration, rate, stop / per_second)
        self.poses += frames * len(joints.nodes)
        if self.asks_too_much:
            asked = f"{frames:,} frames of {len(joints.nodes)} joints"
            fact = f"{duration:.6g} s at {rate:.6g} frames a second are {asked}"
            hint = "give a lower rate (fps=), or check the key times"
            raise item.fault(f"{fact}, in a file of {self.file.size:,} bytes", hint)
        seconds = start + np.arange(frames) * (per_second / rate)
        skeleton, rotations, translations, translated, motion_notes = sample_joints(
            self.tree, joints, tracks, seconds
        )
        labels = texts if isinstance(texts := extras.get("labels"), dict) else {}
        labels = {name: value for name, value in labels.items() if isinstance(value, str)}
        if start:
            note += f"; the first key, at {start / per_second:.3g} s, is the clip's start"
        notes = (*notes, *joints.notes, note, *motion_notes, *self._left_out(number))
        source = Source(str(self.file.path), fps=rate, notes=notes)
        try:
            motion = RawMotion(skeleton, rotations, translations, rate, translated, labels)
            return in_metres_y_up(motion, self.unit_m, self.up, source)
        except DeepPhaseError as error:
            raise item.fault(error.fact, error.hint) from None
