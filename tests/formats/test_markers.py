"""Files of marker systems: labels, gaps, units and axes; and damaged ones."""

import importlib.util
import re
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.motion_files import find_motion_files
from deepphase.errors import FormatError
from deepphase.formats.load import holds_points, list_animations, load, load_all
from deepphase.formats.points import load_points, save_points
from deepphase.motion.clip import joint_positions
from deepphase.solving.solve import solve_points
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.marker_files import c3d_bytes, markers_of, motive_text, mvnx_text, trc_text

WALK = locomotion(4, 2.0, fps=100.0).clip
LABELS = [f"Ann:{name}" for name in WALK.skeleton.names]
# Written by ezc3d 1.7.2: the first 40 frames of WALK in millimetres, Z up, a gap of ten frames in
# the marker of the head, two analog channels.
BY_EZC3D = Path(__file__).parent / "files" / "walk_by_ezc3d.c3d"


def gapped(positions):
    positions = positions.copy()
    positions[50:60, 6] = np.nan
    positions[:5, 9] = np.nan
    return positions


def written(path, positions, labels=LABELS):
    """The file of a suffix, of positions in millimetres."""
    if path.suffix == ".c3d":
        path.write_bytes(c3d_bytes(positions, labels))
    elif path.suffix == ".trc":
        path.write_text(trc_text(positions, labels))
    else:
        path.write_text(motive_text(positions / 1000.0, [n.partition(":")[2] for n in labels]))
    return path


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".csv"])
@pytest.mark.parametrize("up", ["y", "z"])
def test_markers_come_back_with_labels_gaps_units_and_axes(tmp_path, suffix, up):
    truth = gapped(markers_of(WALK, up))
    path = written(tmp_path / f"walk{suffix}", truth)
    assert holds_points(path)
    track = load_points(path)
    assert [name.rpartition(":")[2] for name in track.names] == list(WALK.skeleton.names)
    assert (track.fps, track.source.up) == (100.0, up)
    assert track.source.unit_m == (1.0 if suffix == ".csv" else 0.001)
    seen = np.isfinite(truth[..., 0])
    np.testing.assert_array_equal(track.present, seen)
    expected = joint_positions(WALK)
    np.testing.assert_allclose(track.positions[seen], expected[seen], atol=2e-5)
    # Gaps are bridged by straight lines, and held before the first sight.
    share = np.linspace(0, 1, 12)[1:-1, None]
    line = (1 - share) * track.positions[49, 6] + share * track.positions[60, 6]
    np.testing.assert_allclose(track.positions[50:60, 6], line, atol=1e-9)
    np.testing.assert_allclose(track.positions[:5, 9] - track.positions[5, 9], 0.0, atol=1e-9)
    note = next(note for note in track.source.notes if "gaps" in note)
    assert "longest of 10 frames" in note
    assert track.names[6] in note


