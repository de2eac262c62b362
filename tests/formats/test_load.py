"""Formats by suffix."""

import os
from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clips import clips_in
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.load import (
    MOTION_FORMATS,
    MotionFormat,
    list_animations,
    load,
    load_all,
    save,
)
from deepphase.formats.reading import CHECK
from deepphase.motion.clip import joint_positions
from deepphase.motion.mirror import reflected
from deepphase.motion.orientation import rotate_from_y_up, scaled
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.bvh_text import JOINT_CHANNELS, ROOT_CHANNELS, bvh_text, two_joints, written
from tests.hostile.npz_cases import POINTS, archive

# .csv has the places of joints alone, and .fbx needs Blender.
WRITTEN_SUFFIXES = [
    suffix
    for suffix, kind in MOTION_FORMATS.items()
    if kind.save and suffix not in (".csv", ".fbx")
]


def test_suffix_tells_the_format_in_any_case(tmp_path):
    path = written(tmp_path, two_joints(), "CLIP.BVH")
    clip = load(path, unit="cm", up="y")
    save(clip, tmp_path / "again.bvh", decimals=9)
    again = load(tmp_path / "again.bvh", unit="cm", up="y")
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-9)
    assert clip.name == "CLIP"


@pytest.mark.parametrize("name", ["clip.c4d", "clip", "clip.bvh.gz"])
def test_unknown_suffix_lists_the_known_ones(tmp_path, name):
    path = written(tmp_path, two_joints(), name)
    with pytest.raises(FormatError, match=r"\.bvh"):
        load(path)


@pytest.mark.parametrize("suffix", MOTION_FORMATS)
def test_a_pipe_does_not_hang(tmp_path, suffix):
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    with pytest.raises(FormatError, match="not a file"):
        load(path)


@pytest.mark.parametrize("suffix", MOTION_FORMATS)
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html>", "a web page"),
        (b"Kaydara FBX Binary  \0", "an FBX file"),
    ],
)
def test_what_stands_under_a_wrong_name_is_said(tmp_path, suffix, content, what):
    if suffix == ".fbx" and b"FBX" in content:
        pytest.skip("it is what it says")
    path = tmp_path / f"clip{suffix}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=what):
        load(path)


def test_sizes_and_speeds_of_no_body_are_doubted(tmp_path):
    walk = locomotion(0, 1.0).clip
    for factor, doubts in ((1.0, 0), (100.0, 2), (0.01, 1)):
        save(scaled(walk, factor), tmp_path / "walk.glb")
        notes = load(tmp_path / "walk.glb").source.notes
        assert sum(note.startswith(CHECK) for note in notes) == doubts, notes


def _doubts(clip):
    return " ".join(note for note in clip.source.notes if note.startswith(CHECK))


def test_angles_of_a_bvh_in_radians_are_read_where_that_is_said(tmp_path):
    walk, path = locomotion(0, 2.0).clip, tmp_path / "walk.bvh"
    save(walk, path)
    true = joint_positions(load(path))
    front, motion = path.read_text().split("MOTION")
    head, rows = motion.split("Frame Time:")
    first, *rows = rows.strip().splitlines()
    values = np.array([row.split() for row in rows], float)
    # The root's positions come first; all other channels are rotations.
    values[:, 3:] = np.deg2rad(values[:, 3:])
    text = "\n".join(" ".join(f"{value:.9f}" for value in row) for row in values)
    path.write_text(f"{front}MOTION{head}Frame Time: {first}\n{text}\n")
    assert "--radians" in _doubts(load(path))
    read = load(path, radians=True)
    assert not _doubts(read)
    np.testing.assert_allclose(joint_positions(read), true, atol=1e-5)


