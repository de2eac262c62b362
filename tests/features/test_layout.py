"""Layouts: data that is checked once."""

import numpy as np
import pytest
import yaml

from deepphase.config import config_names
from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.motion.roles import find_roles
from tests.formula_motion import body

LAYOUT = FeatureLayout(
    Feature(
        "foot_position", joints=("LeftFoot", "RightFoot"), smoothing_s=0.5, unit="m", weight=0.75
    ),
    Feature("trajectory_position", offsets_s=(0.33, 0.67, 1.0), unit="m"),
    Feature("phase_manifold", channels=5),
)


def test_a_row_in_order():
    assert LAYOUT.dims == 6 + 6 + 10 == len(LAYOUT.value_names) == len(LAYOUT.weights)
    assert LAYOUT.slices == {
        "foot_position": slice(0, 6),
        "trajectory_position": slice(6, 12),
        "phase_manifold": slice(12, 22),
    }
    assert LAYOUT.value_names[0] == "foot_position.LeftFoot.x"
    assert LAYOUT.value_names[7] == "trajectory_position.+0.33s.z"
    assert LAYOUT.value_names[13] == "phase_manifold.+0s.0.cos"
    assert LAYOUT.reach_s == (0.0, 1.0)
    assert LAYOUT["foot_position"].kind == "joint_position"
    np.testing.assert_allclose(LAYOUT.weights[:7], [0.75] * 6 + [1.0])


def test_yaml_round_trip():
    again = FeatureLayout.from_mapping(yaml.safe_load(yaml.safe_dump(LAYOUT.as_mapping())))
    assert again == LAYOUT


@pytest.mark.parametrize("name", config_names("matching"))
def test_shipped_layouts_fit_a_body(name):
    layout = FeatureLayout.load(name)
    skeleton = body()
    tracks = {feature.track: np.zeros((3, 2)) for feature in layout.of_kind("track")}
    resolved = layout.resolved(skeleton, find_roles(skeleton), 5, tracks)
    assert resolved.dims > 0
    for feature in resolved:
        assert set(feature.joints) <= set(skeleton.names)
    # Resolving a resolved one changes nothing.
    assert resolved.resolved(skeleton, find_roles(skeleton), 5, tracks) == resolved


def test_roles_become_joints():
    skeleton = body()
    layout = FeatureLayout(Feature("pose_position", joints=("feet", "hips", "LeftFoot")))
    resolved = layout.resolved(skeleton, find_roles(skeleton))
    assert resolved["pose_position"].joints == ("LeftFoot", "RightFoot", "Hips")
    whole = FeatureLayout(Feature("pose_position", joints=("all",)))
    assert whole.resolved(skeleton, find_roles(skeleton)).dims == 3 * len(skeleton)


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (FeatureLayout(Feature("pose_position", joints=("wing",))), "no joint or role 'wing'"),
        (FeatureLayout(Feature("phase_manifold")), "no phase model"),
    ],
)
def test_what_a_body_lacks(layout, says):
    with pytest.raises(ParameterError, match=says):
        layout.resolved(body(), find_roles(body()))


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "smell"},
        {"name": "trajectory_position"},
        {"name": "trajectory_position", "offsets_s": [1.0, 0.5]},
        {"name": "trajectory_position", "offsets_s": [1.0, 1000.0]},
        {"name": "trajectory_position", "offsets_s": "soon"},
        {"name": "trajectory_position", "offsets_s": [float("nan")]},
        {"name": "foot_position", "joints": []},
        {"name": "foot_position", "joints": ["a", "a"]},
        {"name": "foot_position", "joints": 3},
        {"name": "foot_position", "joints": ["a"], "offsets_s": [1.0]},
        {"name": "phase_manifold", "weight": -1},
        {"name": "phase_manifold", "weight": float("nan")},
        {"name": "phase_manifold", "weight": "heavy"},
        {"name": "phase_manifold", "weight": 10**400},
        {"name": "trajectory_position", "offsets_s": [10**400]},
        {"name": "phase_manifold", "channels": -2},
        {"name": "phase_manifold", "color": "red"},
        {"kind": "phase_manifold"},
        "phase_manifold",
        None,
    ],
)
def test_entries_that_make_no_sense(entry):
    with pytest.raises(ParameterError):
        FeatureLayout.from_mapping({"features": [entry]})


def test_files(tmp_path):
    with pytest.raises(ParameterError, match="phase_trajectory"):
        FeatureLayout.load("nothing_like_it")
    path = tmp_path / "mine.yaml"
    for text in ("features: [", "features:\n  - {name: smell}\n"):
        path.write_text(text)
        with pytest.raises(ParameterError) as caught:
            FeatureLayout.load(path)
        assert caught.value.path == path
