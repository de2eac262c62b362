"""A folder of captures becomes a store: what is in it, what is left out, and that it is said."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus import prepare_file
from deepphase.corpus.inspection import inspect_files
from deepphase.corpus.prepare import corpus_of, prepare
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import write_store
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError, ParameterError
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.load import load
from deepphase.motion import quaternions
from deepphase.motion.clip import Source, joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.gait_motion import locomotion
from tests.corpus.made_clips import PARTNERS, contents, made_clip, made_skeleton, write_bvh
from tests.real_data import real_clips


@pytest.fixture
def folder(tmp_path):
    """Three good clips in two subfolders, at 30 and 120 frames a second."""
    folder = tmp_path / "captures"
    write_bvh(folder / "old" / "walk_slow_1.bvh", made_clip(0, 61, 30.0))
    write_bvh(folder / "old" / "walk_fast_2.bvh", made_clip(1, 91, 30.0))
    write_bvh(folder / "young" / "run_fast_1.BVH", made_clip(2, 241, 120.0))
    return folder


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out" / "some.store"


def test_a_folder_becomes_a_store(folder, output):
    (folder / "notes.txt").write_text("not a motion")
    (folder / ".hidden.bvh").write_text("broken")
    seen = []
    report = prepare(folder, output, progress=lambda *each: seen.append(each))
    store = open_store(output)
    assert store.names == ("walk_fast_2", "walk_slow_1", "run_fast_1")
    assert store.fps == 60.0
    assert store.lengths.tolist() == [181, 121, 121]
    assert store.label_column("folder").tolist() == ["old", "old", "young"]
    assert [source.path for source in store.sources] == [
        "old/walk_fast_2.bvh",
        "old/walk_slow_1.bvh",
        "young/run_fast_1.BVH",
    ]
    assert [source.fps for source in store.sources] == pytest.approx([30.0, 30.0, 120.0])
    assert all(len(each["sha256"]) == 64 for each in store.provenance)
    assert seen == [("preparing", n + 1, 3, source.path) for n, source in enumerate(store.sources)]
    assert (report.clips, report.files, report.left_out) == (3, 3, ())
    assert report.minutes == pytest.approx(store.minutes)
    assert [group.name for group in report.groups] == ["Hips-9"]


def test_motion_is_the_captured_one(folder, output):
    prepare(folder, output)
    clip = open_store(output).selected("walk_slow_1").clip(0)
    captured = made_clip(0, 61, 30.0)
    np.testing.assert_allclose(
        joint_positions(clip)[::2], joint_positions(captured), rtol=0, atol=1e-4
    )


@pytest.mark.slow
def test_the_store_is_the_same_bytes_for_any_number_of_workers(folder, output):
    for seed in range(10):
        write_bvh(folder / "more" / f"{seed}.bvh", made_clip(seed, 30, 60.0))
    (folder / "more" / "bad.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    for workers in (1, 2):
        report = prepare(folder, output.with_name(f"{workers}"), mirror=True, workers=workers)
        assert len(report.left_out) == 1
    one, two = (contents(output.with_name(name)) for name in "12")
    assert one == two


def test_bad_files_are_listed_and_the_rest_goes_on(folder, output):
    text = (folder / "old" / "walk_slow_1.bvh").read_text().splitlines()
    (folder / "broken.bvh").write_text("\n".join([*text[:80], "1 2 3", *text[81:]]))
    (folder / "empty.bvh").write_text("")
    write_bvh(folder / "pose.bvh", made_clip(5, 1))
    report = prepare(folder, output)
    left_out = {each.file: each for each in report.left_out}
    assert left_out.keys() == {"broken.bvh", "empty.bvh", "pose.bvh"}
    assert left_out["broken.bvh"].line == 81
    assert str(left_out["broken.bvh"]).startswith("broken.bvh:81: ")
    assert "a pose, not a motion" in left_out["pose.bvh"].reason
    store = open_store(output)
    assert len(store) == 3
    assert [each["file"] for each in store.left_out] == list(left_out)


def test_a_capture_is_never_overwritten(folder):
    capture = folder / "old" / "walk_slow_1.bvh"
    before = capture.read_bytes()
    for output in (capture, folder / "new.bvh"):
        with pytest.raises(ParameterError, match="a motion file"):
            prepare(folder, output)
    assert capture.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_leaves_nothing(folder, output, workers):
    def interrupt(what, done, total, file):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(folder, output, workers=workers, progress=interrupt)
    assert list(output.parent.iterdir()) == []


def test_labels_out_of_names(folder, output):
    write_bvh(folder / "calibration.bvh", made_clip(3, 20))
    report = prepare(folder, output, labels="{gait}_{pace}_{take}")
    store = open_store(output)
    assert store.label_names == ("gait", "pace", "take")
    assert store.label_column("gait").tolist() == ["", "walk", "walk", "run"]
    assert [file for file, note in report.notes if "no labels" in note] == ["calibration.bvh"]


def test_a_table_cuts_clips_into_labelled_pieces(tmp_path, folder, output):
    table = tmp_path / "labels.csv"
    table.write_text(
        "file,start_s,stop_s,gait\n"
        "walk_slow_1,0.5,1.5,slow\nwalk_slow_1,1.5,,slower\nrun_fast_1,,,fast\n"
    )
    report = prepare(folder, output, labels_csv=table)
    store = open_store(output)
    assert store.names == (
        "walk_fast_2",
        "walk_slow_1 0.50-1.50s",
        "walk_slow_1 1.50-2.00s",
        "run_fast_1",
    )
    assert store.label_column("gait").tolist() == ["", "slow", "slower", "fast"]
    assert store.lengths.tolist() == [181, 61, 31, 121]
    assert ("old/walk_fast_2.bvh", "no labels: it has no row in labels.csv") in report.notes
    prepare(folder, output.with_name("whole"))
    whole = open_store(output.with_name("whole")).selected("walk_slow_1")
    np.testing.assert_array_equal(store.clip(1).rotations, whole.clip(0).rotations[30:91])
    assert store.provenance[1]["start_s"] == 0.5


@pytest.mark.parametrize("row", ["1.0,2.5", "5,", "3,4", "1.999,2.001"])
def test_times_beyond_the_clip_are_an_error_with_line(tmp_path, folder, output, row):
    table = tmp_path / "labels.csv"
    table.write_text(f"file,start_s,stop_s,gait\nrun_fast_1,0,1,fast\nwalk_slow_1,{row},slow\n")
    with pytest.raises(FormatError, match=r"lasts 2\.00 s") as caught:
        prepare(folder, output, labels_csv=table)
    assert (caught.value.path, caught.value.line) == (table, 3)


def test_mirrored_copies(folder, output):
    report = prepare(folder, output, mirror=True)
    store = open_store(output)
    assert report.clips == len(store) == 6
    assert store.names[3:] == tuple(f"{name} mirrored" for name in store.names[:3])
    assert store.label_column("mirrored").tolist() == [""] * 3 + ["yes"] * 3
    assert store.label_column("folder").tolist() == ["old", "old", "young"] * 2
    assert store.provenance[3]["sha256"] == store.provenance[0]["sha256"]
    for clip, image in zip(list(store)[:3], list(store)[3:], strict=True):
        expected = joint_positions(clip)[:, PARTNERS] * [-1.0, 1.0, 1.0]
        np.testing.assert_allclose(joint_positions(image), expected, rtol=0, atol=1e-4)


def one_sided(seed):
    chain = Skeleton(
        ("A", "B", "C"), np.array([-1, 0, 1]), np.array([[0.0, 0, 0], [0, 0.5, 0], [0, 0.4, 0]])
    )
    return made_clip(seed, 30, skeleton=chain)


@pytest.mark.parametrize(("frame", "end"), [(0, "start"), (119, "end")])
def test_a_lone_pose_at_an_end_is_left_out_and_that_is_said(tmp_path, output, frame, end):
    clip = made_clip(0, 120)
    rotations = clip.rotations.copy()
    rotations[frame] = [0.0, 0.0, 0.0, 1.0]
    translations = clip.translations.copy()
    translations[frame] = [3.0, 0.9, 2.0]
    path = tmp_path / "walk.bvh"
    write_bvh(path, replace(clip, rotations=rotations, translations=translations))
    report = prepare(path, output)
    (stored,) = open_store(output)
    assert len(stored) == 119
    kept = np.delete(clip.translations, frame, axis=0)
    np.testing.assert_allclose(stored.translations, kept, atol=1e-4)
    assert [glitch.what for _, glitch in report.glitches] == [f"{end} of the clip"]
    assert any(f"left out: frame {frame}" in sentence for _, sentence in report.notes)
    assert any(f"left out: frame {frame}" in note for note in stored.source.notes)
    (provenance,) = open_store(output).provenance
    assert provenance["glitches"][0]["first"] == frame
    assert provenance["captured_frames"] == 120
    # Times of a label table are the capture's, whatever is left out.
    table = tmp_path / "labels.csv"
    table.write_text("file,start_s,stop_s,gait\nwalk,0.5,1.0,slow\nwalk,1.0,2.0,slower\n")
    prepare(path, output, labels_csv=table)
    (slow, _) = open_store(output)
    np.testing.assert_allclose(slow.translations, clip.translations[30:61], atol=1e-4)


def test_jumps_are_reported_and_kept(tmp_path, output):
    clip = made_clip(0, 120)
    translations = clip.translations.copy()
    translations[60] += [2.0, 0.0, 0.0]
    write_bvh(tmp_path / "walk.bvh", replace(clip, translations=translations))
    report = prepare(tmp_path / "walk.bvh", output)
    (file, glitch), *_ = report.glitches
    assert file == "walk.bvh"
    assert glitch.first <= 60 <= glitch.last
    assert len(open_store(output).clip(0)) == 120


def test_the_same_stem_in_two_folders_makes_two_names(folder, output):
    write_bvh(folder / "young" / "walk_slow_1.bvh", made_clip(8, 30))
    prepare(folder, output)
    assert open_store(output).names == (
        "walk_fast_2",
        "old_walk_slow_1",
        "run_fast_1",
        "young_walk_slow_1",
    )


def test_several_skeletons_are_several_groups(folder, output):
    write_bvh(folder / "b.bvh", made_clip(5, 30, skeleton=made_skeleton(root="Pelvis")))
    report = prepare(folder, output)
    assert [(group.name, group.clips) for group in report.groups] == [
        ("Pelvis-9", 1),
        ("Hips-9", 3),
    ]
    with pytest.raises(ParameterError, match="2 skeletons"):
        open_store(output)
    assert len(open_store(output, "Hips-9")) == 3


def test_an_outvoted_unit_is_taken_from_the_group(folder, output, monkeypatch):
    read = prepare_file.load_clips

    def sometimes_wrong(path, name, point_sets, **options):
        if path.stem == "walk_fast_2" and "unit" not in options:
            (clip,) = read(path, name, point_sets, unit=0.0254, **options)
            assert clip.source.unit_m == 0.0254
            return (replace(clip, source=replace(clip.source, unit_m=0.0254)),)
        return read(path, name, point_sets, **options)

    prepare(folder, output)
    right = open_store(output)
    monkeypatch.setattr(prepare_file, "load_clips", sometimes_wrong)
    report = prepare(folder, output, workers=1)
    store = open_store(output)
    np.testing.assert_allclose(store.offsets, right.offsets, rtol=1e-6)
    np.testing.assert_allclose(store.translations, right.translations, atol=1e-6)
    assert [source.unit_m for source in store.sources] == [0.01] * 3
    # The feet of these clips slide, which is noted as well.
    ((file, sentence),) = [note for note in report.notes if "slide" not in note[1]]
    assert file == "old/walk_fast_2.bvh"
    assert "2 of 3 clips" in sentence
    assert "alone it looked like 0.0254 m" in sentence


def test_a_file_of_another_magnitude_keeps_its_unit(folder, output):
    metres = Source("", 1.0, "y", 60.0)
    write_bvh(folder / "metres.bvh", made_clip(4, 60, source=metres))
    report = prepare(folder, output)
    store = open_store(output)
    assert sorted(source.unit_m for source in store.sources) == [0.01, 0.01, 0.01, 1.0]
    np.testing.assert_allclose(store.offsets, np.tile(store.offsets[:1], (4, 1, 1)), atol=1e-5)
    assert not [note for note in report.notes if "unit" in note[1] and "slide" not in note[1]]


def lying(clip):
    """The clip turned onto its back, along X, at the height of its hips over the floor."""
    positions = joint_positions(clip)
    turn = quaternions.about_axis(np.array([0.0, 0.0, 1.0]), np.array(np.pi / 2))
    back = quaternions.multiply(turn, clip.rotations[:, 0])
    there = quaternions.rotate(turn, clip.translations[:, 0])
    lowest = quaternions.rotate(turn, positions)[..., 1].min()
    # Somewhere in the room: feet that are at x = 0 would be a floor.
    there += [3.0, -lowest, 0.0]
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[:, 0], translations[:, 0] = back, there
    return replace(clip, rotations=rotations, translations=translations)


def test_a_body_that_lies_is_read_with_the_up_axis_of_the_others(tmp_path, output):
    folder = tmp_path / "room"
    folder.mkdir()
    on_back = lying(locomotion(5, 2.0, gait="idle").clip)
    save_bvh(on_back, tmp_path / "lie.bvh")
    assert load(tmp_path / "lie.bvh").source.up == "y"
    # On another floor, the file alone does not say that the body lies on it.
    clips = {f"walk_{seed}": locomotion(seed, 2.0).clip for seed in range(3)}
    for name, clip in {**clips, "lie": on_back}.items():
        raised = replace(clip, translations=clip.translations + np.array([0.0, 0.5, 0.0]))
        save_bvh(raised, folder / f"{name}.bvh")
    assert load(folder / "lie.bvh").source.up != "y"
    # Of another program, all of whose frames at rest have Z up.
    walk, turn = locomotion(7, 2.0).clip, quaternions.about_axis(np.eye(3)[0], np.array(np.pi / 2))
    turned = quaternions.multiply(
        turn, quaternions.multiply(walk.rotations, turn * [-1, -1, -1, 1])
    )
    body = replace(walk.skeleton, offsets=quaternions.rotate(turn, walk.skeleton.offsets))
    places = quaternions.rotate(turn, walk.translations)
    other = replace(walk, skeleton=body, rotations=turned, translations=places)
    save_bvh(other, folder / "z_up.bvh", unit="m", up="y")
    inspected = {each.file: each for each in inspect_files(folder)}
    assert inspected.pop("z_up.bvh").source.up == "z"
    assert {each.source.up for each in inspected.values()} == {"y"}
    assert inspected["lie.bvh"].floor < 0.65
    report = prepare(folder, output)
    store = open_store(output, "Hips-25")
    assert {source.up for source in store.sources} == {"y"}
    assert open_store(output, "Hips-25-2").sources[0].up == "z"
    ((file, sentence),) = [note for note in report.notes if "up axis y" in note[1]]
    assert file == "lie.bvh"
    assert "3 of 4 clips" in sentence
    clip = store.clip(store.names.index("lie"))
    np.testing.assert_allclose(
        joint_positions(clip)[0],
        joint_positions(load(folder / "lie.bvh", up="y"))[0],
        atol=1e-3,
    )


def test_a_file_on_another_floor_is_said(tmp_path, output):
    folder = tmp_path / "room"
    for seed in range(3):
        folder.mkdir(exist_ok=True)
        save_bvh(locomotion(seed, 2.0).clip, folder / f"walk_{seed}.bvh")
    walk = locomotion(4, 2.0).clip
    low = replace(walk, translations=walk.translations - [0.0, 0.3, 0.0])
    save_bvh(low, folder / "low.bvh")
    # A body that lies is on the same floor.
    save_bvh(lying(locomotion(5, 2.0, gait="idle").clip), folder / "lie.bvh")
    report = prepare(folder, output)
    ((file, sentence),) = [note for note in report.notes if "lowest joint" in note[1]]
    assert file == "low.bvh"
    assert "at -0.28 m, in most clips of its skeleton at 0.02 m" in sentence
    assert len(open_store(output)) == 5


def test_a_rate_that_most_files_of_a_body_contradict_is_doubted_in_all(tmp_path, output):
    steps = replace(locomotion(0, 14.0).clip, fps=180.0)
    right = replace(steps.sliced(0, 300), fps=60.0)
    clips = {"right": right, "a": steps, "b": steps.sliced(60, 800), "c": steps.sliced(0, 120)}
    for name, clip in clips.items():
        save_bvh(clip, tmp_path / f"{name}.bvh")
    inspected = [(each.file, note) for each in inspect_files(tmp_path) for note in each.notes]
    for notes in (inspected, prepare(tmp_path, output).notes):
        asked = {file: note for file, note in notes if "is the rate 90?" in note}
        assert sorted(asked) == ["a.bvh", "b.bvh", "c.bvh"]
        assert "2 of 3 files" in asked["c.bvh"]
    assert asked["c.bvh"] in open_store(output).sources[2].notes


def test_files_and_linked_folders(tmp_path, folder, output):
    (folder / "old" / "loop").symlink_to(folder)
    (tmp_path / "link").symlink_to(folder)
    assert prepare(tmp_path / "link", output).clips == 3
    files = [folder / "old" / "walk_slow_1.bvh", folder / "young" / "run_fast_1.BVH"]
    prepare([*files, files[0]], output)
    assert [source.path for source in open_store(output).sources] == [
        "old/walk_slow_1.bvh",
        "young/run_fast_1.BVH",
    ]


def test_names_that_no_encoding_makes_sense_of(folder, output):
    strange = os.fsencode(folder / "old") + b"/\xff\xfe.bvh"
    os.rename(folder / "old" / "walk_slow_1.bvh", strange)
    assert prepare(folder, output).clips == 3
    assert "\\udcff\\udcfe" in open_store(output).names


def test_a_corpus_is_a_store_a_folder_or_a_file(tmp_path, folder):
    stored = tmp_path / "some.store"
    prepare(folder, stored)
    before = set(tmp_path.rglob("*"))
    expected = open_store(stored)
    for path in (stored, folder):
        corpus = corpus_of(path)
        assert corpus.names == expected.names
        np.testing.assert_array_equal(corpus.rotations, expected.rotations)
    (single,) = corpus_of(folder / "old" / "walk_slow_1.bvh", fps=30.0, mirror=False)
    assert len(single) == 61
    assert set(tmp_path.rglob("*")) == before
    write_store(stored, [made_clip(0), one_sided(0)])
    assert corpus_of(stored, skeleton="A-3").names == ("walk0",)
    with pytest.raises(ParameterError, match="2 skeletons"):
        corpus_of(stored)
    rotations = stored / "A-3" / "rotations.npy"
    rotations.write_bytes(rotations.read_bytes()[:-3])
    with pytest.raises(CheckpointError):
        corpus_of(stored, skeleton="A-3")
    with pytest.raises(DeepPhaseError):
        corpus_of(tmp_path / "nothing")


@pytest.mark.real_data
def test_real_clips_of_two_skeletons(output):
    dogs = sorted(real_clips("dog_mann").glob("*.bvh"), key=lambda path: path.stat().st_size)[:3]
    people = sorted(real_clips("bandai2_locomotion").glob("*_001.bvh"))[:5]
    report = prepare([*dogs, *people], output, mirror=True, workers=1)
    assert report.left_out == ()
    assert sorted(group.clips for group in report.groups) == [6, 10]
    by_joints = {len(group.joints): group.name for group in report.groups}
    dog, person = (open_store(output, by_joints[joints]) for joints in (21, 22))
    np.testing.assert_array_equal(person.translated_joints, [0, 1])
    for store in (dog, person):
        assert store.fps == 60.0
        for index, clip in enumerate(store):
            positions = joint_positions(clip)
            height = positions[..., 1].max() - positions[..., 1].min()
            assert 0.4 < height < 2.5
            original = store.sources[index]
            captured = store.provenance[index]["captured_frames"]
            assert len(clip) == int((captured - 1) * 60 / original.fps + 1e-6) + 1
    for index in range(5):
        clip, image = person.clip(index), person.clip(index + 5)
        np.testing.assert_allclose(
            joint_positions(clip)[:, 1], joint_positions(image)[:, 1] * [-1, 1, 1], atol=1e-4
        )
