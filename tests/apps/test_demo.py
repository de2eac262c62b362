"""Tests of `deepphase demo`: its folder, its page, and refusals."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from deepphase.apps import cli
from deepphase.apps.cli import COMMANDS, command_named
from deepphase.apps.demo import motion
from deepphase.apps.demo.folder import OutputFolder
from deepphase.apps.demo.motion import SMALLEST, held_out_motions, training_motions
from deepphase.apps.options.command_line import read_command_line
from deepphase.apps.reports import training_report
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError
from deepphase.evaluation.known_phase import KnownClip, known_phase_errors
from deepphase.formats.bvh.writer import save_bvh
from deepphase.phase.model import PhaseModel
from deepphase.phase.phase_file import load_phases
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.truth_file import Truth

pytestmark = pytest.mark.slow

GAITS = {"walk", "backward_walk", "jog", "run", "skip", "side_step", "side_step_right", "turn"}


def _no_browser(*_args, **_options):
    raise AssertionError("the smallest demo starts no browser")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of one run."""
    folder = tmp_path_factory.mktemp("demo") / "a folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_report, "write_images", _no_browser)
        assert cli.main(["demo", "--smallest", "-o", str(folder), "--seed", "3"]) == 0
    return folder


@pytest.fixture(scope="module")
def of_data(tmp_path_factory):
    """The folder of one run on three files of a user, and the files' folder."""
    folder = tmp_path_factory.mktemp("data")
    for index, gait in enumerate(("walk", "jog", "skip")):
        save_bvh(locomotion(index, 4.0, gait=gait).clip, folder / "captures" / f"{gait}.bvh")
    words = ["demo", "--smallest", "--data", str(folder / "captures"), "-o", str(folder / "out")]
    assert cli.main(words) == 0
    return folder / "out"


def _words(folder):
    """The page without its scripts, styles and players."""
    content = (folder / "index.html").read_text(encoding="utf-8")
    return re.sub(r"<(script|style|iframe)\b.*?</\1>", "", content, flags=re.DOTALL)


def _players(folder):
    """The scenes of the page's players, and the place of each in the page."""
    content = (folder / "index.html").read_text(encoding="utf-8")
    found = []
    for frame in re.finditer(r'<iframe class="player"[^>]*srcdoc="([^"]*)"', content):
        inner = html.unescape(frame[1])
        scene = re.search(r'<script type="application/json" id="scene">(.*?)</script>', inner)
        found.append((frame.start(), json.loads(scene[1])))
    return found


@pytest.mark.parametrize("folder", ["made", "of_data"])
def test_the_page_opens_with_a_body_and_its_ring_and_plays_what_commands_wrote(folder, request):
    made = request.getfixturevalue(folder)
    content = (made / "index.html").read_text(encoding="utf-8")
    (first, ring), *chain = _players(made)
    assert first < content.index("<h1>")
    assert ring["playing"]
    assert ring["bare"]
    (take,) = ring["takes"]
    assert take["manifold"]
    assert len(take["actors"]) == 1
    phases, matches, run, dance, *compared = (scene["takes"][0] for _, scene in chain)
    assert phases["channels"]
    assert len(matches["actors"]) >= 2
    assert run["actors"][0]["desiredPath"]
    assert dance["song"]
    assert dance["duration"] > 4
    # Only of synthetic clips: database, matcher and controller.
    assert [len(take["actors"]) for take in compared] == ([3] if folder == "made" else [])