def test_a_body_that_lies_glides_or_is_far_away_is_doubted(tmp_path):
    walk, path = locomotion(0, 2.0).clip, tmp_path / "walk.glb"
    steps = locomotion(0, 14.0).clip
    deltas = np.diff(walk.translations, axis=0, prepend=walk.translations[:1])
    sides = [walk.skeleton.names.index(f"{side}{part}") for side in ("Left", "Right")
             for part in ("UpLeg", "Leg", "Foot", "ToeBase")]  # fmt: skip
    swapped = replace(walk, rotations=walk.rotations.copy())
    swapped.rotations[60:, sides] = walk.rotations[60:, sides[4:] + sides[:4]]
    lying = rotate_from_y_up(walk, "z")
    stiff = replace(walk, rotations=np.repeat(walk.rotations[:1], len(walk), axis=0))
    high = replace(walk, translations=walk.translations + np.array([0, 84.0, 0]))
    flight = np.arange(len(walk)) / walk.fps % 0.5
    hops = replace(walk, translations=walk.translations.copy())
    hops.translations[:, 0, 1] += 0.5 * 9.81 * flight * (0.5 - flight)
    in_air = np.arange(24) / walk.fps
    frames = np.r_[:60, [59] * 24, 60:120]
    leap = replace(walk, rotations=walk.rotations[frames], translations=walk.translations[frames])
    leap.translations[60:84, 0, 1] += 0.5 * 9.81 * in_air * (0.4 - in_air)
    leap.translations[60:, 0, 2] += 1.5 * np.minimum(np.arange(84) / walk.fps, 0.4)
    twice = replace(walk, rotations=walk.rotations[np.arange(len(walk)) // 2 * 2])
    twice = replace(twice, translations=walk.translations[np.arange(len(walk)) // 2 * 2])
    for clip, words in (
        (replace(walk, translations=walk.translations * 0.01), "in another unit than the bones"),
        (replace(walk, translations=walk.translations * 10.0), "in another unit than the bones"),
        (replace(walk, translations=walk.translations * (1, 1, -1)), "both feet slide"),
        (replace(walk, translations=walk.translations * (2, 1, 2)), "both feet slide"),
        (replace(walk, translations=walk.translations * (0.5, 1, 0.5)), "both feet slide"),
        (replace(walk, translations=deltas), "add them up"),
        (replace(walk, translations=deltas * (1, 0, 1) + (0, 0.9, 0)), "add them up"),
        (swapped, "exchange their places at frame 60"),
        (replace(walk, rotations=walk.rotations * (-1, -1, -1, 1)), "the knees bend backwards"),
        (reflected(walk), "named left is on the right"), (twice, "every pose stands in 2 frames"),
        (lying, "--up z"), (stiff, "no limb moves"), (high, "m above 0"), (walk, ""),
        (hops, ""), (replace(hops, fps=120.0), "--file-fps, as 60"),
        (leap, ""), (replace(leap, fps=30.0), "is the rate 60?"),
        (steps, ""), (replace(steps, fps=180.0), "the feet step"),
    ):  # fmt: skip
        save(clip, path)
        assert words in _doubts(load(path))
        assert bool(_doubts(load(path))) == bool(words)
    save(lying, path)
    turned = load(path, up="z")
    np.testing.assert_allclose(joint_positions(turned), joint_positions(walk), atol=1e-5)
    assert not _doubts(turned)


def test_the_unit_of_what_is_not_a_body_is_not_guessed(tmp_path):
    fingers = [(f"{name}{k}", 0 if k == 1 else -1, (1.0, 3.0, 0.0), JOINT_CHANNELS)
               for name in ("Thumb", "Index", "Ring") for k in (1, 2)]  # fmt: skip
    hand = [("Wrist", -1, (0.0, 0.0, 0.0), ROOT_CHANNELS)]
    for name, parent, *rest in fingers:
        hand.append((name, parent if parent == 0 else len(hand) - 1, *rest))
    sword = [("Sword", -1, (0, 0, 0), ROOT_CHANNELS), ("Blade", 0, (0, 149, 0), JOINT_CHANNELS)]
    for joints in (hand, sword):
        path = written(tmp_path, bvh_text(joints, np.zeros((3, 3 + 3 * len(joints)))))
        clip = load(path)
        assert (clip.source.unit_m, clip.source.up) == (1.0, "y")
        assert "not a body" in _doubts(clip)
        assert find_roles(clip.skeleton).kind == "other"
        assert not _doubts(load(path, unit="cm"))


@pytest.mark.parametrize("suffix", WRITTEN_SUFFIXES)
def test_points_keep_their_places_in_every_format(tmp_path, suffix):
    positions = POINTS["positions"]
    swaying = positions + 0.01 * np.sin(np.arange(positions.size)).reshape(positions.shape)
    (tmp_path / "points.npz").write_bytes(archive(POINTS | {"positions": swaying}))
    clip = load(tmp_path / "points.npz")
    save(clip, tmp_path / f"again{suffix}")
    again = load(tmp_path / f"again{suffix}", unit="m", up="y")
    order = [again.skeleton.names.index(name) for name in clip.skeleton.names]
    np.testing.assert_allclose(joint_positions(again)[:, order], joint_positions(clip), atol=1e-5)
    assert not again.has_rotations


def test_a_format_of_several_clips_needs_one_reader(tmp_path, monkeypatch):
    def read(path, *, fps=None):
        clips = [locomotion(seed, 1.0).clip for seed in (0, 1)]
        return tuple(replace(clip, name=name) for clip, name in zip(clips, "ab", strict=True))

    monkeypatch.setitem(MOTION_FORMATS, ".two", MotionFormat("two clips", load_all=read))
    path = tmp_path / "file.two"
    path.touch()
    assert list_animations(path) == ((0, "a"), (1, "b"))
    assert [clip.name for clip in load_all(path, unit="cm")] == ["a", "b"]
    assert [load(path, animation=given).name for given in (None, 1, "b", "0")] == list("abba")
    assert any("also 1 'b'" in note for note in load(path).source.notes)
    with pytest.raises(ParameterError, match="no animation 'c'"):
        load_all(path, animation="c")
    assert [entry.load().name for entry in clips_in([path])] == ["file a", "file b"]


def test_pickles_are_refused_with_the_arrays_to_save(tmp_path):
    (tmp_path / "dance.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(FormatError, match="pickles are not read") as caught:
        load(tmp_path / "dance.pkl")
    assert "smpl_poses" in caught.value.hint
