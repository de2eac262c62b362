"""Takes for tests of the player, and its pages taken apart again."""

from __future__ import annotations

import base64
import io
import json
import re
import wave
from html.parser import HTMLParser

import numpy as np

from deepphase.phase.parameters import ManifoldProjection
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import (
    Channels,
    ComparedCosts,
    CostComparison,
    CostOption,
    Curve,
    Gating,
    ManifoldCloud,
    Marker,
    Take,
)
from tests.figures.made_phases import FPS, made_phases

# A hip, two legs of two joints each, a head.
PARENTS = np.array([-1, 0, 1, 0, 3, 0])
FEET = (2, 4)


def made_actor(frames: int = 120, *, name: str = "made", fps: float = FPS, **given) -> Actor:
    """A body that goes along +Z at 1 m/s and swings its feet once a second."""
    time = np.arange(frames) / fps
    rest = np.array(
        [[0, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0], [-0.1, 0.5, 0], [-0.1, 0, 0], [0, 1.6, 0]]
    )
    positions = np.repeat(rest[None], frames, axis=0)
    swing = np.sin(2 * np.pi * time)
    positions[:, 2, 2] += 0.3 * swing
    positions[:, 4, 2] -= 0.3 * swing
    positions[..., 2] += time[:, None]
    path = np.stack([0 * time, 0 * time, time], axis=1)
    facing = np.tile([0.0, 0.0, 1.0], (frames, 1))
    links = np.stack([PARENTS[1:], np.arange(1, len(PARENTS))], axis=1)
    known = {
        "joint_names": ("Hips", "LeftKnee", "LeftFoot", "RightKnee", "RightFoot", "Head"),
        "contacts": np.stack([swing > 0, swing <= 0], axis=1),
        "feet": FEET,
        "root_positions": path,
        "root_directions": facing,
    }
    return Actor(name, positions, links, fps, **(known | given))


def made_take(frames: int = 120, channels: int = 5, *, name: str = "made", **given) -> Take:
    """A take with everything but a song."""
    phases = made_phases(frames, channels)
    interior = np.ones(frames, bool)
    interior[:10] = False
    manifold = phases.manifold()
    projection = ManifoldProjection.fit(manifold)
    points = projection(manifold)
    weights = 1 + np.sin(np.arange(frames)[:, None] / 20 + np.arange(4))
    known = {
        "actors": [made_actor(frames)],
        "channels": Channels(phases, FPS, interior),
        "manifold": ManifoldCloud(points, points, FPS, projection.explained),
        "gating": Gating(weights / weights.sum(1, keepdims=True), FPS),
        "curves": [Curve("Speed", "m/s", np.linspace(0, 2, frames), FPS)],
        "markers": [Marker("first half", 0.0, frames / FPS / 2)],
    }
    return Take(name, **(known | given))


def made_costs(features: int = 3) -> CostComparison:
    """Searches at 0.5 and 1 s; the second one compares two moments."""
    terms = np.arange(1.0, features + 1)
    return CostComparison(
        tuple(f"feature {index}" for index in range(features)),
        [
            ComparedCosts(0.5, "It continues.", [CostOption("walk at 0.50 s", terms, "playing")]),
            ComparedCosts(
                1.0,
                "It jumps.",
                [
                    CostOption("walk at 1.00 s", 4 * terms, "playing"),
                    CostOption("run at 3.00 s", terms, "chosen"),
                ],
            ),
        ],
    )


def wav_bytes(seconds: float, rate: int = 8000) -> bytes:
    """A quiet tone as a .wav file."""
    tone = 0.1 * np.sin(2 * np.pi * 220 * np.arange(round(seconds * rate)) / rate)
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes((tone * 32767).astype("<i2").tobytes())
    return file.getvalue()


class PageParts(HTMLParser):
    """The script elements of a page by their id, and what a browser sees as text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.tags: list[str] = []
        self.title = ""
        self._inside = ""
        self._id = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self._inside, self._id = tag, dict(attributes).get("id", "")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[self._id] = self.scripts.get(self._id, "") + data
        if self._inside == "title":
            self.title += data

    @property
    def scene(self) -> dict:
        return json.loads(self.scripts["scene"])

    def raw(self, index: int) -> bytes:
        return base64.b64decode(self.scripts[f"array-{index}"], validate=True)

    def array(self, described: dict) -> np.ndarray:
        """An array as the page's own script reads it."""
        kind = {"int16": "<i2", "float32": "<f4", "uint8": "u1"}[described["type"]]
        whole = np.frombuffer(self.raw(described["id"]), kind)
        if "middle" in described:
            frames, columns = described["shape"]
            steps = np.array(described["step"]), np.array(described["middle"])
            return whole.reshape(columns, frames).T * steps[0] + steps[1]
        return whole.reshape(described["shape"])

    def positions(self, actor: dict) -> np.ndarray:
        packed = actor["positions"]
        around = self.array(packed["around"]) * packed["around"]["step"]
        return self.array(packed["centre"])[:, None] + around


def addresses(page: str) -> list[str]:
    """What the page could fetch."""
    return re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|\bfetch\(", page, re.I)
