"""Names from outside in the terminal: nothing in them is obeyed."""

from __future__ import annotations

import pytest

from deepphase.apps import terminal
from deepphase.apps.cli import main
from deepphase.errors import FormatError
from tests.hostile_names import HOSTILE_NAMES

OBEYED = "\x1b\x07\x08\r\x9b\u202e\u2028\u2066"


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_printed_literally(name, capsys):
    terminal.note(f"note {name}")
    terminal.warn(f"warning {name}")
    terminal.table(["Clip", name], [[name, "1"]], title=name)
    terminal.list_left_out(
        "left out", [FormatError(name, hint=name, path=f"/tmp/{name}".strip("\0"))]
    )
    with terminal.progress() as report:
        report(name, 1, 1, name)
    said = capsys.readouterr()
    text = said.out + said.err
    assert not set(text) & set(OBEYED)
    for part in ("<script>", "[bold]", ":smile:", "**", "$x$", "(javascript:"):
        if part in name:
            assert text.count(part) >= 8


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_errors_are_printed_literally(name, capsys):
    assert main(["inspect", f"no {name.replace(chr(0), '')}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("deepphase: error: ")
    assert not set(said) & set(OBEYED)


def test_a_bar_in_a_terminal_reads_no_markup(monkeypatch):
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), force_terminal=True, width=200)
    monkeypatch.setattr(terminal, "console", console)
    with terminal.progress() as report:
        report("[/nothing]", 1, 2, "[bold]walk[/bold] \x1b]0;title\x07")
    drawn = console.file.getvalue()
    assert "[/nothing]" in drawn
    assert "[bold]walk[/bold]" in drawn
    assert "\x1b]0;title" not in drawn
