"""The errors that the packages raise: which have no verb, and which show no way out.

`python -m tests.error_sentences [FOLDER]` lists them with their places.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ERRORS = {
    "CheckpointError",
    "DeepPhaseError",
    "FormatError",
    "OutOfMemoryError",
    "ParameterError",
    "SkeletonError",
}
# Finite forms that are a verb wherever they stand. Participles ("given", "found") are left out:
# alone they make no sentence.
_VERBS = """
    adds allow allows animates appear appears applies apply are asks be became become becomes been
    begin begins belong belongs bends can cannot carries carry closes come comes connects consists
    contain contains continues contradict contradicts could count counts covers declares depend
    depends describes did differ differs do does drives end ends exceed exceeds excludes exist
    exists expects failed fails falls fit fits follow follows gave get gets give gives go goes got
    grew grow grows had has have hold holds include includes is joins keep keeps know knows lack
    lacks lasts learns leave leaves lie lies make makes may meet meets must need needs occur occurs
    predict predicts reach reached reaches read reads refer refers refuse refuses remain remains
    repeats replaces require requires said say says sees selects show shows stands stay stays suits
    take takes want wants was weigh weighs were wrote
"""
# Forms that are nouns as well, or participles: verbs where an object follows.
_VERBS_WITH_OBJECT = """
    changes cuts matches means measures move moves name names open opens pass passes play plays
    rests rises runs sets shares spans starts state states steps supports turns uses works
"""
_OBJECT = (
    r" (?:a|an|the|no|not|only|one|its|their|more|less|all|both|several|to|past|at|from|in|\d|_)"
)
_VERB = re.compile(
    rf"\b(?:{'|'.join(_VERBS.split())}|\w+n't)\b"
    rf"|\b(?:{'|'.join(_VERBS_WITH_OBJECT.split())})(?={_OBJECT})"
)
# A message that says what is valid, or what to do, needs no hint of its own.
_WAY_OUT = re.compile(
    r"\b(?:must|needs?|expected|give|use|choose|set|pass|remove|add|try|run|between|at least"
    r"|at most|instead|requires?|only|install|train|name|select|takes)\b|; \w+|: "
)


@dataclass(frozen=True)
class Refusal:
    """One `raise` of an error that a user reads; the message with `_` for each inserted value."""

    file: str
    line: int
    message: str
    has_hint: bool

    @property
    def has_verb(self) -> bool:
        return bool(_VERB.search(self.message))

    @property
    def has_way_out(self) -> bool:
        return self.has_hint or bool(_WAY_OUT.search(self.message))

    def __str__(self) -> str:
        lacks = [] if self.has_verb else ["verb"]
        lacks += [] if self.has_way_out else ["way out"]
        return f"{self.file}:{self.line}: no {' and no '.join(lacks)}: {self.message}"


def refusals_of(tree: ast.Module, file: str) -> Iterator[Refusal]:
    """Every construction of one of our errors whose message is written where it is built."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _called(node.func) not in ERRORS or not node.args:
            continue
        message = _text(node.args[0])
        if message is not None:
            has_hint = any(keyword.arg in ("hint", None) for keyword in node.keywords)
            yield Refusal(file, node.lineno, message, has_hint)


def _called(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _text(node: ast.expr) -> str | None:
    """The literal text of a message; None where it is computed elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "_" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = _text(node.left), _text(node.right)
        return None if sides == (None, None) else "".join(side or "_" for side in sides)
    return None


def refusals(root: Path, packages: tuple[str, ...]) -> list[Refusal]:
    """The errors of all modules of the packages, sorted by file and line."""
    found = [
        refusal
        for package in packages
        for path in (root / package).rglob("*.py")
        for refusal in refusals_of(
            ast.parse(path.read_text(encoding="utf-8")), path.relative_to(root).as_posix()
        )
    ]
    return sorted(found, key=lambda refusal: (refusal.file, refusal.line))


def main() -> None:
    """Print the errors without a verb or a way out, of one folder or of all."""
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    root = Path(__file__).parent.parent
    found = refusals(root, ("deepphase", "matching", "controllers", "apps"))
    for refusal in found:
        if refusal.file.startswith(folder) and not (refusal.has_verb and refusal.has_way_out):
            print(refusal)
    print(
        f"\n{len(found):,} errors: {sum(not each.has_verb for each in found)} without a verb, "
        f"{sum(not each.has_way_out for each in found)} without a way out, "
        f"{sum(not each.has_hint for each in found)} without a hint"
    )


if __name__ == "__main__":
    main()
