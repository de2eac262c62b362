"""Object beside the body of a glTF file: a mesh that stands still, or moves and turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.formats.gltf.buffers import BinaryWriter

_ROUGHNESS = 0.8


@dataclass(frozen=True, eq=False)
class SceneObject:
    """A mesh with its place in every frame.

    Parameters
    ----------
    name
        Name of its node.
    positions, normals
        (vertices, 3) metres, and unit vectors.
    triangles
        (triangles, 3) vertices, counter-clockwise from outside.
    colours
        (vertices, 3) linear red, green and blue, 0 to 1.
    translations, rotations
        (frames, 3) metres and (frames, 4) quaternions; None for an object that stands still.

    Raises
    ------
    ParameterError
        If shapes do not fit.
    """

    name: str
    positions: Array
    normals: Array
    triangles: Array
    colours: Array
    translations: Array | None = None
    rotations: Array | None = None

    def __post_init__(self) -> None:
        vertices = (len(self.positions), 3)
        shapes = {each.shape for each in (self.positions, self.normals, self.colours)}
        if shapes != {vertices} or self.triangles.shape[1:] != (3,):
            raise ParameterError(
                f"an object {self.name!r} with arrays {sorted(shapes)} is not possible",
                hint="give as many normals and colours as positions",
            )

    def check_frames(self, frames: int) -> None:
        """Raise ParameterError if it moves for another number of frames."""
        for values, width in ((self.translations, 3), (self.rotations, 4)):
            if values is not None and values.shape != (frames, width):
                raise ParameterError(
                    f"{self.name!r} moves in an array {values.shape}, the clip has {frames} frames",
                    hint="give a place for every frame",
                )

    def write_mesh(self, binary: BinaryWriter, material: int) -> dict[str, Any]:
        """The mesh of the document; its arrays go into the binary part."""
        attributes = (
            ("POSITION", self.positions, "VEC3"),
            ("NORMAL", self.normals, "VEC3"),
            ("COLOR_0", self.colours, "VEC3"),
        )
        return binary.mesh(self.name, attributes, self.triangles, material)

    @property
    def material(self) -> dict[str, Any]:
        """The material of the document, whose colour is that of the vertices."""
        return {
            "name": self.name,
            "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": _ROUGHNESS},
        }
