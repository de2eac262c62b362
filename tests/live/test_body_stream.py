"""A steered body as a stream: receivers written after the protocols see the body's motion."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from deepphase.apps.live.body_senders import StreamedFrame, StreamTarget, VmcSender
from deepphase.apps.live.body_stream import BodyStream
from deepphase.apps.live.goal_messages import SteeredGoals, goals_of_json
from deepphase.apps.live.sources import runner_source
from deepphase.errors import ParameterError
from deepphase.export.humanoid import BONES
from deepphase.export.osc import osc_datagram, osc_messages
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.shipped import SHIPPED
from deepphase.steering.root_states import RootStates
from deepphase.synthetic.gait_motion import locomotion

FILES = Path(__file__).parents[1] / "compatibility" / "files"
# The parents of the bones that are looked at, and their directions in the T-pose in Unity, where
# left is -X.
T_POSE = {
    "LeftUpperLeg": ("Hips", (0, -1, 0)),
    "LeftLowerLeg": ("LeftUpperLeg", (0, -1, 0)),
    "RightUpperLeg": ("Hips", (0, -1, 0)),
    "RightLowerLeg": ("RightUpperLeg", (0, -1, 0)),
    "LeftUpperArm": ("LeftShoulder", (-1, 0, 0)),
    "LeftLowerArm": ("LeftUpperArm", (-1, 0, 0)),
    "RightUpperArm": ("RightShoulder", (1, 0, 0)),
    "RightLowerArm": ("RightUpperArm", (1, 0, 0)),
}
CHAIN = {
    "LeftShoulder": "UpperChest",
    "RightShoulder": "UpperChest",
    "UpperChest": "Chest",
    "Chest": "Spine",
    "Spine": "Hips",
} | {name: parent for name, (parent, _) in T_POSE.items()}
ENDS = {
    "LeftUpperLeg": ("left_hip", "left_knee"),
    "LeftLowerLeg": ("left_knee", "left_foot"),
    "RightUpperLeg": ("right_hip", "right_knee"),
    "RightLowerLeg": ("right_knee", "right_foot"),
    "LeftUpperArm": ("left_shoulder", "left_elbow"),
    "LeftLowerArm": ("left_elbow", "left_hand"),
    "RightUpperArm": ("right_shoulder", "right_elbow"),
    "RightLowerArm": ("right_elbow", "right_hand"),
}


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def receiver():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(60)
        yield opened


def received_pose(datagram):
    """Bone -> world rotation, and the place of the hips, as a receiver of the protocol has them."""
    local, root, hips = {}, None, None
    for address, values in osc_messages(datagram):
        if address == "/VMC/Ext/Root/Pos":
            root = (np.array(values[1:4]), Rotation.from_quat(values[4:8]))
        if address == "/VMC/Ext/Bone/Pos":
            local[values[0]] = Rotation.from_quat(values[4:8])
            hips = np.array(values[1:4]) if values[0] == "Hips" else hips
    assert set(local) == set(BONES)
    world = {}

    def of(bone):
        if bone not in world:
            above = root[1] if bone == "Hips" else of(CHAIN[bone])
            world[bone] = above * local[bone]
        return world[bone]

    for bone in T_POSE:
        of(bone)
    return world, root[0] + root[1].apply(hips)


def test_a_receiver_of_vmc_sees_the_directions_of_the_limbs_and_the_place():
    walk = locomotion(3, 1.0, turn_rate=1.5).clip
    roles = find_roles(walk.skeleton, clip=walk)
    positions = joint_positions(walk)
    mirror = np.array([-1.0, 1.0, 1.0])
    with receiver() as opened:
        target = StreamTarget("vmc", "127.0.0.1", opened.getsockname()[1])
        sender = VmcSender(target, walk)
        for frame in (0, 20, 45):
            angle = 0.3 * frame
            sender.send(
                StreamedFrame(frame, frame / 60, walk.sliced(frame, frame + 1), np.ones(2), angle)
            )
            world, hips = received_pose(opened.recv(65536))
            np.testing.assert_allclose(hips, mirror * positions[frame, roles.hips], atol=1e-4)
            for bone, (upper, lower) in ENDS.items():
                ends = (getattr(roles, upper), getattr(roles, lower))
                way = positions[frame, ends[1]] - positions[frame, ends[0]]
                seen = world[bone].apply(T_POSE[bone][1])
                assert seen @ (mirror * way) / np.linalg.norm(way) > 0.999, (frame, bone)
        sender.close()


@pytest.mark.slow
def test_goals_come_back_and_the_body_follows_them():
    ports = free_port(), free_port(socket.SOCK_DGRAM)
    source = runner_source(SHIPPED["person"].path)
    with receiver() as vmc, receiver() as osc, socket.socket(type=socket.SOCK_DGRAM) as goals:
        targets = [
            StreamTarget.parse(f"vmc:{vmc.getsockname()[1]}"),
            StreamTarget.parse(f"osc:{osc.getsockname()[1]}"),
            StreamTarget.parse(f"websocket:{ports[0]}"),
        ]
        with BodyStream(source, targets, ports[1]) as body:
            goals.sendto(
                osc_datagram([("/deepphase/velocity", (0.0, 1.2))]), ("127.0.0.1", ports[1])
            )
            goals.sendto(b"nonsense", ("127.0.0.1", ports[1]))
            seen = []

            def client():
                with connect(f"ws://127.0.0.1:{ports[0]}") as connection:
                    first = json.loads(connection.recv(timeout=60))
                    assert first["joints"] == list(body.spec.skeleton.names)
                    connection.send("[]")
                    seen.extend(json.loads(connection.recv(timeout=60)) for _ in range(5))

            listening = threading.Thread(target=client)
            listening.start()
            report = body.run(3.0)
            listening.join(60)
            times = [dict(osc_messages(vmc.recv(65536)))["/VMC/Ext/T"][0] for _ in range(20)]
            first = osc_messages(osc.recv(65536))
        assert report.frames == 180
        assert report.refused == 1
        assert body.goals.target()[0][0, 1] > 0.5
        assert all(b > a for a, b in pairwise(times))
        assert first[0] == ("/deepphase/frame", (0, 0.0))
        assert sum(address == "/deepphase/joint" for address, _ in first) == 12
        assert any("error" in each for each in seen)
        assert sum("rotations" in each for each in seen) >= 3


@pytest.mark.parametrize("name", ["experts.controller", "motion.db", "small.matcher"])
def test_characters_of_each_kind_of_file_are_streamed(name):
    with receiver() as osc:
        target = StreamTarget.parse(f"osc:{osc.getsockname()[1]}")
        with BodyStream(runner_source(FILES / name), [target], 0) as body:
            assert body.run(0.1).frames == round(0.1 * body.spec.fps)
        assert unpacked_names(osc.recv(65536)) <= set(body.spec.skeleton.names)


def unpacked_names(datagram):
    return {values[0] for address, values in osc_messages(datagram) if "joint" in address}


def test_pages_of_other_sites_do_not_reach_the_websocket():
    port = free_port()
    source = runner_source(SHIPPED["person"].path)
    with (
        BodyStream(source, [StreamTarget.parse(f"websocket:{port}")], 0),
        pytest.raises(InvalidStatus),
        connect(f"ws://127.0.0.1:{port}", origin="https://elsewhere.example"),
    ):
        pass


def test_a_port_in_use_is_said_and_nothing_stays_open():
    source = runner_source(SHIPPED["person"].path)
    with receiver() as opened:
        port = opened.getsockname()[1]
        with pytest.raises(ParameterError, match=f"port {port} is in use"):
            BodyStream(source, [], port)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vmc", ("vmc", "127.0.0.1", 39539)),
        ("osc:9001", ("osc", "127.0.0.1", 9001)),
        ("vmc:192.168.0.7:39540", ("vmc", "192.168.0.7", 39540)),
        ("websocket", ("websocket", "127.0.0.1", 8702)),
    ],
)
def test_targets(text, expected):
    assert StreamTarget.parse(text) == StreamTarget(*expected)


@pytest.mark.parametrize(
    "text", ["", "smpte", "vmc:x", "vmc:70000", "vmc:host:", "websocket:192.168.0.7:1"]
)
def test_impossible_targets(text):
    with pytest.raises(ParameterError):
        StreamTarget.parse(text)


def test_goals_of_json_are_those_of_datagrams():
    goals = SteeredGoals(RootStates.at_rest(np.zeros((1, 2))))
    text = '{"velocity": [0.5, 1.0], "facing": 0.25, "labels": {"style": "proud"}}'
    for message in goals_of_json(text):
        goals.take(message)
    velocity, facing = goals.command()
    np.testing.assert_allclose(velocity, [[0.5, 1.0]])
    np.testing.assert_allclose(facing, [0.25])
    assert goals.labels() == [{"style": "proud"}]
    for message in goals_of_json('{"facing": null}'):
        goals.take(message)
    np.testing.assert_allclose(goals.command()[1], [np.arctan2(0.5, 1.0)])


@pytest.mark.parametrize("text", ["", "[1]", '{"speed": 1}', "{" * 10])
def test_other_json_is_refused(text):
    with pytest.raises(ParameterError):
        goals_of_json(text)


@pytest.mark.parametrize(
    "message",
    [
        ("/deepphase/velocity", (1.0,)),
        ("/deepphase/velocity", (float("nan"), 1.0)),
        ("/deepphase/velocity", ("fast", "er")),
        ("/deepphase/facing", (float("inf"),)),
        ("/deepphase/label", ("style", 3)),
        ("/other", ()),
    ],
)
def test_other_messages_are_refused(message):
    goals = SteeredGoals(RootStates.at_rest(np.zeros((1, 2))))
    with pytest.raises(ParameterError):
        goals.take(message)
