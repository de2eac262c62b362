"""The comparison of phases with other features, at a small size."""

from __future__ import annotations

import pytest

from deepphase.corpus.prepare import corpus_of
from deepphase.formats.load import save
from deepphase.phase.extractor import fit_phases
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.phase_features.__main__ import compared, table

pytestmark = pytest.mark.slow


def test_a_model_is_compared_with_other_features(tmp_path):
    for seed, gait in enumerate(("walk", "run", "skip")):
        save(locomotion(seed, 4.0, gait=gait).clip, tmp_path / "clips" / f"{gait}.bvh")
    model = tmp_path / "pca"
    fit_phases(corpus_of(tmp_path / "clips"), "pca").save(model)
    rivals = f"contact,velocity,pose,full_pose,posture,{model}"
    found = compared(model, tmp_path / "clips", rivals, queries=100)
    comparison = found.as_mapping()
    values = {
        name: {key: each["value"] for key, each in found["measures"].items()}
        for name, found in comparison["features"].items()
    }
    # The model itself, read from its file, is level with itself in everything.
    assert values["pca"] == values["this model"]
    same = [each for each in comparison["differences"] if each["rival"] == "pca"]
    assert {each["outcome"] for each in same} == {"level"}
    assert {each["key"] for each in same} == values["pca"].keys()
    # Poses match poses best.
    errors = {name: each["alignment"] for name, each in values.items()}
    assert min(errors, key=errors.__getitem__) == "pose"
    # Posture has no phases of its own.
    assert values["posture"]["strikes"] == values["this model"]["strikes"]
    assert "strikes" not in values["velocity"]
    # Phases of gaits go on, and velocities are stuck.
    assert values["this model"]["distinct"] > 2 * values["velocity"]["distinct"]
    verdicts = {each["source"]: each["verdict"] for each in comparison["claims"]}
    assert verdicts["Fig. 17"] == "holds"
    assert "| index of the next frame |" in table(found)
