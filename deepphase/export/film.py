"""Film of a moving body with sound, as .mp4 or .webm, by PyAV (the optional extra `av`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.extras import extra_packages
from deepphase.progress import Progress

FILM_FPS = 30
"""Pictures a second."""

# Suffix -> container, codec of the pictures with its options, format of sound samples and codec.
_FORMATS: dict[str, tuple[str, str, dict[str, str], str]] = {
    ".mp4": ("mp4", "libx264", {"crf": "20", "preset": "veryfast"}, "aac"),
    ".webm": ("webm", "libvpx", {"b": "2M", "deadline": "realtime", "cpu-used": "8"}, "libopus"),
}
_SOUND_RATE = 48_000
# Samples of sound that are encoded between two pictures at most; Opus takes 960 at once.
_SOUND_STEP = 960
# Pixels are drawn at this multiple and averaged.
_OVERSAMPLING = 2
# The camera stands this far from the body, as high, and looks at this height; metres.
_DISTANCE_M, _HEIGHT_M, _AIM_M = 4.2, 1.5, 0.9
# Focal length as a share of the picture's height; the camera follows with this deviation.
_FOCAL, _FOLLOWING_S = 1.55, 0.8
# Metres between lines of the ground, and from the body to the last one.
_GRID_M, _GROUND_M = 0.5, 4.0
# Limbs are this thick.
_LIMB_M = 0.075
_BACKGROUND, _LINE, _SHADOW = (250, 250, 248), (216, 218, 222), (203, 205, 210)
_NEAR, _FAR = np.array([37, 78, 140]), np.array([120, 160, 205])


@dataclass(frozen=True)
class FilmSize:
    """Width and height of a film's pictures, both even."""

    width: int = 960
    height: int = 540

    def __post_init__(self) -> None:
        if not all(16 <= each <= 4096 and each % 2 == 0 for each in (self.width, self.height)):
            raise ParameterError(
                "a film must have an even width and height from 16 to 4096 pixels, not "
                f"{self.width} x {self.height}",
                hint="choose other numbers",
            )


def check_film(path: str | Path) -> None:
    """Raise ParameterError for a suffix of no film, or where PyAV is not installed."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise ParameterError(f"{path}: a film must be a {' or '.join(_FORMATS)} file")
    with extra_packages("films"):
        import av  # noqa: F401


def write_film(
    path: str | Path,
    positions: Array,
    parents: Sequence[int] | Array,
    fps: float,
    *,
    sound: Array | None = None,
    sound_rate: int = 0,
    size: FilmSize | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a film of a body from the front, the camera following, with its sound.

    Parameters
    ----------
    path
        .mp4 (H.264 and AAC) or .webm (VP8 and Opus, which every browser plays).
    positions : (frames, joints, 3)
        Metres, Y up.
    parents
        (joints,) parent of each joint, -1 of the root.
    fps
        Frames a second of the positions.
    sound : (samples,)
        Mono, from the first frame on; cut or continued with silence to the film's length.
    sound_rate
        Samples a second.

    Raises
    ------
    ParameterError
        For another suffix, positions that are not finite or of another shape, or without PyAV.
    CheckpointError
        If the file cannot be written.
    """
    check_film(path)
    positions = np.asarray(positions, np.float64)
    if positions.ndim != 3 or positions.shape[1:] != (len(parents), 3) or not len(positions):
        raise ParameterError(
            f"positions must have shape (frames, {len(parents)}, 3), not {positions.shape}"
        )
    if not np.isfinite(positions).all():
        raise ParameterError("positions must be finite")
    if not (np.isfinite(fps) and fps > 0):
        raise ParameterError(f"fps must be a finite number above 0, not {fps}")
    seconds = len(positions) / fps
    pictures = max(round(seconds * FILM_FPS), 1)
    camera = _Camera(positions, fps, size or FilmSize())
    with atomic_write(path) as target:
        _encode(
            target,
            Path(path),
            camera,
            parents,
            pictures,
            _fitted(sound, sound_rate, seconds),
            progress,
        )


def _fitted(sound: Array | None, rate: int, seconds: float) -> Array | None:
    """(samples,) float32 at the film's rate and as long as the film."""
    if sound is None:
        return None
    import soxr

    resampled = soxr.resample(np.asarray(sound, np.float32), rate, _SOUND_RATE)
    loudest = float(np.abs(resampled).max(initial=0.0))
    wanted = round(seconds * _SOUND_RATE)
    fitted = np.zeros(wanted, np.float32)
    fitted[: min(wanted, len(resampled))] = resampled[:wanted] / max(loudest, 1.0)
    return fitted


def _encode(
    target: Any,
    path: Path,
    camera: _Camera,
    parents: Sequence[int] | Array,
    pictures: int,
    sound: Array | None,
    progress: Progress | None,
) -> None:
    import av

    container, codec, options, sound_codec = _FORMATS[path.suffix.lower()]
    with av.open(target, "w", format=container) as file:
        video: Any = file.add_stream(codec, rate=FILM_FPS, options=options)
        video.width, video.height = camera.size.width, camera.size.height
        video.pix_fmt = "yuv420p"
        voice: Any = None
        if sound is not None:
            voice = file.add_stream(sound_codec, rate=_SOUND_RATE, layout="mono")
        done = 0
        for number in range(pictures):
            frame = av.VideoFrame.from_ndarray(camera.picture(number, parents), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FILM_FPS)
            file.mux(video.encode(frame))
            if sound is not None:
                until = (number + 1) * _SOUND_RATE // FILM_FPS
                if number == pictures - 1:
                    until = len(sound)
                done = _encode_sound(file, voice, sound, done, until)
            if progress is not None and number % FILM_FPS == 0:
                progress("film", number, pictures, "")
        file.mux(video.encode())
        if voice is not None:
            file.mux(voice.encode())


