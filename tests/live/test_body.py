"""Users' bodies: skinned glb files that carry the motion of a skeleton in the live page."""

from __future__ import annotations

import pytest

from deepphase.apps.cli import main
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import asset_of
from deepphase.controllers.runtime.controller import Controller
from tests.live.node import ask_node, needs_node

# Names as other programs give them, by those of the demo's skeleton.
_OTHER = {
    "Hips": "pelvis",
    "Neck": "neck_01",
    "Head": "head",
    **{
        f"{side}{name}": f"{other}_{short}"
        for side, short in (("Left", "l"), ("Right", "r"))
        for name, other in (
            ("UpLeg", "thigh"),
            ("Leg", "calf"),
            ("Foot", "foot"),
            ("Arm", "upperarm"),
            ("ForeArm", "lowerarm"),
            ("Hand", "hand"),
        )
    },
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    names = list(Controller.load(CONTROLLER).skeleton.names)
    half = 0.5**0.5
    bodies = {
        "own": {},
        "prefix": {"names": [f"mixamorig:{name.upper()}" for name in names]},
        "centimetres": {"unit": 100.0},
        "other axes": {"axes": [0.0, half, 0.0, half]},
        "other names": {"names": [_OTHER.get(name, f"extra {name}") for name in names]},
        "strange names": {"names": [f"bone{at}" for at in range(len(names))]},
        "circle": {"circle": True},
        "no glb": {"bytes": list(b"BVH and more than twenty bytes")},
        "cut": {"bytes": list(b"glTF\x02\0\0\0\xff\0\0\0\xff\0\0\0JSON{}  ")},
    }
    folder = tmp_path_factory.mktemp("body")
    given = ask_node(folder, asset_of(CONTROLLER), "body", bodies=list(bodies.values()))
    return len(names), dict(zip(bodies, given, strict=True))


@needs_node
def test_a_body_with_the_joints_of_the_skeleton_moves_like_the_mannequin(answers):
    joints, given = answers
    for name in ("own", "prefix", "centimetres"):
        assert given[name]["matched"] == joints
        assert given[name]["largest"] < 1e-5, name


@needs_node
def test_joints_may_have_other_axes_and_other_names(answers):
    _, given = answers
    # Turns of a limb about itself cannot be told from directions alone.
    assert given["other axes"]["mean"] < 0.015
    assert given["other axes"]["largest"] < 0.08
    assert 15 <= given["other names"]["matched"] <= 25
    assert given["other names"]["mean"] < 0.03


@needs_node
def test_joints_that_do_not_match_are_named(answers):
    _, given = answers
    problem = given["strange names"]["problem"]
    assert "joints do not match the skeleton: none for LeftUpLeg, LeftLeg" in problem
    assert "It has bone0, bone1" in problem
    assert "nodes are above themselves" in given["circle"]["problem"]
    assert "not a glb file" in given["no glb"]["problem"]
    assert "ends too early" in given["cut"]["problem"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"HIERARCHY", "not a glb file"), (None, "there is no such file")],
)
def test_other_files_are_refused(content, words, tmp_path, capsys):
    body, page = tmp_path / "hero.glb", tmp_path / "live.html"
    if content is not None:
        body.write_bytes(content)
    assert main(["export", str(CONTROLLER), "--web", "--body", str(body), "-o", str(page)]) == 2
    assert words in capsys.readouterr().err
    assert not page.exists()


def test_a_body_belongs_to_a_page(tmp_path, capsys):
    body, output = tmp_path / "hero.glb", tmp_path / "walk.onnx"
    body.write_bytes(b"glTF\x02\0\0\0")
    assert main(["export", str(CONTROLLER), "--body", str(body), "-o", str(output)]) == 2
    assert "add --web" in capsys.readouterr().err
