"""Base class of phase baselines: a body, a rate, a window, and a file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, overload

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, counted, short_repr, wrapped
from deepphase.config import checked_mapping, checked_number, checked_texts
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.array_file import fitting_parts, read_arrays, write_arrays
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.motion.roles import Roles, find_roles
from deepphase.phase.config import NetworkConfig
from deepphase.phase.encoding import advanced_to_ends, interior_frames
from deepphase.phase.health import Health
from deepphase.phase.model import Paths, encode_paths
from deepphase.phase.networks.sine_fit_autoencoder import SineFitLayer
from deepphase.phase.parameters import ClipPhases, ManifoldProjection, PhaseParameters
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities
from deepphase.work import Progress, reported

_VERSION = 1
# Frames that the projection is fitted to, at most, and of one clip.
_PROJECTED_FRAMES, _PROJECTED_CLIPS = 40_000, 200


@dataclass(eq=False, kw_only=True, repr=False)
class Baseline:
    """Phases by a rule of subclasses, from the `window_s` seconds around a frame."""

    METHOD: ClassVar[str]
    FORMAT: ClassVar[str]
    # In words: what amplitude is measured in, and where in a cycle phase 0 lies.
    AMPLITUDE: ClassVar[str]
    ORIGIN: ClassVar[str]
    # Fields that a subclass adds, by what they are stored as.
    ARRAYS: ClassVar[tuple[str, ...]] = ()
    OPTIONS: ClassVar[tuple[str, ...]] = ()
    # What else decides the phases, as files name it.
    RULE: ClassVar[Mapping[str, str]] = {}

    signals: JointVelocities
    limbs: tuple[str, ...]
    window_s: float = 2.0
    projection: ManifoldProjection | None = None
    health: Health | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return short_repr(
            self, counted(self.channels, "channel"), f"windows of {self.window_s:g} s"
        )

    @property
    def fps(self) -> float:
        """Frames a second of the phases."""
        return self.signals.fps

    @property
    def window(self) -> int:
        """Frames of a window; odd."""
        return NetworkConfig(window_s=self.window_s).window(self.fps)

    @property
    def channels(self) -> int:
        """Phase channels: one a limb."""
        return len(self.limbs)

    @property
    def sha256(self) -> str:
        """Hash of all that the phases depend on."""
        rule = {**self._header(), "format": self.FORMAT, "version": _VERSION}
        digest = hashlib.sha256(json.dumps(rule, sort_keys=True).encode())
        for name in self.ARRAYS:
            digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return digest.hexdigest()

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, channels) each, of a clip at this rate whose joints are known."""
        raise NotImplementedError

    def bound(self, clips: Clip | ClipStore, description: Mapping[str, Any] | None = None) -> Self:
        """Itself: it reads one skeleton."""
        return self

    @overload
    def encode(self, clip: Clip) -> ClipPhases: ...

    @overload
    def encode(self, clip: Paths) -> ClipPhases | list[ClipPhases]: ...

    def encode(self, clip: Clip | Paths) -> ClipPhases | list[ClipPhases]:
        """Phases of every frame of a clip or of paths, as `PhaseModel.encode` gives them."""
        if not isinstance(clip, Clip):
            return encode_paths(self, clip)
        name, source = clip.name, clip.source.path
        if clip.fps != self.fps:
            clip = resample(clip, self.fps)
        roles = find_roles(clip.skeleton, description=self.signals.body, clip=clip)
        return ClipPhases(
            self.parameters_of(clip, roles),
            interior_frames(len(clip), self.window),
            self.fps,
            name,
            source,
        )

    def viewed(self, store: ClipStore, progress: Progress | None = None) -> Self:
        """Itself, with the projection of the manifold of some of a store's clips."""
        chosen = np.unique(np.linspace(0, len(store) - 1, min(len(store), _PROJECTED_CLIPS)))
        parts = []
        for index in reported(progress, "encoding", chosen.astype(int).tolist(), len(chosen)):
            phases = self.encode(store.clip(index))
            inside = phases.interior if phases.interior.any() else slice(None)
            parts.append(phases.parameters.manifold()[inside])
        points = np.concatenate(parts)
        step = max(len(points) // _PROJECTED_FRAMES, 1)
        self.projection = ManifoldProjection.fit(points[::step])
        return self

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        arrays = {name: getattr(self, name) for name in self.ARRAYS}
        if self.projection is not None:
            arrays |= self.projection.as_arrays("projection.")
        header = {
            **self._header(),
            "amplitude": self.AMPLITUDE,
            "origin": self.ORIGIN,
            "provenance": dict(self.provenance),
        }
        write_arrays(path, arrays, header, format=self.FORMAT, version=_VERSION)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        arrays, header = read_arrays(path, format=cls.FORMAT, version=_VERSION, types={"*": "F32"})
        with fitting_parts("baseline", "fit it again", path):
            signals = JointVelocities.from_mapping(header["signals"])
            projection = None
            if "projection.mean" in arrays:
                projection = ManifoldProjection.from_arrays(arrays, "projection.")
            own: dict[str, Any] = {name: np.array(arrays[name]) for name in cls.ARRAYS}
            own |= {name: header[name] for name in cls.OPTIONS}
            if any(header[name] != value for name, value in cls.RULE.items()):
                raise ValueError(f"its phases follow another rule than {dict(cls.RULE)}")
            return cls(
                signals=signals,
                limbs=checked_texts(header["limbs"], "limbs"),
                window_s=checked_number(header["window_s"], "window_s"),
                projection=projection,
                provenance=checked_mapping(header["provenance"], "provenance"),
                **own,
            )

    def _header(self) -> dict[str, Any]:
        return {
            "signals": self.signals.as_mapping(),
            "limbs": list(self.limbs),
            "window_s": self.window_s,
            **{name: getattr(self, name) for name in self.OPTIONS},
            **self.RULE,
        }

    def __post_init__(self) -> None:
        if not self.limbs:
            raise ParameterError("phases of limbs need at least one limb")
        # Refuses a window that is too short or too long.
        NetworkConfig(window_s=self.window_s)


def body_of(
    store: ClipStore, description: Mapping[str, Any] | None, progress: Progress | None
) -> tuple[SignalCorpus, Clip, Roles]:
    """The signals of a store's clips, and the longest of them with its joints' roles."""
    corpus = SignalCorpus.from_store(store, progress, description=description)
    clip = store.clip(int(np.argmax(store.lengths)))
    return corpus, clip, find_roles(clip.skeleton, description=corpus.signals.body, clip=clip)


def limb_ends(roles: Roles) -> tuple[int, ...]:
    """Feet and hands, left before right, those that there are."""
    ends = [joint for part in ("foot", "hand") for joint in roles.both(part) or ()]
    if not ends:
        raise SkeletonError(
            "phases of limbs need a pair of feet or of hands, and none were found",
            hint="name them in a skeleton description (left_foot, right_foot, left_hand, ...)",
        )
    return tuple(ends)


def same_limbs(limbs: Sequence[str], clip: Clip, joints: Sequence[int]) -> list[int]:
    """Where each of the named limbs stands among the `joints` of a clip."""
    names = [clip.skeleton.names[joint] for joint in joints]
    for limb in limbs:
        if limb not in names:
            raise SkeletonError(
                f"{clip.name}: another skeleton: it has no limb that ends in {limb!r}",
                hint=f"phases are read off {', '.join(limbs)}; its limbs end in {', '.join(names)}",
                path=clip.source.path or None,
            )
    return [names.index(limb) for limb in limbs]


# Windows that are fitted at once.
_BATCH = 2048
# Seconds, standard deviation: corners of a block signal and jitter of a velocity are rounded off,
# 1 Hz keeps 95 % of its amplitude.
_SMOOTHING_S = 0.05


@torch.inference_mode()
def fitted_sinusoids(
    signals: Array, fps: float, window: int, *, silence: float, normalised: bool = False
) -> PhaseParameters:
    """The sinusoid that fits each signal best in the window around each frame.

    `signals` (frames, channels) in any unit. Frames near the ends have the sinusoid of the nearest
    whole window, advanced; of a clip shorter than a window, that of the clip. `normalised`:
    amplitude as a share of the signal's own deviation in the window: 1 is a pure sinusoid, however
    small. Returns (frames, channels) each, float32. Phase is .25 where the signal is highest.
    """
    frames = len(signals)
    smooth = gaussian_filter1d(
        signals.astype(np.float64), _SMOOTHING_S * fps, axis=0, mode="nearest"
    )
    # A window is odd, and as long as the fit needs.
    window = max(min(window, frames - 1 + frames % 2), SineFitLayer.LEAST_FRAMES)
    short = max(window - frames, 0)
    whole = np.pad(smooth, ((0, short), (0, 0)), mode="edge").astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(whole, window, axis=0)
    layer = SineFitLayer(window, fps)
    batches = (windows[start : start + _BATCH].copy() for start in range(0, len(windows), _BATCH))
    fits = [layer(torch.from_numpy(batch).permute(2, 0, 1)) for batch in batches]
    parts = (torch.cat(part, -2).numpy() for part in zip(*fits, strict=True))
    frequency, amplitude, offset, scale, (sine, cosine) = parts
    phase = np.arctan2(cosine, sine) / (2.0 * math.pi)
    moves = amplitude >= silence
    if normalised:
        amplitude = amplitude * scale / math.sqrt(2.0)
    fitted = PhaseParameters(
        wrapped(_held(phase, moves)),
        np.where(moves, frequency, 0.0).astype(np.float32),
        np.where(moves, amplitude, 0.0).astype(np.float32),
        offset,
    )
    return advanced_to_ends(fitted, frames, window // 2, fps)


def _held(phase: Array, moves: Array) -> Array:
    """The phase of the last frame that moves; before the first, that one's; 0 where none does."""
    frames = np.arange(len(phase))[:, None]
    last = np.maximum.accumulate(np.where(moves, frames, -1), axis=0)
    last = np.where(last < 0, moves.argmax(axis=0), last)
    held = np.take_along_axis(phase, last, axis=0)
    return np.where(moves.any(axis=0), held, np.zeros_like(held))
