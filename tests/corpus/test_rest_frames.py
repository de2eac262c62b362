"""People with the same joints and other rest frames are groups of their own, or one body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.apps.cli import main
from deepphase.corpus import clip_store, store_writer
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store, store_groups
from deepphase.edit.motion_rows import MotionSpace
from deepphase.errors import CheckpointError, ParameterError, SkeletonError
from deepphase.formats.load import load, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.motion import quaternions
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.keying import motion_on_rig
from deepphase.synthetic.gait_motion import locomotion
from tests.real_data import real_clips


def walk(seed, **changes):
    return locomotion(seed, 4.0, speed=1.3, variety=0.0, **changes).clip


def in_other_frames(clip, turned=("Spine", "Chest", "LeftArm", "RightArm")):
    """The same motion of joints whose frames, and those of all below them, are turned at rest."""
    skeleton = clip.skeleton
    frames = np.tile(quaternions.IDENTITY, (len(skeleton), 1))
    quarter = Rotation.from_euler("z", 90, degrees=True)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        below = Rotation.from_quat(frames[parent]) if parent >= 0 else Rotation.identity()
        frames[joint] = (below * quarter if skeleton.names[joint] in turned else below).as_quat()
    above = np.concatenate([quaternions.IDENTITY[None], frames[skeleton.parents[1:]]])
    back = quaternions.conjugate(above)
    ends = quaternions.conjugate(frames[skeleton.end_parents])
    return replace(
        clip,
        name=f"other_{clip.name}",
        skeleton=Skeleton(
            skeleton.names,
            skeleton.parents,
            quaternions.rotate(back, skeleton.offsets),
            skeleton.end_parents,
            quaternions.rotate(ends, skeleton.end_offsets),
        ),
        rotations=quaternions.multiply(quaternions.multiply(back, clip.rotations), frames),
    )


def upright(clip):
    """Mean rise of the trunk per length: 1 for one that stands."""
    roles = find_roles(clip.skeleton, clip=clip)
    positions = joint_positions(clip)
    trunk = positions[:, list(roles.both("shoulder"))].mean(axis=1) - positions[:, roles.hips]
    return float((trunk[:, 1] / np.linalg.norm(trunk, axis=-1)).mean())


def shapes(clip):
    """(frames, joints, 3) metres: joints relative to the hips, seen from the body."""
    positions = joint_positions(clip).astype(float)
    roles = find_roles(clip.skeleton, clip=clip)
    left, right = roles.both("hip")
    across = (positions[:, left] - positions[:, right]) * [1, 0, 1]
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    ahead = np.cross(across, [0, 1, 0])
    axes = np.stack([across, np.broadcast_to([0, 1, 0], across.shape), ahead], axis=1)
    return np.einsum("fac,fjc->fja", axes, positions - positions[:, :1])


def distance(clip, captured):
    """Metres: mean distance of the joints from those of the most similar captured frame."""
    ordered = [each.in_order_of(clip.skeleton) for each in captured]
    known = np.concatenate([shapes(each) for each in ordered])[::3]
    return np.mean(
        [np.linalg.norm(pose - known, axis=-1).mean(axis=-1).min() for pose in shapes(clip)[::10]]
    )


@pytest.fixture
def people(tmp_path):
    """Three walks of one person and two of another with the same joints in other frames."""
    folder = tmp_path / "people"
    folder.mkdir()
    for seed in range(3):
        save(walk(seed), folder / f"a_{seed}.bvh")
    for seed in range(2):
        save(in_other_frames(walk(seed)), folder / f"b_{seed}.bvh")
    return folder


def test_two_people_are_two_groups_and_that_is_said(people, tmp_path):
    assert upright(in_other_frames(walk(0))) > 0.95
    folded = replace(in_other_frames(walk(0)), skeleton=walk(0).skeleton)
    assert distance(folded, [walk(0)]) > 0.2
    report = prepare(people, tmp_path / "some.store")
    (first, second) = report.groups
    assert (first.clips, second.clips) == (3, 2)
    assert second.name == f"{first.name}-2"
    ((group, sentence),) = [note for note in report.notes if "rest frames" in note[1]]
    assert group == second.name
    assert sentence.startswith(f"2 clips (b_0.bvh to b_1.bvh) with the joints of {first.name}")
    assert "LeftForeArm by 180 degrees, 56 cm" in sentence
    assert "--retarget NAME" in sentence
    store = open_store(tmp_path / "some.store")
    assert (store.group, store.other_bodies) == (first.name, (second.name,))
    assert all(name.startswith("a_") for name in store.names)
    assert open_store(tmp_path / "some.store", second.name).other_bodies == ()
    everyone = [*store, *open_store(tmp_path / "some.store", second.name)]
    with pytest.raises(SkeletonError, match="other rest frames"):
        ClipStore.from_clips(everyone)


def test_retargeting_puts_all_on_one_body(people, tmp_path):
    name = prepare(people, tmp_path / "some.store").groups[0].name
    report = prepare(people, tmp_path / "one.store", retarget=name, mirror=True)
    assert [(group.name, group.clips) for group in report.groups] == [(name, 10)]
    assert (f"{name}-2", f"2 clips retargeted to {name}") in report.notes
    store = open_store(tmp_path / "one.store")
    assert distance(store.clip(store.names.index("b_0")), [walk(0)]) < 0.02
    with pytest.raises(ParameterError, match="no skeleton 'horse'") as caught:
        prepare(people, tmp_path / "none.store", retarget="horse")
    assert f"{name}-2" in caught.value.hint


def test_size_and_noise_make_no_group(tmp_path):
    child = walk(1)
    rng = np.random.default_rng(0)
    noise = 0.003 * rng.standard_normal(child.skeleton.offsets.shape)
    small = replace(child.skeleton, offsets=0.6 * (child.skeleton.offsets + noise))
    store = ClipStore.from_clips([walk(0), replace(child, skeleton=small)])
    store.save(tmp_path / "some.store")
    assert len(store_groups(tmp_path / "some.store")) == 1


def test_older_stores_and_databases_of_several_bodies_are_refused(tmp_path, monkeypatch):
    clips = [walk(0), walk(2), in_other_frames(walk(1))]
    with monkeypatch.context() as older:
        older.setattr(store_writer, "bodies_of", lambda clips: [[0, 1, 2]])
        older.setattr(store_writer, "ONE_BODY", "something")
        older.setattr(clip_store, "check_one_body", lambda clips: None)
        mixed = ClipStore.from_clips(clips)
        mixed.save(tmp_path / "older.store")
    with pytest.raises(CheckpointError, match="different rest frames") as caught:
        open_store(tmp_path / "older.store")
    assert "prepare the store again" in caught.value.hint
    database = MotionDatabase.build(mixed, "pose_trajectory")
    with pytest.raises(SkeletonError, match="other rest frames"):
        Playback.from_database(database)
    with pytest.raises(SkeletonError, match="other rest frames"):
        MotionDatabase.build([ClipStore.from_clips([each]) for each in clips], "pose_trajectory")


def test_files_of_one_body_refuse_clips_of_the_other():
    own, other = walk(0), in_other_frames(walk(0))
    space = MotionSpace.from_clip(own, own.fps)
    assert len(space.on_hips(walk(1))) == len(own)
    with pytest.raises(SkeletonError, match="the editor's body have the same joints, but other"):
        space.on_hips(other)
    on_rig = [motion_on_rig(clip, BodyRig.from_clip(own)).positions for clip in (own, other)]
    assert np.linalg.norm(on_rig[1] - on_rig[0], axis=-1).mean() < 0.05


def matched(store, folder):
    """A run of `match run` on a store, and what the commands print."""
    words = ["match", "build", store, "--config", "pose_trajectory", "-o", folder / "some.db"]
    assert main([str(word) for word in words]) == 0
    words = ["match", "run", folder / "some.db", "--path", "circle", "--seconds", "2"]
    assert main([str(word) for word in (*words, "-o", folder / "run")]) == 0
    return load(folder / "run" / "circle.bvh")


@pytest.mark.slow
@pytest.mark.parametrize("retargeted", [False, True])
def test_runs_have_the_shape_of_captured_bodies(people, tmp_path, capsys, retargeted):
    words = ["prepare", str(people), "-o", str(tmp_path / "some.store")]
    name = walk(0).skeleton.group_name
    assert main([*words, "--retarget", name] if retargeted else words) == 0
    run = matched(tmp_path / "some.store", tmp_path)
    said = capsys.readouterr().out
    assert ("the largest of 2" in said) is not retargeted
    assert upright(run) > 0.95
    assert distance(run, [walk(seed) for seed in range(3)]) < 0.05


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("retarget", [None, "Hips-22"])
def test_people_of_one_laboratory(tmp_path, retarget):
    accad = real_clips("accad")
    files = [accad / "male2" / f"Male2_{name}.bvh" for name in ("B3_Walk", "B9_WalkTurnLeft90")]
    files += sorted((accad / "female1").glob("Female1_B0[39]_*.bvh"))[:1]
    report = prepare(files, tmp_path / "some.store", retarget=retarget)
    assert [group.clips for group in report.groups] == ([3] if retarget else [2, 1])
    run = matched(tmp_path / "some.store", tmp_path)
    assert upright(run) > 0.9
    assert distance(run, list(open_store(tmp_path / "some.store"))) < 0.06
