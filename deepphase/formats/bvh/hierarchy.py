"""The HIERARCHY section of a BVH file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.reading import check_joint_count, unique_names

DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Further off than any motion: a square or a sum of such numbers still is finite.
LARGEST_NUMBER = 1e12
# `float` takes any length, at a cost that grows with it.
LONGEST_NUMBER = 400
_CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_PIECE = re.compile(r"[{}]|[^{}]+")
# A keyword behind these stands on the same line only in files without line breaks; behind JOINT
# it would be a part of the name.
_UNNAMED = ("HIERARCHY", "OFFSET", "CHANNELS")
_NEXT_KEYWORD = re.compile(r"\s(?=(?:ROOT|JOINT|END|OFFSET|CHANNELS)\s)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Joints as a BVH file declares them, in the file's order, units and axes."""

    # As in `Skeleton`
    names: tuple[str, ...]
    parents: Array
    offsets: Array
    end_parents: Array
    end_offsets: Array
    # (joints,) the channels of each joint in the file's order, as in "Xposition"
    channels: tuple[tuple[str, ...], ...]
    # (joints, 3) degrees about X, Y and Z of each joint at rest, the numbers behind its offset;
    # None if the file has none.
    rests: Array | None
    # What had to be changed, one sentence each
    notes: tuple[str, ...]


@dataclass
class _Block:
    """A ROOT, JOINT or End Site while its braces are open."""

    title: str
    line: int
    index: int
    is_end: bool = False
    has_children: bool = False
    # Three numbers, and three degrees of the rest rotation where the file has them.
    offset: tuple[float, ...] | None = None
    channels: tuple[str, ...] | None = None


def parse_hierarchy(text: str, path: Path) -> Hierarchy:
    """Parse all that stands before MOTION.

    Keywords are taken in any case, names to the end of the line or to the brace. A name that
    occurs twice gets "#2" behind it, and a note.
    """
    return _HierarchyParser(path).parse(text)


