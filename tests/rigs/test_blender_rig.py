"""Rigs in Blender: a process that plays Blender, and a small rig where Blender is installed."""

import inspect
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.commands import make_rig
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.blender import session
from deepphase.formats.blender.array_messages import receive, send, skip_to_beginning
from deepphase.formats.blender.bridge import VARIABLE, blender_program
from deepphase.formats.load import load, save
from deepphase.motion.kinematics import joint_positions
from deepphase.rigs.blender_rig import BlenderRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.examples import motion_on_rig
from deepphase.rigs.fitting import chosen_controls
from deepphase.rigs.inverse import RigInverse
from deepphase.rigs.keys import RigKeys
from deepphase.rigs.rigify import RIGIFY_BODIES, make_rigify
from deepphase.rigs.training import train_rig
from deepphase.synthetic.gait_motion import locomotion

needs_blender = pytest.mark.skipif(
    blender_program() is None,
    reason=f"{VARIABLE} names no Python with bpy, and there is no blender",
)
FORMATS = Path(session.__file__).parent
# A body with legs of which every joint is a control: it turns about x, and the hips move, too.
FAKE = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(FORMATS)!r})
import numpy as np
from array_messages import begin, receive, send

NAMES = ["hips", "spine", "head", "thigh.L", "shin.L", "foot.L", "thigh.R", "shin.R", "foot.R"]
PARENTS = [-1, 0, 1, 0, 3, 4, 0, 6, 7]
HEADS = [[0, 0, 1], [0, 0, 1.2], [0, 0, 1.5], [.1, 0, 1], [.1, -.02, .5], [.1, 0, .1],
         [-.1, 0, 1], [-.1, -.02, .5], [-.1, 0, .1]]
HEADS = np.array(HEADS, float)
CONTROLS = ["hips.tx", "hips.ty", "hips.tz", *(name + ".rx" for name in NAMES)]


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def pose(values):
    made = []
    for row, parent in enumerate(PARENTS):
        local = np.eye(4)
        local[:3, 3] = HEADS[row] - (HEADS[parent] if parent >= 0 else -values[:3])
        local = local @ turn(values[3 + row])
        made.append(local if parent < 0 else made[parent] @ local)
    return np.array(made)[:, :3]


read, write = sys.stdin.buffer, sys.stdout.buffer
write.write(b"Blender 4.5.0\\n")
begin(write)
while True:
    try:
        request, arrays = receive(read)
    except EOFError:
        break
    if request["task"] == "open":
        rest = np.tile(np.diag([SCALE, SCALE, SCALE, 1.0]), (9, 1, 1))
        rest[:, :3, 3] = HEADS
        send(write, {{"armature": "rig", "armatures": 1, "version": "4.5", "names": NAMES,
                     "parents": PARENTS, "fps": 30.0}},
             {{"rest": rest, "tails": np.c_[HEADS + [0, -.1, 0], np.ones(9)][:, :3],
              "world": np.eye(4)}})
    elif request["task"] == "use":
        send(write, {{"controls": [{{"name": name, "unit": "m" if ".t" in name else "rad",
                     "rest": 0.0, "lower": -3.0, "upper": 3.0, "group": name.rpartition(".")[0]}}
                     for name in CONTROLS], "root": "", "bones": 9}},
             {{"motion": np.full((12, len(CONTROLS) + 16), np.nan)}})
    elif request["task"] == "evaluate":
        CRASH
        poses = np.array([pose(each) for each in arrays["values"]])
        poses[..., :3] *= SCALE
        send(write, {{}}, {{"matrices": poses}})
