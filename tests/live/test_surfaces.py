"""Surfaces of bodies: closed, and on their joints, whatever the skeleton is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from deepphase.formats.load import load
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import find_roles
from deepphase.viewer.actor import Skin
from tests.live.node import NODE, needs_node
from tests.real_data import real_clips

_SCRIPT = Path(__file__).with_name("surfaces.mjs")


def faults(**request) -> list[str]:
    """What is wrong with each surface; empty texts where nothing is."""
    assert NODE is not None
    answer = subprocess.run(
        [NODE, str(_SCRIPT)], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@needs_node
@pytest.mark.parametrize(("count", "coarseness"), [(100, 2.5), (12, 1.0)])
def test_random_bodies_have_closed_surfaces_on_their_joints(count, coarseness):
    found = faults(count=count, coarseness=coarseness)
    assert found == [""] * count


@needs_node
def test_captured_bodies_have_closed_surfaces_on_their_joints():
    folders = [path for path in sorted(real_clips("accad").parent.iterdir()) if path.is_dir()]
    files = [next(iter(sorted(folder.rglob("*.bvh"))), None) for folder in folders]
    clips = {path.name: load(path) for path in files if path is not None}
    bodies = [body_of(clip) for clip in clips.values() if isinstance(clip, Clip)]
    assert bodies
    found = faults(bodies=bodies, coarseness=1.0)
    assert found == [""] * len(bodies)


def body_of(clip: Clip) -> dict:
    """Skeleton and frames as JavaScript has them."""
    rotations, positions = global_transforms(clip)
    skin = Skin.of_joints(clip.skeleton.parents, rotations, find_roles(clip.skeleton, clip=clip))
    chosen = np.linspace(0, len(clip) - 1, 12).astype(int)
    frames = [
        {
            "positions": positions[frame].ravel().tolist(),
            "rotations": rotations[frame].ravel().tolist(),
            "root": {"position": positions[frame, 0, [0, 2]].tolist(), "heading": 0.0},
        }
        for frame in chosen
    ]
    roles = {**skin.roles, "tail": list(skin.tail)}
    names, parents = list(clip.skeleton.names), clip.skeleton.parents.tolist()
    skeleton = {"names": names, "parents": parents, "kind": skin.kind, "roles": roles}
    return {"skeleton": skeleton, "frames": frames}
