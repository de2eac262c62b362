"""Files of ground: heightmaps as .npy, .npz and greyscale images."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import unpacked_bytes
from deepphase.formats.npz.archive import read_npy, read_npz, write_npz
from deepphase.formats.reading import read_content
from deepphase.terrain.heightmap import Heightmap

IMAGE_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".pgm")
"""Images that are read as heights, black lowest."""

# Others of Pillow's decoders start programs.
_IMAGE_FORMATS = ("PNG", "TIFF", "BMP", "JPEG", "PPM")
# A side of 16,384 points; larger ground is cut or thinned by other programs. Images of a side of
# 4,096 may be as flat as they like.
_MAX_POINTS, _FREE_POINTS = 1 << 28, 1 << 24
_MAX_HOLES = 0.5


def read_ground(
    path: str | Path, *, spacing_m: float | None = None, height_scale: float | None = None
) -> Heightmap:
    """Read ground around the origin: a .npz of `save_ground`, a .npy of heights (rows, columns), or
    a greyscale image, black lowest.

    Values that are not finite and transparent points of images are holes, which take the height of
    the nearest point; the notes say how many. `spacing_m` is 0.05 by default, and a .npz has its
    own; `height_scale`, metres per unit of the file, 1 in arrays, and 2 m from black to white.

    Raises FormatError if the file is none of these or mostly holes, and ParameterError if the
    spacing or the scale is not above 0.
    """
    path = Path(path)
    for name, value in (("spacing", spacing_m), ("scale of heights", height_scale)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ParameterError(f"a {name} of {value} is not possible", hint="give more than 0")
    suffix = path.suffix.lower()
    notes = []
    origin, own_spacing = None, 0.05
    if suffix == ".npz":
        heights, own_spacing, origin = _read_npz(path)
    elif suffix == ".npy":
        heights = read_npy(path)
    elif suffix in IMAGE_SUFFIXES:
        heights = _read_image(path)
        height_scale = height_scale or 2.0
        notes.append(f"white is {height_scale:g} m above black")
    else:
        raise FormatError(
            f"there is no ground: {suffix or 'a name without a suffix'}",
            hint=f"give .npz, .npy or an image ({', '.join(IMAGE_SUFFIXES)})",
            path=path,
        )
    spacing = spacing_m or own_spacing
    if spacing_m is None and suffix != ".npz":
        notes.append(f"{spacing:g} m between points (--terrain-spacing)")
    with np.errstate(over="ignore"):
        heights = _checked(heights, path) * (height_scale or 1.0)
    heights, holes = _filled(heights, path)
    if holes:
        notes.append(f"{holes:,} holes have the height of the nearest point")
    try:
        origin = origin or Heightmap.centred(heights, spacing, path.stem).origin
        return Heightmap(heights, spacing, origin, path.stem, tuple(notes))
    except ParameterError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None


def save_ground(ground: Heightmap, path: str | Path, **about: str) -> None:
    """Write ground as .npz with `heights`, `spacing_m`, `origin` and texts."""
    arrays: dict[str, Any] = {name: np.array(text) for name, text in about.items()}
    arrays["heights"], arrays["spacing_m"] = ground.heights, np.float64(ground.spacing_m)
    arrays["origin"] = np.array(ground.origin, np.float64)
    write_npz(path, arrays)


def _read_npz(path: Path) -> tuple[Array, float, tuple[float, float]]:
    archive = read_npz(path)
    needed = {"heights", "spacing_m", "origin"}
    if not needed <= set(archive.keys):
        raise FormatError(
            f"this is not ground: {archive.contents}",
            hint="a .npz of ground has heights (rows, columns), spacing_m and origin (x, z)",
            path=path,
        )
    x, z = archive.array("origin", (2,)).tolist()
    return archive.array("heights", finite=False), archive.scalar("spacing_m"), (x, z)


def _read_image(path: Path) -> Array:
    """(rows, columns) from 0 to 1."""
    from PIL import Image, UnidentifiedImageError

    content = read_content(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=_IMAGE_FORMATS) as image:
                has_holes = image.has_transparency_data
                points = image.width * image.height << has_holes
                if points > max(_FREE_POINTS, unpacked_bytes(len(content)) // 8):
                    fact = f"{image.width:,} x {image.height:,} points in {len(content):,} bytes"
                    raise FormatError(fact, hint="thin it, or save it as .npy", path=path)
                if image.mode == "F":
                    return np.asarray(image, np.float64)
                deep = image.mode.startswith("I")
                heights = np.array(image if deep else image.convert("L"), np.float64)
                heights /= 65535.0 if deep else 255.0
                if has_holes:
                    # Transparent points have no height.
                    heights[np.asarray(image.convert("RGBA").getchannel("A")) == 0] = np.nan
                return heights
    except UnidentifiedImageError:
        raise FormatError(
            "this is not an image", path=path, hint="give a PNG image, a .npy or a .npz"
        ) from None
    except (OSError, ValueError, SyntaxError) as error:
        raise FormatError(f"this is not an image: {error}", path=path) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise FormatError(f"the file is too large: {error}", path=path) from None


def _checked(values: Array, path: Path) -> Array:
    if values.ndim != 2 or not values.size or values.dtype.kind not in "biuf":
        raise FormatError(
            f"an array {values.shape} of {values.dtype} is not (rows, columns) of numbers",
            hint="save heights as one grid",
            path=path,
        )
    if values.size > _MAX_POINTS:
        raise FormatError(
            f"the ground has {values.size:,} points: at most {_MAX_POINTS:,}",
            hint="cut or thin it",
            path=path,
        )
    return values.astype(np.float64)


def _filled(heights: Array, path: Path) -> tuple[Array, int]:
    """Heights with holes filled, and the number of holes."""
    holes = ~np.isfinite(heights)
    count = int(holes.sum())
    if not count:
        return heights, 0
    if count > _MAX_HOLES * holes.size:
        raise FormatError(
            f"{count:,} of {holes.size:,} heights are not finite",
            hint="fill the holes before",
            path=path,
        )
    nearest = distance_transform_edt(holes, return_distances=False, return_indices=True)
    return heights[tuple(nearest)], count
