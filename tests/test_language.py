"""Names, texts and docs keep to one language, and a public name stands in one module.

`python -m tests.test_language` lists what does not, by folder.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.error_sentences import refusals

_ROOT = Path(__file__).parent.parent
_PACKAGES = ("deepphase", "matching", "controllers", "apps")
# Words that no text and no identifier of the packages uses, and what is written for them.
BANNED = {
    "told": "given, parsed, stated",
    "tells": "says",
    "untold": "not given",
    "wish": "desired, goal",
    "wished": "desired",
    "wishes": "goals",
    "anew": "again",
    "heard": "audio, conditioning",
    "hear": "reads",
    "hears": "reads",
    "nobody": "say the fact",
    "whoever": "say the fact",
    "somebody": "say the fact",
    "haste": "rate",
    "sureness": "confidence",
    "nearness": "distance, match",
    "lesson": "module",
    "lessons": "data",
}
# Words that only prose has.
BANNED_PHRASES = {
    "of late": "recently",
    "who is": "say which",
    "who are": "say which",
    "it is told": "it is given",
    "better a": "say the fact",
    "of now": "current",
    r"(?<!there )(?:is|are|was|were) no(?= )(?! (?:longer|more|less|such|other|closer|better)\b)": (
        "is not a"
    ),
}
# (file, word): where a banned word is right.
ALLOWED: set[tuple[str, str]] = set()
# Public names that several modules may have: every command and every page is called alike.
SHARED_NAMES = {"command", "page", "main"}
# Errors that put a place before the text of another error, by package: the verb stands there.
# These numbers may only fall.
NO_VERB = {
    "apps/commands": 1,
    "controllers/runtime": 1,
    "deepphase/features": 1,
    "deepphase/formats": 2,
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, order=True)
class Offence:
    """One place that breaks a rule."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text}"


def offences() -> list[Offence]:
    """All places of the packages and documents that break a rule, sorted by file and line."""
    found = [offence for path in modules() for offence in of_module(path)]
    found += [offence for path in documents() for offence in of_document(path)]
    return sorted(found + repeated_names())


def modules() -> list[Path]:
    return sorted(path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py"))


def documents() -> list[Path]:
    """Guides, configs and scripts of pages: every line of them is read as prose."""
    names = ("README.md", "CONTRIBUTING.md")
    guides = sorted((_ROOT / "docs").rglob("*.md"))
    configs = sorted((_ROOT / "configs").rglob("*.yaml"))
    scripts = [path for package in _PACKAGES for path in (_ROOT / package).rglob("*.js")]
    return [*(_ROOT / name for name in names), *guides, *configs, *sorted(scripts)]


def of_module(path: Path) -> Iterator[Offence]:
    """Banned words in the identifiers, texts and docstrings of a module."""
    file, source = _relative(path), path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            for word in BANNED.keys() & _words(token.string):
                yield from _offence(file, token.start[0], "identifier", word, token.string)
        elif token.type == tokenize.COMMENT:
            yield from _in_prose(file, token.start[0], "comment", token.string)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            kind = "text" if "\n" not in node.value else "docstring"
            yield from _in_prose(file, node.lineno, kind, node.value)
    opening = (ast.get_docstring(tree) or "").split(" ", 1)[0]
    if opening in ("What", "Who", "How", "Where", "Whether", "When"):
        first = (ast.get_docstring(tree) or "").splitlines()[0]
        yield Offence(file, 1, "module docstring opens with no noun", first)


def of_document(path: Path) -> Iterator[Offence]:
    if path.exists():
        yield from _in_prose(_relative(path), 1, "document", path.read_text(encoding="utf-8"))


def repeated_names() -> list[Offence]:
    """Public classes and functions that two or more modules define."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                continue
            if not node.name.startswith("_") and node.name not in SHARED_NAMES:
                places[node.name].append((_relative(path), node.lineno))
    return [
        Offence(file, line, "public name in several modules", name)
        for name, where in places.items()
        if len({file for file, _ in where}) > 1
        for file, line in where
    ]


def _words(identifier: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(identifier)}


def _in_prose(file: str, line: int, kind: str, text: str) -> Iterator[Offence]:
    for number, content in enumerate(text.splitlines()):
        words = _words(content)
        lowered = content.lower()
        for word in sorted(BANNED.keys() & words):
            yield from _offence(file, line + number, kind, word, content.strip())
        for phrase in BANNED_PHRASES:
            for match in re.finditer(rf"\b{phrase}\b", lowered):
                yield from _offence(file, line + number, kind, match[0], content.strip(), phrase)


def _offence(
    file: str, line: int, kind: str, word: str, text: str, phrase: str = ""
) -> Iterator[Offence]:
    if (file, word) not in ALLOWED:
        instead = BANNED_PHRASES[phrase] if phrase else BANNED[word]
        yield Offence(file, line, f"{kind} with '{word}' ({instead})", text[:80])


def _relative(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def test_names_and_texts_keep_to_one_language():
    found = offences()
    assert not found, "\n".join(map(str, found))


def test_errors_have_a_verb_and_a_way_out():
    found = refusals(_ROOT, _PACKAGES)
    for ceilings, lacks in (
        (NO_VERB, [each for each in found if not each.has_verb]),
        ({}, [each for each in found if not each.has_way_out]),
    ):
        counts = Counter(_package(each.file) for each in lacks)
        worse = {name for name, count in counts.items() if count > ceilings.get(name, 0)}
        assert not worse, "\n".join(str(each) for each in lacks if _package(each.file) in worse)


def _package(file: str) -> str:
    folders = Path(file).parent.parts
    return "/".join(folders[:2])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def wished_positions(): ...", "wished"),
        ("class ToldServer: ...", "told"),
        ("HINT = 'nobody dances'", "nobody"),
        ('def public():\n    """Played anew."""', "anew"),
        ("X = 'a beat of late'", "of late"),
    ],
)
def test_a_banned_word_is_found(tmp_path, monkeypatch, text, word):
    monkeypatch.setattr(sys.modules[__name__], "_ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(f'"""Modules."""\n\n{text}\n', encoding="utf-8")
    assert any(f"'{word}'" in offence.kind for offence in of_module(path))


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("module.py", '"""Modules."""\n# what nobody sees\n', "nobody"),
        ("module.py", '"""Modules."""\ndef _private():\n    """Played anew."""\n', "anew"),
        ("config.yaml", "# Dances that are heard.\n", "heard"),
        ("view.js", "// the phases of now\n", "of now"),
        ("guide.md", "An archive of 9 files is no motion.\n", "is no"),
    ],
)
def test_comments_private_docstrings_configs_scripts_and_guides_are_read(
    tmp_path, monkeypatch, name, text, word
):
    monkeypatch.setattr(sys.modules[__name__], "_ROOT", tmp_path)
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = of_module(path) if path.suffix == ".py" else of_document(path)
    assert any(f"'{word}'" in offence.kind for offence in found)


def test_parts_of_other_words_are_no_offence(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "_ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text('"""Thresholds, hasten, wishbone."""\nthreshold, lateness = 1, 2\n')
    assert list(of_module(path)) == []


def main() -> None:
    """Print all offences, and at the end how many there are by folder."""
    found = offences()
    for offence in found:
        print(offence)
    folders = Counter(Path(offence.file).parent.as_posix() for offence in found)
    print(f"\n{len(found):,} offences")
    for folder, count in folders.most_common():
        print(f"{count:6,}  {folder}")


if __name__ == "__main__":
    main()
