"""Live assets as the JavaScript runtime reads them."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import controller_asset
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from tests.live.node import ask_node, needs_node, python_run, wandering
from tests.live.test_controller_parity import largest_distance, positions_in, positions_of


@pytest.fixture(scope="module")
def shipped() -> Controller:
    return Controller.load(CONTROLLER)


@needs_node
def test_the_page_s_facts_are_the_controller_s(shipped, tmp_path):
    gate = shipped.starts.gate[0].reshape(13, 5, 2)[6]
    phases = {
        "phase": np.arctan2(gate[:, 0], gate[:, 1]) / (2 * np.pi),
        "amplitude": np.hypot(gate[:, 0], gate[:, 1]),
    }
    asset = ask_node(tmp_path, controller_asset(shipped), "asset", phases=phases)
    skeleton = shipped.skeleton
    assert asset["kind"] == "controller"
    assert asset["frameRate"] == 60
    assert asset["skeleton"]["names"] == list(skeleton.names)
    assert asset["skeleton"]["parents"] == skeleton.parents.tolist()
    assert asset["skeleton"]["offsets"] == pytest.approx(skeleton.offsets.ravel(), abs=1e-6)
    assert [skeleton.names[j] for j in asset["skeleton"]["feet"]] == list(shipped.schema.feet)
    assert asset["labels"] == {"field": "gait", "values": ["jog", "run", "skip", "walk"]}
    assert asset["speeds"]["walk"] < asset["speeds"]["run"]
    assert asset["phases"] == {"channels": 5}
    assert asset["experts"] == 4
    points = np.reshape(asset["manifold"]["points"], (-1, 3))
    assert len(points) == 64 * 13
    assert len(asset["manifold"]["phase"]) == len(points)
    # The start state's own phases are one of the points, at offset 0.
    assert asset["point"] == pytest.approx(points[6].tolist(), abs=1e-4)


@needs_node
def test_half_precision_halves_the_file_and_moves_alike(shipped, tmp_path):
    whole, half = controller_asset(shipped), controller_asset(shipped, weights="float16")
    rest = shipped.rest.outputs.nbytes
    # Moments of rest stay whole.
    assert len(half) - rest < 0.6 * (len(whole) - rest)
    made, goals = python_run(CharacterSource(shipped), wandering(120, 2), 120)
    frames = ask_node(tmp_path, half, "run", goals=goals, options={"goal": goals[0]})
    assert 0 < largest_distance(positions_of(shipped, made), positions_in(frames)) < 0.03


@needs_node
def test_without_webassembly_plain_loops_move_the_same_character(shipped, tmp_path):
    asset, (_, goals) = (
        controller_asset(shipped),
        python_run(CharacterSource(shipped), wandering(30, 2), 30),
    )
    first = ask_node(tmp_path, asset, "run", goals=goals, options={})
    second = ask_node(tmp_path, asset, "run", goals=goals, options={}, withoutWebAssembly=True)
    assert largest_distance(positions_in(first), positions_in(second)) < 1e-4


@needs_node
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: b"something else" + content, "not a live asset"),
        (lambda content: content[:-4000], "ends within its array"),
    ],
)
def test_a_damaged_asset_is_refused(shipped, tmp_path, damage, message):
    with pytest.raises(AssertionError, match=message):
        ask_node(tmp_path, damage(controller_asset(shipped)), "asset")
