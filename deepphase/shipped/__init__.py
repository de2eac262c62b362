"""Models that come with the package, each with the motion that it learnt from.

`docs/models.md` is their card, and `make shipped` makes them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

MAX_BYTES = 30_000_000
"""Bytes that all shipped files have together at most."""


@dataclass(frozen=True)
class ShippedModel:
    """A file that comes with the package.

    Parameters
    ----------
    path
        The file, which the `load` of its kind reads.
    title
        What a list shows it as.
    motion
        The motion that it learnt from, and whose that is.
    own
        What a training on motion of one's own brings, by measures.
    """

    path: Path
    title: str
    motion: str
    own: str


_HERE = Path(__file__).parent
_SYNTHETIC = "synthetic motion of this package"
_DANCES = "CMU's salsa and Indian dances (mocap.cs.cmu.edu)"
_CAPTURES = (
    "captures of ACCAD, The Ohio State University (CC BY 3.0), and 100STYLE, Ian Mason (CC BY 4.0)"
)

SHIPPED: Mapping[str, ShippedModel] = MappingProxyType(
    {
        "person": ShippedModel(
            _HERE / "person.matcher",
            "Person",
            _CAPTURES,
            "of clips of your own, match build and train matching make another",
        ),
        "dog": ShippedModel(
            _HERE / "dog.matcher",
            "Dog",
            _SYNTHETIC,
            "its gaits are formulas; match build and train matching make one of your own clips",
        ),
        "dancer": ShippedModel(
            _HERE / "dancer.matcher",
            "Dancer",
            "salsa, Indian and modern dances of CMU: the data used in this project was obtained "
            "from mocap.cs.cmu.edu; the database was created with funding from NSF EIA-0196217",
            "it knows no waltz; a database or a dancer of dances of your own (match build, train "
            "dance) has their figures",
        ),
        "editor": ShippedModel(
            _HERE / "two_legs.editor",
            "any body on two legs",
            f"{_DANCES} and {_SYNTHETIC}",
            "a lost second of people whom it never saw is 62 to 154 mm off, a line 156 to 185; "
            "an editor of your own clips (train editor) also halves the error of single joints",
        ),
        "any_skeleton": ShippedModel(
            _HERE / "any_skeleton.model",
            "any skeleton",
            f"captures of CMU (mocap.cs.cmu.edu), {_CAPTURES}, animals of Mesh2Motion (CC0), and "
            f"{_SYNTHETIC}",
            "it explains .87 of the motion of people that it never saw and .60 of a dog's; trained "
            "on with your clips (train phase --start) it explains more",
        ),
    }
)
"""Name -> shipped file."""
