"""Other programs read what we write, where they are installed: validator, three.js and Blender.

gltf-validator and three are npm packages. $DEEPPHASE_NODE_MODULES names the folder that they are
installed in; otherwise node is asked.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.fbx import blender_program
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.load import save
from deepphase.motion.clip import Clip, joint_positions
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.test_bvh_round_trip import random_clip
from tests.formats.test_fbx import needs_blender
from tests.formats.test_gltf_round_trip import point_clip

HERE = Path(__file__).parent
FIND = (
    "const p = require.resolve('{}'); console.log(p.slice(0, p.lastIndexOf('node_modules') + 12))"
)


def answer_of(words, given=None):
    found = subprocess.run(words, input=given, capture_output=True, text=True, timeout=200)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.strip().splitlines()[-1])


def node(*words):
    return answer_of(["node", *words])


def written(clip, path):
    if path.suffix == ".bvh":
        save_bvh(clip, path, unit="m", up="y", decimals=9)
    else:
        save(clip, path)
    return path


def assert_plays(played, clip, frames, atol):
    """By names, without the ends of bones that FBX files have."""
    # Programs change what is neither a letter nor a digit.
    names, wanted = (
        [re.sub(r"[\W_]", "", n) for n in e] for e in (played["bones"], clip.skeleton.names)
    )
    order = [names.index(name) for name in wanted]
    found = np.array(played["positions"])[:, order]
    np.testing.assert_allclose(found, joint_positions(clip)[frames], atol=atol)


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
    names = tuple(f"rig:{name}" for name in travelling.skeleton.names)
    travelling = replace(travelling, skeleton=replace(travelling.skeleton, names=names))
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
@pytest.mark.parametrize("suffix", [".glb", ".bvh"])
def test_three_js_plays_the_same(tmp_path, name, suffix):
    modules = modules_with("three", "examples/jsm/loaders/GLTFLoader.js")
    clip, frames = clips()[name], [0, 1, 7, 20]
    path = written(clip, tmp_path / f"clip{suffix}")
    times = json.dumps([frame / clip.fps for frame in frames])
    played = node(str(HERE / "in_three.mjs"), modules, str(path), "0", times)
    assert_plays(played, clip, frames, atol=1e-4)
    assert played["duration"] == pytest.approx(clip.duration)


@needs_blender
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".glb", ".bvh", ".fbx"])
def test_blender_plays_the_same(tmp_path, suffix):
    made = [clip for clip in clips().values() if isinstance(clip, Clip) and len(clip) > 1]
    names = [name.replace("Left", "Left ") for name in made[0].skeleton.names]
    offsets = made[0].skeleton.offsets + np.eye(len(names), 1) * (3.0, 1.0, 2.0)
    moved = replace(made[0].skeleton, names=names, offsets=offsets)
    made.append(replace(made[0], skeleton=moved))
    frames = [0, 1, 7, 20]
    paths = [written(clip, tmp_path / f"{n}{suffix}") for n, clip in enumerate(made)]
    asked = [[str(path), clip.fps, frames] for path, clip in zip(paths, made, strict=True)]
    words = [blender_program(), "-I", str(HERE / "in_blender.py")]
    for played, clip in zip(answer_of(words, json.dumps(asked)), made, strict=True):
        assert_plays(played, clip, frames, atol=1e-4)
        assert (played["torn"] is None) == (suffix == ".bvh")
        assert (played["torn"] or 0.0) < 1e-4


def test_three_js_plays_several(tmp_path):
    modules = modules_with("three", "examples/jsm/loaders/GLTFLoader.js")
    both = clips()["several"]
    save_gltf(both, tmp_path / "clips.glb")
    script, path = str(HERE / "in_three.mjs"), str(tmp_path / "clips.glb")
    played = node(script, modules, path, "1", "[0, 0.5]")
    assert played["names"] == [clip.name for clip in both]
    np.testing.assert_allclose(played["positions"], joint_positions(both[1])[[0, 30]], atol=1e-5)