class _HierarchyParser:
    # A stack of open blocks in place of recursion: chains of joints may be thousands deep.
    def __init__(self, path: Path) -> None:
        self.path = path
        self.joints: list[_Block] = []
        self.names: list[str] = []
        self.parents: list[int] = []
        self.ends: list[_Block] = []
        self.end_parents: list[int] = []
        self.open: list[_Block] = []
        self.announced: _Block | None = None

    def fault(self, fact: str, line: int, hint: str = "") -> FormatError:
        return FormatError(fact, hint=hint, path=self.path, line=line)

    def parse(self, text: str) -> Hierarchy:
        line = 1
        for line, keyword, words in _statements(text):
            if self.announced is not None and keyword != "{":
                raise self.fault(f"'{{' is missing after {self.announced.title}", line)
            if keyword == "{":
                self.open_block(line)
            elif keyword == "}":
                self.close_block(line)
            elif keyword in ("ROOT", "JOINT"):
                self.announce_joint(keyword, words, line)
            elif keyword == "END":
                self.announce_end(line)
            elif keyword == "OFFSET":
                self.read_offset(words.split(), line)
            elif keyword == "CHANNELS":
                self.read_channels(words.split(), line)
            elif keyword != "HIERARCHY" or self.joints:
                raise self.fault(f"{keyword[:40]!r} is not a keyword of a hierarchy", line)
        if self.announced is not None:
            raise self.fault(f"'{{' is missing after {self.announced.title}", line)
        if self.open:
            block = self.open[-1]
            raise self.fault(f"the '{{' of {block.title} is never closed by '}}'", block.line)
        if not self.joints:
            raise self.fault("a hierarchy without a ROOT", line)
        return self.result()

    def open_block(self, line: int) -> None:
        if self.announced is None:
            raise self.fault("a '{' without ROOT, JOINT or End Site before it", line)
        self.open.append(self.announced)
        self.announced = None

    def close_block(self, line: int) -> None:
        if not self.open:
            raise self.fault("a '}' that closes nothing", line)
        block = self.open.pop()
        if block.offset is None:
            raise self.fault(f"{block.title} has no OFFSET", block.line)
        if block.channels is None and not block.is_end:
            raise self.fault(
                f"{block.title} has no CHANNELS", block.line, "a joint that holds has CHANNELS 0"
            )

    def announce_joint(self, keyword: str, name: str, line: int) -> None:
        title = f"{keyword} {name[:80]!r}"
        if not name:
            raise self.fault(f"a {keyword} without a name", line)
        if keyword == "ROOT" and self.joints:
            raise self.fault(
                f"a second root, {name[:80]!r}: one file holds one skeleton",
                line,
                hint="split the file, or hang both roots from one joint",
            )
        if keyword == "JOINT" and not self.open:
            raise self.fault(f"{title} stands outside the ROOT", line)
        self.parents.append(self.parent(title, line) if self.open else -1)
        self.announced = _Block(title, line, len(self.joints))
        self.joints.append(self.announced)
        self.names.append(name)
        check_joint_count(len(self.joints), self.path, line)

    def announce_end(self, line: int) -> None:
        self.end_parents.append(self.parent("an End Site", line))
        self.announced = _Block("an End Site", line, len(self.ends), is_end=True)
        self.ends.append(self.announced)

    def parent(self, title: str, line: int) -> int:
        if not self.open:
            raise self.fault(f"{title} stands outside the ROOT", line)
        block = self.open[-1]
        if block.is_end:
            raise self.fault(f"{title} stands inside an End Site", line)
        block.has_children = True
        return block.index

    def block(self, keyword: str, line: int) -> _Block:
        if not self.open:
            raise self.fault(f"{keyword} stands outside of every joint", line)
        return self.open[-1]

    def read_offset(self, words: list[str], line: int) -> None:
        block = self.block("OFFSET", line)
        if block.offset is not None:
            raise self.fault(f"{block.title} has two OFFSETs", line)
        if len(words) != 3 and (len(words) != 6 or block.is_end):
            raise self.fault(
                f"OFFSET has {len(words)} numbers, expected 3{'' if block.is_end else ' or 6'}",
                line,
            )
        for word in words:
            if not (DECIMAL.fullmatch(word) and abs(float(word)) < LARGEST_NUMBER):
                raise self.fault(f"OFFSET: {word[:40]!r} is not a finite decimal number", line)
        block.offset = tuple(float(word) for word in words)

    def read_channels(self, words: list[str], line: int) -> None:
        block = self.block("CHANNELS", line)
        if block.channels is not None:
            raise self.fault(f"{block.title} has two lines of CHANNELS", line)
        if block.has_children:
            raise self.fault(f"the CHANNELS of {block.title} stand behind its children", line)
        count, names = words[0] if words else "", words[1:]
        if count != str(len(names)):
            raise self.fault(f"CHANNELS declares {count[:40]!r} but names {len(names)}", line)
        if block.is_end and names:
            raise self.fault("an End Site with channels", line)
        channels = []
        for name in names:
            known = _CHANNEL.fullmatch(name)
            if "scale" in name.lower():
                raise self.fault(
                    f"channel {name!r}: joints that scale are not supported",
                    line,
                    hint="export the motion again without scale channels",
                )
            if known is None:
                raise self.fault(
                    f"an unknown channel {name[:40]!r}",
                    line,
                    hint="channels are Xposition, Yposition, Zposition, "
                    "Xrotation, Yrotation, Zrotation",
                )
            channels.append(known[1].upper() + known[2].lower())
        twice = next((name for name in channels if channels.count(name) > 1), None)
        if twice:
            raise self.fault(f"channel {twice} is named twice", line)
        block.channels = tuple(channels)

    def result(self) -> Hierarchy:
        names, renamed = unique_names(self.names)
        notes: tuple[str, ...] = ()
        if renamed:
            shown = ", ".join(renamed[:5]) + (", ..." if len(renamed) > 5 else "")
            notes = (f"joint names that occur twice were numbered: {shown}",)
        numbers = [block.offset or () for block in self.joints]
        rests = np.array([each[3:] or (0.0, 0.0, 0.0) for each in numbers])
        return Hierarchy(
            names,
            np.array(self.parents, np.int64),
            np.array([each[:3] for each in numbers], np.float64),
            np.array(self.end_parents, np.int64),
            np.array([block.offset for block in self.ends], np.float64).reshape(-1, 3),
            tuple(block.channels or () for block in self.joints),
            rests if any(len(each) > 3 for each in numbers) else None,
            notes,
        )


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, keyword in capitals (or a brace) and the words behind it."""
    for number, line in enumerate(text.split("\n"), start=1):
        for piece in _PIECE.findall(line):
            rest = piece.strip()
            while rest:
                keyword, _, words = _BLANK.sub(" ", rest, count=1).partition(" ")
                keyword, rest = keyword.upper(), ""
                if keyword in _UNNAMED and (following := _NEXT_KEYWORD.search(" " + words)):
                    rest = words[following.end() - 1 :]
                    words = words[: max(following.start() - 1, 0)]
                yield number, keyword, words
