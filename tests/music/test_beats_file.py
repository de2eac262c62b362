import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.music.beats_file import check_beats, read_beats
from deepphase.music.cache import song_features
from deepphase.synthetic.song import make_song
from tests.music.made_sounds import file_bytes

TIMES = [0.5, 1.0, 1.6, 2.1]


def written(tmp_path, text):
    path = tmp_path / "given.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.5\n1.0\n1.6\n2.1\n", None),
        ("# by hand\r\n\r\n0.5\r\n1\r\n1.6\r\n2.1", None),
        ("\ufeff0.5 3\n1.0 1\n1.6 2\n2.1 3\n", [3, 1, 2, 3]),
        ("0.5\t1\n1.0\t2\n1.6\t3.0\n2.1\t1\n", [1, 2, 3, 1]),
        ("0.5,1\n1.0,1\n1.6,2\n2.1,3\n", [1, 1, 2, 3]),
        ("0.500000\t0.500000\t1\n1.0\t1.2\t2\n1.6\t1.6\t3\n2.1\t2.1\t1\n", [1, 2, 3, 1]),
        ("0.500000\t0.500000\t\n1.0\t1.0\tclap\n\\\t100\t200\n1.6\t1.6\t\n2.1\t2.1\t", None),
        ("0.5\t0.5\n1.0\t1.0\n1.6\t1.6\n2.1\t2.1", None),
    ],
)
def test_times_numbers_and_labels_are_read(tmp_path, text, numbers):
    given = read_beats(written(tmp_path, text))
    assert given.beats_s.tolist() == TIMES
    assert (given.numbers if numbers is None else given.numbers.tolist()) == numbers
    assert given.beats().confidence == 1.0
    assert given.beats().tempo_bpm == pytest.approx(120.0)
    bars = given.bars()
    if numbers is None:
        assert bars is None
    else:
        assert bars.downbeats.tolist() == [at for at, number in enumerate(numbers) if number == 1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0.5\none\n", 2, "'one' is not a number"),
        ("0.5\n1.0\n0.9\n", 3, "a beat at 0.9 s, less than 0.1 s after the one at 1 s"),
        ("# x\n-0.5\n1.0\n", 2, "a beat at -0.5 s is before the start of the song"),
        ("0.5\nnan\n", 2, "'nan' is not a number"),
        ("0.5 1 2\n1.0 2 3\n", 1, "3 values in a line"),
        (",\n1.0\n", 1, "0 values in a line"),
        (f"0.5\t0.5\t{'9' * 5000}\n1\t1\t2\n", 1, "a beat without a number"),
        ("0.5 1\n1.0 3\n", 2, "beat number 3 after 1"),
        ("0.5 1\n1.0\n", 2, "a beat without a number"),
        ("0.5 1.5\n1.0\n", 1, "'1.5' is not a whole number"),
        ("0.5 0\n1.0 1\n", 1, "a beat has the number 0, expected 1 to 100"),
        ("0.5 2\n1.0 3\n", None, "no beat has the number 1"),
        ("0.5\n", None, "1 beat, at least two are needed"),
        ("", None, "an empty file"),
        ("\n", None, "0 beats, at least two"),
    ],
)
def test_what_are_no_beats_is_refused_with_the_line(tmp_path, text, line, message):
    path = written(tmp_path, text)
    with pytest.raises(FormatError) as said:
        read_beats(path)
    assert message in said.value.fact
    assert (said.value.path, said.value.line) == (path, line)


@pytest.fixture
def song(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPPHASE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "song.wav"
    path.write_bytes(file_bytes(make_song(3, 10.0, tempo_bpm=120.0).samples))
    return path


def test_given_beats_replace_the_detected_ones(song):
    detected = song_features(song)
    own = np.arange(0.3, 9.5, 0.75)
    beats = song.with_name("own.txt")
    beats.write_text("".join(f"{each:.3f} {at % 5 + 1}\n" for at, each in enumerate(own)))
    given = song_features(song, beats=beats)
    np.testing.assert_allclose(given.beats_s, own, atol=1e-3)
    np.testing.assert_allclose(given.downbeats_s, own[::5], atol=1e-3)
    assert given.rhythm == "80 beats a minute in bars of 5"
    assert (given.beat_confidence, given.bar_confidence) == (1.0, 1.0)
    np.testing.assert_array_equal(given.blocks["mel"], detected.blocks["mel"])
    # Each is kept in the cache on its own.
    assert song_features(song).rhythm == detected.rhythm
    assert song_features(song, beats=beats).rhythm == given.rhythm
    beats.write_text("1.0\n2.0\n3.0\n")
    assert song_features(song, beats=beats).tempo_bpm == 60.0


def test_beats_beside_a_song_are_read(song):
    song.with_suffix(".beats").write_text("0.5 1\n1.5 2\n2.5 3\n3.5 1\n")
    found = song_features(song)
    assert found.beats_s.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert found.beats_per_bar == 3


def test_bars_are_detected_among_given_beats(song):
    made = make_song(3, 24.0, tempo_bpm=120.0)
    song.write_bytes(file_bytes(made.samples))
    song.with_suffix(".beats").write_text("\n".join(f"{each:.4f}" for each in made.beats))
    found = song_features(song)
    assert found.beats_per_bar == 4
    np.testing.assert_allclose(found.downbeats_s[:5], made.bars[:5], atol=1e-3)


def test_beats_and_hints_are_checked_without_decoding(tmp_path, monkeypatch):
    song, beats = tmp_path / "song.wav", tmp_path / "song.beats"
    song.write_bytes(file_bytes(make_song(1, 6.0).samples))
    monkeypatch.delattr("deepphase.music.audio.decoded")
    beats.write_text("0.5\n1.0\n99.0\n")
    with pytest.raises(FormatError, match="a beat at 99 s, but the song ends at"):
        check_beats(song, None)
    beats.write_text("0.5\none\n")
    with pytest.raises(FormatError, match="'one' is not a number"):
        check_beats(song, beats)
    with pytest.raises(ParameterError, match="cannot be used together"):
        check_beats(song, beats, 90.0)
    with pytest.raises(ParameterError, match="3 beats a minute"):
        check_beats(song, None, 3.0)
