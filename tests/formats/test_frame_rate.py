"""Frame times as files write them, and rates at which no body is captured."""

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.gltf.reader import load_gltf
from deepphase.formats.load import load
from deepphase.formats.npz.archive import write_npz
from deepphase.formats.npz.motion import load_npz
from deepphase.formats.reading import CHECK, CORRECTED, frame_rate, warnings_of
from tests.formats import gltf_files
from tests.formats.bvh_text import two_joints, written


@pytest.mark.parametrize(
    ("written", "fps"),
    [
        ("0.0333333", 30), ("0.033333", 30), ("0.0333", 30), ("0.033", 30), ("0.0083333", 120),
        ("0.0083", 120), ("0.008", 120), ("0.0166667", 60), ("0.0167", 60), ("0.01667", 60),
        ("0.04", 25), ("0.0111111", 90), ("0.00416667", 240), ("1.0", 1), ("0.0416667", 24),
        ("0.0417083", 24 / 1.001), ("0.0333667", 30 / 1.001), ("0.0166833", 60 / 1.001),
        ("0.0083417", 120 / 1.001), ("0.036", 1 / 0.036), ("0.0364", 1 / 0.0364), ("0.016", 60),
        ("0.004", 250), ("2.5", 0.4),
    ],
)  # fmt: skip
def test_rate_is_the_one_that_was_meant(written, fps):
    assert frame_rate(float(written), len(written.partition(".")[2])) == pytest.approx(
        fps, rel=1e-9
    )


@pytest.mark.parametrize(
    ("written_time", "fps"),
    [
        ("33.3333", 30), ("33.33", 30), ("33", 30), ("16.6667", 60), ("16.667", 60),
        ("8.33333", 120), ("33.3667", 30 / 1.001), ("40", 25), ("20.0", 50), ("4.16667", 240),
        ("1.0e1", 100), ("200.1", None), ("1.5", None), ("30", None), ("29.97", None),
        ("100", None), ("0", None), ("1e-300", None), ("0.0000333", None), ("99.9", None),
        ("97.5", 1 / 0.0975), ("1.0", 1), ("0.0005", 2000),
    ],
)  # fmt: skip
def test_a_frame_time_in_milliseconds_is_corrected_or_refused(tmp_path, written_time, fps):
    path = written(tmp_path, two_joints(frame_time=written_time))
    if fps is None:
        with pytest.raises(FormatError, match="a Frame Time of") as caught:
            load_bvh(path)
        assert (caught.value.path, caught.value.line) == (path, 18)
        assert "--file-fps" in caught.value.hint
    else:
        clip = load_bvh(path)
        assert clip.fps == pytest.approx(fps, rel=1e-9)
        assert len(warnings_of(clip)) == (float(written_time) > 1)
    given = load_bvh(path, fps=30)
    assert (given.fps, given.source.fps, warnings_of(given)) == (30, 30, ())


@pytest.mark.parametrize(
    ("frame_time", "fps", "words"),
    [
        ("0.016", 60, "a frame time of 0.016"),
        ("0.008", 120, "a frame time"),
        ("1", 1, CHECK),
        ("0,04", 25, ""),
    ],
)
def test_a_rate_that_is_assumed_or_odd_is_said(tmp_path, frame_time, fps, words):
    clip = load(written(tmp_path, two_joints(frame_time=frame_time)))
    assert clip.fps == fps
    assert any(note.startswith(words) for note in clip.source.notes), clip.source.notes


@pytest.mark.parametrize("fps", [0.01, 0.0333, 1e6, -30.0, 0.0, 2500.0])
def test_an_implausible_rate_of_arrays_is_refused(tmp_path, fps):
    path = tmp_path / "clip.npz"
    write_npz(path, {"positions": np.random.default_rng(0).random((5, 4, 3)), "fps": fps})
    with pytest.raises(FormatError, match="impossible number of frames") as caught:
        load_npz(path)
    assert "--file-fps" in caught.value.hint
    assert load_npz(path, fps=30).fps == 30


@pytest.mark.parametrize("fps", [0, 0.5, -1, 3000, float("nan"), float("inf")])
def test_a_given_rate_is_plausible(tmp_path, fps):
    with pytest.raises(ParameterError, match="frames a second"):
        load(written(tmp_path, two_joints()), fps=fps)


def _animation(times: np.ndarray) -> gltf_files.Made:
    made = gltf_files.two_joints()
    made.document["animations"] = []
    keys = made.times(times)
    made.animate(0, "translation", keys, gltf_files.travel(len(times)))
    made.animate(1, "rotation", keys, gltf_files.turns(len(times), 5.0))
    return made


@pytest.mark.parametrize(
    ("gap_ms", "fps"), [(1000 / 30, 30), (1000 / 60, 60), (1000 / 120, 120), (40.0, 25)]
)
def test_key_times_in_milliseconds_are_corrected(tmp_path, gap_ms, fps):
    frames = np.arange(20)
    seconds = load_gltf(_animation(frames * gap_ms / 1000).written(tmp_path, "seconds.glb"))
    clip = load_gltf(_animation(frames * gap_ms).written(tmp_path))
    whole = load_gltf(_animation(np.rint(frames * gap_ms)).written(tmp_path))
    assert clip.fps == seconds.fps == fps
    assert len(clip) == len(seconds) == 20
    # In whole milliseconds, 120 frames a second are not even.
    assert fps == 120 or whole.fps == pytest.approx(fps, rel=0.01)
    assert warnings_of(clip) == (f"{CORRECTED}key times are in milliseconds",)
    assert not warnings_of(seconds)
    np.testing.assert_allclose(clip.rotations, seconds.rotations, atol=1e-5)


def test_slow_keys_made_by_hand_stay_seconds(tmp_path):
    for times in (np.arange(5) * 10.0, np.arange(12) * 3.0, np.array([0.0, 4.0])):
        clip = load_gltf(_animation(times).written(tmp_path))
        assert clip.duration == pytest.approx(times[-1], abs=0.02)
        assert not warnings_of(clip)
