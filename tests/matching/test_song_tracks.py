"""Song tracks beside the frames of clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.matching.music.song_tracks import ClipSongTracks, song_track
from deepphase.music.features import features_of
from deepphase.synthetic.song import make_song
from tests.formula_motion import swinging


def layout(*tracks):
    return FeatureLayout(*(Feature(f"f{i}", kind="track", track=t) for i, t in enumerate(tracks)))


@pytest.fixture(scope="module")
def song():
    return features_of(make_song(3, 12.0, tempo_bpm=100.0).samples, name="made")


def test_a_mean_is_over_so_many_seconds(song):
    rows = song.blocks["onset_strength"].astype(np.float64)
    found = song_track(song, "onset_strength_mean_2")
    assert found.shape == rows.shape
    # 120 frames about frame 300.
    assert found[300, 0] == pytest.approx(rows[240:360].mean(), rel=1e-4)
    np.testing.assert_array_equal(song_track(song, "onset_strength"), rows.astype(np.float32))


def test_the_cycle_is_0_where_the_beat_is_not_reliable(song):
    cycle = song.blocks["beat_cycle"]
    for confidence, weight in ((0.49, 0.0), (0.5, 1.0), (1.0, 1.0)):
        unsure = replace(song, beat_confidence=confidence, tempo_confidence=1.0)
        track = song_track(unsure, "beat_cycle")
        np.testing.assert_allclose(track, weight * cycle, atol=1e-6)


def test_tracks_start_at_the_start_of_the_clip_in_its_song(song):
    clip = swinging(1.0, 4.0)[0]
    clip = replace(clip, source=replace(clip.source, song="a.wav", song_start_s=2.5))
    clips = ClipSongTracks(None, {"a.wav": song}, (), ("mel", "beat_cycle"))
    tracks = clips(clip)
    assert list(tracks) == ["mel", "beat_cycle"]
    np.testing.assert_array_equal(tracks["mel"], song.blocks["mel"][150 : 150 + len(clip)])
    with pytest.raises(ParameterError, match="its song was not read"):
        clips(replace(clip, source=replace(clip.source, song="b.wav")))
    kept = clips.as_mapping()
    assert kept["tracks"]["beat_cycle"] == ["beat_cycle.sin", "beat_cycle.cos"]
    assert kept["songs"] == {"a.wav": ""}
