"""Labels in the names of files and folders: fields that vary, and repeat from file to file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import PurePosixPath

from deepphase.corpus.labels import LabelPattern
from deepphase.corpus.motion_files import SETTINGS_FILE
from deepphase.errors import ParameterError

# Texts between two fields, in the order in which they are tried.
_SEPARATORS = ("_-_", "__", " - ", "_", " ", "-", ".")
# Share of the names that must have the same number of fields.
_ALIKE = 0.8
# Share of the names whose value of a field must occur in another name, too.
_REPEATED = 0.6
# Share of a field's values with digits above which it is an identifier.
_IDENTIFIER = 0.5
# Folders with fewer files are read together.
_SMALL_FOLDER = 5
# Folders of one file each are not labels where there are as many as this.
_UNIQUE_FOLDERS = 3
_LETTERS_DIGITS = re.compile(r"(.*[^0-9])([0-9]+)", re.DOTALL)
_DIGITS_LETTERS = re.compile(r"([0-9]+)([^0-9].*)", re.DOTALL)
_UNNAMED = "?"


@dataclass(frozen=True)
class NameLabels:
    """Labels read from the names of files."""

    labels: Mapping[str, dict[str, str]]  # File -> its labels
    patterns: Mapping[str, int]  # Pattern -> number of files that it reads
    unlike: Mapping[str, str]  # File -> pattern of the names that it is kept with, unlike it

    def counts(self) -> dict[str, Counter[str]]:
        """Label -> number of files of each value, in the order of the names."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for labels in self.labels.values():
            for name, value in labels.items():
                counts[name][value] += 1
        return dict(counts)


@dataclass(frozen=True)
class _Field:
    """A field of names built alike: its place, the text before it, values, and its label."""

    part: int
    before: str
    values: tuple[str, ...]
    label: str = ""

    @property
    def digits(self) -> bool:
        return all(value.isascii() and value.isdigit() for value in self.values)

    @property
    def identifier(self) -> bool:
        distinct = set(self.values)
        with_digits = sum(any(map(str.isdigit, value)) for value in distinct)
        return with_digits > _IDENTIFIER * len(distinct)

    @property
    def kind(self) -> tuple[int, str, bool, bool]:
        """What fields of names of the same kind have in common."""
        return self.part, self.before, self.digits, self.identifier


# Fields of names that are built alike, and their files.
_Kind = tuple[list[_Field], list[PurePosixPath]]


def read_name_labels(
    files: Iterable[str], names: Mapping[str, Mapping[str, str]] | None = None
) -> NameLabels:
    """The labels that the names of some files have; `names`: file -> other names for labels.

    A name is split at the separator that gives most names the same number of fields, and each field
    again where all of its values have the same parts or end in digits. A field is a label if it
    varies, is not a number, and most of its values occur in several files. Its name is "action" or
    "style" where most of its values are words for it, a word such as "subject" where that stands
    before a number, and else "field1" and so on. Folders that vary are the labels "folder",
    "folder2" and so on, or "action" and "style". Names of folders with differently built names are
    read apart.
    """
    paths = [PurePosixPath(file) for file in files]
    numbers = count(1)
    kinds = [(_with_labels(fields, numbers), members) for fields, members in _kinds(paths)]
    levels = _folder_labels(paths, kinds)
    labels: dict[str, dict[str, str]] = {path.as_posix(): {} for path in paths}
    patterns: Counter[str] = Counter()
    unlike = {}
    compiled = cache(LabelPattern)
    for fields, members in kinds:
        text_of_depth = cache(lambda depth, fields=fields: _pattern(levels[:depth], fields))
        for path in members:
            file, folders = path.as_posix(), path.parts[:-1]
            text = text_of_depth(len(folders))
            if not text:
                continue
            new = (names or {}).get(file, {})
            renamed = _renamed(text, new)
            found = compiled(text).labels(file)
            if found is None:
                unlike[file] = renamed
                pairs = zip(levels, folders, strict=False)
                found = {level: folder for level, folder in pairs if level}
            else:
                patterns[renamed] += 1
            labels[file] = {new.get(label, label): value for label, value in found.items()}
            if len(labels[file]) < len(found):
                raise ParameterError(
                    f"{file}: a label has the name of another one, of {', '.join(found)}",
                    hint=f"give it another name in {SETTINGS_FILE}",
                )
    return NameLabels(labels, dict(patterns.most_common()), unlike)


