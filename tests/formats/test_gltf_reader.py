"""Files as other programs write them: every kind of key, node and buffer."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.gltf.reader import load_gltf, load_gltf_clips
from deepphase.motion.clip import end_positions, global_transforms, joint_positions
from deepphase.motion.resample import resample
from tests.formats.gltf_files import FPS, FRAMES, Made, travel, turns, two_joints
from tests.formats.test_bvh_round_trip import turn_degrees


def said(clip, words):
    return any(words in note for note in clip.source.notes)


def test_two_joints(tmp_path):
    clip = load_gltf(two_joints().written(tmp_path))
    assert clip.skeleton.names == ("Hips", "Chest")
    assert (len(clip), clip.fps, clip.source.unit_m, clip.source.up) == (FRAMES, FPS, 1.0, "y")
    np.testing.assert_allclose(clip.translations[:, 0], travel(), atol=1e-7)
    np.testing.assert_allclose(clip.skeleton.offsets, [[0, 1, 0], [0, 0.5, 0]])
    assert turn_degrees(clip.rotations[:, 1], turns()) < 1e-4
    assert clip.name == "clip"


@pytest.mark.parametrize("where", ["data", "beside", "folder"])
def test_buffers_of_gltf(tmp_path, where):
    made = two_joints()
    uri = {"data": None, "beside": "a%20b.bin", "folder": "./data/../data/c.bin"}[where]
    if uri:
        (tmp_path / "data").mkdir()
        (tmp_path / ("a b.bin" if where == "beside" else "data/c.bin")).write_bytes(made.binary)
    path = tmp_path / "clip.gltf"
    path.write_bytes(made.gltf(uri))
    glb = load_gltf(made.written(tmp_path))
    np.testing.assert_array_equal(load_gltf(path).rotations, glb.rotations)


@pytest.mark.parametrize(
    ("dtype", "largest"), [("<i1", 127), ("<i2", 32767), ("<u1", 255), ("<u2", 65535)]
)
def test_normalised_rotations(tmp_path, dtype, largest):
    made = two_joints()
    values = np.rint(turns(degrees=8.0) * largest).astype(dtype)
    index = made.accessor(values, normalized=True)
    made.document["animations"][0]["samplers"][1]["output"] = index
    clip = load_gltf(made.written(tmp_path))
    assert turn_degrees(clip.rotations[:, 1], turns(degrees=8.0)) < 100.0 / largest
    np.testing.assert_allclose(np.linalg.norm(clip.rotations, axis=-1), 1.0, atol=1e-12)


def test_linear_keys_between_frames(tmp_path):
    made = two_joints()
    keys = Rotation.from_euler("xyz", [[0, 0, 0], [120, 40, 10], [20, 80, 5]], degrees=True)
    values = keys.as_quat().astype(np.float32) * [[1], [-1], [1]]
    channel = made.document["animations"][0]["samplers"][1]
    channel["input"] = made.times([0.0, 0.5, 1.0])
    channel["output"] = made.accessor(values.astype(np.float32))
    clip = load_gltf(made.written(tmp_path), fps=30)
    assert len(clip) == 31
    expected = Slerp([0, 0.5, 1.0], keys)(np.arange(31) / 30)
    assert turn_degrees(clip.rotations[:, 1], expected.as_quat()) < 1e-4
    # Behind its last key a track holds.
    np.testing.assert_allclose(
        clip.translations[FRAMES:, 0], travel()[-1:].repeat(26, 0), atol=1e-6
    )


def test_cubic_splines(tmp_path):
    """A cubic with its own slopes at the keys is that cubic between them."""
    made = two_joints()
    keys, frames = np.array([0.0, 0.4, 1.0]), np.arange(31) / 30
    curve = np.polynomial.Polynomial([0.3, -1.0, 2.0, 1.5])
    slope = curve.deriv()
    values = np.zeros((9, 3), np.float32)
    values[0::3], values[1::3], values[2::3] = (f(keys)[:, None] for f in (slope, curve, slope))
    sampler = made.document["animations"][0]["samplers"]
    times = made.times(keys)
    sampler[0] |= {"input": times, "output": made.accessor(values), "interpolation": "CUBICSPLINE"}
    rotations = np.zeros((9, 4), np.float32)
    rotations[1::3] = turns(3)
    sampler[1] |= {
        "input": times,
        "output": made.accessor(rotations),
        "interpolation": "CUBICSPLINE",
    }
    clip = load_gltf(made.written(tmp_path), fps=30)
    np.testing.assert_allclose(clip.translations[:, 0, 1], curve(frames), atol=1e-5)
    assert turn_degrees(clip.rotations[[0, 12, 30], 1], turns(3)) < 1e-3
    np.testing.assert_allclose(np.linalg.norm(clip.rotations, axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize("based", [True, False])
def test_sparse_accessors(tmp_path, based):
    made = two_joints()
    values = travel()
    base = values.copy()
    base[[1, 3]] = 9.0
    if not based:
        base[:] = 0.0
    rows = [1, 3] if based else list(range(1, FRAMES))
    index = made.accessor(base)
    accessor = made.document["accessors"][index]
    if not based:
        del accessor["bufferView"]
        values[0] = 0.0
    accessor["sparse"] = {
        "count": len(rows),
        "indices": {"bufferView": made.view(bytes(rows)), "componentType": 5121},
        "values": {"bufferView": made.view(values[rows].tobytes())},
    }
    made.document["animations"][0]["samplers"][0]["output"] = index
    clip = load_gltf(made.written(tmp_path))
    np.testing.assert_allclose(clip.translations[:, 0], values, atol=1e-7)


def world_by_hand(nodes, frame):
    """4 x 4 world matrices of chains written as (translation, rotation, scale) of every node."""
    world = np.eye(4)
    for translation, rotation, scale in nodes:
        local = np.eye(4)
        turned = Rotation.from_quat(np.atleast_2d(rotation)[frame % len(np.atleast_2d(rotation))])
        local[:3, :3] = turned.as_matrix() * scale
        local[:3, 3] = np.atleast_2d(translation)[frame % len(np.atleast_2d(translation))]
        world = world @ local
    return world


@pytest.mark.parametrize("as_matrices", [False, True])
def test_nodes_above_and_between(tmp_path, as_matrices):
    """An armature in centimetres and Z up, a static and a moving node between joints."""
    made = two_joints()
    up = Rotation.from_euler("x", -90, degrees=True).as_quat()
    tilt = Rotation.from_euler("xyz", [20, 30, 40], degrees=True).as_quat()
    hold, between, own = [3.0, 0, 2], [0.0, 7, 0], [0.0, 50, 0]
    armature = {"name": "Armature", "children": [0], "scale": [0.01] * 3, "rotation": up.tolist()}
    static = {"name": "static", "children": [4], "translation": hold, "rotation": tilt.tolist()}
    if as_matrices:
        for node in (armature, static):
            matrix = np.eye(4)
            scale = node.pop("scale", [1, 1, 1])
            matrix[:3, :3] = Rotation.from_quat(node.pop("rotation")).as_matrix() * scale
            matrix[:3, 3] = node.pop("translation", [0, 0, 0])
            node["matrix"] = matrix.T.ravel().tolist()
    hips, chest = made.document["nodes"]
    hips |= {"children": [3], "translation": [0, 0, 100]}
    chest |= {"translation": own}
    moving = {"name": "moving", "children": [1], "translation": between}
    tip = {"name": "tip_end", "translation": [0, 10, 0]}
    made.document["nodes"] = [hips, chest, armature, static, moving, tip]
    chest["children"] = [5]
    sway = Rotation.from_euler("z", np.arange(FRAMES)[:, None] * 5, degrees=True).as_quat()
    made.animate(4, "rotation", 0, sway.astype(np.float32))
    made.document["animations"][0]["channels"][0]["target"]["node"] = 0
    clip = load_gltf(made.written(tmp_path))
    assert clip.skeleton.names == ("Hips", "Chest")
    for frame in range(FRAMES):
        chain = [(np.zeros(3), up, 0.01), (travel(), [0, 0, 0, 1], 1.0), (hold, tilt, 1.0)]
        chain += [(between, sway, 1.0), (own, turns(), 1.0)]
        world = world_by_hand(chain, frame)
        np.testing.assert_allclose(joint_positions(clip)[frame, 1], world[:3, 3], atol=1e-6)
        tip_place = world @ [0, 10, 0, 1]
        np.testing.assert_allclose(end_positions(clip)[frame, 0], tip_place[:3], atol=1e-6)
    # Its axes at rest are the world's, and the offsets say where everything stands then.
    rest = world_by_hand([(np.zeros(3), up, 0.01), ([0, 0, 100], [0, 0, 0, 1], 1.0)], 0)
    np.testing.assert_allclose(clip.skeleton.offsets[0], rest[:3, 3], atol=1e-6)
    assert said(clip, "axes were turned")


def test_rest_pose_becomes_the_offsets(tmp_path):
    """Nodes with rotations at rest: identity rotations of the clip are the file's rest pose."""
    made = two_joints()
    tilt = Rotation.from_euler("zyx", [90, 30, 10], degrees=True)
    made.document["nodes"][0]["rotation"] = tilt.as_quat().tolist()
    held = np.repeat(tilt.as_quat()[None].astype(np.float32), FRAMES, axis=0)
    made.animate(0, "rotation", 0, held)
    made.document["animations"][0]["samplers"][1]["output"] = made.accessor(
        np.tile(np.float32([0, 0, 0, 1]), (FRAMES, 1))
    )
    clip = load_gltf(made.written(tmp_path))
    np.testing.assert_allclose(clip.skeleton.offsets[1], tilt.apply([0, 0.5, 0]), atol=1e-6)
    np.testing.assert_allclose(abs(global_transforms(clip)[0][..., 3]), 1.0, atol=1e-9)


