"""Objects beside the body of a run: its ball, and the ground that was walked."""

from __future__ import annotations

import numpy as np

from deepphase.apps.runs.request import MeasuredRun
from deepphase.arrays import Array
from deepphase.formats.gltf.scene_object import SceneObject
from deepphase.motion.ball import rolling_rotations
from deepphase.motion.root_motion import RootMotion
from deepphase.terrain.heightmap import Heightmap

# Metres of ground around a run, and between its points.
_MARGIN_M, _SPACING_M = 3.0, 0.1
# Points along the longer side of the ground; in a glb file fewer, some 2 MB.
_MAX_POINTS, _MAX_GLB_POINTS = 400, 200
_GROUND_COLOUR = (0.42, 0.45, 0.4)
# Rings from pole to pole of a ball, and points around each.
_RINGS, _AROUND = 24, 48
_DARK, _BRIGHT = 0.025, 0.86
# A football has twelve dark pentagons, at the corners of an icosahedron; radians from their middle.
_PENTAGON = 0.37
_NEAR, _FAR = 0.5257311, 0.8506508
_CORNERS = np.array([
    [0, _NEAR, _FAR], [0, _NEAR, -_FAR], [_NEAR, _FAR, 0],
    [_NEAR, -_FAR, 0], [_FAR, 0, _NEAR], [-_FAR, 0, _NEAR],
])  # fmt: skip


def scene_objects(
    measured: MeasuredRun, character: int, root_motion: RootMotion
) -> list[SceneObject]:
    """The ball of a character, and the ground around its way; none for motion in place."""
    run = measured.run
    if root_motion == "in_place":
        return []
    found = []
    if run.spec.ball is not None:
        track = run.tracks["ball"][character]
        points, triangles = _sphere()
        found.append(
            SceneObject(
                "ball",
                run.spec.ball.radius_m * points,
                points,
                triangles,
                _football(points),
                translations=track,
                rotations=rolling_rotations(track, run.spec.ball),
            )
        )
    if measured.ground is not None:
        patch = ground_patch(measured.ground, run.positions[character], _MAX_GLB_POINTS)
        found.append(_ground(patch))
    return found


def ground_patch(ground: Heightmap, places: Array, max_points: int = _MAX_POINTS) -> Heightmap:
    """The ground around places (..., 2), coarse enough to draw.

    Parameters
    ----------
    max_points
        Largest number of points along its longer side.
    """
    places = places.reshape(-1, 2)
    low, high = places.min(axis=0) - _MARGIN_M, places.max(axis=0) + _MARGIN_M
    extent = float((high - low).max())
    spacing = max(_SPACING_M, extent / max_points)
    counts = np.ceil((high - low) / spacing).astype(int) + 1
    x, z = (low[axis] + spacing * np.arange(counts[axis]) for axis in (0, 1))
    heights = ground.at(np.stack(np.meshgrid(x, z), axis=-1))
    return Heightmap(heights, spacing, (float(low[0]), float(low[1])), ground.name)


def _ground(patch: Heightmap) -> SceneObject:
    rows, columns = patch.heights.shape
    x, z = (
        origin + patch.spacing_m * np.arange(count)
        for origin, count in zip(patch.origin, (columns, rows), strict=True)
    )
    places = np.stack(np.meshgrid(x, z), axis=-1)
    points = np.stack([places[..., 0], patch.heights, places[..., 1]], axis=-1).reshape(-1, 3)
    rise = patch.gradients(places).reshape(-1, 2)
    normals = np.stack([-rise[:, 0], np.ones(len(rise)), -rise[:, 1]], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    below = corner + columns
    triangles = np.stack([corner, below, corner + 1, corner + 1, below, below + 1], axis=1)
    colours = np.tile(_GROUND_COLOUR, (len(points), 1))
    return SceneObject("ground", points, normals, triangles.reshape(-1, 3), colours)


def _sphere() -> tuple[Array, Array]:
    """Points of the unit sphere, and triangles that are counter-clockwise from outside."""
    tilt = np.linspace(0.0, np.pi, _RINGS + 1)[:, None]
    angle = np.linspace(0.0, 2.0 * np.pi, _AROUND + 1)[None]
    x, z = np.sin(tilt) * np.sin(angle), np.sin(tilt) * np.cos(angle)
    points = np.stack([x, np.broadcast_to(np.cos(tilt), x.shape), z], axis=-1).reshape(-1, 3)
    corner = np.arange(_RINGS)[:, None] * (_AROUND + 1) + np.arange(_AROUND)
    below = corner + _AROUND + 1
    upper = np.stack([corner, below, corner + 1], axis=-1)[1:]
    lower = np.stack([corner + 1, below, below + 1], axis=-1)[:-1]
    return points, np.concatenate([upper.reshape(-1, 3), lower.reshape(-1, 3)])


def _football(points: Array) -> Array:
    """(points, 3) colours of the unit sphere."""
    dark = (np.abs(points @ _CORNERS.T) > np.cos(_PENTAGON)).any(axis=1)
    return np.where(dark[:, None], _DARK, _BRIGHT) * np.ones(3)
