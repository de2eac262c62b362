"""`deepphase match build --terrain`: clips on ground, and characters that walk on other ground."""

import json

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.clip_store import ClipStore
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.moments import clip_queries
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.grounded_clip import ClipGround
from deepphase.terrain.heightmap import made_ground

pytestmark = pytest.mark.slow
_LAYOUT = """
features:
  - {name: trajectory_position, offsets_s: [0.33, 0.67, 1.0]}
  - {name: trajectory_direction, offsets_s: [0.33, 0.67, 1.0]}
  - {name: foot_position, joints: [feet]}
  - {name: ground_heights, kind: track, weight: 0.5}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ground")
    clips = [
        locomotion(3, 4.0, speed=1.3, turn_rate=rate, variety=0.0).clip for rate in (-0.5, 0.0, 0.5)
    ]
    ClipStore.from_clips(clips).save(folder / "walks.store")
    names = ClipStore.from_clips(clips).names
    stairs = made_ground("stairs", seed=1, size_m=16.0, spacing_m=0.1)
    for name in names:
        ClipGround(stairs, name, laid=True).save(folder / f"{name}.npz")
    (folder / "layout.yaml").write_text(_LAYOUT)
    words = ["match", "build", str(folder / "walks.store"), "-o", str(folder / "walks.db")]
    words += ["--config", str(folder / "layout.yaml")]
    grounds = [str(folder / f"{name}.npz") for name in names]
    return folder, words, grounds, clips


def test_databases_of_clips_on_ground_walk_on_other_ground(built, capsys):
    folder, words, grounds, clips = built
    assert main([*words, "--terrain", *grounds]) == 0
    database = MotionDatabase.load(folder / "walks.db")
    assert len(database.clip_names) == 6
    heights = database.layout.slices["ground_heights"]
    raw = database.normalisation.inverse(database.features[:])[:, heights]
    on_floor, on_stairs = (
        [i for i, name in enumerate(database.clip_names) if ("ground" in name) == climbs]
        for climbs in (False, True)
    )
    rows = [slice(database.range_starts[i], database.range_stops[i]) for i in on_stairs]
    assert max(np.abs(raw[each]).max() for each in rows) > 0.3
    rows = [slice(database.range_starts[i], database.range_stops[i]) for i in on_floor]
    np.testing.assert_allclose(np.concatenate([raw[each] for each in rows]), 0.0, atol=1e-3)
    # A clip of another source is taken to be on a flat floor.
    queries, _ = clip_queries(database, clips[0])
    assert np.isfinite(queries).all()
    run = ["match", "run", str(folder / "walks.db"), "-o", str(folder / "run"), "--path", "circle"]
    assert main([*run, "--seconds", "4", "--terrain", "stairs", "--seed", "3"]) == 0
    report = json.loads((folder / "run" / "report.json").read_text())
    values = {each["name"]: each["value"] for each in report["measures"]}
    assert values["on_ground_deep"] < 0.05
    assert values["on_ground_floating"] < 0.15
    assert values["path_error"] < 0.4
    assert main([*run, "--seconds", "2"]) == 0
    capsys.readouterr()


def test_ground_and_features_without_each_other_are_refused(built, capsys):
    _, words, grounds, _ = built
    for more in ([], ["--config", "pose_trajectory", "--terrain", *grounds]):
        assert main([*words, *more]) == 2
        assert "need --terrain" in capsys.readouterr().err
