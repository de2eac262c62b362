"""Files that the live page saves: the motion that was driven, joint by joint."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import asset_of
from deepphase.formats.load import load
from deepphase.motion.clip import global_transforms
from tests.live.node import ask_node, needs_node

_MM, _RADIANS = 1e-3, 1e-3


@needs_node
def test_bvh_has_the_places_and_the_rotations_of_all_joints(tmp_path):
    goals = [{"velocity": [0.4, 1.2], "facing": None, "label": "jog"}] * 40
    saved = ask_node(
        tmp_path, asset_of(CONTROLLER), "saved", goals=goals, options={"label": "jog", "seed": 3}
    )
    path = tmp_path / "driven.bvh"
    path.write_text(saved["text"], encoding="utf-8")
    clip = load(path)
    assert clip.fps == pytest.approx(60.0)
    rotations, places = global_transforms(clip)
    order = [clip.skeleton.names.index(name) for name in saved["names"]]
    frames = saved["frames"]
    shown = np.array([frame["positions"] for frame in frames]).reshape(len(frames), -1, 3)
    np.testing.assert_allclose(places[:, order], shown, atol=_MM)
    turned = np.array([frame["rotations"] for frame in frames]).reshape(len(frames), -1, 4)
    # The same rotation has two signs.
    along = np.abs((rotations[:, order] * turned).sum(axis=-1)).clip(0, 1)
    assert (2 * np.arccos(along)).max() < 10 * _RADIANS