@pytest.mark.slow
def test_points_in_gaps_do_not_pull():
    track = load_points_of(gapped(markers_of(WALK)))
    # The bridges lie a metre beside the body.
    wrong = track.positions.copy()
    wrong[~track.present] += 1.0
    pulled = solve_points(replace(track, positions=wrong, present=None)).residuals
    free = solve_points(replace(track, positions=wrong)).residuals
    # Of the markers that were seen while the head's was not.
    seen = track.present & (np.arange(len(track)) // 10 == 5)[:, None]
    assert free[seen].mean() < 0.5 * pulled[seen].mean()


def load_points_of(positions):
    with tempfile.TemporaryDirectory() as folder:
        return load_points(written(Path(folder) / "walk.c3d", positions))


def test_gaps_stay_in_our_own_files(tmp_path):
    track = load_points_of(gapped(markers_of(WALK)))
    save_points(track, tmp_path / "walk.npz")
    np.testing.assert_array_equal(load_points(tmp_path / "walk.npz").present, track.present)
    np.testing.assert_array_equal(track.sliced(50, 60).present[:, 6], False)


@pytest.mark.parametrize("processor", [84, 85, 86])
@pytest.mark.parametrize("scale", [-1.0, 0.1])
def test_c3d_of_every_byte_order(tmp_path, processor, scale):
    truth = gapped(markers_of(WALK))
    path = tmp_path / "walk.c3d"
    path.write_bytes(c3d_bytes(truth, LABELS, processor=processor, scale=scale, analog=3))
    track = load_points(path, up="z")
    seen = track.present
    np.testing.assert_array_equal(seen, np.isfinite(truth[..., 0]))
    expected = joint_positions(WALK)
    np.testing.assert_allclose(track.positions[seen], expected[seen], atol=1e-4)


def test_c3d_by_its_reference_library():
    track = load_points(BY_EZC3D)
    assert track.names == WALK.skeleton.names
    assert (track.fps, track.source.up, track.source.unit_m) == (100.0, "z", 0.001)
    seen = np.ones((40, len(LABELS)), bool)
    seen[10:20, 6] = False
    np.testing.assert_array_equal(track.present, seen)
    np.testing.assert_allclose(track.positions[seen], joint_positions(WALK)[:40][seen], atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("ezc3d") is None, reason="ezc3d is not installed")
def test_ezc3d_reads_what_the_tests_write(tmp_path):
    import ezc3d

    truth = gapped(markers_of(WALK))
    (tmp_path / "walk.c3d").write_bytes(c3d_bytes(truth, LABELS))
    read = ezc3d.c3d(str(tmp_path / "walk.c3d"))
    np.testing.assert_allclose(
        read["data"]["points"][:3].transpose(2, 1, 0), truth, atol=1e-2, equal_nan=True
    )


@pytest.mark.parametrize("unseen", [0.0, 9_999_999.0, -99_999.0])
@pytest.mark.parametrize("suffix", [".trc", ".c3d"])
def test_what_programs_write_for_unseen_markers_is_a_gap(tmp_path, suffix, unseen):
    truth = markers_of(WALK)
    filled = truth.copy()
    filled[10:20, 6] = unseen
    written(tmp_path / f"walk{suffix}", filled)
    track = load_points(tmp_path / f"walk{suffix}", up="z")
    expected = np.ones(truth.shape[:2], bool)
    expected[10:20, 6] = False
    np.testing.assert_array_equal(track.present, expected)
    np.testing.assert_allclose(
        track.positions[expected], joint_positions(WALK)[expected], atol=1e-4
    )


@pytest.mark.parametrize("stray", ["*60", "U_12", "Unlabeled 1", "uname*3"])
@pytest.mark.parametrize("suffix", [".trc", ".c3d", ".csv"])
def test_markers_without_a_label_are_left_out(tmp_path, suffix, stray):
    positions = np.concatenate([markers_of(WALK), np.full((len(WALK), 1, 3), 4000.0)], axis=1)
    path = written(tmp_path / f"walk{suffix}", positions, [*LABELS, f"Ann:{stray}"])
    track = load_points(path)
    assert track.names == WALK.skeleton.names
    assert any("1 markers without a label were left out" in note for note in track.source.notes)


@pytest.mark.parametrize("suffix", [".trc", ".c3d"])
def test_every_prefix_of_a_body_is_a_clip(tmp_path, suffix):
    one = markers_of(WALK)
    both = np.concatenate([one, one + np.array([3000.0, 0, 0]), one[:, :4] + 500.0], axis=1)
    names = WALK.skeleton.names
    labels = [*(f"{who}:{name}" for who in ("A", "Subject_B") for name in names)]
    path = written(tmp_path / f"walk{suffix}", both, [*labels, *(f"Prop:{n}" for n in names[:4])])
    assert list_animations(path) == ((0, "A"), (1, "Subject_B"))
    clips = load_all(path)
    assert [clip.name for clip in clips] == ["A", "Subject_B"]
    for clip, moved in zip(clips, (0.0, 3.0), strict=True):
        found = joint_positions(clip)[:, [clip.skeleton.index(name) for name in names]]
        np.testing.assert_allclose(
            found, joint_positions(WALK) + np.array([moved, 0, 0]), atol=1e-4
        )
        assert any("4 markers of props" in note for note in clip.source.notes)
    assert any("there are also 1 'Subject_B'" in note for note in load(path).source.notes)
    assert len(load_points(path, animation=1).names) == len(names)
    with pytest.raises(FormatError, match="no body 2"):
        load_points(path, animation=2)
    assert main(["solve", str(path), "-o", str(tmp_path / "solved")]) == 0
    solved = sorted(each.name for each in (tmp_path / "solved").iterdir())
    assert solved == ["walk A.bvh", "walk Subject_B.bvh"]


@pytest.mark.parametrize(
    "form", ["{who}_{name}", "{name}-{who}", "{name}{number}", "Actor {number}/{name}"]
)
def test_bodies_are_told_apart_by_labels_without_a_colon(tmp_path, form):
    one = markers_of(WALK)
    both = np.concatenate([one, one + np.array([600.0, 0, 0])], axis=1)
    both[20:30, 3] = both[:5, -2] = 0.0
    labels = [
        form.format(who=who, name=name, number=number)
        for number, who in enumerate(("Ann", "Bo"))
        for name in WALK.skeleton.names
    ]
    clips = load_all(written(tmp_path / "walk.trc", both, labels))
    assert len(clips) == 2
    for clip in clips:
        assert sorted(clip.skeleton.names) == sorted(WALK.skeleton.names)
    # Markers that are counted on each segment are one body's, and so are two sides.
    clusters = np.concatenate([one, one + 40.0], axis=1)
    numbered = [f"{name}_{number}" for number in (1, 2) for name in WALK.skeleton.names]
    assert len(load_all(written(tmp_path / "clusters.trc", clusters, numbered))) == 1
    sides = [f"{side}_{name}" for side in "LR" for name in WALK.skeleton.names]
    assert len(load_points(written(tmp_path / "sides.trc", both, sides)).names) == len(sides)


def test_decimal_commas_and_semicolons_are_read(tmp_path):
    truth = markers_of(WALK)[:9]
    trc = trc_text(truth, LABELS).replace(".", ",")
    csv = motive_text(truth / 1000.0, LABELS).replace(",", ";").replace(".", ",")
    mvnx = mvnx_text(WALK.sliced(0, 9))
    mvnx = re.sub(r"<(orientation|position)>.*?<", lambda m: m[0].replace(".", ","), mvnx)
    for suffix, text in ((".trc", trc), (".csv", csv), (".mvnx", mvnx)):
        (tmp_path / f"walk{suffix}").write_text(text)
        clip = load(tmp_path / f"walk{suffix}", up="z")
        order = [clip.skeleton.index(name) for name in WALK.skeleton.names]
        places = joint_positions(clip)[:, order]
        np.testing.assert_allclose(places, joint_positions(WALK)[:9], atol=1e-4)
        assert clip.fps == 100.0
        assert any("decimal commas were read as points" in note for note in clip.source.notes)


def test_a_marker_that_is_zero_throughout_was_never_seen_unless_it_is_the_origin(tmp_path):
    truth = markers_of(WALK)
    never = np.concatenate([truth, np.zeros((len(truth), 1, 3))], axis=1)
    track = load_points(written(tmp_path / "never.c3d", never, [*LABELS, "Ann:RTHI"]))
    assert track.names == WALK.skeleton.names
    around = truth - truth[:, :1]
    assert len(load_points(written(tmp_path / "around.c3d", around)).names) == len(LABELS)


def test_places_of_bones_in_the_frames_of_their_parents_are_refused(tmp_path):
    text = CSV.replace("Marker", "Bone").replace("Space,Global", "Space,Local")
    (tmp_path / "walk.csv").write_text(text)
    with pytest.raises(FormatError, match="Coordinate Space: Local") as caught:
        load(tmp_path / "walk.csv")
    assert "Global" in caught.value.hint


@pytest.mark.parametrize("numbers", ["their", "new"])
def test_rows_that_are_missing_are_gaps(tmp_path, numbers):
    text = re.sub(r"(?m)^5\d\t.*\r?\n", "", trc_text(markers_of(WALK), LABELS))
    if numbers == "new":
        # By their times alone.
        counted = count(1)
        text = re.sub(r"(?m)^\d+\t(?=\d\.\d+\t-?\d)", lambda _: f"{next(counted)}\t", text)
    (tmp_path / "walk.trc").write_text(text, newline="")
    track = load_points(tmp_path / "walk.trc")
    assert len(track) == len(WALK)
    assert np.flatnonzero(~track.present.all(axis=1)).tolist() == list(range(49, 59))


def _later_columns(text):
    return re.sub(r"([XYZ])(\d+)", lambda match: f"{match[1]}{int(match[2]) + 4}", text)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        # Headers that other readers refuse: opensim-core 2345, 2487 and 2289, opensim-gui 1112.
        (_later_columns, ""),
        (lambda text: re.sub(r"\t\t\t(?=\w)", "\t", text), ""),
        (lambda text: text.replace("\t25\tmm", "\t23\tmm"), "25 markers, but NumMarkers is 23"),
        (lambda text: text.replace("\tOrigDataStartFrame", ""), ""),
        (lambda text: re.sub(r"\t+", " ", text), ""),
        (lambda text: text.replace("\r\n\r\n", "\r\n"), ""),
        (lambda text: text.replace("\t", ","), ""),
        # Without the row of axes.
        (lambda text: re.sub(r"\t\tX1.*\r\n", "", text), ""),
        # Empty columns at the end; times in milliseconds.
        (lambda text: text.replace("\r\n", "\t\t\t\r\n"), ""),
        (lambda text: re.sub(r"(\n\d+\t0)\.(\d\d\d)", r"\1\2.", text), ""),
    ],
)
def test_headers_of_trc_files_of_many_writers(tmp_path, change, note):
    path = tmp_path / "walk.trc"
    path.write_text(change(trc_text(markers_of(WALK), WALK.skeleton.names)), newline="")
    clip = load(path)
    order = [clip.skeleton.names.index(name) for name in WALK.skeleton.names]
    np.testing.assert_allclose(joint_positions(clip)[:, order], joint_positions(WALK), atol=1e-5)
    assert bool(note) == any("NumMarkers" in each for each in clip.source.notes)
    assert not note or any(note in each for each in clip.source.notes)