def _encode_sound(file: Any, stream: Any, sound: Array, start: int, stop: int) -> int:
    """Encode samples up to about `stop`; the sample that comes next."""
    import av

    while start < stop:
        piece = sound[start : start + _SOUND_STEP]
        frame = av.AudioFrame.from_ndarray(piece[None].copy(), format="flt", layout="mono")
        frame.sample_rate, frame.pts = _SOUND_RATE, start
        frame.time_base = Fraction(1, _SOUND_RATE)
        file.mux(stream.encode(frame))
        start += len(piece)
    return start


class _Camera:
    """Pictures of positions (frames, joints, 3) by a camera that follows the body from its front.

    Parameters
    ----------
    positions
        (frames, joints, 3) metres; the ground is at the height of the lowest joints.
    fps
        Frames a second.
    size
        Size of the pictures.
    """

    def __init__(self, positions: Array, fps: float, size: FilmSize) -> None:
        self.size = size
        times = np.arange(max(round(len(positions) / fps * FILM_FPS), 1)) / FILM_FPS * fps
        low = np.minimum(times.astype(int), len(positions) - 1)
        high = np.minimum(low + 1, len(positions) - 1)
        share = (times - low)[:, None, None]
        self._positions = positions[low] * (1 - share) + positions[high] * share
        self._floor = float(np.quantile(positions[:, :, 1].min(axis=1), 0.1))
        middle = self._positions[:, :, [0, 2]].mean(axis=1)
        self._aim = gaussian_filter1d(middle, _FOLLOWING_S * FILM_FPS, axis=0, mode="nearest")

    def picture(self, number: int, parents: Sequence[int] | Array) -> Array:
        """(height, width, 3) uint8."""
        from PIL import Image, ImageDraw

        width, height = (_OVERSAMPLING * each for each in (self.size.width, self.size.height))
        image = Image.new("RGB", (width, height), _BACKGROUND)
        draw = ImageDraw.Draw(image)
        x, z = self._aim[number]
        for ends in _grid(x, z):
            (begin, _), (end, _) = self._projected(self._on_floor(ends), x, z)
            draw.line([*begin, *end], _LINE, _OVERSAMPLING)
        joints = self._positions[number]
        bones = [(joint, parent) for joint, parent in enumerate(parents) if parent >= 0]
        points = self._projected(joints, x, z)
        shadow = self._projected(self._on_floor(joints[:, [0, 2]]), x, z)
        for joint, parent in bones:
            self._limb(draw, shadow[joint], shadow[parent], _SHADOW, 0.6)
        # What is farther is drawn first, and paler.
        for joint, parent in sorted(
            bones, key=lambda each: -points[each[0]][1] - points[each[1]][1]
        ):
            depth = 0.5 * (points[joint][1] + points[parent][1])
            share = float(np.clip((depth - _DISTANCE_M + 0.5) / 1.0, 0, 1))
            colour = tuple(int(each) for each in np.rint(_NEAR + share * (_FAR - _NEAR)))
            self._limb(draw, points[joint], points[parent], colour, 1.0)
        return np.asarray(image.reduce(_OVERSAMPLING))

    def _limb(self, draw: Any, one: Any, other: Any, colour: tuple[int, ...], share: float) -> None:
        (begin, near), (end, far) = one, other
        focal = _FOCAL * self.size.height * _OVERSAMPLING
        draw.line(
            [*begin, *end], colour, max(round(share * _LIMB_M * focal / (0.5 * (near + far))), 2)
        )
        for (u, v), depth in (one, other):
            radius = 0.5 * share * _LIMB_M * focal / depth
            draw.ellipse([u - radius, v - radius, u + radius, v + radius], colour)

    def _on_floor(self, places: Array) -> Array:
        """(points, 3) of places (points, 2) on the ground."""
        places = np.asarray(places, np.float64)
        return np.stack([places[:, 0], np.full(len(places), self._floor), places[:, 1]], axis=1)

    def _projected(
        self, points: Array, x: float, z: float
    ) -> list[tuple[tuple[float, float], float]]:
        """Pixel and depth in metres of each of (points, 3)."""
        down = np.arctan2(_HEIGHT_M - _AIM_M, _DISTANCE_M)
        away = points - np.array([x, self._floor + _HEIGHT_M, z + _DISTANCE_M])
        depth = -away[:, 2] * np.cos(down) - away[:, 1] * np.sin(down)
        up = away[:, 1] * np.cos(down) - away[:, 2] * np.sin(down)
        depth = np.maximum(depth, 0.2)
        focal = _FOCAL * self.size.height * _OVERSAMPLING
        u = 0.5 * self.size.width * _OVERSAMPLING + focal * away[:, 0] / depth
        v = 0.5 * self.size.height * _OVERSAMPLING - focal * up / depth
        return [((a, b), d) for a, b, d in zip(u.tolist(), v.tolist(), depth.tolist(), strict=True)]


def _grid(x: float, z: float) -> list[Array]:
    """Ends (2, 2) of the ground's lines around a place, at whole multiples of their distance."""
    near, far = z + 0.6 * _GROUND_M, z - _GROUND_M
    left, right = x - _GROUND_M, x + _GROUND_M
    along = [np.array([[at, far], [at, near]]) for at in _multiples(left, right)]
    across = [np.array([[left, at], [right, at]]) for at in _multiples(far, near)]
    return along + across


def _multiples(low: float, high: float) -> Array:
    return np.arange(np.ceil(low / _GRID_M), high / _GRID_M) * _GRID_M