"""


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """Make a program that plays Blender; returns the path of its rig."""

    def make(crash="pass", scale="1.0"):
        program = tmp_path / "python"
        program.write_text(FAKE.replace("CRASH", crash).replace("SCALE", scale))
        program.chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(program))
        rig = tmp_path / "rig.blend"
        rig.write_bytes(b"BLENDER pretended")
        return rig

    return make


def test_messages_carry_arrays(tmp_path):
    path = tmp_path / "pipe"
    values = np.arange(6.0).reshape(2, 3)
    with path.open("wb") as pipe:
        send(pipe, {"task": "a"}, {"values": values, "none": np.empty((0, 4))})
    with path.open("rb") as pipe:
        content, arrays = receive(pipe)
        with pytest.raises(EOFError):
            receive(pipe)
    assert content == {"task": "a"}
    np.testing.assert_array_equal(arrays["values"], values)
    assert arrays["none"].shape == (0, 4)
    path.write_bytes(b"\xff" * 64)
    with path.open("rb") as pipe, pytest.raises(ValueError, match="no message"):
        receive(pipe)
    path.write_bytes(b"\xff" * 100_000)
    with path.open("rb") as pipe, pytest.raises(ValueError, match="no messages"):
        skip_to_beginning(pipe)


def test_a_rig_is_evaluated_by_the_process(pretend):
    rig = BlenderRig.open(pretend())
    rest = rig.evaluate(rig.rest[None])[0]
    # Blender's z is up; the hips stand over the origin.
    np.testing.assert_allclose(rest[rig.joints.index("head")], [0, 1.5, 0], atol=1e-9)
    np.testing.assert_allclose(rest[rig.joints.index("foot.L")], [0.1, 0.1, 0], atol=1e-9)
    assert rig.roles.kind == "biped"
    assert rig.skeleton.names[rig.roles.left_knee] == "shin.L"
    assert "foot.L_side" in rig.joints
    values = np.repeat(rig.rest[None], 600, axis=0)
    values[:, rig.index("hips.tz")] = np.linspace(0, 0.3, 600)
    heights = rig.evaluate(values)[:, 0, 1]
    np.testing.assert_allclose(heights, 1.0 + values[:, rig.index("hips.tz")], atol=1e-9)
    rig.close()
    # It starts again where it is needed.
    assert rig.evaluate(rig.rest[None]).shape == rest[None].shape
    rig.close()


def test_a_scaled_armature_has_the_same_joints(pretend):
    """Armatures of other programs are in centimetres, with a scale of .01."""
    made = []
    for scale in ("1.0", "0.01"):
        rig = BlenderRig.open(pretend(scale=scale))
        values = rig.rest + 0.1
        made.append((*rig.transforms(values[None]), rig.skeleton.end_offsets))
        rig.close()
    for plain, scaled in zip(*made, strict=True):
        np.testing.assert_allclose(scaled, plain, atol=1e-9)


@pytest.mark.parametrize("scale", ["-1.0", "0.0", "float('nan')"])
def test_a_mirrored_armature_and_one_without_size_are_refused(pretend, scale):
    with pytest.raises(FormatError, match="no size, or is mirrored"):
        BlenderRig.open(pretend(scale=scale))


def test_columns_that_move_other_joints_share_a_pose(pretend):
    rig = BlenderRig.open(pretend())
    values = np.stack([rig.rest, rig.rest + 0.1])
    plain = rig.jacobian(values)
    rig.learn_pattern(values)
    groups = rig._together(np.arange(len(rig.controls)))
    assert len(groups) < len(rig.controls) - 1
    np.testing.assert_allclose(rig.jacobian(values), plain, atol=1e-9)
    exact = (rig.evaluate(values + 1e-6) - rig.evaluate(values)).reshape(2, -1) / 1e-6
    np.testing.assert_allclose(plain.sum(axis=-1), exact, atol=5e-3)
    rig.close()


def test_the_end_of_the_process_is_one_error(pretend):
    rig = BlenderRig.open(pretend("import os; os._exit(3)"))
    with pytest.raises(FormatError, match=r"ended while .* \(exit status 3\)"):
        rig.evaluate(rig.rest[None])
    rig.close()


def test_a_time_limit_ends_an_evaluation(pretend):
    rig = BlenderRig.open(pretend("import time; time.sleep(60)"))
    rig._session.seconds = 0.3
    with pytest.raises(FormatError, match=r"within 0\.3 s"):
        rig.evaluate(rig.rest[None])


def test_a_time_limit_ends_what_a_script_started(pretend, tmp_path):
    path = pretend("import time; time.sleep(60)")
    program = tmp_path / "python"
    program.rename(tmp_path / "started")
    program.write_text(f"#!/bin/sh\n{tmp_path / 'started'}\nexit 1\n")
    program.chmod(0o755)
    rig = BlenderRig.open(path)
    rig._session.seconds = 0.3
    begun = time.monotonic()
    with pytest.raises(FormatError, match=r"within 0\.3 s"):
        rig.evaluate(rig.rest[None])
    assert time.monotonic() - begun < 20


def test_the_answer_to_an_interrupted_request_is_not_taken_for_the_next(pretend, monkeypatch):
    rig = BlenderRig.open(pretend())
    lifted = rig.rest.copy()
    lifted[rig.index("hips.tz")] = 0.3
    first = rig._session

    def interrupted(pipe):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rig.evaluate(lifted[None])
    assert first.ended
    assert first._process.poll() is not None
    np.testing.assert_allclose(rig.evaluate(rig.rest[None])[0, 0], [0, 1, 0], atol=1e-9)
    rig.close()


def test_a_python_without_blender_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, sys.executable)
    (tmp_path / "rig.blend").write_bytes(b"BLENDER")
    with pytest.raises(FormatError, match="No module named 'bpy'") as said:
        BlenderRig.open(tmp_path / "rig.blend")
    assert "pip install 'bpy" in said.value.hint


def test_curves_that_are_no_numbers_and_wrong_files_are_refused(pretend, tmp_path):
    path = pretend()
    rig = BlenderRig.open(path)
    with pytest.raises(FormatError, match="not numbers"):
        rig.own_motion()
    with pytest.raises(FormatError, match=r"cannot be written as \.bvh"):
        rig.check_curves_file(tmp_path / "walk.bvh")
    with pytest.raises(ParameterError, match="would be written over the rig"):
        rig.check_curves_file(tmp_path / "rig.blend")
    rig.close()


def test_a_rig_whose_bones_only_shape_limbs_is_refused(pretend):
    rig = BlenderRig.open(pretend())
    rig.groups = tuple(f"{name}_tweak" for name in rig.groups)
    motion = motion_on_rig(locomotion(0, 0.5, gait="walk").clip, rig)
    with pytest.raises(ParameterError, match="no bone was found"):
        chosen_controls(rig, [motion])
    rig.close()


def test_places_that_are_no_numbers_are_refused(pretend):
    rig = BlenderRig.open(pretend("arrays = {'values': arrays['values'] * np.nan}"))
    with pytest.raises(FormatError, match="no places"):
        rig.evaluate(rig.rest[None])
    rig.close()


@pytest.mark.slow
def test_training_on_a_rig_in_blender(pretend, tmp_path):
    path = pretend()
    rig = BlenderRig.open(path)
    clip = locomotion(0, 2.0, gait="walk").clip
    config = RigConfig.load(
        "blender",
        **{
            "process.examples": 20,
            "training.frames": 30,
        },
    )
    store = ClipStore.from_clips([clip])
    with pytest.raises(ParameterError, match="no control bone fits"):
        train_rig(store, rig, config, folder=tmp_path, controls=["tail"], accelerator="cpu")
    inverse = train_rig(
        store, rig, config, folder=tmp_path, controls=["hips*", "thigh*"], accelerator="cpu"
    )
    assert {rig.groups[column] for column in inverse.used} <= {"hips", "thigh.L", "thigh.R"}
    assert inverse.best == "learned"
    methods = inverse.report["methods"]
    assert methods["computed"]["joint_m"] < 2e-3
    inverse.save(tmp_path / "hero.rig")
    again = RigInverse.load(tmp_path / "hero.rig")
    np.testing.assert_array_equal(again.rig.pattern, rig.pattern)
    wanted = rig.evaluate(rig.rest[None] + 0.02)
    np.testing.assert_allclose(
        again.solve(wanted, "regression").values,
        inverse.solve(wanted, "regression").values,
        atol=1e-5,
    )
    again.rig.close()
    rig.close()
    path.write_bytes(b"BLENDER another")
    with pytest.raises(FormatError, match="was changed"):
        again.solve(wanted, "regression")


def blender_runs(script, *words):
    program = blender_program()
    command = [program, "-I", str(script), *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A rig with IK, a driver, limits, a property, a root, and its own motion."""
    path = tmp_path_factory.mktemp("small") / "small.blend"
    blender_runs(Path(__file__).with_name("make_small_rig.py"), path, "animated")
    return path


