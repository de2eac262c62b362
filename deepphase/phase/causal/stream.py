"""Current phases, frame by frame, out of a causal network in NumPy."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.causal.encoder import network_arrays, parameters_of
from deepphase.phase.causal.network import STILL, VALUES, CausalNetwork
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.recent_rows import RecentRows
from deepphase.phase.streamed_body import StreamedBody


class CausalStream:
    """Phases of a causal network.

    For a single frame, torch's calls cost more than its products.

    Parameters
    ----------
    network
        The network.
    body
        Joints of the frames.
    fps
        Frames a second.
    lag_s
        Seconds that the phases are behind the newest frame. Between two of the network's moments,
        the phases are those of the later one, turned back.
    """

    def __init__(
        self, network: CausalNetwork, body: StreamedBody, fps: float, lag_s: float
    ) -> None:
        self._body, self._fps, self._channels = body, np.float32(fps), network.channels
        self._window, self._facing_frames = network.window, network.facing_frames
        behind = round(lag_s * fps)
        place = max(index for index, lag in enumerate(network.lags) if lag <= behind)
        self._back_s = (behind - network.lags[place]) / fps
        # The moment asked for is one of the frames that have arrived.
        self._least = max(network.facing_frames, behind + 1)
        arrays = network_arrays(network)
        self._basis, self._unit = arrays["basis"], arrays["unit"]
        self._layers = [(arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(3)]
        # Of the last layer only the values of this moment.
        kept = slice(place * network.channels * VALUES, (place + 1) * network.channels * VALUES)
        self._layers[2] = (self._layers[2][0][kept].copy(), self._layers[2][1][kept])
        # A window of no movement stands for what was before the first frame.
        self._velocities = RecentRows(network.window, (3 * len(body.order),), np.float32)
        self._facing = RecentRows(network.facing_frames, (3,))
        self.reset()

    def reset(self) -> None:
        """Forget all frames."""
        self._velocities.clear()
        self._facing.clear()
        self._frames = 0
        self._last: Array | None = None

    def push(self, frame: Array) -> PhaseParameters | None:
        """Phases with the next frame (joints, 3); None until enough frames have arrived."""
        read = frame[self._body.order]
        moved = 0.0 if self._last is None else (read - self._last).reshape(-1) * self._fps
        self._velocities.append(moved)
        self._facing.append(self._body.facing(frame))
        self._last = read
        self._frames += 1
        if self._frames < self._least:
            return None
        values = self._features()
        for index, (weight, bias) in enumerate(self._layers):
            values = weight @ values + bias
            if index < 2:
                values = np.where(values > 0, values, np.expm1(np.minimum(values, 0)))
        found = parameters_of(values.reshape(self._channels, VALUES), self._unit)
        return found.advanced(-self._back_s) if self._back_s else found

    def _features(self) -> Array:
        """As `CausalNetwork.features` of the last window."""
        averages = (self._basis @ self._velocities.last(self._window)).reshape(-1, 3)
        x, _, z = self._facing.last(self._facing_frames).sum(0)
        length = float(np.hypot(x, z))
        sine, cosine = (x / length, z / length) if length > 0 else (0.0, 1.0)
        turn = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]], np.float32)
        turned = (averages @ turn).reshape(-1)
        power = np.sqrt(np.dot(turned, turned) / len(turned)) + np.float32(STILL)
        return np.append(turned / power, np.log(power))
