"""Senders of a steered body's frames: VMC, Open Sound Control, and a WebSocket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import numpy as np

from deepphase.apps.hosts import is_own_request
from deepphase.apps.live.goal_messages import HOST, MAX_BYTES, goals_of_json
from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.export.humanoid import BONES, HumanoidPoses, in_unity
from deepphase.export.osc import Message, osc_datagram
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.steering.run import RunnerSpec

# Kind -> port that its receivers listen on.
_PORTS = {"vmc": 39539, "osc": 9000, "websocket": 8702}
# Joints in one datagram of `osc`, which then stay below the 1,500 bytes of a network's packets.
_JOINTS_A_DATAGRAM = 12


@dataclass(frozen=True)
class StreamTarget:
    """Where frames are sent: a kind, a host and a port, see :meth:`parse`."""

    kind: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> StreamTarget:
        """Read "vmc", "osc" or "websocket", with ":PORT" or ":HOST:PORT" behind it.

        Raises
        ------
        ParameterError
            If it is none of these.
        """
        kind, _, place = text.partition(":")
        host, _, port = place.rpartition(":")
        number = int(port) if port.isdecimal() else _PORTS.get(kind, 0) if not place else 0
        if kind not in _PORTS or not 1 <= number <= 65_535:
            raise ParameterError(
                f"there is no stream {text!r}",
                hint="give vmc, osc or websocket, or one of them with :PORT or :HOST:PORT",
            )
        if kind == "websocket" and host not in ("", HOST, "localhost"):
            raise ParameterError(
                f"a WebSocket cannot listen on {host}, only on this machine",
                hint="give websocket:PORT",
            )
        return cls(kind, host or HOST, number)


@dataclass(frozen=True, eq=False)
class StreamedFrame:
    """A frame of one body, with its number and time since the start."""

    number: int
    seconds: float
    clip: Clip
    position: Array
    angle: float


class Sender(Protocol):
    """Sends frames of one body."""

    address: str

    def send(self, frame: StreamedFrame) -> None:
        """Send a frame."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class _Datagrams:
    def __init__(self, target: StreamTarget) -> None:
        self.address = f"{target.host}:{target.port} (UDP)"
        self._place = (target.host, target.port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def _send(self, messages: Iterable[Message]) -> None:
        # A receiver that is not there yet refuses datagrams on some systems.
        with suppress(ConnectionError):
            self._socket.sendto(osc_datagram(messages), self._place)

    def close(self) -> None:
        self._socket.close()


class VmcSender(_Datagrams):
    """Virtual Motion Capture Protocol: root and local bones of a humanoid, in Unity's axes.

    Parameters
    ----------
    sample
        See `HumanoidPoses`, which raises SkeletonError for other bodies.

    References
    ----------
    protocol.vmc.info, VMC Protocol 2.
    """

    def __init__(self, target: StreamTarget, sample: Clip) -> None:
        super().__init__(target)
        self._poses = HumanoidPoses(sample)

    def send(self, frame: StreamedFrame) -> None:
        """Send a frame as one bundle."""
        rotations, hips = (each[0] for each in self._poses.of(frame.clip))
        turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), np.array(frame.angle))
        ground = np.array([frame.position[0], 0.0, frame.position[1]])
        # The hips stand in the root, the other bones keep the receiver's lengths.
        back = quaternions.conjugate(turn)
        rotations[0] = quaternions.multiply(back, rotations[0])
        places = np.zeros((len(BONES), 3))
        places[0] = quaternions.rotate(back, hips - ground)
        root, root_place = in_unity(turn, ground)
        rotations, places = in_unity(rotations, places)
        self._send(
            [
                ("/VMC/Ext/OK", (1,)),
                ("/VMC/Ext/T", (frame.seconds,)),
                ("/VMC/Ext/Root/Pos", ("root", *root_place.tolist(), *root.tolist())),
                *(
                    ("/VMC/Ext/Bone/Pos", (name, *place, *rotation))
                    for name, place, rotation in zip(
                        BONES, places.tolist(), rotations.tolist(), strict=True
                    )
                ),
            ]
        )


class OscSender(_Datagrams):
    """Joints of any body in the world, by name: right-handed, Y up, metres, x y z w."""

    def send(self, frame: StreamedFrame) -> None:
        """Send a frame as bundles of some joints each, which all begin with its number."""
        rotations, positions = (each[0].tolist() for each in global_transforms(frame.clip))
        joints: list[Message] = [
            ("/deepphase/joint", (name, *place, *rotation))
            for name, place, rotation in zip(
                frame.clip.skeleton.names, positions, rotations, strict=True
            )
        ]
        head: list[Message] = [
            ("/deepphase/frame", (frame.number, frame.seconds)),
            ("/deepphase/root", (*map(float, frame.position), frame.angle)),
        ]
        for begin in range(0, len(joints), _JOINTS_A_DATAGRAM):
            self._send([*head, *joints[begin : begin + _JOINTS_A_DATAGRAM]])


class WebSocketSender:
    """A WebSocket on this machine: JSON frames to every client, and goals from them.

    A client that is slow gets the newest frame, and misses those between.
    """

    def __init__(
        self, target: StreamTarget, spec: RunnerSpec, take: Callable[[Message], None]
    ) -> None:
        from websockets.sync.server import ServerConnection, serve

        self.address = f"ws://{HOST}:{target.port}"
        self._take, self._newest, self._closed = take, "", False
        self._changed = threading.Condition()
        skeleton = spec.skeleton
        self._first = json.dumps(
            {
                "fps": spec.fps,
                "joints": list(skeleton.names),
                "parents": skeleton.parents.tolist(),
                "offsets": np.round(skeleton.offsets, 6).tolist(),
            }
        )

        def checked(connection: ServerConnection, request: Any) -> Any:
            # Pages of other sites must not reach a server of this machine.
            headers = request.headers
            if is_own_request(headers.get_all("Host"), headers.get_all("Origin"), target.port):
                return None
            return connection.respond(HTTPStatus.FORBIDDEN, "This address is not deepphase's.")

        try:
            self._server = serve(
                self._answered,
                HOST,
                target.port,
                process_request=checked,
                max_size=MAX_BYTES,
                compression=None,
            )
        except OSError:
            raise ParameterError(
                f"port {target.port} is in use", hint="give another: websocket:PORT"
            ) from None
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answered(self, connection: Any) -> None:
        threading.Thread(target=self._sending, args=(connection,), daemon=True).start()
        for text in connection:
            try:
                for message in goals_of_json(text):
                    self._take(message)
            except DeepPhaseError as error:
                connection.send(json.dumps({"error": error.fact, "hint": error.hint}))

    def _sending(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        sent = ""
        with suppress(ConnectionClosed):
            connection.send(self._first)
            while True:
                with self._changed:
                    while self._newest is sent and not self._closed:
                        self._changed.wait()
                    sent = self._newest
                if self._closed:
                    return
                connection.send(sent)

    def send(self, frame: StreamedFrame) -> None:
        """Hand a frame to all clients."""
        clip = frame.clip
        content = {
            "frame": frame.number,
            "seconds": round(frame.seconds, 6),
            "position": np.round(frame.position, 5).tolist(),
            "angle": round(frame.angle, 6),
            "rotations": np.round(clip.rotations[0], 6).tolist(),
            "translations": np.round(clip.translations[0], 5).tolist(),
        }
        with self._changed:
            self._newest = json.dumps(content)
            self._changed.notify_all()

    def close(self) -> None:
        """End the server and its connections."""
        self._closed = True
        with self._changed:
            self._changed.notify_all()
        self._server.shutdown()