def _renamed(pattern: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)", lambda label: "{" + names.get(label[1], label[1]), pattern)


def _kinds(paths: Sequence[PurePosixPath]) -> list[_Kind]:
    folders = defaultdict(list)
    for path in paths:
        folders[path.parent].append(path)
    together = [files for files in folders.values() if len(files) >= _SMALL_FOLDER]
    together.append([path for path in paths if len(folders[path.parent]) < _SMALL_FOLDER])
    kinds: dict[tuple[object, ...], _Kind] = {}
    for some in filter(None, together):
        fields = _fields([path.with_suffix("").name for path in some])
        kind = tuple(field.kind for field in fields)
        if kind in kinds:
            known, files = kinds[kind]
            pairs = zip(known, fields, strict=True)
            fields = [replace(one, values=one.values + other.values) for one, other in pairs]
            some = files + some
        # With more values it may be another kind.
        kinds[tuple(field.kind for field in fields)] = fields, some
    return list(kinds.values())


def _fields(names: Sequence[str]) -> list[_Field]:
    separator, rows = _separated(names, _ALIKE)
    if not separator:
        numbered = [[name] for name in names if _LETTERS_DIGITS.fullmatch(name)]
        rows = numbered if len(numbered) >= _ALIKE * len(names) else rows
    fields = []
    for part, values in enumerate(zip(*rows, strict=True)):
        (_, first), *others = _refined(values)
        fields.append(_Field(part, separator if part else "", first))
        fields += [_Field(part, before, some) for before, some in others]
    return fields


def _separated(values: Sequence[str], alike: float) -> tuple[str, list[list[str]]]:
    """The separator that gives the most fields, and the fields of each value that has as many."""
    chosen, rows = "", [[value] for value in values]
    for separator in _SEPARATORS:
        split = [value.split(separator) for value in values]
        split = [parts for parts in split if all(any(map(str.isalnum, part)) for part in parts)]
        counts = Counter(map(len, split))
        fields, names = max(counts.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        if fields > len(rows[0]) and names >= alike * len(values):
            chosen, rows = separator, [parts for parts in split if len(parts) == fields]
    return chosen, rows


def _refined(values: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of a field that all its values have, each with the text before it."""
    separator, rows = _separated(values, 1.0)
    if not separator:
        tried = ([*map(form.fullmatch, values)] for form in (_LETTERS_DIGITS, _DIGITS_LETTERS))
        rows = next(([list(m.groups()) for m in found if m] for found in tried if all(found)), [])
        if not rows:
            return [("", values)]
    refined = []
    for number, part in enumerate(zip(*rows, strict=True)):
        (_, first), *others = _refined(part)
        refined += [(separator if number else "", first), *others]
    return refined


def _with_labels(fields: list[_Field], numbers: Iterator[int]) -> list[_Field]:
    """The fields with the names of their labels; those without a known one are numbered."""
    labels = [_label(fields, place) for place in range(len(fields))]
    for label in set(labels) - {"", _UNNAMED}:
        same = [place for place, each in enumerate(labels) if each == label]
        # Of "standing walk" and "crouched walk", "walk" is the action.
        best = max(same, key=lambda place: len(set(fields[place].values)))
        for place in set(same) - {best}:
            labels[place] = _UNNAMED
    named = (f"field{next(numbers)}" if label == _UNNAMED else label for label in labels)
    return [replace(field, label=label) for field, label in zip(fields, named, strict=True)]


def _label(fields: Sequence[_Field], place: int) -> str:
    field = fields[place]
    counts = Counter(field.values)
    repeated = sum(times for times in counts.values() if times > 1)
    if len(counts) == 1 or repeated < _REPEATED * len(field.values):
        return ""
    if field.digits:
        # As in "subject3".
        before = {value.lower() for value in fields[place - 1].values} if place else set()
        return before.pop() if len(before) == 1 and before <= _words(_SUBJECTS) else ""
    return "" if field.identifier else _word_label(counts) or _UNNAMED


def _folder_labels(paths: Sequence[PurePosixPath], kinds: Sequence[_Kind]) -> list[str]:
    """The label of each level of folders, the highest first; empty for none."""
    in_names = {field.label for fields, _ in kinds for field in fields}
    labels: list[str] = []
    for level in range(max((len(path.parts) - 1 for path in paths), default=0)):
        values = [path.parts[level] for path in paths if len(path.parts) - 1 > level]
        distinct = set(values)
        varies = len(distinct) > 1 or len(values) < len(paths)
        unique = len(distinct) == len(values) >= _UNIQUE_FOLDERS
        if not varies or unique or _stands_in_names(level, kinds):
            labels.append("")
            continue
        name = _word_label(distinct)
        if name is None or name in in_names or name in labels:
            others = sum(label.startswith("folder") for label in labels)
            name = f"folder{others + 1}" if others else "folder"
        labels.append(name)
    return labels


def _stands_in_names(level: int, kinds: Sequence[_Kind]) -> bool:
    """Whether each file's folder stands in its name as the value of a label."""
    for fields, members in kinds:
        folders = [path.parts[level] if len(path.parts) - 1 > level else None for path in members]
        if not any(field.label and list(field.values) == folders for field in fields):
            return False
    return True


def _pattern(levels: Sequence[str], fields: Sequence[_Field]) -> str:
    """The pattern that reads the labels of folders and fields; empty where there is none."""
    labelled = [number for number, level in enumerate(levels) if level]
    in_name = any(field.label for field in fields)
    if not labelled and not in_name:
        return ""
    folders = [f"{{{level or '_'}}}" for level in levels[labelled[0] :]] if labelled else []
    return "/".join([*folders, _name_pattern(fields) if in_name else "{_}"])


def _name_pattern(fields: Sequence[_Field]) -> str:
    text, place = "", 0
    while place < len(fields):
        field = fields[place]
        stop = place + 1 if field.label else _end_of_dropped(fields, place)
        # Between fields without text, digits alone say where one ends.
        touches = not all(field.before for field in fields[max(place, 1) : place + 2])
        digits = ":d" if stop == place + 1 and field.digits and touches else ""
        text += f"{field.before}{{{field.label or '_'}{digits}}}"
        place = stop
    return text


def _end_of_dropped(fields: Sequence[_Field], start: int) -> int:
    """The end of fields from `start` on that a pattern drops as one."""
    part, stop = fields[start].part, start
    while stop < len(fields) and fields[stop].part == part and not fields[stop].label:
        stop += 1
    begins = not start or fields[start - 1].part != part or fields[start].before
    ends = stop == len(fields) or fields[stop].part != part or fields[stop].before
    return stop if begins and ends else start + 1


_ACTIONS = """
aim amble attack balance bend block bounce bow box bye byebye call canter carry cartwheel
cast catch chop clap climb cough crawl crouch cut dance dash dodge drink drive duck eat fall
fight flip fly gallop gesticulate gesture getup golf grab greet guard guide handshake hang
hit hop idle jab jog jump kick kneel lean leap lie lift limp locomotion look lunge march nod
open pace pick pirouette play point pose pray pull punch push reach reload respond rest ride
roll row run salute shoot shrug sidestep sit skate skip slash sleep slide sneak spin sprint
squat stair stand standup stomp stop strafe stretch stride strike stroll stumble sway swim
swing sword talk throw tiptoe trip trot turn twist vault walk warmup wash wave work wrestle
yawn
"""
_STYLES = """
active aggressive anger angry annoyed anxious arrogant ashamed awkward bored brave calm
careful casual cautious cheerful child childish childlike clumsy cold confident confused
cool crazy cute depressed disgust disgusted drunk drunken easy elated elderly elegant
energetic exaggerated excited exhausted fast fat fear fearful feminine femininity flirty
formal friendly frightened frustrated funny giant girly grumpy happiness happy heavy
hesitant hot hurried hurt injured joy joyful kid lame lazy light lively loose mad male
masculine masculinity mechanical melancholic monkey musical natural nervous neutral normal
notconfident old painful panicked playful proud quick regular relaxed relieved robot robotic
sad sadness scared sexy shy silly sleepy slow sneaky soft sorry stealthy stiff strong
strutting surprise surprised tense threatening tired tough uncertain unconfident unsure
upset weak wild worried young youthful zombie
"""
_SUBJECTS = """
actor actress character dancer participant performer person player speaker subject user
"""
# Share and number of values whose meaning must be known, and how much rarer the other one must be.
_KNOWN_SHARE, _KNOWN, _RARER = 0.5, 2, 2.0
_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")


def _word_label(values: Collection[str]) -> str | None:
    """ "action" or "style" where most of the values are words for it."""
    actions, styles = (
        sum(_has_word(value, _words(text)) for value in values) for text in (_ACTIONS, _STYLES)
    )
    most, other = max(actions, styles), min(actions, styles)
    if most < max(_KNOWN, _KNOWN_SHARE * len(values), _RARER * other):
        return None
    return "action" if actions == most else "style"


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _has_word(value: str, words: Collection[str]) -> bool:
    parts = [part.lower() for part in _WORD.findall(value)]
    return any(form in words for part in (*parts, "".join(parts)) for form in _forms(part))


def _forms(word: str) -> list[str]:
    """The word, and what remains without an English ending."""
    forms = [word, word.removesuffix("s")]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word:
            forms += [stem, f"{stem}e"]
            if stem[-2:-1] == stem[-1:]:
                forms.append(stem[:-1])
    return forms
