"""`deepphase train editor` and `deepphase edit` from the command line, on motion by formula."""

import json

import pytest

from apps.cli import main
from deepphase.editing.editor import MotionEditor
from tests.editing.conftest import swings

TINY = ["--network.width=16", "--network.hidden=16", "--network.window_s=1.0"]
TINY += ["--training.windows=160", "--training.batch_size=16", "--training.held_out=0.3"]


@pytest.mark.slow
def test_train_editor(tmp_path, capsys):
    store, output = tmp_path / "swings.store", tmp_path / "swing.editor"
    swings(4, 3.0).save(store)
    assert main(["train", "editor", str(store), "-o", str(output), *TINY]) == 0
    printed = capsys.readouterr()
    assert "a limb missing over the whole clip" in printed.out + printed.err
    editor = MotionEditor.load(output)
    assert editor.provenance["steps"] == 10
    report = json.loads((tmp_path / "swing.editor.report.json").read_text())
    assert report == json.loads(json.dumps(dict(editor.report)))
    assert (tmp_path / "swing.editor.metrics.csv").is_file()
    assert not (tmp_path / "swing.editor.unfinished").exists()
