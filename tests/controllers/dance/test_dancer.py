"""Dancers: config, audio features, training data, files, dances, and restarts of stalled dances."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.dance.config import MUSIC, DanceConfig
from deepphase.controllers.dance.dance_set import with_skeleton
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.health import dance_words
from deepphase.controllers.dance.training import DanceData, path_share, train_dance
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.network_state import RunningNetwork
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.music.audio import HOP, SAMPLE_RATE
from deepphase.music.features import features_of
from deepphase.solving.point_structure import clip_of_points
from tests.controllers.made_dances import (
    BeatAndBarPhases,
    dance_to,
    made_dances,
    made_song_features,
)

pytestmark = pytest.mark.slow

_TINY = {
    "network.hidden": 24,
    "network.experts": 2,
    "network.gating_hidden": 8,
    "training.samples": 2560,
    "training.batch_size": 64,
    # True phases are of the frames as made.
    "dance.timing": "recorded",
    "dance.tempo_copies": 0,
}


@pytest.fixture(scope="module")
def corpus():
    return made_dances()


@pytest.fixture(scope="module")
def data(corpus):
    return DanceData.read(
        corpus[0], DanceConfig.load("experts", **_TINY), BeatAndBarPhases(corpus[1])
    )


@pytest.fixture(scope="module")
def dancer(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    return train_dance(data, DanceConfig.load("experts", **_TINY), folder=folder)


def test_the_network_input_has_the_audio_of_each_frame(data):
    samples, schema = data.data.samples, data.data.schema
    run = 1
    clip = data.dances.store.clip(data.dances.store.names.index(samples.names[run]))
    rows = data.music.rows(data.dances.song(clip))
    row = int(samples.run_starts[run]) + 7
    frame = int(samples.first_frames[run]) + 7
    seen = samples.inputs[row, schema.inputs.slices[MUSIC]].reshape(13, -1)
    offsets = np.round(np.array(schema.config.offsets_s) * 60).astype(int)
    np.testing.assert_array_equal(seen, rows[frame + offsets])


def test_whole_songs_are_held_out(corpus, data):
    kept = data.data.split.sources
    assert len(kept) == 1
    held = data.data.samples.run_of(data.data.split.held_out)
    assert {data.data.samples.sources[run] for run in held} == kept
    # Two clips of one song are on one side.
    clips = [corpus[0].store.clip(index) for index in range(3)]
    twice = replace(clips[0], name="again", source=replace(clips[0].source, path="again.bvh"))
    store = ClipStore.from_clips([*clips, twice])
    both = replace(corpus[0], store=store)
    motions = [*corpus[1], replace(corpus[1][0], clip=twice)]
    read = DanceData.read(both, DanceConfig.load("experts", **_TINY), BeatAndBarPhases(motions))
    sources = read.data.split.sources
    assert ("again.bvh" in sources) == ("song_0.wav" in sources)


def test_a_loaded_dancer_generates_the_same_dance(dancer, tmp_path):
    dancer.save(tmp_path / "dancer")
    again = Dancer.load(tmp_path / "dancer")
    song = made_song_features(105.0, 4.0)
    one, two = dance_to(dancer, song), dance_to(again, song)
    np.testing.assert_array_equal(one.clip.rotations, two.clip.rotations)
    assert again.reference == dancer.reference
    assert again.reference.dances == 3
    assert one.clip.duration == pytest.approx(4.0, abs=0.02)
    health = again.controller.health["dance"]
    words = dance_words(health, again.reference.values)
    assert words[0].startswith("dances to 1 held-out songs")


def test_a_controller_without_music_input_is_refused(dancer, tmp_path):
    controller = dancer.controller
    controller.save(tmp_path / "controller")
    assert Controller.load(tmp_path / "controller").name == "experts"
    with pytest.raises(CheckpointError, match="not a dancer"):
        Dancer.load(tmp_path / "controller")
    dancer.save(tmp_path / "dancer")
    header = dict(Controller.load(tmp_path / "dancer").data["dance"])
    for broken in ({**header, "music": {}}, {"music": header["music"]}):
        replace(controller, data={**controller.data, "dance": broken}).save(tmp_path / "broken")
        with pytest.raises(CheckpointError, match=r"music input|without reference"):
            Dancer.load(tmp_path / "broken")


def test_a_dance_reads_its_own_part_of_the_song(dancer, monkeypatch):
    song = made_song_features(105.0, 8.0)
    heard = []

    class Listening:
        def __init__(self, *args, **options):
            from deepphase.controllers.runtime.characters import Characters

            self._character = Characters(*args, **options)

        def __getattr__(self, name):
            return getattr(self._character, name)

        def __len__(self):
            return len(self._character)

        def step(self, goal_source, tracks):
            heard.append(tracks[MUSIC][0, 6])
            return self._character.step(goal_source, tracks)

    monkeypatch.setattr("deepphase.controllers.dance.dancing.Characters", Listening)
    made = dance_to(dancer, song, start_s=2.0, seconds=1.0)
    assert len(made.clip) == 60
    # What leads to the first frame, at the song's second 2, is a frame before it.
    np.testing.assert_array_equal(np.array(heard), dancer.music.rows(song)[119:179])


def _click_track(bpm, seconds):
    samples = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    click = np.hanning(300) * np.sin(2 * np.pi * 1000 * np.arange(300) / SAMPLE_RATE)
    for beat in np.arange(0.3, seconds - 0.1, 60 / bpm):
        samples[round(beat * SAMPLE_RATE) :][:300] += click.astype(np.float32)
    return samples


@pytest.mark.parametrize(
    "samples",
    [
        _click_track(90, 6.0),
        _click_track(140, 3.0),
        np.zeros(3 * SAMPLE_RATE, np.float32),
        np.random.default_rng(0).standard_normal(3 * SAMPLE_RATE).astype(np.float32),
        np.zeros(HOP, np.float32),
    ],
    ids=["90 bpm", "140 bpm", "silence", "noise", "one frame"],
)
def test_a_dance_to_any_sound(dancer, samples):
    song = features_of(samples)
    made = dance_to(dancer, song)
    assert len(made.clip) == len(made.alive) == max(round(60 * len(samples) / SAMPLE_RATE), 1)
    assert made.alive.all()
    assert np.isfinite(made.clip.translations).all()
    if not len(song.beats_s):
        assert any("no reliable beat" in note for note in made.notes)


def test_point_tracks_are_solved_and_rotations_stay(corpus):
    store = corpus[0].store
    assert with_skeleton(store) == (store, None)
    clip = store.clip(0).sliced(0, 240)
    positions = joint_positions(clip)
    parents = clip.skeleton.parents
    edges = np.stack([parents[1:], np.arange(1, len(parents))], axis=1)
    track = PointTrack(clip.skeleton.names, positions, 60.0, edges, source=clip.source, name="a")
    points = ClipStore.from_clips([clip_of_points(track)])
    made, residual = with_skeleton(points)
    assert made.clip(0).has_rotations
    assert made.sources[0].song == clip.source.song
    assert len(made.clip(0)) == 240
    assert 0 < residual[0] <= residual[1] < 0.05


_STAY = ("joint_position", "joint_rotation", "contact", "phase_manifold", "phase_amplitude")


def _fails(monkeypatch, dancer, row, after_s, value=None):
    """Networks that from some seconds on have one character's outputs stand still, or be a value.

    Each has its own seconds: a restarted dance gets as long again.
    """
    step, slices = RunningNetwork.step, dancer.controller.schema.outputs.slices

    def failing(self, inputs, gate):
        outputs = step(self, inputs, gate).copy()
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == round(60 * after_s):
            self.kept = outputs[row % len(outputs)]
            for name, block in slices.items():
                if name not in _STAY:
                    self.kept[block] = 0.0
        if self.steps > 60 * after_s:
            outputs[row % len(outputs)] = self.kept if value is None else value
        return outputs

    monkeypatch.setattr(RunningNetwork, "step", failing)


def _accelerations(clip):
    """(frames - 2,) m/s^2: of the joint that has most."""
    felt = np.diff(joint_positions(clip).astype(np.float64), n=2, axis=0) * 60.0**2
    return np.sqrt(np.vecdot(felt, felt)).max(axis=1)


def test_a_stalled_dance_is_restarted_without_a_jump(dancer, corpus, monkeypatch):
    _fails(monkeypatch, dancer, 0, 3.0)
    song = made_song_features(105.0, 12.0)
    frozen, made = (dance_to(dancer, song, guard=guard, variety=0.0) for guard in (False, True))
    assert frozen.restarts_s == ()
    moved = [np.abs(np.diff(joint_positions(each.clip), axis=0)) for each in (frozen, made)]
    assert moved[0][240:].max() < 1e-3
    # It stands from the third second on, and the last two are looked at.
    assert 3.5 <= made.restarts_s[0] <= 5.6
    assert np.diff(made.restarts_s).min() >= 4.0
    assert len(made.restarts_s) == 2
    note = f"restarted 2 times, first after {made.restarts_s[0]:.1f}"
    assert any(note in each for each in made.notes)
    first = round(60 * made.restarts_s[0])
    # The filter looks less than a second ahead.
    before = slice(0, first - 60)
    np.testing.assert_allclose(
        frozen.clip.rotations[before], made.clip.rotations[before], atol=1e-4
    )
    assert moved[1][first + 30 : first + 90].mean() > 0.2 * moved[1][:180].mean()
    # At its place, and as smooth as the dances that it learnt from.
    root = made.root.positions[:, [0, 2]]
    assert np.linalg.norm(root[first] - root[first - 1]) < 0.05
    largest = max(_accelerations(clip).max() for clip in corpus[0].store)
    assert _accelerations(made.clip)[first - 4 : first + 6].max() < largest
    again = dance_to(dancer, song, variety=0.0)
    np.testing.assert_array_equal(again.clip.rotations, made.clip.rotations)
    other = dance_to(dancer, song, seed=1, variety=0.0)
    assert np.abs(other.clip.rotations - made.clip.rotations).max() > 1e-3


def test_a_dance_out_of_bounds_is_restarted(dancer, monkeypatch):
    _fails(monkeypatch, dancer, 0, 1.0, np.nan)
    song = made_song_features(105.0, 3.0)
    made = dance_to(dancer, song)
    assert not made.alive[60]
    assert made.alive[:60].all()
    assert made.alive[61:115].all()
    assert made.restarts_s[0] == pytest.approx(61 / 60)
    assert any(note.startswith("the network left all bounds after 1.0 s") for note in made.notes)
    assert any("stands still from there" in n for n in dance_to(dancer, song, guard=False).notes)
    assert np.isfinite(made.clip.translations).all()


def test_paths_are_scaled_to_the_recorded_speed(dancer, data, tmp_path):
    # The share that a dancer has does not change the one that is measured.
    assert dancer.path_share == path_share(dancer, data.dances, data.held_out_songs)
    assert 0.5 <= dancer.path_share <= 1.5
    assert path_share(dancer, data.dances, frozenset(data.dances.songs)) == 1.0
    replace(dancer, path_share=0.5).save(tmp_path / "half.dancer")
    half = Dancer.load(tmp_path / "half.dancer")
    song = made_song_features(105.0, 3.0)
    whole, shorter = (dance_to(each, song) for each in (replace(dancer, path_share=1.0), half))
    ground = [each.root.positions[:, [0, 2]].astype(float) for each in (whole, shorter)]
    moved, expected = ground[1] - ground[1][0], 0.5 * (ground[0] - ground[0][0])
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    np.testing.assert_array_equal(shorter.root.angles, whole.root.angles)
    # The body goes with its root.
    hips = [joint_positions(each.clip)[:, 0][:, [0, 2]] for each in (whole, shorter)]
    np.testing.assert_allclose(hips[1] - ground[1], hips[0] - ground[0], atol=1e-4)
