"""What is written is read again, over random skeletons and motions."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepphase.errors import FormatError, ParameterError, SkeletonError
from deepphase.formats.gltf.reader import load_gltf, load_gltf_clips
from deepphase.formats.gltf.writer import save_gltf
from deepphase.motion.clip import Clip, end_positions, joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.test_bvh_round_trip import random_clip, turn_degrees
from tests.formula_motion import swinging


def document_of(path):
    content = path.read_bytes()
    return json.loads(content[20 : 20 + int.from_bytes(content[12:16], "little")])


def point_clip(frames=20, points=5):
    """A chain of points without rotations; the skeleton's offsets say nothing."""
    random = np.random.default_rng(0)
    translations = random.uniform(0.2, 0.3, (frames, points, 3))
    rotations = np.zeros((frames, points, 4))
    rotations[..., 3] = 1.0
    skeleton = Skeleton(
        [f"P{i}" for i in range(points)], np.arange(points) - 1, np.zeros((points, 3))
    )
    return Clip(skeleton, rotations, translations, 60.0, np.arange(points))


def assert_same(again, clip, atol=1e-5):
    assert len(again) == len(clip)
    assert again.fps == clip.fps
    assert again.skeleton.names == clip.skeleton.names
    assert again.skeleton.parents.tolist() == clip.skeleton.parents.tolist()
    assert again.skeleton.end_parents.tolist() == clip.skeleton.end_parents.tolist()
    np.testing.assert_allclose(joint_positions(again), joint_positions(clip), atol=atol)
    np.testing.assert_allclose(end_positions(again), end_positions(clip), atol=atol)
    assert turn_degrees(again.rotations, clip.rotations) < 1e-3


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10_000),
    joints=st.integers(2, 12),
    frames=st.integers(1, 60),
    fps=st.sampled_from([23.976, 30.0, 60.0, 100.0, 7.3]),
    depth_first=st.booleans(),
    suffix=st.sampled_from([".glb", ".gltf"]),
    data=st.data(),
)
def test_write_read(tmp_path_factory, seed, joints, frames, fps, depth_first, suffix, data):
    path = tmp_path_factory.mktemp("gltf") / f"clip{suffix}"
    travelling = data.draw(st.sets(st.integers(1, joints - 1), max_size=joints - 1))
    clip = random_clip(seed, joints, frames, (0, *sorted(travelling)), depth_first)
    clip = replace(clip, fps=fps, labels={"style": "old"}, name="a walk")
    save_gltf(clip, path)
    again = load_gltf(path)
    assert_same(again, clip)
    assert again.labels == clip.labels
    assert again.name == "a walk"
    if frames > 1:
        assert again.translated_joints.tolist() == clip.translated_joints.tolist()
        np.testing.assert_allclose(again.skeleton.offsets, clip.skeleton.offsets, atol=1e-9)


def test_rest_pose_is_the_skeletons(tmp_path):
    clip = random_clip()
    save_gltf(clip, tmp_path / "clip.glb")
    nodes = document_of(tmp_path / "clip.glb")["nodes"]
    for joint, name in enumerate(clip.skeleton.names):
        assert nodes[joint]["name"] == name
        assert "rotation" not in nodes[joint]
        np.testing.assert_array_equal(nodes[joint]["translation"], clip.skeleton.offsets[joint])


def test_several_clips_of_other_proportions_and_orders(tmp_path):
    first = replace(random_clip(1, translated=(0, 2)), name="walk")
    longer = replace(first.skeleton, offsets=1.5 * first.skeleton.offsets)
    second = replace(random_clip(1, frames=7), skeleton=longer, name="walk", fps=30.0)
    third = replace(random_clip(1, frames=1), name="pose")
    save_gltf([first, second, third], tmp_path / "all.glb")
    clips = load_gltf_clips(tmp_path / "all.glb")
    assert [clip.name for clip in clips] == ["walk", "walk#2", "pose"]
    for again, clip in zip(clips, (first, second, third), strict=True):
        np.testing.assert_allclose(joint_positions(again), joint_positions(clip), atol=1e-5)
        assert again.fps == clip.fps
    chosen = load_gltf(tmp_path / "all.glb", animation="pose")
    assert len(chosen) == 1
    assert len(load_gltf(tmp_path / "all.glb", animation=1)) == 7
    default = load_gltf(tmp_path / "all.glb")
    assert any("walk#2" in note and "pose" in note for note in default.source.notes)


