"""Surfaces of bodies: closed, and on their joints, whatever the skeleton is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from deepphase.formats.load import load
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.roles import find_roles
from deepphase.viewer.actor import Skin
from tests.live.node import NODE, needs_node
from tests.real_data import real_clips

_SCRIPT = Path(__file__).with_name("surfaces.mjs")
# Random bodies; more of them are tried by hand.
_RANDOM = int(os.environ.get("DEEPPHASE_BODIES") or 40)
_FORMATS = (".bvh", ".glb", ".amc", ".c3d")


def surfaces(**request) -> list[tuple[str, bool]]:
    """What is wrong with each surface, "" for nothing, and whether it is of capsules."""
    assert NODE is not None
    answer = subprocess.run(
        [NODE, str(_SCRIPT)], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return [(found["fault"], found["capsules"]) for found in json.loads(answer.stdout)]


@needs_node
@pytest.mark.parametrize(("count", "coarseness"), [(_RANDOM, 2.5), (8, 1.0)])
def test_random_bodies_have_closed_surfaces_on_their_joints(count, coarseness):
    assert surfaces(count=count, coarseness=coarseness) == [("", False)] * count


@needs_node
@pytest.mark.parametrize("role", ["left_knee", "hips", "head", "points"])
def test_a_body_that_a_frame_would_tear_has_capsules_as_limbs(role):
    assert surfaces(count=3, moved=role) == [("", True)] * 3


@needs_node
def test_captured_bodies_have_closed_surfaces_on_their_joints():
    files = sorted(real_clips("accad").parent.rglob("*.*"))
    first = {(path if path.suffix == ".glb" else path.parent, path.suffix): path for path in files}
    chosen = [path for (_, suffix), path in first.items() if suffix in _FORMATS]
    clips = {path: load(path) for path in chosen}
    bodies = {path: body_of(clip) for path, clip in clips.items() if isinstance(clip, Clip)}
    assert bodies
    found = dict(zip(bodies, surfaces(bodies=list(bodies.values())), strict=True))
    assert {path: fault for path, (fault, _) in found.items() if fault} == {}


def body_of(clip: Clip) -> dict:
    """Skeleton and frames as JavaScript has them."""
    rotations, positions = global_transforms(clip)
    skin = Skin.from_joints(clip.skeleton.parents, rotations, find_roles(clip.skeleton, clip=clip))
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
