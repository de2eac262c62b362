"""`deepphase stream`: files, standard input and WebSockets."""

import asyncio
import io
import json
import socket
import subprocess
import sys

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from deepphase.apps import cli
from deepphase.apps.demo import PHASES
from deepphase.apps.live.phase_stream import PhaseStream
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.model import PhaseModel
from deepphase.phase.streaming import StreamingEncoder
from deepphase.synthetic.gait_motion import locomotion

FRAMES = 130


@pytest.fixture(scope="module")
def walk():
    return locomotion(7, 3.0).clip.sliced(0, FRAMES)


@pytest.fixture(scope="module")
def expected(walk):
    encoder = StreamingEncoder(PhaseModel.load(PHASES), walk.skeleton.names)
    found = [encoder.push(frame) for frame in joint_positions(walk)]
    return [each.phase for each in found if each is not None]


def messages(clip):
    first = json.dumps({"joints": list(clip.skeleton.names)})
    return [first, *(json.dumps(frame.tolist()) for frame in joint_positions(clip))]


def test_a_file(walk, expected, tmp_path, capsys):
    save(walk, tmp_path / "walk.npz")
    assert cli.main(["stream", str(PHASES), str(tmp_path / "walk.npz")]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["frame"] for line in lines] == list(range(121, FRAMES))
    np.testing.assert_allclose([line["phase"] for line in lines], expected, atol=1e-3)


def test_standard_input(walk, expected, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(messages(walk)) + "\n\n"))
    assert cli.main(["stream", str(PHASES), "-"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose([line["phase"] for line in lines], expected, atol=1e-3)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("{", "is not JSON"),
        ("{}", "without a list of joints"),
        ('{"joints": [1]}', "without a list of joints"),
        ('[["a"]]', "is not a list of"),
        ("[[1, 2], [3]]", "is not a list of"),
        ("[[1, 2, 3]]", "before the joints are named"),
    ],
)
def test_messages_that_are_none(message, words, monkeypatch, capsys):
    with pytest.raises(ParameterError, match=words):
        PhaseStream(PhaseModel.load(PHASES)).answer(message)
    monkeypatch.setattr(sys, "stdin", io.StringIO(message))
    assert cli.main(["stream", str(PHASES), "-"]) == 2
    assert "line 1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_websocket(walk, expected):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "deepphase.apps.cli", "stream", str(PHASES), "websocket"]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert f"ws://127.0.0.1:{port}" in server.stdout.readline()
            found = asyncio.run(_asked(f"ws://127.0.0.1:{port}/", messages(walk), len(expected)))
        finally:
            # Not SIGINT: background jobs ignore it, and so do the programs that they start.
            server.kill()
    np.testing.assert_allclose([each["phase"] for each in found], expected, atol=1e-3)


async def _asked(address, sent, count):
    with pytest.raises(InvalidStatus, match="403"):
        await connect(address, origin="http://example.org")
    async with connect(address) as connection:
        await connection.send("?")
        assert "is not JSON" in json.loads(await connection.recv())["error"]
        for message in sent:
            await connection.send(message)
        return [json.loads(await connection.recv()) for _ in range(count)]