def test_without_a_skin(tmp_path):
    made = two_joints()
    del made.document["skins"]
    made.document["nodes"] += [{"name": "ground"}, {"name": "Head", "translation": [0, 0.2, 0]}]
    made.document["nodes"][1]["children"] = [3]
    clip = load_gltf(made.written(tmp_path))
    assert clip.skeleton.names == ("Hips", "Chest", "Head")
    assert said(clip, "no skin")


def test_several_roots_get_one(tmp_path):
    made = two_joints()
    del made.document["nodes"][0]["children"]
    clip = load_gltf(made.written(tmp_path))
    assert clip.skeleton.names == ("root", "Hips", "Chest")
    np.testing.assert_allclose(joint_positions(clip)[:, 1], travel(), atol=1e-6)
    assert said(clip, "2 root joints")


def test_skins_are_chosen(tmp_path):
    made = two_joints()
    made.document["nodes"].append({"name": "hat"})
    made.document["skins"] = [{"name": "hat", "joints": [2]}, {"name": "body", "joints": [0, 1]}]
    path = made.written(tmp_path)
    clip = load_gltf(path)
    assert clip.skeleton.names == ("Hips", "Chest")
    assert said(clip, "0 'hat'")
    assert load_gltf(path, skin="body").skeleton.names == ("Hips", "Chest")
    with pytest.raises(FormatError, match="no animation moves"):
        load_gltf(path, skin=0)
    with pytest.raises(ParameterError, match="no skin 'coat'") as caught:
        load_gltf(path, skin="coat")
    assert "body" in str(caught.value)