@needs_blender
@pytest.mark.slow
def test_a_small_rig_in_blender(small):
    rig = BlenderRig.open(small)
    assert rig.root == "root"
    bones = set(rig.groups)
    assert {"foot_ik.L", "knee.R", "hips", "forearm.L"} <= bones
    # The root carries all, the ornament nothing, and a driver turns the spine about x.
    assert not bones & {"root", "ornament"}
    assert {"spine.ry", "hips.bend"} <= set(rig.names)
    assert not {"spine.rx", "forearm.L.tx"} & set(rig.names)
    # Names with quotes, and limits of places of bones with quaternions.
    assert 'hips.a "b"' not in rig.names
    knee = rig.controls[rig.index("knee.L.tx")]
    assert (knee.lower, knee.upper) == pytest.approx((-0.2, 0.4))
    neck = rig.controls[rig.index("neck.rx")]
    assert (neck.lower, neck.upper) == pytest.approx((-0.5, 0.5))
    rest = rig.evaluate(rig.rest[None])[0]
    # Properties rest where they are in the file's frame: the spine is bent by .01.
    np.testing.assert_allclose(rest[rig.joints.index("head")], [0, 1.5, 0.004], atol=1e-4)
    lifted = rig.rest.copy()
    # Back and up, against the direction of the bone.
    lifted[rig.index("foot_ik.L.ty")] = -0.12
    lifted[rig.index("hips.bend")] = 0.5
    moved = rig.evaluate(lifted[None])[0] - rest
    np.testing.assert_allclose(np.linalg.norm(moved[rig.joints.index("foot.L")]), 0.12, atol=1e-3)
    assert np.linalg.norm(moved[rig.joints.index("shin.L")]) > 0.05
    assert np.linalg.norm(moved[rig.joints.index("head")]) > 0.1
    np.testing.assert_allclose(moved[rig.joints.index("foot.R")], 0, atol=1e-5)
    rig.close()


