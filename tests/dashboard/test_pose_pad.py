"""The pad of page Edit: limbs that follow a handle, and places that browsers send."""

import json
import subprocess

import numpy as np
import pytest

from deepphase.apps.dashboard.parts import pose_pad as parts
from deepphase.apps.dashboard.parts.pose_pad import limb_above, pose_pad, read_place
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.bundle import VIEWER
from tests.live.node import needs_node

SCRIPT = VIEWER / "input" / "pose_pad.js"


@pytest.fixture(scope="module")
def clip():
    return locomotion(seed=3, seconds=2.0).clip


@pytest.fixture(scope="module")
def roles(clip):
    return find_roles(clip.skeleton, clip=clip)


def reached(tmp_path, positions, limb, places):
    """(places, joints, 3) poses that the page's script finds."""
    given = json.dumps([positions.tolist(), limb, np.asarray(places).tolist()])
    (tmp_path / "ask.mjs").write_text(
        f'import {{ reached }} from "{SCRIPT.as_uri()}";\n'
        f"const [positions, limb, places] = {given};\n"
        "const found = places.map((place) => reached(positions, limb, place));\n"
        "console.log(JSON.stringify(found));\n",
        encoding="utf-8",
    )
    command = ["node", str(tmp_path / "ask.mjs")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return np.array(json.loads(answer.stdout))


@needs_node
@pytest.mark.parametrize("part", ["hand", "foot"])
def test_a_limb_follows_its_handle_with_bones_of_constant_length(tmp_path, clip, roles, part):
    positions = joint_positions(clip)[30].astype(np.float64)
    joint = roles.both(part)[0]
    limb = limb_above(clip.skeleton, joint, roles)
    near = positions[joint] + (0.02, 0.05, 0.04)
    far = positions[limb["upper"]] + (3.0, 1.0, 0.0)
    own, moved, stretched = reached(tmp_path, positions, limb, [positions[joint], near, far])
    np.testing.assert_allclose(own, positions, atol=2e-3)
    np.testing.assert_allclose(moved[joint], near, atol=1e-6)
    chain = [limb["upper"], limb["middle"], limb["end"]]
    lengths = np.linalg.norm(np.diff(positions[chain], axis=0), axis=1)
    for pose in (moved, stretched):
        np.testing.assert_allclose(np.linalg.norm(np.diff(pose[chain], axis=0), axis=1), lengths)
    # A place out of reach is pointed at.
    pointed = stretched[joint] - positions[limb["upper"]]
    assert np.linalg.norm(pointed) == pytest.approx(lengths.sum(), rel=1e-3)
    assert pointed @ (3.0, 1.0, 0.0) > 0.99 * np.linalg.norm(pointed) * np.hypot(3.0, 1.0)
    others = np.setdiff1d(np.arange(len(positions)), [limb["middle"], *limb["moved"]])
    np.testing.assert_array_equal(moved[others], positions[others])


def test_a_place_comes_back_in_the_world(clip, roles, monkeypatch):
    drawn, placed = [], []
    monkeypatch.setattr(parts, "_component", lambda **given: drawn.append(given))
    joint, frame = roles.both("hand")[1], 30
    own = joint_positions(clip)[frame, joint]
    pose_pad(clip, frame, joint, roles, own, "pad", placed.append)
    (given,) = drawn
    # The place is that of the joint in the pose, in the axes of the body.
    np.testing.assert_allclose(given["data"]["place"], given["data"]["positions"][joint], atol=1e-4)
    state = {"pad": {"placed": given["data"]["place"]}}
    monkeypatch.setattr(parts.st, "session_state", state)
    given["on_placed_change"]()
    np.testing.assert_allclose(placed[0], own, atol=1e-4)
    state["pad"]["placed"] = ["far", 0, 0]
    given["on_placed_change"]()
    assert len(placed) == 1


@pytest.mark.parametrize(
    "given", [None, [1, 2], [1, 2, 1e9], [1, 2, float("nan")], [True, 0, 0], "123", [1, 2, [3]]]
)
def test_what_is_no_place_is_none(given):
    assert read_place(given) is None