def test_animations_are_chosen(tmp_path):
    made = two_joints()
    weights = {"node": 1, "path": "weights"}
    blink = {"name": "blink", "samplers": [], "channels": [{"sampler": 0, "target": weights}]}
    made.document["animations"][0]["name"] = "walk"
    made.document["animations"].insert(0, blink)
    made.animate(0, "translation", 0, travel()[::-1].copy(), name="back")
    path = made.written(tmp_path)
    assert [clip.name for clip in load_gltf_clips(path)] == ["walk", "back"]
    clip = load_gltf(path)
    assert clip.name == "walk"
    assert said(clip, "2 'back'")
    for given in ("back", 2, "2"):
        assert load_gltf(path, animation=given).name == "back"
    with pytest.raises(FormatError, match=r"animations\[0\]: moves none"):
        load_gltf(path, animation="blink")
    with pytest.raises(ParameterError, match="no animation 7"):
        load_gltf(path, animation=7)


def test_pointers_to_nodes_are_read_and_what_moves_no_joint_is_named(tmp_path):
    made = two_joints()
    made.document["nodes"].append({"name": "Camera"})
    plain = load_gltf(made.written(tmp_path))
    channels = made.document["animations"][0]["channels"]
    sampler = next(c["sampler"] for c in channels if c["target"]["path"] == "translation")

    def pointed(pointer):
        extensions = {"KHR_animation_pointer": {"pointer": pointer}}
        return {"sampler": sampler, "target": {"path": "pointer", "extensions": extensions}}

    for channel in channels:
        node, path = channel["target"]["node"], channel["target"]["path"]
        channel["target"] = pointed(f"/nodes/{node}/{path}")["target"]
    channels.append(pointed("/materials/0/emissiveFactor"))
    channels.append({"sampler": sampler, "target": {"node": 2, "path": "translation"}})
    clip = load_gltf(made.written(tmp_path, "pointers.glb"))
    np.testing.assert_array_equal(clip.rotations, plain.rotations)
    np.testing.assert_array_equal(clip.translations, plain.translations)
    assert said(clip, "/materials/0/emissiveFactor")
    assert said(clip, "not joints were left out: Camera")


