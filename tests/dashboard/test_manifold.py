"""Page Manifold: the cloud, its colours, what a selection plays, and the spaces beside it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from apps.dashboard.parts import demo
from apps.dashboard.parts.clouds import (
    Passage,
    make_cloud,
    passages_of,
    passages_take,
    playable,
    selected_points,
    trace_points,
)
from apps.dashboard.parts.collection import OpenClips, OpenModel
from apps.dashboard.parts.encodings import Encodings
from apps.demo.model import demo_config
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import write_store
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.synthetic.locomotion import locomotion
from tests.dashboard.app_pages import opened, players, words


@pytest.fixture(scope="module")
def read() -> Encodings:
    model = demo.demo_model()
    clips = OpenClips("demo", "demo", "demo", demo.demo_clips())
    return Encodings(clips, OpenModel("demo", "demo", model.sha256, model))


@pytest.fixture(scope="module")
def cloud(read):
    return make_cloud(read, 5_000)


def test_a_point_is_where_its_frame_lies(read, cloud):
    assert 4_000 < len(cloud.cloud.points) <= 5_000
    for point in (0, 1234, len(cloud.frame) - 1):
        phases = read.phases(int(cloud.clip[point]))
        assert phases.interior[cloud.frame[point]]
        place = cloud.projection(phases.parameters.manifold()[cloud.frame[point]])
        np.testing.assert_allclose(cloud.cloud.points[point], place, atol=1e-5)
        assert cloud.cloud.time[point] == pytest.approx(cloud.frame[point] / phases.fps)
    assert make_cloud(read, 500).cloud.note == "1 frame in 10 of 4,860 is drawn"


def test_colours_say_what_is_true(read, cloud):
    names = set(cloud.colourings)
    assert names >= {"Clip", "Label: gait", "Time", "Speed", "Frequency", "Amplitude", "Phase"}
    speed = cloud.colourings["Speed"]
    names = read.store.names
    run, turn = (np.median(speed.values[cloud.clip == names.index(n)]) for n in ("run", "turn"))
    assert speed.unit == "m/s"
    assert run > 3.0 > 0.5 > turn
    assert set(cloud.colourings["Label: gait"].values[cloud.clip == 3]) == {"run"}


def test_plotlys_event_names_the_points_that_were_drawn(cloud):
    colouring = cloud.colourings["Clip"]
    event = {"points": [{"curve_number": 2, "point_index": i} for i in (7, 3, 5)]}
    event["points"] += [{"curve_number": 99, "point_index": 0}, {"curve_number": 2}, {}]
    points = selected_points(event, colouring)
    assert points.tolist() == trace_points(colouring)[2][[3, 5, 7]].tolist()
    assert (cloud.clip[points] == 2).all()
    by_number = {"points": [{"curve_number": 0, "point_index": 4321}]}
    assert selected_points(by_number, cloud.colourings["Speed"]).tolist() == [4321]
    assert selected_points({}, colouring).size == 0


def test_selected_points_become_passages(cloud):
    clip, frame = cloud.clip, cloud.frame
    first, second = np.flatnonzero(clip == 1), np.flatnonzero(clip == 4)
    # A gap of two points is one passage, of forty two.
    chosen = np.concatenate([first[10:30], first[32:40], first[80:90], second[5:10]])
    found = passages_of(cloud, chosen, 60.0, [660] * 9)
    assert found == [
        Passage(1, int(frame[first[10]]), int(frame[first[39]]) + 1),
        Passage(1, int(frame[first[80]]), int(frame[first[89]]) + 1),
        Passage(4, int(frame[second[5]]), int(frame[second[9]]) + 1),
    ]
    (moment,) = passages_of(cloud, first[50:51], 60.0, [660] * 9)
    assert moment.start <= frame[first[50]] < moment.stop
    assert moment.stop - moment.start == 30
    assert passages_of(cloud, np.zeros(0, int), 60.0, [660] * 9) == []
    assert playable([Passage(0, 0, 5_000), Passage(1, 0, 5_000)], 60.0) == [
        Passage(0, 0, 5_000),
        Passage(1, 0, 400),
    ]


def test_the_skeleton_plays_the_selected_frames(read, cloud):
    passages = [Passage(3, 100, 160), Passage(0, 300, 330)]
    phases = read.all()
    colouring = cloud.colourings["Clip"]
    take = passages_take(passages, read.store, phases, cloud, colouring)
    (actor,) = take.actors
    assert len(actor) == 90
    assert take.manifold is not None
    hips = [joint_positions(read.store.clip(p.clip))[p.start : p.stop, 0] for p in passages]
    np.testing.assert_allclose(actor.positions[:, 0], np.concatenate(hips), atol=1e-4)
    path = cloud.projection(phases[0].parameters.manifold()[300:330])
    np.testing.assert_allclose(take.manifold.path[60:], path, atol=1e-5)
    assert [(m.label, m.start_s, m.stop_s) for m in take.markers] == [
        ("run", 0.0, 1.0),
        ("walk", 1.0, 1.5),
    ]


def test_work_that_was_interrupted_goes_on(read):
    fresh = Encodings(
        OpenClips("demo", "demo", "demo", read.store),
        OpenModel("demo", "demo", "-", read.extractor),
    )

    def stop(what, done, total, said):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fresh.all(stop)
    seen = []
    fresh.all(lambda what, done, total, said: seen.append(done))
    assert seen == [4, 5, 6, 7, 8, 9]


def figures(app) -> list[dict]:
    return [json.loads(each.proto.spec) for each in app.get("plotly_chart")]


def test_the_page_shows_the_manifold_and_what_lies_beside(monkeypatch):
    app = opened("manifold", monkeypatch)
    titles = [each["layout"]["title"]["text"] for each in figures(app)]
    assert titles == [
        "Phase manifold by clip",
        "Joint velocities",
        "Autoencoder without phases",
        "Phase manifold",
    ]
    axes = [each["layout"]["xaxis"]["title"]["text"] for each in figures(app)]
    assert all("latent unit" in each or "m/s" in each for each in axes)
    assert re.search(r'"name":\s*"walk"', players(app)[0])
    names = app.selectbox(key="colour demo").options
    assert "Amplitude" in names
    for colour in ("Amplitude", "Label: gait", "Time"):
        app.selectbox(key="colour demo").select(colour).run()
        assert not app.exception
    app.segmented_control[0].set_value("Space").run()
    assert not app.exception
    assert figures(app)[0]["data"][0]["type"] == "scatter3d"
    points = sum(
        len(each["x"]["bdata"]) if isinstance(each["x"], dict) else len(each["x"])
        for each in figures(app)[0]["data"]
    )
    assert points > 1000


def test_without_a_model_for_the_skeleton_it_says_what_to_do(tmp_path, monkeypatch):
    dog = locomotion(5, 4.0, body="quadruped", gait="trot").clip
    write_store(tmp_path / "dog.store", ClipStore.from_clips([dog]))
    app = opened("manifold", monkeypatch, tmp_path)
    assert "No phase model here reads the skeleton" in words(app)
    assert "deepphase train phase" in words(app)


def test_clips_shorter_than_a_window_are_shown_with_a_word(tmp_path, monkeypatch):
    short = [locomotion(seed, 1.0, gait="walk").clip for seed in (1, 2)]
    named = [replace(clip, name=f"short {i}") for i, clip in enumerate(short)]
    write_store(tmp_path / "short.store", ClipStore.from_clips(named))
    app = opened("manifold", monkeypatch, tmp_path)
    assert "No clip is as long as the model's window" in words(app)
    assert players(app)


def test_the_autoencoder_beside_is_trained_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("apps.dashboard.parts.model_comparison._WINDOWS", 512)
    dogs = [locomotion(seed, 6.0, body="quadruped", gait="trot").clip for seed in (1, 2, 3)]
    store = ClipStore.from_clips(dogs)
    write_store(tmp_path / "dogs.store", store)
    signals = SignalCorpus.read(store).signals
    config = demo_config("sine_fit")
    network = make_autoencoder(3 * len(signals.joints), signals.fps, config.network)
    PhaseModel(network, config, signals).save(tmp_path / "dogs.model")
    app = opened("manifold", monkeypatch, tmp_path)
    assert app.selectbox(key="open model").options == ["dogs.model"]
    assert len(figures(app)) == 3
    app.button(key="train embedding").click().run()
    assert not app.exception
    titles = [each["layout"]["title"]["text"] for each in figures(app)]
    assert "Autoencoder without phases" in titles
    # It is this session's alone.
    assert len(figures(opened("manifold", monkeypatch, tmp_path))) == 3
