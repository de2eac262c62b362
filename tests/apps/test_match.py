"""`deepphase match build` and `match query` from the command line."""

import csv

import pytest

from deepphase.corpus.store_writer import write_store
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from tests.apps.running import run
from tests.matching.made_databases import swinging_store, untrained_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("match")
    store = swinging_store()
    write_store(folder / "swings.store", store)
    untrained_model(store).save(folder / "phases.model")
    return folder


@pytest.fixture(scope="module")
def database(folder):
    path = folder / "swings.database"
    words = ["match", "build", folder / "swings.store", "--model", folder / "phases.model"]
    assert run(*words, "-o", path) == 0
    return path


def test_queries_use_the_index_that_was_built(database, folder, capsys):
    words = ["match", "build", folder / "swings.store", "-o", folder / "pose.database"]
    words += ["--config", "reduced_pose", "--index", "IVF4,Flat", "--labels", "pace=slow"]
    assert run(*words) == 0
    said = capsys.readouterr().out
    assert "2 clips, 480 frames of 18 values" in said
    assert "index: IVF4,Flat, approximate" in said
    assert (folder / "pose.database.IVF4_Flat.index").is_file()
    name = MotionDatabase.load(folder / "pose.database").clip_names[0]
    assert run("match", "query", folder / "pose.database", name, "-o", folder / "by_ivf") == 0
    said = capsys.readouterr()
    assert "index: IVF4,Flat, approximate: finds the nearest row of" in said.out
    assert not (folder / "pose.database.exact.index").exists()


def test_query_of_a_clip_and_of_a_file(database, folder, capsys):
    name = MotionDatabase.load(database).clip_names[0]
    out = folder / "found"
    assert run("match", "query", database, name, "--frame", 100, "-k", 3, "-o", out) == 0
    rows = list(csv.DictReader((out / "matches.csv").open()))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    distances = [float(row["distance"]) for row in rows]
    assert distances == sorted(distances)
    assert all(row["clip"] != name or abs(int(row["frame"]) - 100) > 60 for row in rows)
    squared = [name for name in rows[0] if name.startswith("squared_")]
    for row, distance in zip(rows, distances, strict=True):
        total = sum(float(row[name]) for name in squared)
        assert distance**2 == pytest.approx(total, rel=1e-4)
    clips = {clip.name: clip for clip in swinging_store()}
    expected = clips[rows[0]["clip"]].sliced(int(rows[0]["frame"]), int(rows[0]["frame"]) + 121)
    written = load(out / "match_01.bvh")
    assert len(written) == len(expected)
    assert "Moments like" in (out / "index.html").read_text()

    again = folder / "found_by_file"
    words = ["match", "query", database, out / "query.bvh", "--frame", 40, "-o", again]
    assert run(*words, "--model", folder / "phases.model", "-k", 2) == 0
    assert (again / "match_02.bvh").is_file()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["swing", "--frame", "1"], "neither a clip of the database nor a file"),
        (["NAME", "--frame", "100000"], "no frame 100000"),
        (["NAME", "--labels", "pace"], "not of the form label=value"),
        (["NAME", "--labels", "style=old"], "it has pace"),
        (["NAME", "-k", "0"], "k must be at least 1"),
    ],
)
def test_mistakes(database, folder, capsys, words, says):
    name = MotionDatabase.load(database).clip_names[0]
    words = [name if word == "NAME" else word for word in words]
    assert run("match", "query", database, *words, "-o", folder / "none") == 2
    assert says in capsys.readouterr().err


def test_build_refuses(folder, capsys):
    assert run("match", "build", folder / "swings.store", "-o", folder / "x.database") == 2
    assert "no phase model" in capsys.readouterr().err
    assert (
        run("match", "build", folder / "swings.store", "--config", "pose_trajectory", "-o", folder)
        == 2
    )
    assert "is a folder" in capsys.readouterr().err
    assert (
        run("match", "build", folder / "swings.store", "-o", folder / "y", "--config", "smell") == 2
    )
    assert "phase_trajectory" in capsys.readouterr().err