def test_results_of_plug_in_gait_are_not_markers(tmp_path):
    """As in opensim-core 4112, in files without the groups of such points; and without a rate."""
    truth, path = markers_of(WALK), tmp_path / "walk.c3d"
    others = ["LHipAngles", "RKneeMoment", "LAnklePower", "LGroundReactionForce"]
    noise = 30.0 * np.random.default_rng(0).normal(size=(len(truth), len(others), 3))
    content = c3d_bytes(np.concatenate([truth, noise], axis=1), [*WALK.skeleton.names, *others])
    path.write_bytes(content.replace(b"RATE", b"RATX"))
    clip = load(path)
    assert (clip.fps, len(clip.skeleton), clip.source.up) == (100.0, 25, "z")
    order = [clip.skeleton.names.index(name) for name in WALK.skeleton.names]
    np.testing.assert_allclose(joint_positions(clip)[:, order], joint_positions(WALK), atol=1e-4)
    assert any("4 of 29 points were left out" in note for note in clip.source.notes)


@pytest.mark.parametrize("number", ["index", "time"])
@pytest.mark.parametrize(("left_out", "words"), [("5|6|7", "3 frames"), (r"\d{1,2}", "too long")])
def test_missing_frames_of_an_mvnx_are_bridged(tmp_path, left_out, words, number):
    path, walk = tmp_path / "walk.mvnx", replace(locomotion(0, 2.0).clip, fps=100.0)
    text = mvnx_text(walk)
    if number == "time":
        text = re.sub(r' index="(\d+)"', r' index="" number="\1"', text)
    path.write_text(text)
    whole = load(path)
    assert not any("missing" in note for note in whole.source.notes)
    # Frame 0 is the first of the clip.
    pattern = rf'<frame[^>]*"(?!0")(?:{left_out})" type.*?</frame>'
    path.write_text(re.sub(pattern, "", text, flags=re.DOTALL))
    clip = load(path)
    assert len(clip) == len(whole)
    (note,) = [note for note in clip.source.notes if "missing" in note]
    assert words in note
    positions, true = joint_positions(clip), joint_positions(whole)
    np.testing.assert_allclose(positions[[0, 100, 110]], true[[0, 100, 110]], atol=1e-6)
    if words == "3 frames":
        assert np.abs(positions - true).max() < 0.02
    path.write_text(text.replace('frameRate="100"', 'frameRate="200"'))
    assert any("is the rate 100?" in note for note in load(path).source.notes)
    frame = re.search(r'<frame[^>]*"9" type.*?</frame>', text, re.DOTALL)[0]
    path.write_text(text.replace(frame, frame + frame))
    assert number == "time" or "repeat" in " ".join(load(path).source.notes)


