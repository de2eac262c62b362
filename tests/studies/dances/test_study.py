"""Measures of synthetic dances to synthetic songs, and trials of what makes dances."""

import json

import numpy as np
import pytest

from deepphase.apps.dances.makers import DanceResult
from deepphase.errors import DeepPhaseError
from deepphase.formats.load import load, save
from deepphase.music.cache import CACHE_VARIABLE
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song
from tests.studies.dances.dances_report import dances_report
from tests.studies.dances.response_rows import TriedMaker

pytestmark = pytest.mark.slow


def write_song(path, song):
    from scipy.io import wavfile

    wavfile.write(path, song.sample_rate, song.samples)


@pytest.fixture(scope="module", autouse=True)
def songs_kept_apart(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("songs")))
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Dances to the songs beside them; the same dances beside songs of another tempo."""
    root = tmp_path_factory.mktemp("dances")
    for name in ("recorded", "wrong"):
        (root / name).mkdir()
    for number, bpm in enumerate((84.0, 90.0, 97.0, 112.0)):
        own = make_song(number, 30.0, tempo_bpm=bpm, beats_per_bar=3)
        other = make_song(number, 30.0, tempo_bpm=bpm * 1.19, beats_per_bar=3)
        clip = dance(own, number).clip
        kind = "slow" if bpm < 95 else "fast"
        for name, song in (("recorded", own), ("wrong", other)):
            save(clip, root / name / f"{kind}_{number}.bvh")
            write_song(root / name / f"{kind}_{number}.wav", song)
    return root


@pytest.fixture(scope="module")
def report(folders):
    sets = [folders / "recorded", folders / "wrong"]
    labels = {"labels": "{pace}_{_number}", "by": "pace"}
    dances_report(sets, folders / "out.json", beats_per_bar=3, warn=print, **labels)
    return json.loads((folders / "out.json").read_text())


def value(report, name, **by):
    (found,) = [each for each in report["measures"] if each["name"] == name and each["by"] == by]
    return found


def test_own_songs_score_higher_than_other_songs(report):
    real, wrong = ({"dances": name} for name in ("recorded", "wrong"))
    over = "bar of 3, hips' height, over the shifted"
    assert value(report, over, **real)["value"] > 0.3
    assert value(report, over, **real)["interval_95"][0] > 0.1
    assert value(report, over, **wrong)["value"] < 0.1
    score = "beat alignment over motion beats"
    own = value(report, score, **real)["value"]
    assert own > value(report, score, **wrong)["value"]
    assert own > value(report, f"{score}, by chance", **real)["value"]


def test_the_place_in_the_bar_tells_the_own_song_from_others(report):
    place = "bar of 3, place of hips' height"
    own = value(report, place, dances="recorded")
    assert own["n"] == 4
    assert own["value"] > 0.5
    assert value(report, "bar of 3, found", dances="recorded")["value"] == 1.0
    assert abs(value(report, f"{place}, tempo shifted", dances="recorded")["value"]) < 0.1
    assert abs(value(report, place, dances="wrong")["value"]) < 0.3 * own["value"]
    over = value(report, f"{place}, over other songs", dances="recorded")
    assert over["value"] > 0.3
    later = value(report, f"{place}, other songs begun later", dances="recorded")
    assert abs(later["value"]) < 0.3 * own["value"]


def test_the_same_dances_are_as_far_as_halves_are(report):
    for kind in ("kinetic", "geometric"):
        halves = value(report, f"FID, {kind}", dances="recorded")
        same = value(report, f"FID, {kind}", dances="wrong")
        # Halves of the same dances share dances now and then: nearer, if anything.
        assert same["value"] <= 1.2 * halves["value"]
        assert halves["n"] == same["n"]
    names = ("physical foot contact", "foot sliding", "jerk", "turning", "standing")
    for name in names:
        one, other = (value(report, name, dances=row) for row in ("recorded", "wrong"))
        assert one["value"] == pytest.approx(other["value"])


def test_a_label_gets_columns_of_its_own(report):
    slow = value(report, "speed", dances="recorded", pace="slow")
    fast = value(report, "speed", dances="recorded", pace="fast")
    both = value(report, "speed", dances="recorded")
    assert slow["n"] == fast["n"] == 2
    assert (slow["value"] + fast["value"]) / 2 == pytest.approx(both["value"])
    assert report["data"]["recorded"]["with_a_song"] == 4
    assert "bar of 4" not in report["measures"][0]["name"]


class Deaf:
    """Dances always the same, as a maker of dances."""

    def __init__(self, clip):
        self._clip = clip

    def dances(self, requests, progress=None):
        frames = [round(request.seconds * self._clip.fps) for _, request in requests]
        return [DanceResult(self._clip.sliced(0, count), None, 2.0, 0, None) for count in frames]


def test_trials_of_a_maker_that_is_deaf(folders):
    clip = load(folders / "recorded" / "slow_0.bvh")
    said = []
    report = dances_report(
        [folders / "recorded"],
        folders / "trials.json",
        beats_per_bar=3,
        labels="{pace}_{_number}",
        by="pace",
        makers=[TriedMaker("deaf", Deaf(clip), ["slow_0.wav"])],
        seeds=1,
        seconds=16.0,
        warn=said.append,
    )
    found = json.loads((folders / "trials.json").read_text())
    assert any("slower or faster are followed in" in each for each in report.findings)
    assert found["findings"] == report.findings
    assert value(found, "trials: place in the bar", dances="deaf")["n"] == 3
    assert value(found, "trials: place in the bar", dances="recorded")["value"] > 0.5
    explained = value(found, "trials: bar explains", dances="deaf")["value"]
    silent = value(found, "trials: bar explains, silence", dances="deaf")["value"]
    assert explained == pytest.approx(silent)
    # Two seconds of a recorded dance, but of one to another song.
    assert value(found, "nearest recorded piece", dances="deaf")["value"] < 0.5
    assert value(found, "foreign style", dances="deaf")["value"] > 0.3
    assert value(found, "nearest repeat", dances="deaf")["value"] > 0.0
    assert not said


def test_points_and_missing_songs(folders):
    """Point tracks with one song among three; the others are measured without."""
    from deepphase.motion.kinematics import joint_positions

    folder = folders / "points"
    folder.mkdir()
    for number in range(3):
        song = make_song(number, 12.0, tempo_bpm=100.0, beats_per_bar=3)
        clip = dance(song, number).clip
        np.savez(
            folder / f"d{number}.npz",
            positions=100 * joint_positions(clip),
            fps=60,
            units="cm",
            names=np.array(clip.skeleton.names),
        )
    write_song(folder / "d0.wav", make_song(0, 12.0, tempo_bpm=100.0, beats_per_bar=3))
    (folder / "d1.wav").write_bytes(b"no sound at all")
    said = []
    dances_report([folder], folders / "out2.json", warn=said.append)
    assert any("no song beside d2" in each for each in said)
    assert any("d1 is measured without its song" in each for each in said)
    measures = json.loads((folders / "out2.json").read_text())["measures"]
    names = {each["name"] for each in measures}
    assert {"physical foot contact", "beat alignment over music beats", "bar of 4, speed"} <= names
    assert "turning" not in names
    assert all(np.isfinite(each["value"]) for each in measures)


@pytest.mark.parametrize(
    ("sets", "options", "says"),
    [
        (["nowhere"], {}, "not a folder of dances"),
        (["recorded", "recorded"], {}, "twice"),
        (["recorded"], {"by": "pace"}, "no dance has a label"),
        (["recorded"], {"beats_per_bar": 0}, "beats_per_bar must lie in"),
    ],
)
def test_mistakes(folders, sets, options, says):
    with pytest.raises(DeepPhaseError, match=says):
        dances_report([folders / name for name in sets], warn=print, **options)
