"""Animations of glTF files, .glb and .gltf, as clips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.gltf.document import open_gltf
from deepphase.formats.gltf.nodes import find_joints, our_extras, read_nodes
from deepphase.formats.gltf.tracks import Keys, channel_target, read_tracks, sample_joints
from deepphase.formats.reading import (
    CHECK,
    CORRECTED,
    LONGEST_MS,
    SHORTEST_MS,
    USUAL_RATES,
    RawMotion,
    are_too_many,
    checked_options,
    frame_rate,
    in_metres_y_up,
    listed,
    numbered,
    unique_names,
)
from deepphase.motion.clip import Clip, Source, is_plausible_rate

# Key times are animated by hand, too: only many even ones of a usual rate are milliseconds.
_FEWEST_KEYS, _USUAL_TOLERANCE = 8, 0.01
_DEFAULT_FPS = 60.0
# Slower than this, evenly spaced keys are poses between which something moves.
_SLOWEST_CAPTURE = 20.0
# Frames from a key to the next, mostly, where an exporter left out keys of a captured motion.
_MOST_GAP = 1.5
# Keys this near, in seconds, are one key that two tracks rounded differently.
_SAME_KEY = 1e-4
# How far keys may lie beside a rate's frames, as a share of a frame.
_OFF_FRAME = 0.02
_STATED_TOLERANCE = 0.01
# Digits of float32 times are not decimals: they are binary, and exact to eight or so.
_DECIMALS = 8


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
        if _are_milliseconds(_merged_times(times)):
            per_second, notes = 1000.0, (f"{CORRECTED}key times are in milliseconds",)
        stated = extras.get("fps")
        if type(stated) not in (int, float) or not is_plausible_rate(stated):  # type: ignore[arg-type]
            stated = None
        rate, note = _sampling_rate([keys / per_second for keys in times], stated)  # type: ignore[arg-type]
        if self.fps is not None:
            note = f"sampled at {self.fps:g} frames a second as given; inferred: {rate:.6g}"
            rate = float(self.fps)
        elif not is_plausible_rate(rate):
            fact = f"keys at {rate:.6g} frames a second: no body is captured at such a rate"
            raise item.fault(fact, "give the rate: fps=, or --file-fps on the command line")
        duration = (stop - start) / per_second
        frames = _frame_count(duration, rate, stop / per_second)
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


def _are_milliseconds(key_times: Array) -> bool:
    """Whether an animation's rising key times, which should be seconds, are milliseconds."""
    if len(key_times) < _FEWEST_KEYS:
        return False
    gap = float(key_times[-1] - key_times[0]) / (len(key_times) - 1)
    if not SHORTEST_MS <= gap <= LONGEST_MS:
        return False
    is_usual = any(abs(1000.0 / gap / usual - 1.0) < _USUAL_TOLERANCE for usual in USUAL_RATES)
    off = np.abs(key_times - key_times[0] - gap * np.arange(len(key_times))).max()
    # Times may be rounded to whole milliseconds.
    return is_usual and bool(off <= 0.02 * gap + 1.0)


def _sampling_rate(key_times: Sequence[Array], stated: float | None) -> tuple[float, str]:
    """Frames a second for an animation by its keys, or the file's statement, and a note on why."""
    keys = _merged_times(key_times)
    if len(keys) < 2:
        return stated or _DEFAULT_FPS, f"one key: {stated or _DEFAULT_FPS:g} frames a second"
    frames = (keys - keys[0]) * (len(keys) - 1) / (keys[-1] - keys[0])
    rate = frame_rate((keys[-1] - keys[0]) / (len(keys) - 1), _DECIMALS)
    even = np.abs(frames - np.arange(len(keys))).max() < _tolerance(keys[-1], rate)
    if even and rate >= _SLOWEST_CAPTURE:
        if stated and abs(stated / rate - 1.0) < _STATED_TOLERANCE:
            return stated, f"{stated:.6g} frames a second, as the file says"
        return rate, f"{rate:.6g} frames a second: a key on every frame"
    fitting = [rate for rate in map(float, USUAL_RATES) if _lie_on_frames(keys, rate)]
    if stated and _lie_on_frames(keys, stated):
        return stated, f"{stated:.6g} frames a second, as the file says"
    gap = float(np.median(np.diff(keys)))
    if fitting and gap * fitting[0] < _MOST_GAP:
        return fitting[0], f"keys with gaps lie on the frames of {fitting[0]:g} a second"
    rate = next((rate for rate in fitting if rate >= _DEFAULT_FPS), _DEFAULT_FPS)
    if even and gap == 1.0 and len(keys) >= _FEWEST_KEYS:
        return rate, f"{CHECK}a key every second: are times numbers of frames? export seconds"
    return rate, f"keys some {gap:.3g} s apart: the file's curves are sampled at {rate:g} a second"


def _merged_times(key_times: Sequence[Array]) -> Array:
    """Rising seconds of the keys of all tracks, each once."""
    keys = np.unique(np.concatenate([np.zeros(0), *key_times]))
    return keys[np.append(True, np.diff(keys) > _SAME_KEY)] if len(keys) else keys


def _tolerance(last_key: float, rate: float) -> float:
    """In frames: what exporters' arithmetic and float32 seconds may displace a key by."""
    return _OFF_FRAME + 4.0 * rate * float(np.spacing(np.float32(last_key)))


def _lie_on_frames(keys: Array, rate: float) -> bool:
    frames = (keys - keys[0]) * rate
    return bool(np.abs(frames - np.rint(frames)).max() < _tolerance(keys[-1], rate))


def _frame_count(seconds: float, fps: float, last_key: float) -> int:
    """Frames from the first key to the last; a frame that rounding puts behind it counts."""
    return int(np.floor(seconds * fps + min(_tolerance(last_key, fps), 0.5))) + 1
