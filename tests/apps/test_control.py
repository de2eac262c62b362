"""`deepphase control` and `export`, from a controller's file to motion, pages and measures."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network, network_kind
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.evaluation.captured_data import measured_data
from deepphase.formats.load import load, save
from deepphase.motion.clip import joint_positions
from deepphase.phase.baselines.foot_phases import PfnnPhase
from deepphase.synthetic.gait_motion import locomotion

pytestmark = pytest.mark.slow

SIZES = {"pfnn": {"hidden": 16}, "nn": {"hidden": 16}, "mann": {"hidden": 16, "experts": 3}}


def small(name: str, label: str = "", model=None):
    """An untrained controller of two walks: it makes some pose, and goes on."""
    clips = []
    for rate, mood in ((0.0, "calm"), (0.6, "merry")):
        clip = locomotion(1, 4.0, turn_rate=rate).clip
        clips.append(replace(clip, labels={"mood": mood}, name=mood))
    store = ClipStore.from_clips(clips)
    phases = None if model is None else model.fit(store)
    kind = network_kind(name)
    schema = schema_of_store(
        store, kind.gate, SchemaConfig(label=label), channels=1 if phases else 0, tracks=None
    )
    samples = ControllerSamples.read(store, schema, phases)
    network = make_network(name, schema.dims, kind.make_config(**SIZES[name]))
    rows = np.linspace(0, len(samples) - 1, 12).astype(int)
    known = {} if phases is None else {"sha256": phases.sha256}
    controller = Controller(
        ControllerConfig(name, kind.make_config(**SIZES[name]), schema.config),
        schema,
        NormalisedController(network, *samples.normalisations()),
        store.skeleton,
        InitialStates.from_samples(samples, rows),
        phases=known,
        data=measured_data(store, schema),
    )
    return controller, store, phases


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("controllers")
    pfnn, store, phases = small("pfnn", model=PfnnPhase)
    pfnn.save(folder / "pfnn.controller")
    phases.save(folder / "strikes.model")
    small("mann", "mood")[0].save(folder / "moods.controller")
    save(store.clip(1), folder / "walk.bvh")
    return folder


def control(folder, name, *words):
    return main(["control", str(folder / name), *map(str, words)])


def test_made_paths_give_motion_pages_and_measures(files, tmp_path):
    words = ("-o", tmp_path, "--path", "circle,square", "--seconds", "1.5", "--characters", "2")
    assert control(files, "pfnn.controller", *words) == 0
    for name in ("circle-01", "circle-02", "square-01", "square-02"):
        bvh, glb = load(tmp_path / f"{name}.bvh"), load(tmp_path / f"{name}.glb")
        assert len(bvh) == len(glb) == 90
        np.testing.assert_allclose(
            joint_positions(bvh), joint_positions(glb.in_order_of(bvh.skeleton)), atol=1e-3
        )
    with (tmp_path / "circle-01.frames.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 90
    assert sum(float(rows[5][f"weight_{index}"]) for index in range(4)) == pytest.approx(
        1, abs=1e-4
    )
    phase = np.array([float(row["phase_0"]) for row in rows])
    assert (np.abs(phase) <= 0.5).all()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["format"] == "deepphase.report"
    measures = report["measures"]
    found = {(each["by"]["goal"], each["name"]): each for each in measures}
    data = report["data"]["joint_rotation"]["mean"]
    assert found["circle", "joint_rotation"]["data"] == data
    assert found["square", "path_error"]["value"] >= 0.0
    page = (tmp_path / "index.html").read_text()
    assert "the data" in page
    assert "&quot;desiredTrajectory&quot;:{" in page
    assert "&quot;gating&quot;:{" in page


def test_a_label_is_wished_and_a_stick_leads(files, tmp_path):
    gamepad = tmp_path / "hand.csv"
    gamepad.write_text("t,move_x,move_z,mood\n0,0,1,calm\n1,0,1,merry\n")
    words = ["-o", tmp_path / "out", "--gamepad", gamepad]
    words += ["--root-motion", "root"]
    assert control(files, "moods.controller", *words, "--label", "mood=merry") == 0
    clip = load(tmp_path / "out" / "hand.bvh")
    assert (len(clip), clip.skeleton.names[:2]) == (60, ("root", "Hips"))
    assert "a joint above the hips" in (tmp_path / "out" / "index.html").read_text()


def test_a_controller_is_exported_with_its_parity(files, tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    made = tmp_path / "pfnn.onnx"
    assert main(["export", str(files / "pfnn.controller"), "-o", str(made)]) == 0
    printed = capsys.readouterr().out
    assert {"1", "7", "32"} <= {line.split()[0] for line in printed.splitlines() if line.strip()}
    assert made.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--path", "spiral"], "no path 'spiral'"),
        (["--path", "one.csv"], "1 row of values"),
        (["--path", "nan.csv"], "not a finite number"),
        (["--path", "wave", "--gamepad", "one.csv"], "cannot be used together"),
        (["--characters", "0"], "characters must be at least 1, not 0"),
        (["--label", "mood=sad"], "is not among the controller"),
        (["--label", "style=old"], "no label 'style'"),
        (["--label", "calm"], "not of the form label=value"),
        (["--blend", "wild"], "no blend 'wild'"),
        (["--blend", "1,-2"], "direction_bias"),
        (["--seconds", "-3"], "duration"),
    ],
)
def test_mistakes_are_named(files, tmp_path, capsys, monkeypatch, words, fact):
    monkeypatch.chdir(files)
    (files / "one.csv").write_text("t,x,z\n0,0,0\n")
    (files / "nan.csv").write_text("t,x,z\n0,0,0\n1,nan,1\n")
    assert main(["control", "moods.controller", "-o", str(tmp_path / "out"), *words]) == 2
    assert fact in capsys.readouterr().err
