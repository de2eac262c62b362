"""Other programs read what we write: the official validator and three.js, where they are installed.

Both are npm packages, gltf-validator and three. $DEEPPHASE_NODE_MODULES names the folder that they
are installed in; otherwise node is asked.
"""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.gltf.writer import save_gltf
from deepphase.motion.clip import joint_positions
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.test_bvh_round_trip import random_clip
from tests.formats.test_gltf_round_trip import point_clip

HERE = Path(__file__).parent
FIND = (
    "const p = require.resolve('{}'); console.log(p.slice(0, p.lastIndexOf('node_modules') + 12))"
)


def node(*words):
    found = subprocess.run(["node", *words], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def modules_with(package, file):
    """The node_modules folder that has a package; skips the test where there is none."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = os.environ.get("DEEPPHASE_NODE_MODULES")
    if not folder:
        words = ["node", "-e", FIND.format(package)]
        folder = subprocess.run(words, capture_output=True, text=True, timeout=60).stdout.strip()
    if not folder or not (Path(folder) / package / file).is_file():
        pytest.skip(f"npm package {package} is not installed (set DEEPPHASE_NODE_MODULES)")
    return str(Path(folder).resolve())


def clips():
    biped = locomotion(3, 1.5).clip
    quadruped = locomotion(4, 1.5, body="quadruped", gait="trot").clip
    travelling = random_clip(2, translated=(0, 3, 5))
    single = random_clip(joints=2, frames=1)
    return {
        "biped": biped,
        "quadruped": quadruped,
        "points": point_clip(60),
        "travelling": travelling,
        "one frame": single,
        "several": [biped, replace(biped.sliced(10, 60), name="again")],
    }


@pytest.mark.parametrize("name", clips())
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_validator_finds_nothing(tmp_path, name, suffix):
    modules = modules_with("gltf-validator", "package.json")
    clip = clips()[name]
    save_gltf(clip, tmp_path / f"clip{suffix}")
    issues = node(str(HERE / "gltf_validator.cjs"), modules, str(tmp_path / f"clip{suffix}"))
    assert issues["messages"] == []
    assert issues["numErrors"] == issues["numWarnings"] == issues["numInfos"] == 0


@pytest.mark.parametrize("name", ["biped", "quadruped", "points", "travelling"])
def test_three_js_plays_the_same(tmp_path, name):
    modules = modules_with("three", "examples/jsm/loaders/GLTFLoader.js")
    clip = clips()[name]
    save_gltf(clip, tmp_path / "clip.glb")
    frames = [0, 1, 7, 20, len(clip) - 2]
    times = json.dumps([frame / clip.fps for frame in frames])
    script, path = str(HERE / "in_three.mjs"), str(tmp_path / "clip.glb")
    played = node(script, modules, path, "0", times)
    np.testing.assert_allclose(played["positions"], joint_positions(clip)[frames], atol=1e-5)
    assert played["duration"] == pytest.approx(clip.duration)


@pytest.mark.parametrize("name", ["biped", "quadruped", "travelling"])
def test_three_js_plays_bvh(tmp_path, name):
    modules = modules_with("three", "examples/jsm/loaders/BVHLoader.js")
    clip, path = clips()[name], tmp_path / "clip.bvh"
    save_bvh(clip, path, unit="m", up="y", decimals=9)
    frames = [0, 7, 20]
    times = json.dumps([frame / clip.fps for frame in frames])
    played = node(str(HERE / "in_three.mjs"), modules, str(path), "0", times)
    order = [clip.skeleton.names.index(name) for name in played["bones"]]
    expected = joint_positions(clip)[frames][:, order]
    np.testing.assert_allclose(played["positions"], expected, atol=1e-4)


def test_three_js_plays_several(tmp_path):
    modules = modules_with("three", "examples/jsm/loaders/GLTFLoader.js")
    both = clips()["several"]
    save_gltf(both, tmp_path / "clips.glb")
    script, path = str(HERE / "in_three.mjs"), str(tmp_path / "clips.glb")
    played = node(script, modules, path, "1", "[0, 0.5]")
    assert played["names"] == [clip.name for clip in both]
    np.testing.assert_allclose(played["positions"], joint_positions(both[1])[[0, 30]], atol=1e-5)