@pytest.mark.parametrize(
    ("times", "fps", "frames"),
    [
        (np.arange(40) / 24, 24.0, 40),
        (np.arange(40) / 29.97003, 30 / 1.001, 40),
        (5 + np.arange(300) / 120, 120.0, 300),
        (np.delete(np.arange(60), [3, 4, 20]) / 30, 30.0, 60),
        (np.arange(7) / 12.5, 100.0, 49),
        (np.arange(7) / 6.0, 60.0, 61),
        (np.arange(7) / 4.8, 72.0, 91),
        (np.arange(9.0), 60.0, 481),
        (np.array([0, 0.1, 0.2, 0.5, 0.7, 2.0]), 60.0, 121),
        (np.array([0.0, 1.0]), 60.0, 61),
        (np.array([0.0, 1 / 3, np.sqrt(0.5)]), 60.0, 43),
        (np.array([0.25]), 60.0, 1),
    ],
)
def test_frame_rate_from_keys(tmp_path, times, fps, frames):
    made = two_joints()
    values = np.zeros((len(times), 3), np.float32)
    values[:, 2] = np.arange(len(times))
    made.document["animations"] = []
    made.animate(0, "translation", made.times(times), values)
    clip = load_gltf(made.written(tmp_path))
    assert clip.fps == pytest.approx(fps, rel=1e-6)
    assert len(clip) == frames
    assert said(clip, "numbers of frames") == (times[-1] == 8.0)


@pytest.mark.parametrize("interpolation", ["STEP", "LINEAR", "CUBICSPLINE"])
@pytest.mark.parametrize("gap", [1 / 6, 0.25, 0.4, 1.0])
def test_sparse_keys_keep_the_interpolation_of_the_file(tmp_path, interpolation, gap):
    made, heights = two_joints(), np.random.default_rng(0).uniform(0, 1, 6).astype(np.float32)
    values = np.zeros((6, 3, 3), np.float32)
    values[:, 1, 1] = heights
    if interpolation != "CUBICSPLINE":
        values = np.ascontiguousarray(values[:, 1])
    made.document["animations"] = []
    keys = np.arange(6) * gap
    made.animate(
        0, "translation", made.times(keys), values.reshape(-1, 3), interpolation=interpolation
    )
    clip = resample(load_gltf(made.written(tmp_path)), 60.0)
    share, left = np.modf(np.arange(len(clip)) / 60.0 / gap + 1e-5)
    if interpolation == "STEP":
        share = 0.0 * share
    elif interpolation == "CUBICSPLINE":
        # With tangents of zero.
        share = 3 * share**2 - 2 * share**3
    left = left.astype(int)
    following = heights[np.minimum(left + 1, 5)]
    expected = heights[left] + share * (following - heights[left])
    np.testing.assert_allclose(clip.translations[:, 0, 1], expected, atol=2e-4)


def test_scales(tmp_path):
    made = two_joints()
    ones = np.ones((FRAMES, 3), np.float32)
    made.animate(0, "scale", 0, 2 * ones)
    shrinking = ones * np.linspace(1, 0.5, FRAMES, dtype=np.float32)[:, None]
    made.animate(1, "scale", 0, shrinking)
    clip = load_gltf(made.written(tmp_path))
    np.testing.assert_allclose(clip.skeleton.offsets[1], [0, 1.0, 0], atol=1e-6)
    made.document["nodes"][1]["children"] = [2]
    made.document["nodes"].append({"name": "Head"})
    made.document["skins"][0]["joints"].append(2)
    with pytest.raises(FormatError, match=r"nodes\[1\]: 'Chest' has an animated scale"):
        load_gltf(made.written(tmp_path))


def test_an_animation_that_no_clip_can_hold_leaves_the_others(tmp_path):
    made = two_joints()
    made.document["animations"][0]["name"] = "walk"
    shrinking = np.linspace(1, 0.5, FRAMES, dtype=np.float32)[:, None].repeat(3, axis=1)
    made.animate(0, "scale", 0, shrinking, name="grow")
    path = made.written(tmp_path)
    (clip,) = load_gltf_clips(path)
    assert clip.name == "walk"
    assert said(clip, "animation 'grow' is left out")
    with pytest.raises(FormatError, match="animated scale"):
        load_gltf(path, animation="grow")


@pytest.mark.parametrize("scale", [[1, 2, 1], [-1, -1, -1], [0, 0, 0], [-1, 1, 1]])
def test_scales_that_no_clip_can_hold(tmp_path, scale):
    made = two_joints()
    made.document["nodes"][0]["scale"] = scale
    with pytest.raises(FormatError, match=r"nodes\[0\]: 'Hips' has a scale of"):
        load_gltf(made.written(tmp_path))


def test_deep_hierarchies(tmp_path):
    made = Made()
    depth = 8_000
    made.document["nodes"] = [{"children": [node + 1]} for node in range(depth)] + [{}]
    made.document["skins"] = [{"joints": [0, depth]}]
    made.animate(0, "translation", made.times(np.arange(FRAMES) / FPS), travel())
    clip = load_gltf(made.written(tmp_path))
    np.testing.assert_allclose(joint_positions(clip)[:, 1], travel(), atol=1e-6)
