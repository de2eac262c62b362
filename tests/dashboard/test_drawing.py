"""What is drawn in the browser: limbs that follow a handle, marks on the timeline, what is sent."""

import json
import subprocess

import numpy as np
import pytest

from deepphase.apps.dashboard.parts import drawing
from deepphase.apps.dashboard.parts.drawing import (
    key_timeline,
    limb_above,
    pose_pad,
    read_place,
    sent_keys,
    sent_spans,
    span_timeline,
)
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.page import VIEWER
from tests.live.node import needs_node


def asked(tmp_path, script, names, expression):
    """What an expression gives in a script of the pages that exports these names."""
    (tmp_path / "ask.mjs").write_text(
        f'import {{ {names} }} from "{(VIEWER / script).as_uri()}";\n'
        f"console.log(JSON.stringify({expression}));\n",
        encoding="utf-8",
    )
    command = ["node", str(tmp_path / "ask.mjs")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def clip():
    return locomotion(seed=3, seconds=2.0).clip


@pytest.fixture(scope="module")
def roles(clip):
    return find_roles(clip.skeleton, clip=clip)


def reached(tmp_path, positions, limb, places):
    """(places, joints, 3) poses that the page's script finds."""
    given = json.dumps([positions.tolist(), limb, np.asarray(places).tolist()])
    find = "(([pose, limb, places]) => places.map((place) => reached(pose, limb, place)))"
    return np.array(asked(tmp_path, "input/pose_pad.js", "reached", f"{find}({given})"))


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
    monkeypatch.setattr(drawing, "_pose_view", lambda **given: drawn.append(given))
    joint, frame = roles.both("hand")[1], 30
    own = joint_positions(clip)[frame, joint]
    pose_pad(clip, frame, joint, roles, own, "pad", placed.append)
    (given,) = drawn
    # The place is that of the joint in the pose, in the axes of the body.
    np.testing.assert_allclose(given["data"]["place"], given["data"]["positions"][joint], atol=1e-4)
    given["on_sent"](given["data"]["place"])
    np.testing.assert_allclose(placed[0], own, atol=1e-4)
    given["on_sent"](["far", 0, 0])
    assert len(placed) == 1


@pytest.mark.parametrize(
    "given", [None, [1, 2], [1, 2, 1e9], [1, 2, float("nan")], [True, 0, 0], "123", [1, 2, [3]]]
)
def test_what_is_no_place_is_none(given):
    assert read_place(given) is None


@needs_node
def test_marks_are_moved_added_and_joined(tmp_path):
    calls = {
        "moved([[0, 0], [30, 30], [60, 60]], 1, 45, 99)": [[0, 0], [30, 45], [60, 60]],
        # Keys do not pass each other, and stay on the timeline.
        "moved([[0, 0], [30, 30], [60, 60]], 1, 80, 99)": [[0, 0], [30, 59], [60, 60]],
        "moved([[0, 0], [30, 30], [60, 60]], 2, 400, 99)": [[0, 0], [30, 30], [60, 99]],
        # A new key stands between those beside it, where their motion is.
        "added([[0, 0], [30, 60]], 10)": [[0, 0], [10, 20], [30, 60]],
        "added([[0, 0], [30, 60]], 30)": [[0, 0], [30, 60]],
        "added([[0, 0], [30, 60]], 40)": [[0, 0], [30, 60], [40, 70]],
        "added([[20, 25], [30, 60]], 15)": [[15, 20], [20, 25], [30, 60]],
        # Stretches of one row that touch are one.
        "joined([[0, 5, 9], [1, 5, 9]], [0, 10, 12])": [[0, 5, 12], [1, 5, 9]],
        "joined([[0, 5, 9]], [0, 12, 14])": [[0, 5, 9], [0, 12, 14]],
    }
    found = asked(
        tmp_path, "timeline/edit_timeline.js", "moved, added, joined", f"[{', '.join(calls)}]"
    )
    assert dict(zip(calls, found, strict=True)) == calls


def test_what_was_drawn_reaches_the_page(monkeypatch):
    drawn, given = [], []
    monkeypatch.setattr(drawing, "_timeline_view", lambda **named: drawn.append(named))
    clip = locomotion(seed=3, seconds=1.0).clip
    key_timeline(clip, [[0, 0], [59, 59]], "keys", given.append)
    span_timeline(clip, ["all"], [[0, 3, 5]], "spans", given.append)
    span_timeline(clip, ["all"], [[0, 3, 5]], "shown")
    assert [each["data"]["editable"] for each in drawn] == [True, True, False]
    for each, marks in zip(drawn, ([[0, 0], [59, 70]], [[0, 4, 8]]), strict=False):
        each["on_sent"](marks)
    assert given == [[[0, 0], [59, 70]], [[0, 4, 8]]]
    drawn[0]["on_sent"]([[0, 0], [59, 800]])
    assert len(given) == 2


@pytest.mark.parametrize(
    "given",
    [
        None, [[0, 0]], [[0, 0], [5]], [[0, 0], [5, 0]], [[5, 5], [0, 9]], [[0, 0], [5, 900]],
        [[0, 0], [5, float("nan")]], [[0, 0], [5, 6.5]], [[0, 0], [True, 5]], "00",
        [[0, 0], ["5", 5]],
        [[i, i] for i in range(3000)],
    ],
)  # fmt: skip
def test_what_is_no_keys_is_none(given):
    assert sent_keys(given, 100) is None


@pytest.mark.parametrize("given", [None, [[0, 5, 4]], [[2, 0, 1]], [[0, 0, 100]], [[0, 0]], [3]])
def test_what_is_no_stretch_is_none(given):
    assert sent_spans(given, 2, 100) is None