@needs_blender
@pytest.mark.slow
def test_curves_go_into_blender_and_back(small, tmp_path):
    rig = BlenderRig.open(small)
    values, placement, fps = rig.own_motion()
    assert values.shape == (30, len(rig.controls))
    np.testing.assert_allclose(
        values[:, rig.index("hips.bend")], 0.01 * np.arange(1, 31), atol=1e-6
    )
    # The root moves along its axis: Blender's y, which is behind the character.
    np.testing.assert_allclose(np.diff(placement.positions[:, 2]), -0.02, atol=1e-5)
    # The armature moves as an object, too.
    np.testing.assert_allclose(np.diff(placement.positions[:, 0]), 0.01, atol=1e-5)
    edited = values.copy()
    edited[:, rig.index("hips.tz")] -= 0.1
    edited[:, rig.index("foot_ik.L.rx")] = 0.3
    for suffix in (".blend", ".fbx"):
        rig.save_keys(RigKeys.of_rig(rig, edited, placement, fps), tmp_path / f"edited{suffix}")
    again, path, rate = rig.own_motion(tmp_path / "edited.blend")
    assert rate == fps
    np.testing.assert_allclose(again, edited, atol=1e-5)
    np.testing.assert_allclose(path.positions, placement.positions, atol=1e-5)
    # Pictures are found from another folder, too.
    script = tmp_path / "picture.py"
    script.write_text(
        "import bpy, os, sys\n"
        "bpy.ops.wm.open_mainfile(filepath=sys.argv[1])\n"
        "print('picture', bpy.path.abspath(bpy.data.images['skin'].filepath), flush=True)\n"
        "os._exit(0)\n"
    )
    assert f"picture {small.parent / 'skin.png'}\n" in blender_runs(
        script, tmp_path / "edited.blend"
    )
    # FBX has the same joints.
    clip = load(tmp_path / "edited.fbx")
    there = joint_positions(clip)[:, clip.skeleton.index("foot.R")]
    local = rig.evaluate(edited)[:, rig.joints.index("foot.R")]
    np.testing.assert_allclose(there, local + placement.positions, atol=2e-3)
    rig.close()


