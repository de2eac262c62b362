"""Motion between clips and between keys."""

import re
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.inbetween import between_keys, in_between
from deepphase.errors import ParameterError
from deepphase.formats.load import load, save
from deepphase.motion import quaternions
from deepphase.motion.kinematics import joint_positions
from tests.formula_motion import swinging
from tests.matching.made_databases import untrained_model

pytestmark = pytest.mark.slow


def walk():
    return swinging(1.15, 4.0, seed=3)[0]


def test_both_clips_stay_and_the_motion_between_is_near_the_true_one(editor):
    clip = walk()
    first, second = clip.sliced(0, 100), clip.sliced(130, 240)
    made = in_between(first, second, 31 / 60, editor)
    assert len(made) == len(clip)
    whole = np.r_[0:100, 130:240]
    np.testing.assert_allclose(
        joint_positions(made)[whole], joint_positions(clip)[whole], atol=1e-6
    )
    apart = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)[100:130].mean()
    # The chords between the poses at both ends, for comparison.
    share = np.linspace(0, 1, 32)[1:-1, None, None]
    ends = joint_positions(clip)[[99, 130]]
    straight = ends[0] + share * (ends[1] - ends[0])
    assert apart < 0.7 * np.linalg.norm(straight - joint_positions(clip)[100:130], axis=-1).mean()
    bones = np.linalg.norm(made.local_positions()[:, 1:], axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-9


def test_a_clip_of_another_rate_and_a_pose_are_joined(editor):
    clip = walk()
    pose = swinging(1.15, 4.0, 30.0, seed=3)[0].sliced(90, 91)
    made = in_between(clip.sliced(0, 120), pose, 0.5, editor)
    assert made.fps == 60.0
    assert len(made) == 120 + 29 + 1
    np.testing.assert_allclose(joint_positions(made)[-1], joint_positions(pose)[0], atol=1e-6)


def test_a_clip_from_elsewhere_follows_the_path_of_the_first(editor):
    clip = walk()
    first, second = clip.sliced(0, 100), clip.sliced(130, 240)
    turn = np.array([0.0, np.sin(0.6), 0.0, np.cos(0.6)])
    rotations, translations = second.rotations.copy(), second.translations.copy()
    rotations[:, 0] = quaternions.multiply(turn[None], rotations[:, 0])
    translations[:, 0] = quaternions.rotate(turn[None], translations[:, 0])
    translations[:, 0] += [3.0, 0.0, -2.0]
    elsewhere = replace(second, rotations=rotations, translations=translations)
    made = in_between(first, elsewhere, 31 / 60, editor, follow=True)
    # The body travels straight at one speed, so that it comes to its own place again.
    apart = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)
    assert apart[130:].max() < 0.05
    assert apart[:100].max() < 1e-6


def test_keys_stay_at_their_times(editor):
    clip = walk()
    made = between_keys(clip, [10, 40, 100], editor)
    assert len(made) == 91
    np.testing.assert_allclose(
        made.rotations[[0, 30, 90]], clip.rotations[[10, 40, 100]], atol=1e-9
    )
    later = between_keys(clip, [10, 40, 100], editor, times=[0.0, 1.0, 2.5])
    assert len(later) == 151
    np.testing.assert_allclose(later.rotations[60], clip.rotations[40], atol=1e-9)


@pytest.mark.parametrize(
    ("keys", "times", "message"),
    [
        ([5], None, "two or more rising frames"),
        ([5, 5], None, "two or more rising frames"),
        ([5, 400], None, "the key at frame 400"),
        ([5, 9], [0.0, 0.0], "must rise by a frame"),
        ([5, 9], [0.0], "2 keys and 1 times"),
        ([5, 9], [0.0, 30.0], "at most 10 s"),
    ],
)
def test_impossible_keys_are_refused(editor, keys, times, message):
    with pytest.raises(ParameterError, match=message):
        between_keys(walk(), keys, editor, times=times)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 11.0, float("nan")])
def test_impossible_durations_are_refused(editor, seconds):
    with pytest.raises(ParameterError, match="the time between the clips"):
        in_between(walk(), walk(), seconds, editor)


def test_edit_inbetween(editor, tmp_path, capsys):
    clip = walk()
    trained, keys = tmp_path / "swing.editor", tmp_path / "keys.csv"
    editor.save(trained)
    paths = [tmp_path / "a.bvh", tmp_path / "b.bvh"]
    for path, part in zip(paths, (clip.sliced(0, 100), clip.sliced(130, 240)), strict=True):
        save(replace(part, name=path.stem), path)
    start = ["edit", "inbetween", *map(str, paths), "--editor", str(trained)]
    assert main([*start, "--seconds", "0.5", "-o", str(tmp_path / "c.bvh")]) == 0
    assert len(load(tmp_path / "c.bvh")) == 100 + 29 + 110
    keys.write_text("frame,time\n0,0\n30,0.5\n90,2.0\n")
    one = ["edit", "inbetween", str(paths[0]), "--editor", str(trained), "--keys", str(keys)]
    assert main([*one, "-o", str(tmp_path / "d.bvh")]) == 0
    assert len(load(tmp_path / "d.bvh")) == 121
    keys.write_text("frame,time\n0,0\nx,0.5\n")
    assert main([*one, "-o", str(tmp_path / "e.bvh")]) == 2
    assert "keys.csv:3: 'x,0.5' is not a key" in capsys.readouterr().err
    assert main([*start, "--seconds", "0.02", "-o", str(tmp_path / "f.bvh")]) == 0
    assert "the way between the clips takes" in capsys.readouterr().err
    assert main([*start, "-o", str(tmp_path / "e.bvh")]) == 2
    assert "give --seconds, --phases or --keys" in capsys.readouterr().err
    assert main([*start, "--seconds", "1", "--steps", "2", "-o", str(tmp_path / "e.bvh")]) == 2
    assert "steps are counted by phases" in capsys.readouterr().err
    assert main([*one, "--seconds", "1", "-o", str(tmp_path / "e.bvh")]) == 2
    assert "--seconds and --steps are of two clips" in capsys.readouterr().err
    assert not (tmp_path / "e.bvh").exists()


def test_edit_inbetween_by_phases(editor, tmp_path, capsys):
    clip = walk()
    trained, phases, keys = (tmp_path / name for name in ("a.editor", "a.model", "keys.csv"))
    editor.save(trained)
    untrained_model(ClipStore.from_clips([clip])).save(phases)
    paths = [tmp_path / "a.bvh", tmp_path / "b.bvh", tmp_path / "pose.bvh"]
    parts = clip.sliced(0, 100), clip.sliced(130, 240), clip.sliced(130, 131)
    for path, part in zip(paths, parts, strict=True):
        save(replace(part, name=path.stem), path)
    by_phases = ["--editor", str(trained), "--phases", str(phases), "-o", str(tmp_path / "c.bvh")]
    two = ["edit", "inbetween", str(paths[0])]
    assert main([*two, str(paths[1]), *by_phases, "--seconds", "1"]) == 0
    said = capsys.readouterr().out
    seconds = float(re.search(r"(\d\.\d\d) s by phases: \d\.\d cycles", said)[1])
    assert len(load(tmp_path / "c.bvh")) == pytest.approx(210 + 60 * seconds - 1, abs=1)
    assert main([*two, str(paths[2]), *by_phases]) == 2
    assert "phases are read from 0.5 s of motion" in capsys.readouterr().err
    keys.write_text("frame,time,steps\n0,0,\n60,0.5,\n")
    assert main([*two, "--keys", str(keys), *by_phases]) == 0
    assert "s by phases" in capsys.readouterr().out
