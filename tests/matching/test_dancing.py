"""Dances from a motion database: on the beats of new songs, smooth, and without stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.evaluation.dance import (
    beat_alignment,
    beat_alignment_by_chance,
    body_of_clip,
    mean_joint_speed,
    measure_dance,
    motion_beats,
)
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.dancing import LOOSELY, PlaybackSync, beat_phases, dance_with_database
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features
from deepphase.matching.player.playback import Playback
from deepphase.matching.search.searcher import open_searcher
from deepphase.music.audio import SAMPLE_RATE
from deepphase.music.features import features_of
from deepphase.phase.signals import JointVelocities
from deepphase.synthetic.song import make_song
from tests.controllers.made_dances import BeatAndBarPhases, made_dances

pytestmark = pytest.mark.slow


class TruePhases(BeatAndBarPhases):
    """Beat and bar, as a phase model tells them; of parts of the dances, too."""

    def __init__(self, motions):
        super().__init__(motions)
        self.signals = JointVelocities.from_clip(motions[0].clip)

    def encode(self, clip):
        whole = super().encode(self._motions[clip.name].clip)
        return replace(
            whole, parameters=whole.parameters[: len(clip)], interior=whole.interior[: len(clip)]
        )


LAYOUT = FeatureLayout.load("dance_music")
NO_MUSIC_LAYOUT = FeatureLayout(*(each for each in LAYOUT if each.kind != "track"))


@pytest.fixture(scope="module")
def corpus():
    return made_dances((96.0, 104.0, 112.0, 120.0), 16.0)


@pytest.fixture(scope="module")
def clips(corpus):
    danced = corpus[0]
    return ClipSongTracks(danced.store, danced.songs, (), tuple(track_features(LAYOUT)))


def opened(database):
    return database, Playback.from_database(database), open_searcher(database, "exact")


@pytest.fixture(scope="module")
def with_music(corpus, clips):
    return opened(MotionDatabase.build(clips.store, LAYOUT, TruePhases(corpus[1]), tracks=clips))


@pytest.fixture(scope="module")
def without_music(corpus, clips):
    return opened(MotionDatabase.build(clips.store, NO_MUSIC_LAYOUT, TruePhases(corpus[1])))


@pytest.fixture(scope="module")
def new_song():
    """A song of another tempo than all that were danced to, and its true beats."""
    made = make_song(60, 14.0, tempo_bpm=108.0)
    return features_of(made.samples, name="new"), made.beats


@pytest.fixture(scope="module")
def made(with_music, new_song):
    return dance_with_database(*with_music, new_song[0])


def rows_of(made):
    return made.tracks["row"]


def jumps_of(made):
    """Frames that follow a jump."""
    return np.array([round(60 * second) for _, second in made.marks[1:]])


def rates_of(made):
    return made.tracks["playback (%)"] / 100.0


def moving(clip):
    """m/s: mean joint speed of each second."""
    speed = mean_joint_speed(body_of_clip(clip)[1], clip.fps)
    return speed[: len(speed) // 60 * 60].reshape(-1, 60).mean(axis=1)


def alignment(clip, beats):
    movement = motion_beats(mean_joint_speed(body_of_clip(clip)[1], clip.fps), clip.fps)
    inside = beats[beats <= clip.duration]
    return (
        beat_alignment(movement, inside),
        beat_alignment_by_chance(movement, inside, clip.duration),
    )


def test_a_new_song_is_danced_on_its_beats(corpus, made, new_song, without_music):
    """As the truth is on its own, and not by chance; without music it is not."""
    own, chance = alignment(made.clip, new_song[1])
    truth = np.mean(
        [
            alignment(motion.clip, make_song(number, 16.0, tempo_bpm=bpm).beats)[0]
            for number, (bpm, motion) in enumerate(
                zip((96.0, 104.0, 112.0, 120.0), corpus[1], strict=True)
            )
        ]
    )
    assert own > chance + 0.2
    assert own > 0.8 * truth
    without = dance_with_database(*without_music, new_song[0])
    assert alignment(without.clip, new_song[1])[0] < own - 0.15
    assert any("no music features" in text for text in without.notes)


def test_a_dance_is_as_long_as_its_song_and_whole(made, new_song, with_music):
    database = with_music[0]
    assert len(made.clip) == round(60 * new_song[0].duration_s)
    assert all(len(values) == 840 for values in made.tracks.values())
    for values in (made.clip.rotations, made.clip.translations, *made.tracks.values()):
        assert np.isfinite(values).all()
    assert made.phases.phase.shape == (840, 2)
    # Between jumps one clip plays on, hurried or held back by a tenth at most.
    played = np.delete(np.arange(839), jumps_of(made) - 1)
    assert set(np.diff(rows_of(made))[played]) <= {0, 1, 2}
    assert (np.diff(database.clip_of(rows_of(made)))[played] == 0).all()
    assert np.abs(rates_of(made) - 1.0).max() <= LOOSELY.max_change + 1e-9
    assert len(jumps_of(made)) >= 2


def test_feet_slide_no_more_than_the_data_and_nothing_freezes(made, corpus):
    sliding = measure_dance(made.clip, None, 0.0)["sliding"]
    captured = [measure_dance(motion.clip, None, 0.0)["sliding"] for motion in corpus[1]]
    assert sliding < 1.3 * max(captured) + 0.005
    usual = np.median(np.concatenate([moving(motion.clip) for motion in corpus[1]]))
    assert moving(made.clip).min() > 0.2 * usual


@pytest.mark.parametrize("seconds", [0.02, 3.0])
def test_silence_is_danced_to_as_it_was_captured(with_music, seconds):
    song = features_of(np.zeros(round(seconds * SAMPLE_RATE), np.float32), name="silence")
    made = dance_with_database(*with_music, song)
    assert len(made.clip) == max(round(60 * seconds), 1)
    assert (rates_of(made) == 1.0).all()
    assert "no reliable beat in this song: playback does not follow the beat" in made.notes


def test_the_clock_follows_the_beat_up_to_a_tenth(with_music, new_song):
    database = with_music[0]
    phase, frequency = beat_phases(database)
    row = int(database.range_starts[1]) + 300
    truth = 104.0 / 60.0
    assert frequency[row] == pytest.approx(truth, rel=0.03)
    song = new_song[0]

    def settled(beats_s):
        """The rate after two seconds of playing from a row that is on the beat."""
        notes: list[str] = []
        clock = PlaybackSync(database, replace(song, beats_s=beats_s), notes)
        assert clock.runs
        now, played = 0.0, float(row)
        for _ in range(240):
            rate = clock.rate(round(played), now)
            now, played = now + 1.0 / (60.0 * rate), played + 1.0
        return rate

    first = -float(phase[row]) / truth
    for faster, expected in (
        (1.0, 1.0),
        (1.04, 1.04),
        (1.3, 1.0 + LOOSELY.max_change),
        (0.75, 1.0 - LOOSELY.max_change),
    ):
        beats = first + np.arange(-4, 40) / (truth * faster)
        assert settled(beats) == pytest.approx(expected, abs=0.012)
    # Twice as fast is on the beat as well.
    assert settled(first + np.arange(-8, 80) / (2.0 * truth)) == pytest.approx(1.0, abs=0.012)