def test_mvnx(tmp_path):
    path = tmp_path / "walk.mvnx"
    path.write_text(mvnx_text(WALK))
    clip = load(path)
    assert clip.skeleton.names == WALK.skeleton.names
    np.testing.assert_array_equal(clip.skeleton.parents, WALK.skeleton.parents)
    assert (len(clip), clip.fps, clip.source.up) == (len(WALK), 100.0, "z")
    np.testing.assert_allclose(joint_positions(clip), joint_positions(WALK), atol=1e-5)


def test_csv_files_of_other_programs_are_no_motion(tmp_path):
    (tmp_path / "labels.csv").write_text("file,style\nwalk.bvh,old\n")
    written(tmp_path / "walk.csv", markers_of(WALK))
    assert [each.path.name for each in find_motion_files(tmp_path)] == ["walk.csv"]
    with pytest.raises(FormatError, match="does not begin with Format Version"):
        load(tmp_path / "labels.csv")


BOMB = '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>\n'
TRC = trc_text(markers_of(WALK)[:5], LABELS)
SLOW = trc_text(markers_of(WALK), LABELS).replace("100.0\t100.0", "50.0\t100.0")
C3D = c3d_bytes(markers_of(WALK)[:5], LABELS)
CSV = motive_text(markers_of(WALK, unit_m=1.0)[:5], LABELS)
MVNX = mvnx_text(WALK.sliced(0, 5))


