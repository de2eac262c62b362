"""The songs of a store's clips, and clips that have none."""

from dataclasses import replace

import numpy as np
import pytest
import soundfile

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import PointSets, load_clips
from deepphase.corpus.prepare import prepare
from deepphase.corpus.songs import songs_of_clips
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.music.audio import SAMPLE_RATE
from tests.formula_motion import swinging


def clip_with(song, name):
    clip = swinging(1.0)[0]
    return replace(clip, name=name, source=replace(clip.source, song=song))


def test_clips_without_a_song_are_left_out_with_a_word(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(SAMPLE_RATE, np.float32), SAMPLE_RATE)
    (tmp_path / "bad.ogg").write_bytes(b"no sound")
    songs = (("a.wav", "one"), ("", "mute"), ("bad.ogg", "broken"), ("a.wav", "two"))
    store = ClipStore.from_clips([clip_with(song, name) for song, name in songs])
    given = []
    found = songs_of_clips(store, tmp_path, lambda *words: given.append(words))
    assert found.store.names == ("one", "two")
    assert list(found.songs) == ["a.wav"]
    assert found.songs["a.wav"].duration_s == pytest.approx(1.0)
    why = dict(found.left_out)
    assert why["mute"] == "no song beside it"
    assert "bad.ogg" in why["broken"]
    assert given[-1] == ("reading songs", 4, 4, "two")


@pytest.mark.parametrize(("seconds", "said"), [(1.0, ""), (2.0, "--file-fps, as 30"), (1.3, "")])
def test_a_rate_that_the_song_beside_contradicts_is_doubted(tmp_path, seconds, said):
    clip = swinging(1.0)[0]
    save(clip, tmp_path / "a.bvh")
    silence = np.zeros(round(seconds * len(clip) / clip.fps * SAMPLE_RATE), np.float32)
    soundfile.write(tmp_path / "a.wav", silence, SAMPLE_RATE)
    (read,) = load_clips(tmp_path / "a.bvh", "a", PointSets())
    doubts = [note for note in read.source.notes if "its song is" in note]
    assert len(doubts) == bool(said)
    assert said in " ".join(doubts)


def test_a_store_finds_its_songs_from_another_folder(tmp_path, monkeypatch):
    dances = tmp_path / "one" / "dances" / "waltz"
    dances.mkdir(parents=True)
    save(swinging(1.0)[0], dances / "a.bvh")
    soundfile.write(dances / "a.wav", np.zeros(SAMPLE_RATE, np.float32), SAMPLE_RATE)
    monkeypatch.chdir(tmp_path)
    prepare("one/dances", "one/stores/dances.store", labels="none")
    assert songs_of_clips(open_store("one/stores/dances.store")).songs.keys() == {"waltz/a.wav"}
    (tmp_path / "one").rename(tmp_path / "two")
    moved = open_store("two/stores/dances.store")
    assert songs_of_clips(moved).songs.keys() == {"waltz/a.wav"}
    (tmp_path / "two" / "dances").rename(tmp_path / "gone")
    with pytest.raises(ParameterError, match="no clip has a song") as caught:
        songs_of_clips(moved)
    assert "--songs" in caught.value.hint
    for given in (tmp_path / "gone", tmp_path / "gone" / "waltz"):
        assert songs_of_clips(moved, given).songs.keys() == {"waltz/a.wav"}


def test_no_song_at_all_is_an_error_that_says_why(tmp_path):
    store = ClipStore.from_clips([clip_with("", "mute"), clip_with("gone.wav", "lost")])
    with pytest.raises(ParameterError, match="no clip has a song") as caught:
        songs_of_clips(store, tmp_path)
    assert "mute: no song beside it" in caught.value.hint
    assert "gone.wav" in caught.value.hint
