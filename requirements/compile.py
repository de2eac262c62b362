"""Compiler of the hashed lists of releases in this folder, by `uv pip compile`: `make constraints`.

A release stays as it is while its range in pyproject.toml allows it; `--upgrade` takes the newest.
`torch_cpu.txt` is written by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
OLDEST_PYTHON = "3.11"
# List -> what `uv pip compile` resolves for it. The first one sets the releases of the others.
SOURCES = {
    "all": ["pyproject.toml", "--all-extras"],
    "run": ["pyproject.toml", "--extra", "app", "--constraint", "requirements/all.txt"],
    "dev": ["pyproject.toml", "--extra", "dev", "--constraint", "requirements/all.txt"],
    "build": ["requirements/build.in"],
}
HEADER = (
    "# Made by `make constraints`: releases, with the hashes of their files for all platforms.\n"
)
# torch, and the libraries that it needs on Linux. Its CPU builds need none, so these have a list of
# their own.
_TORCH = re.compile(r"(torch==|triton==|nvidia-|cuda-)")
_ENTRY = re.compile(r"^[^\s#].*(?:\n .*)*\n", re.MULTILINE)


def compile_all(*options: str) -> None:
    """Write all lists anew, with these options of uv for the resolution."""
    _write("all", sorted(_entries("all") + _entries("torch")))
    for name, words in SOURCES.items():
        subprocess.run(
            [
                *("uv", "pip", "compile", "--universal", "--generate-hashes", "--quiet"),
                *("--python-version", OLDEST_PYTHON, "--no-header", "--no-annotate"),
                *("--output-file", FOLDER / f"{name}.txt", *words),
                *(options if name == "all" else ()),
            ],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    _write("torch", [entry for entry in _entries("all") if _TORCH.match(entry)])
    for name in SOURCES:
        _write(name, [entry for entry in _entries(name) if not _TORCH.match(entry)])


def _entries(name: str) -> list[str]:
    path = FOLDER / f"{name}.txt"
    return _ENTRY.findall(path.read_text()) if path.exists() else []


def _write(name: str, entries: list[str]) -> None:
    (FOLDER / f"{name}.txt").write_text(HEADER + "".join(entries))


if __name__ == "__main__":
    compile_all(*sys.argv[1:])
