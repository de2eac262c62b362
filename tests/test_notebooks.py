"""The notebooks of docs/notebooks run from their first cell to their last, on short clips.

Trainings are short as well; `make pictures` runs the cells as they stand.
"""

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from deepphase.apps.samples import save_samples
from deepphase.viewer.notebook import VIEWS

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path: Path) -> list[tuple[str, str]]:
    """Kind ("markdown", "code") and text of each cell."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in content["cells"]]


def html_of(value: object) -> str | None:
    """What a notebook shows of an object; None where it shows the text alone."""
    for kind in type(value).__mro__:
        view = VIEWS.get(f"{kind.__module__}.{kind.__name__}")
        if view is not None:
            return view(value)
    return None


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a cell, as a notebook does: the value of its last expression is its result."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Clips of the shipped person, made once."""
    folder = tmp_path_factory.mktemp("captures")
    save_samples(folder, seconds=6.0)
    return folder


@pytest.mark.slow
@pytest.mark.guide
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, captures, tmp_path, monkeypatch):
    def copied(folder, **_):
        shutil.copytree(captures, folder, dirs_exist_ok=True)
        return sorted(Path(folder).iterdir())

    monkeypatch.setattr("deepphase.apps.samples.save_samples", copied)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = 0
    for kind, text in cells_of(path):
        if kind == "code":
            shorter = re.sub(r'("training\.(?:samples|windows)": )[\d_]+', r"\g<1>640", text)
            result = run_cell(shorter, names)
            page = html_of(result)
            if page is not None:
                assert len(page) < 1_500_000
                shown += 1
    assert shown


def test_notebooks_begin_with_a_title_and_show_small_pictures():
    """What their cells show is text or pictures, without scripts: `make pictures` writes it."""
    assert len(NOTEBOOKS) >= 6
    for path in NOTEBOOKS:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, text = cells_of(path)[0]
        assert (kind, text[:2]) == ("markdown", "# ")
        outputs = [each for cell in content["cells"] for each in cell.get("outputs", ())]
        kinds = {kind for output in outputs for kind in output.get("data", ())}
        assert "image/jpeg" in kinds
        assert kinds <= {"text/plain", "text/html", "image/jpeg"}
        assert "<script" not in json.dumps(outputs)
        assert path.stat().st_size < 300_000


def test_every_notebook_is_linked():
    for page in (ROOT / "README.md", ROOT / "docs" / "notebooks.md"):
        text = page.read_text(encoding="utf-8")
        assert all(f"notebooks/{path.name}" in text for path in NOTEBOOKS), page.name
