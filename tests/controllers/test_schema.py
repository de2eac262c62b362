"""What a schema holds, and what it refuses."""

import json
from dataclasses import replace

import pytest

from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError, SkeletonError
from tests.formula_motion import NAMES, swinging

JOINTS = len(NAMES)


def schema(gate="manifold", config=None, **options) -> ControllerSchema:
    clip, _ = swinging(1.0, 4.0)
    return ControllerSchema.from_clip(clip, gate, config, **{"channels": 5, **options})


def test_deepphases_blocks():
    made = schema(config=SchemaConfig(label="style"), label_values=("old", "young"))
    assert {feature.name: feature.dims for feature in made.inputs} == {
        "trajectory_position": 26,
        "trajectory_direction": 26,
        "trajectory_velocity": 26,
        "style": 26,
        "joint_position": 3 * JOINTS,
        "joint_velocity": 3 * JOINTS,
        "joint_rotation": 6 * JOINTS,
    }
    assert made.dims.gate == 10 * 7
    assert {feature.name: feature.dims for feature in made.outputs} == {
        "trajectory_position": 14,
        "trajectory_direction": 14,
        "trajectory_velocity": 14,
        "joint_position": 3 * JOINTS,
        "joint_velocity": 3 * JOINTS,
        "joint_rotation": 6 * JOINTS,
        "root_velocity": 2,
        "root_turn": 1,
        "contact": 2,
        "phase_manifold": 70,
        "phase_frequency": 35,
        "phase_amplitude": 35,
    }
    assert made.outputs["root_turn"].unit == "rad/s"


def test_pfnns_blocks():
    config = SchemaConfig(
        future_samples=5,
        predicts="all",
        trajectory_velocity=False,
        input_rotation=False,
        pose_weight=0.1,
    )
    made = schema("phase", config)
    assert {feature.name: feature.dims for feature in made.inputs} == {
        "trajectory_position": 24,
        "trajectory_direction": 24,
        "joint_position": 3 * JOINTS,
        "joint_velocity": 3 * JOINTS,
    }
    assert made.inputs["trajectory_position"].offsets_s[0] == -1.0
    assert made.inputs["trajectory_position"].offsets_s[-1] == pytest.approx(50 / 60, abs=1e-6)
    assert (made.inputs["joint_position"].weight, made.outputs["joint_position"].weight) == (0.1, 1)
    assert made.dims.gate == 1
    assert made.outputs["trajectory_position"].dims == 24
    assert made.outputs["phase_rate"].unit == "Hz"


def test_it_comes_back_as_it_was():
    config = SchemaConfig(label="style", tracks=("beat",), phase_channel=2)
    options = {"label_values": ("old",), "track_widths": {"beat": 3}}
    for gate in {kind.gate for kind in NETWORKS.values()}:
        made = schema(gate, config, **options)
        back = ControllerSchema.from_mapping(json.loads(json.dumps(made.as_mapping())))
        assert back == made


def test_another_skeleton_or_rate_is_refused():
    made, (clip, _) = schema(), swinging(1.0, 4.0)
    made.check_clip(clip)
    names = tuple(name.replace("Head", "Skull") for name in clip.skeleton.names)
    with pytest.raises(SkeletonError, match="no joint 'Head'") as raised:
        made.check_clip(replace(clip, skeleton=replace(clip.skeleton, names=names)))
    assert "Skull" in raised.value.hint
    with pytest.raises(ParameterError, match="30 frames per second, the controller has 60"):
        made.check_clip(replace(clip, fps=30.0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"past_samples": -1}, "past_samples"),
        ({"future_samples": 0}, "future_samples"),
        ({"step_s": 0.0}, "step_s"),
        ({"predicts": "past"}, "predicts"),
        ({"pose_weight": float("nan")}, "pose_weight"),
        ({"phase_channel": -1}, "phase_channel"),
        ({"label": "contact"}, "two input blocks"),
        ({"label": "beat", "tracks": ("beat",)}, "two input blocks"),
    ],
)
def test_impossible_recipes_are_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        SchemaConfig(**changes)
