"""Styles that fit songs: a vote of similar songs, named by labels or by metre."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import CheckpointError, ParameterError
from deepphase.music.features import SONG_FEATURE_KINDS, SongFeatures
from deepphase.music.song_styles import SongStyles


def song(bpm, metre, seed=0, timbre=0.0):
    """A song without sound, of a metre, tempo and timbre."""
    blocks = {
        name: np.zeros((60, len(kind.values)), np.float32)
        for name, kind in SONG_FEATURE_KINDS.items()
    }
    blocks["mfcc"] += timbre + np.random.default_rng(seed).normal(0.0, 1.0, 20).astype(np.float32)
    beats = np.arange(0.0, 20.0, 60.0 / bpm)
    bars = {} if metre is None else {"downbeats_s": beats[::metre], "beats_per_bar": metre}
    made = SongFeatures(blocks, 20.0, beats, None, None, bpm, 1.0, 1.0)
    return replace(made, **bars, triple_probability={3: 0.95, 4: 0.05, None: 0.5}[metre])


@pytest.fixture(scope="module")
def styles():
    songs = {f"w{i}": song(86.0 + i, 3, i) for i in range(6)}
    songs |= {f"c{i}": song(124.0 + i, 4, 20 + i) for i in range(3)}
    clips = [(f"clip {name}", name, {"take": name, "field1": name[0]}) for name in songs]
    return SongStyles.of(songs, clips)


def test_songs_are_danced_as_similar_songs_are(styles):
    assert styles.names == ["c", "w"]
    waltz, other = styles.choose(song(88.0, 3, 40)), styles.choose(song(120.0, 4, 41))
    assert (waltz.style, waltz.fits) == ("w", True)
    assert (other.style, other.fits) == ("c", True)
    assert waltz.probability > 0.9
    assert "danced as w (probability" in waltz.words()
    # Six waltzes outvote three songs in four by their number alone only where all are as far.
    assert styles.clips["clip c1"] == "c"


def test_a_song_like_no_other_has_no_dance(styles):
    choice = styles.choose(song(174.0, 4, 42, timbre=30.0))
    assert not choice.fits
    assert "no known dance fits this song" in choice.words()


def test_a_style_can_be_asked_for(styles):
    choice = styles.choose(song(88.0, 3, 40), "c")
    assert (choice.style, choice.probability) == ("c", 1.0)
    with pytest.raises(ParameterError, match="no style 'polka'") as error:
        styles.choose(song(88.0, 3), "polka")
    assert "c, w" in error.value.hint


def test_without_labels_styles_are_metres():
    songs = {"a": song(90.0, 3), "b": song(120.0, 4, 1), "c": song(100.0, None, 2)}
    found = SongStyles.of(songs, [(name, name, {}) for name in songs])
    assert found.names == ["bars of 3", "bars of 4", "no bars"]
    assert found.choose(song(91.0, 3, 3)).style == "bars of 3"
    # A label that never repeats names takes, not styles.
    takes = SongStyles.of(songs, [(name, name, {"take": name}) for name in songs])
    assert takes.names == found.names
    named = SongStyles.of(songs, [(name, name, {"x": "1", "dance": "polka"}) for name in songs])
    assert named.names == ["polka"]


def test_styles_are_stored_and_joined(styles):
    again = SongStyles.from_mapping(styles.as_mapping())
    assert again.choose(song(88.0, 3, 40)) == styles.choose(song(88.0, 3, 40))
    more = styles.with_more(SongStyles.of({"w1": song(60.0, 4)}, [("new", "w1", {"style": "r"})]))
    assert len(more.songs) == len(styles.songs)
    assert more.names == ["c", "r", "w"]
    for broken in ({"vectors": [[1.0]]}, {"styles": []}, {"clips": None}):
        with pytest.raises(CheckpointError, match="styles of songs"):
            SongStyles.from_mapping({**styles.as_mapping(), **broken})