def test_held_pose_keeps_its_length(tmp_path):
    clip = random_clip(frames=1)
    held = replace(
        clip,
        rotations=np.repeat(clip.rotations, 50, axis=0),
        translations=np.repeat(clip.translations, 50, axis=0),
    )
    save_gltf(held, tmp_path / "held.glb")
    assert_same(load_gltf(tmp_path / "held.glb"), held)


def test_long_clip_keeps_its_frames(tmp_path):
    clip, _ = swinging(1.0, seconds=900.0, fps=59.94005994005994)
    save_gltf(clip, tmp_path / "long.glb")
    again = load_gltf(tmp_path / "long.glb")
    assert len(again) == len(clip)
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-4)
    np.testing.assert_allclose(abs((again.rotations * clip.rotations).sum(-1)), 1, atol=1e-9)


def test_same_clips_give_the_same_bytes(tmp_path):
    clip = random_clip(translated=(0, 3))
    save_gltf(clip, tmp_path / "a.glb")
    save_gltf(clip, tmp_path / "b.glb")
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()


def test_mesh_follows_the_joints(tmp_path):
    """At every frame each vertex is near the skeleton: nothing is left behind or scaled away."""
    clip = locomotion(3, 1.0).clip
    for made in (clip, point_clip()):
        save_gltf(made, tmp_path / "clip.glb")
        document = document_of(tmp_path / "clip.glb")
        binary = (tmp_path / "clip.glb").read_bytes()[-document["buffers"][0]["byteLength"] :]
        primitive = document["meshes"][0]["primitives"][0]

        def read(index, width, document=document, binary=binary):
            accessor = document["accessors"][index]
            view = document["bufferViews"][accessor["bufferView"]]
            dtype = {5126: "<f4", 5121: "u1", 5125: "<u4"}[accessor["componentType"]]
            start = view["byteOffset"] + accessor["byteOffset"]
            values = np.frombuffer(binary, dtype, accessor["count"] * width, start)
            return values.reshape(-1, width)

        positions = read(primitive["attributes"]["POSITION"], 3)
        normals = read(primitive["attributes"]["NORMAL"], 3)
        joints = read(primitive["attributes"]["JOINTS_0"], 4)[:, 0]
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
        rest = joint_positions(
            replace(
                made,
                rotations=np.tile([0.0, 0, 0, 1], (1, len(made.skeleton), 1)),
                translations=made.skeleton.offsets[None, made.translated_joints],
            )
        )[0]
        reach = np.linalg.norm(positions - rest[joints], axis=1)
        assert reach.max() < 0.6
        triangles = read(primitive["indices"], 1).reshape(-1, 3)
        assert triangles.max() < len(positions)
        if made is clip:
            corners = positions[triangles].astype(float)
            faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            assert ((faces * normals[triangles[:, 0]]).sum(axis=1) > 0).all()


def test_impossible_writings(tmp_path):
    clip = random_clip()
    other = replace(clip.skeleton, names=[f"K{i}" for i in range(8)])
    surrogate = replace(clip.skeleton, names=["\ud800", *clip.skeleton.names[1:]])
    for clips, name, error, fact in (
        ([], "a.glb", ParameterError, "no clips"),
        (clip, "a.fbx", FormatError, "suffix"),
        ([clip, replace(clip, skeleton=other)], "a.glb", SkeletonError, "another skeleton"),
        (replace(clip, skeleton=surrogate), "a.glb", FormatError, "is not text"),
        (replace(clip, fps=1e50), "a.glb", FormatError, "readers refuse"),
        (replace(clip, translations=clip.translations * 1e39), "a.glb", FormatError, "no body"),
    ):
        with pytest.raises(error, match=fact):
            save_gltf(clips, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
