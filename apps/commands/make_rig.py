"""`deepphase make rig`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from deepphase.apps.terminal import note


def command(
    body: Literal["human", "basic_human", "basic_quadruped", "wolf", "cat", "horse"], output: Path
) -> None:
    """Make a rig with Rigify, an add-on that comes with Blender, to try `train rig` on.

    Parameters
    ----------
    body
        Skeleton of Rigify that the rig is made for: human, basic_human (without face and fingers),
        basic_quadruped, wolf, cat or horse.
    output
        File to write (.blend).
    """
    from deepphase.rigs.rigify import make_rigify

    bones = make_rigify(body, output)
    note(f"rig of {bones:,} bones: {output}")
