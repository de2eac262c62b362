"""FBX through Blender: round trips where it is installed, and what is said without."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import FormatError, ParameterError
from deepphase.formats import fbx
from deepphase.formats.fbx import VARIABLE, blender_program, call_blender
from deepphase.formats.load import load, save
from deepphase.motion.clip import end_positions, joint_positions
from deepphase.motion.orientation import scaled
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.fbx_files import axes_of, fbx_bytes

needs_blender = pytest.mark.skipif(
    blender_program() is None,
    reason=f"{VARIABLE} names no Python with bpy, and there is no blender",
)
WALK = locomotion(1, 0.5, turn_rate=1.0, fps=30.0).clip


@pytest.fixture
def damaged(tmp_path):
    path = tmp_path / "walk.fbx"
    path.write_bytes(b"Kaydara FBX Binary  \0\x1a\0" + bytes(range(256)))
    return path


def fake(tmp_path, monkeypatch, script):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))


def test_without_blender_one_sentence_says_what_to_install(damaged, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for call in (lambda: load(damaged), lambda: save(WALK, damaged.with_name("new.fbx"))):
        with pytest.raises(ParameterError, match="need Blender") as caught:
            call()
        assert "pip install 'bpy" in caught.value.hint
    assert not damaged.with_name("new.fbx").exists()


def test_a_crash_of_blender_ends_that_process_alone(damaged, tmp_path, monkeypatch):
    fake(tmp_path, monkeypatch, "kill -SEGV $$")
    with pytest.raises(FormatError, match="without an answer"):
        load(damaged)


def test_a_time_limit_ends_it(damaged, tmp_path, monkeypatch):
    fake(tmp_path, monkeypatch, "sleep 60")
    with pytest.raises(FormatError, match=r"within 0\.2 s"):
        call_blender({"task": "read"}, tmp_path, damaged, seconds=0.2)


@pytest.mark.parametrize(
    "script",
    [
        "mkfifo $folder/answer.json",
        "mkdir $folder/answer.json",
        "echo '[1]' > $folder/answer.json",
        "printf '[%.0s' $(seq 20000) > $folder/answer.json",
        "echo '{}' > $folder/answer.json",
        """echo '{"fps": NaN, "whole_fps": 30, "notes": []}' > $folder/answer.json""",
        """echo '{"fps": 30, "whole_fps": 30, "notes": 3}' > $folder/answer.json""",
        """echo '{"fps": 30, "whole_fps": 30, "notes": []}' > $folder/answer.json""",
        """mkfifo $folder/out.glb;echo '{"fps":9,"whole_fps":9,"notes":[]}' >$folder/answer.json""",
    ],
)
def test_wrong_answers_are_one_error(damaged, tmp_path, monkeypatch, script):
    fake(tmp_path, monkeypatch, f"for folder; do :; done; {script}")
    for call in (lambda: load(damaged), lambda: save(WALK, damaged.with_name("new.fbx"))):
        with pytest.raises(FormatError):
            call()
    assert not damaged.with_name("new.fbx").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_the_worker_ends_with_the_program(tmp_path, number):
    """Python in the place of Blender, whose bpy is a module that sleeps."""
    (tmp_path / "request.json").write_text('{"task": "read"}')
    (tmp_path / "bpy.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    program = "from pathlib import Path; import sys; from deepphase.formats import fbx\n"
    program += "fbx.blender_program = lambda: sys.argv[1]\n"
    program += "fbx.call_blender({'task': 'read'}, Path('.').absolute(), Path('a.fbx'))"
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\ncd {tmp_path}\nshift\nPYTHONPATH=. {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(wrapper)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    worker = _waited_for(lambda: (tmp_path / "pid").read_text())
    parent.send_signal(number)
    parent.wait(10)
    _waited_for(lambda: not Path(f"/proc/{worker}").exists())


def _waited_for(value, seconds=20.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := value():
                return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_the_worker_has_no_network(tmp_path):
    (tmp_path / "bpy.py").write_text("import socket\nsocket.create_connection(('127.0.0.1', 9))")
    (tmp_path / "request.json").write_text('{"task": "read"}')
    command = [sys.executable, Path(fbx.__file__).with_name("fbx_worker.py"), tmp_path]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        process.wait(60)
    assert "no network in this process" in (tmp_path / "answer.json").read_text()


def test_what_is_no_fbx_is_refused_before_blender_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(fbx, "_run", None)
    path = tmp_path / "walk.fbx"
    path.write_text("; FBX 7.3.0 project file")
    with pytest.raises(FormatError, match=r"not a binary \.fbx file") as caught:
        load(path)
    assert "text FBX" in caught.value.hint


@needs_blender
@pytest.mark.slow
def test_bvh_to_fbx_and_back(tmp_path):
    first, middle, last = (tmp_path / name for name in ("a.bvh", "a.fbx", "b.bvh"))
    save(WALK, first)
    save(load(first), middle)
    save(load(middle), last)
    before, after = load(first), load(last)
    assert (len(after), after.fps) == (len(before), before.fps)
    order = [after.skeleton.index(name) for name in before.skeleton.names]
    # The rest pose stays, too.
    np.testing.assert_allclose(after.skeleton.offsets[order], before.skeleton.offsets, atol=1e-4)
    np.testing.assert_allclose(joint_positions(after)[:, order], joint_positions(before), atol=1e-4)
    ends = [
        after.skeleton.end_parents.tolist().index(order[parent])
        for parent in before.skeleton.end_parents
    ]
    np.testing.assert_allclose(end_positions(after)[:, ends], end_positions(before), atol=1e-4)


@needs_blender
@pytest.mark.slow
def test_a_dog_in_centimetres_with_a_moving_joint(tmp_path):
    dog = scaled(locomotion(2, 0.5, body="quadruped", gait="trot", fps=30.0).clip, 1.3)
    joint = dog.skeleton.index("Tail1")
    moved = dog.local_positions()[:, [0, joint]]
    moved[:, 1] *= 1.0 + 0.2 * np.sin(np.arange(len(dog)))[:, None]
    dog = replace(dog, translations=moved, translated_joints=np.array([0, joint]))
    save(dog, tmp_path / "dog.fbx")
    again = load(tmp_path / "dog.fbx")
    order = [again.skeleton.index(name) for name in dog.skeleton.names]
    assert again.translated_joints.tolist() == sorted([0, order[joint]])
    np.testing.assert_allclose(joint_positions(again)[:, order], joint_positions(dog), atol=1e-4)


@needs_blender
@pytest.mark.slow
def test_a_damaged_fbx_is_one_error(damaged):
    with pytest.raises(FormatError, match="Blender"):
        load(damaged)


@needs_blender
@pytest.mark.slow
def test_fbx_with_other_axes_scales_and_bones(tmp_path):
    save(WALK, tmp_path / "walk.fbx")
    script = Path(__file__).with_name("make_foreign_fbx.py")
    program = blender_program()
    subprocess.run([program, "-I", script, tmp_path / "walk.fbx", tmp_path], check=True)
    notes = {
        "axes": "",
        "ends": "",
        "large": "its unit is assumed to be centimetres",
        "small": "",
        "several": "2 of ik_hand_l, ik_hand_r left out",
    }
    for name, note in notes.items():
        clip = load(tmp_path / f"{name}.fbx")
        names = [each.rpartition(":")[2] for each in clip.skeleton.names]
        order = [names.index(each) for each in WALK.skeleton.names]
        # Other forward axes turn the whole.
        there = joint_positions(clip)[:, order].reshape(-1, 3)
        here = joint_positions(WALK).reshape(-1, 3)
        turn, _ = Rotation.align_vectors(here - here.mean(axis=0), there - there.mean(axis=0))
        made = turn.apply(there - there.mean(axis=0)) + here.mean(axis=0)
        np.testing.assert_allclose(made, here, atol=1e-4, err_msg=name)
        assert note in " ".join(clip.source.notes)
    assert "the largest of 2 armatures was read" in clip.source.notes


_TURNED = {"Lcl Rotation": (-40, 20, 70), "Lcl Translation": (10, 20, 30)}
_BEFORE, _AFTER = {"PreRotation": (30, 10, -60)}, {"PostRotation": (0, 50, 20)}
_OF_MESHES = {"GeometricRotation": (30, 10, -60), "GeometricTranslation": (10, 0, 5)}
_WRITTEN = {
    # 3ds Max; then others.
    **{" ".join(axes): {"axes": axes_of(*axes)} for axes in (("z", "-y", "x"), ("-z", "-x", "y"))},
    "a turned object above": {"parent": _TURNED | _BEFORE | _AFTER | _OF_MESHES},
    "turned joints": {"joints": _BEFORE | _AFTER | _OF_MESHES},
}


@needs_blender
@pytest.mark.slow
@pytest.mark.parametrize("name", _WRITTEN)
def test_fbx_of_any_axes_and_turned_objects_is_the_same_motion(tmp_path, name):
    (tmp_path / "walk.fbx").write_bytes(fbx_bytes(WALK, **_WRITTEN[name]))
    clip = load(tmp_path / "walk.fbx")
    assert (len(clip), clip.fps) == (len(WALK), WALK.fps)
    order = [clip.skeleton.index(each) for each in WALK.skeleton.names]
    np.testing.assert_allclose(joint_positions(clip)[:, order], joint_positions(WALK), atol=1e-4)
    rest = clip.skeleton.rest_positions[order]
    np.testing.assert_allclose(rest, WALK.skeleton.rest_positions, atol=1e-4)


@needs_blender
@pytest.mark.slow
@pytest.mark.parametrize("axes", [("z", "y", "x"), ("-x", "y", "z")])
def test_left_handed_axes_are_refused(tmp_path, axes):
    (tmp_path / "walk.fbx").write_bytes(fbx_bytes(WALK, axes_of(*axes)))
    with pytest.raises(FormatError, match="left-handed"):
        load(tmp_path / "walk.fbx")
