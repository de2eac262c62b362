"""Every study has a command that starts."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_FOLDER = Path(__file__).parent


def _commands() -> list[str]:
    """Modules that are run with `python -m`, such as tests.studies.dances."""
    found = [path for path in _FOLDER.rglob("*.py") if "argparse" in path.read_text("utf-8")]
    names = [".".join(path.relative_to(_FOLDER.parents[1]).with_suffix("").parts) for path in found]
    return sorted(name.removesuffix(".__main__") for name in names if "test_" not in name)


@pytest.mark.parametrize("name", _commands())
def test_it_starts_and_says_how_it_is_run(name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    assert not ended.value.code
    assert "usage:" in capsys.readouterr().out
    file = _FOLDER.parents[1] / name.replace(".", "/")
    file = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
    assert f"python -m {name}" in (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "")