def _rows(words):
    """The cells of all tables' rows, as texts."""
    rows = re.findall(r"<tr>(.*?)</tr>", words)
    return [
        [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
        for row in rows
    ]


def _truths(folder, names):
    return [folder / "truth" / f"{name}.truth.npz" for name in names]


def _commands(words):
    lines = "\n".join(re.findall(r"<pre><code>(.*?)</code></pre>", words, flags=re.DOTALL))
    return [shlex.split(html.unescape(line), comments=True) for line in lines.splitlines()]


def test_files_of_the_folder(made):
    names = {p.name for p in made.iterdir()}
    given = {"clips", "truth", "clips.store", "phases.model", "phases", "report", "index.html"}
    reports = {"evaluation", "figures", "matches", "run", "compared", "dance", "live.html"}
    read = {"gaits.controller", "song.wav", "dances.store", "dances.db", "clips.db"} | {
        "steered.db",
        "steered.matcher",
    }
    caches = {"dances.db.exact.index", "clips.db.exact.index", "phases.model.metrics.csv"}
    caches |= {"steered.db.exact.index", "steered.matcher.metrics.csv"}
    assert names == given | reports | read | caches | {".deepphase-made.json"}
    held_out = {p.stem for p in (made / "clips/held_out").iterdir()}
    assert held_out == GAITS | {"walk_drift", "walk_ramp"}
    assert {p.name.partition(".")[0] for p in (made / "phases").iterdir()} == held_out
    training = {p.stem for p in (made / "clips/training").iterdir()}
    assert set(open_store(made / "clips.store").names) == training
    assert {p.name.partition(".")[0] for p in (made / "truth").iterdir()} == training | held_out
    assert (made / "report/index.html").is_file()


def test_the_page_loads_and_links_nothing_outside_its_folder(made):
    content = (made / "index.html").read_text(encoding="utf-8").replace(get_plotlyjs(), "")
    assert "default-src 'none'" in content
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|\./)""", content)
    assert "http" not in _words(made).replace("http-equiv", "")
    links = re.findall(r'href="\./(.*?)"', content)
    pages = [f"{name}/index.html" for name in ("report", "evaluation", "figures", "matches")]
    assert links == [
        *pages,
        "run/index.html",
        "dance/index.html",
        "compared/index.html",
        "live.html",
    ]
    assert all((made / link).is_file() for link in links)


def test_the_page_says_that_it_is_a_toy(made):
    words = _words(made)
    assert "This is a toy run" in words
    assert "Did it work?" in words


def test_errors_on_the_page_follow_from_the_files(made):
    model, store = PhaseModel.load(made / "phases.model"), open_store(made / "clips.store")

    def known(phases):
        truth = Truth.load(made / "truth" / f"{phases.name}.truth.npz")
        assert len(truth) == len(phases)
        return KnownClip(
            phases.name,
            truth.gait_names[0],
            phases.parameters.phase[phases.interior],
            truth.phase[phases.interior],
            truth.frequency[phases.interior],
        )

    training = [known(model.encode(clip)) for clip in store]
    # Medleys that stay with one gait are as good as any other clip of it.
    one_gait = [len(Truth.load(p).gait_names) == 1 for p in _truths(made, store.names)]
    training = [clip for clip, one in zip(training, one_gait, strict=True) if one]
    held_out = [known(load_phases(path)[0]) for path in (made / "phases").iterdir()]
    errors = known_phase_errors(training, held_out, multiples=(1,))
    given = {row[0]: row for row in _rows(_words(made)) if len(row) == 5}
    assert len(given) == len(errors) == 10
    for error in errors:
        name = re.sub("_(drift|ramp)$", r" at \1ing speed", error.clip).replace("_", " ")
        row = given[name]
        assert row[1] == f"{error.stride_hz[0]:.2f}"
        # The model encodes windows in batches of its own: the last digit may differ.
        assert float(row[2]) == pytest.approx(max(error.cycles), abs=2e-4)
        assert float(row[3]) == pytest.approx(1000 * max(error.seconds), abs=0.2)
        assert row[4] == f"channel {error.keys[0].channel}"
    steady = [max(e.cycles) for e in errors if e.clip in GAITS]
    typical = float(re.search(r"off by ([\d.]+) % of a cycle", _words(made))[1])
    assert typical == pytest.approx(100 * np.median(steady), abs=0.1)


def test_the_smallest_demo_finds_the_phase_of_the_feet(made):
    given = {row[0]: float(row[2]) for row in _rows(_words(made)) if len(row) == 5}
    # By chance, a quarter of a cycle.
    assert np.median(list(given.values())) < 0.05


@pytest.mark.parametrize("which", ["made", "of_data"])
def test_the_commands_of_the_page_are_right(which, request, monkeypatch):
    folder = request.getfixturevalue(which)
    commands = _commands(_words(folder))
    assert len(commands) == (16 if which == "made" else 13)
    for program, *words in commands:
        assert program == "deepphase"
        name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
        read_command_line(name, command_named(name), words[len(name.split()) :])
    # The first three make what lies in the folder: so the training is that of the model.
    words = commands[1][3:]
    options = read_command_line("train phase", command_named("train phase"), words).arguments
    model = PhaseModel.load(folder / "phases.model")
    assert options["config"].for_body("biped").training == model.config.training
    monkeypatch.chdir(folder)
    assert Path(commands[0][2]).is_dir()
    assert Path(commands[2][3]).exists()


def test_motion_of_a_user(of_data):
    words = _words(of_data)
    names = {p.name.partition(".")[0] for p in (of_data / "phases").iterdir()}
    assert names == {"walk", "jog", "skip"}
    health = PhaseModel.load(of_data / "phases.model").health
    given = {row[0]: row[1] for row in _rows(words) if len(row) == 3}
    assert given["Explained variance"] == f"{100 * health.explained_variance:.1f} %"
    assert given["Held-out frames"] == f"{health.frames:,}"
    assert "true phase" not in words
    assert not (of_data / "clips").exists()
    assert not (of_data / "truth").exists()


def test_held_out_motions_differ_from_training_motions():
    training = training_motions(SMALLEST, 5)
    held_out = list(held_out_motions(SMALLEST, 5))
    assert {m.gait_names[0] for m in training if "medley" not in m.clip.name} == GAITS
    assert {m.clip.name for m in held_out} == GAITS | {"walk_drift", "walk_ramp"}
    seeds = [motion.clip.labels["seed"] for motion in (*training, *held_out)]
    assert len(set(seeds)) == len(seeds)
    again = list(held_out_motions(SMALLEST, 5))
    np.testing.assert_array_equal(again[3].phase, held_out[3].phase)
    assert abs(next(iter(held_out_motions(SMALLEST, 6))).phase - held_out[0].phase).max() > 0.01


@pytest.mark.parametrize("what", ["file", "folder", "marker of another", "broken marker"])
def test_a_folder_with_other_files_is_refused_and_kept(tmp_path, capsys, what):
    target = tmp_path / "mine"
    if what == "file":
        target.write_text("x")
        kept = target
    else:
        target.mkdir()
        kept = target / "thesis.txt"
        kept.write_text("x")
    if "marker" in what:
        text = '{"format": "x", "files": ["thesis.txt"]}' if "another" in what else "{"
        (target / ".deepphase-made.json").write_text(text)
    assert cli.main(["demo", "--smallest", "-o", str(target)]) == 2
    said = capsys.readouterr().err
    assert str(target) in said
    assert said.startswith("deepphase: error:")
    assert "-o" in said
    assert kept.read_text() == "x"


def test_data_inside_the_folder_is_refused(made, capsys):
    before = sorted(p for p in made.rglob("*"))
    words = ["demo", "--smallest", "-o", str(made), "--data", str(made / "clips")]
    assert cli.main(words) == 2
    assert "lie inside" in capsys.readouterr().err
    assert cli.main(["demo", "-o", str(made), "--data", str(made.parent / "nothing")]) == 2
    assert sorted(p for p in made.rglob("*")) == before


@pytest.mark.parametrize("seed", ["-1", str(2**31)])
def test_an_impossible_seed_is_refused(tmp_path, capsys, seed):
    assert cli.main(["demo", "-o", str(tmp_path / "new"), f"--seed={seed}"]) == 2
    assert "seed" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_files_of_an_interrupted_run_are_replaced(tmp_path, monkeypatch):
    """A second run replaces the files of an interrupted one, and keeps the user's notes."""
    folder = tmp_path / "demo"

    def interrupted(*_args, **options):
        work = Path(options["folder"])
        work.mkdir(parents=True)
        (work / "resume.ckpt").write_text("x")
        raise KeyboardInterrupt

    monkeypatch.setattr("deepphase.phase.training.train.train_phase", interrupted)
    monkeypatch.setattr(motion, "SMALLEST", motion.DemoSize(0.1, 3.0, 3.0, 640, 64))
    assert cli.main(["demo", "--smallest", "-o", str(folder)]) == cli.INTERRUPTED
    assert not (folder / "index.html").exists()
    first = {p.name for p in (folder / "clips/training").iterdir()}
    (folder / "clips/training/notes.txt").write_text("mine")
    (folder / "mine.bvh").write_text("mine")
    monkeypatch.setattr(motion, "SMALLEST", motion.DemoSize(0.05, 3.0, 3.0, 640, 64))
    assert cli.main(["demo", "--smallest", "-o", str(folder)]) == cli.INTERRUPTED
    second = {p.name for p in (folder / "clips/training").iterdir()}
    assert second - {"notes.txt"} < first
    assert (folder / "clips/training/notes.txt").read_text() == "mine"
    assert (folder / "mine.bvh").read_text() == "mine"


def test_an_output_folder_removes_only_its_own_files(tmp_path):
    path = tmp_path / "made"
    folder = OutputFolder(path, "deepphase demo")
    folder.clear()
    for name in ("index.html", "a/b/one.txt", "a/two.txt"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("made")
    folder.record()
    (path / "a/mine.txt").write_text("mine")
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    marker = path / ".deepphase-made.json"
    content = json.loads(marker.read_text())
    assert content["files"] == ["a/b/one.txt", "a/two.txt", "index.html"]
    content["files"] += ["../outside.txt", str(outside), "", "a"]
    marker.write_text(json.dumps(content))
    OutputFolder(path, "deepphase demo").clear()
    assert outside.read_text() == "mine"
    left = {p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()}
    assert left == {"a/mine.txt", ".deepphase-made.json"}
    with pytest.raises(ParameterError, match="did not write"):
        OutputFolder(path, "deepphase other")


def test_the_help_lists_all_options(capsys):
    with pytest.raises(SystemExit):
        cli.main(["demo", "--help"])
    said = capsys.readouterr().out
    assert all(option in said for option in ("--data", "--smallest", "--seed", "-o"))
    assert "a check that everything works" in " ".join(said.lower().split())