@needs_blender
@pytest.mark.slow
def test_commands_with_a_rig_in_blender(small, tmp_path, capsys):
    walk, hero = tmp_path / "walk.bvh", tmp_path / "hero.rig"
    save(locomotion(0, 1.0, gait="walk", fps=30.0).clip, walk)
    changes = ["--set=process.examples=20", "--set=training.frames=25"]
    train = ["train", "rig", str(small), "-o", str(hero), "--config", "blender", *changes]
    assert main([*train, "--poses", str(walk)]) == 0
    assert "bones that move" in capsys.readouterr().out
    keys, blend, fbx = (tmp_path / name for name in ("keys.json", "walk.blend", "walk.fbx"))
    assert main(["rig-controls", str(hero), str(walk), "-o", str(keys)]) == 0
    assert main(["rig-controls", str(hero), str(keys), "-o", str(blend)]) == 0
    assert main(["rig-controls", str(hero), str(blend), "-o", str(fbx)]) == 0
    content = json.loads(keys.read_text())
    assert "foot_ik.L.tx" in content["controls"]
    inverse = RigInverse.load(hero)
    assert inverse.report["methods"]["computed"]["joint_m"] < 0.03
    read = RigKeys.load(keys)
    again = inverse.rig.own_motion(blend)[0]
    np.testing.assert_allclose(again, read.values_of(inverse.rig), atol=1e-4)
    # Few keys in the file of Blender give the curves that they give here.
    few, thin = tmp_path / "few.json", tmp_path / "thin.blend"
    assert main(["rig-controls", str(hero), str(keys), "-o", str(few), "--keys-error", "1"]) == 0
    assert "keys" in capsys.readouterr().out
    assert main(["rig-controls", str(hero), str(keys), "-o", str(thin), "--keys-error", "1"]) == 0
    drawn = RigKeys.load(few).values_of(inverse.rig)
    np.testing.assert_allclose(inverse.rig.own_motion(thin)[0], drawn, atol=5e-3)
    assert main(["rig-controls", str(hero), str(small), "-o", str(tmp_path / "own.bvh")]) == 0
    assert len(load(tmp_path / "own.bvh")) == 30


@needs_blender
@pytest.mark.slow
def test_rigify_makes_a_rig(tmp_path):
    path = tmp_path / "rig.blend"
    assert main(["make", "rig", "basic_human", "-o", str(path)]) == 0
    rig = BlenderRig.open(path)
    assert rig.root == "root"
    assert rig.roles.kind == "biped"
    rig.close()


def test_what_rigify_cannot_make_is_refused(tmp_path):
    assert get_args(inspect.get_annotations(make_rig.command, eval_str=True)["body"]) == (
        RIGIFY_BODIES
    )
    with pytest.raises(ParameterError, match="Rigify has no body 'dragon'"):
        make_rigify("dragon", tmp_path / "rig.blend")
    with pytest.raises(FormatError, match=r"cannot be written as \.fbx"):
        make_rigify("human", tmp_path / "rig.fbx")