@pytest.mark.parametrize(
    ("suffix", "content", "fact", "line"),
    [
        (".trc", TRC.replace("NumMarkers", "Markers"), "has no DataRate and NumMarkers", 3),
        (".trc", TRC.replace(f"\t{LABELS[0]}\t\t\t", "\t"), "24 labels, but NumMarkers is 25", 4),
        (".trc", TRC.replace("\t25\tmm", "\t999999\tmm"), "999,999 markers", 3),
        (".trc", TRC.replace("3\t0.02000\t", "3\t0.02000\tinf"), "not a finite number", 9),
        (".trc", TRC.split("\n")[0], "ends too early", None),
        (".trc", SLOW, "DataRate 50, the times of rows 100", None),
        (".trc", TRC[: TRC.index("1\t0.0")], "0 frames", None),
        (".c3d", C3D[:700], "not a C3D file", None),
        (".c3d", C3D[:-900], "5 frames declared, but the file ends after", None),
        (".c3d", C3D[:515] + bytes([7]) + C3D[516:], "a processor of type 7", None),
        (".c3d", C3D[:2] + b"\xff\xff" + C3D[4:], "65,535 markers", None),
        (".csv", CSV.replace("Frame,Time", "Nothing,Time"), "begins with Frame", None),
        (".csv", CSV.replace("Marker", "Camera"), "markers", None),
        (".csv", CSV.replace("\n1,0.010000,0", "\n1,0.010000,x"), "not a finite number", 9),
        (".mvnx", mvnx_text(WALK.sliced(0, 2), BOMB), "document type declaration", 2),
        (".mvnx", MVNX[:3000], "damaged markup", None),
        (".mvnx", MVNX.replace("mvnx", "html"), "first element is 'html'", None),
        (".mvnx", MVNX.replace("<position>", "<position>1 "), "numbers, expected", 7),
        (".mvnx", MVNX.replace('"100"', '"fast"'), "frameRate", None),
        (".mvnx", MVNX.replace("<connector1>Hips", "<connector1>Nobody"), "not both", None),
    ],
)
def test_bad_files_get_one_clear_error(tmp_path, suffix, content, fact, line):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError) as caught:
        load(path)
    assert fact in caught.value.fact, caught.value.fact
    assert caught.value.path == path
    if line is not None:
        assert caught.value.line == line
