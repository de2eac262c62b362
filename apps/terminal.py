"""Output of commands: progress, notes, warnings and tables for a terminal, or a JSON document;
notes on what corpora have."""

from __future__ import annotations

import itertools
import logging
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

import deepphase as dp
from deepphase.arrays import counted
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError
from deepphase.work import Progress as Report

if TYPE_CHECKING:
    from collections import Counter

    from deepphase.corpus.clips import ClipEntry
    from deepphase.corpus.name_labels import NameLabels
    from deepphase.corpus.store import StoreGroup
    from deepphase.shipped import ShippedModel

# Control characters but tab and line feed, which a terminal obeys; marks that reverse the order of
# letters; line separators; halves of characters, which cannot be encoded.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object) -> str:
    r"""Write control characters of a text as escapes, as in \x1b; names of files may hold them."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], str(text))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with status 1; deepphase.apps.cli handles this error.
        raise BrokenPipeError


console = _Console(highlight=False, soft_wrap=True)
if not console.is_terminal:
    # Without a window to fit, rows of tables are not wrapped.
    console.width = 240

# Without a terminal, progress is printed after each such fraction of a task, and first and at most
# every so many seconds.
_LINE_SHARE = 0.1
_LINE_S = 3.0
# Files that are named where several are left out for one reason.
_FILES_LISTED = 3
# Rows of long tables that are printed.
_ROWS = 40
# Values of a label that are listed, the most frequent ones.
_LISTED_VALUES = 12
# Frames in which kinds of moments are looked for, 17 minutes: more take longer and say the same.
_FRAMES = 60_000


_silent, _hints = False, True


@contextmanager
def printing(*, quiet: bool = False, silent: bool = False, hints: bool = True) -> Iterator[None]:
    """Context of printing: `quiet` leaves warnings, `silent` nothing; `hints` are next steps."""
    global _silent, _hints
    before = console.quiet, _silent, _hints
    console.quiet, _silent = before[0] or quiet or silent, _silent or silent
    _hints = _hints and hints
    try:
        yield
    finally:
        console.quiet, _silent, _hints = before


class _Notes(logging.Handler):
    """Prints each note of the library once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._printed:
            self._printed.add(text)
            note(text)


@contextmanager
def library_notes() -> Iterator[None]:
    """Context in which notes of the library are printed."""
    logger, notes = logging.getLogger("deepphase"), _Notes()
    before = logger.level
    logger.addHandler(notes)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(notes)


@contextmanager
def progress() -> Iterator[Report]:
    """Context of a function (what, done, total, words) that displays progress: bars, or lines."""
    if console.quiet:
        yield lambda what, done, total, words: None
        return
    if not console.is_terminal:
        yield _progress_lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int, words: str) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total, words="", speed="")
            task = bars.tasks[tasks[what]]
            speed = _speed(task.speed) if task.speed else ""
            bars.update(
                tasks[what], completed=done, total=total, words=printable(words), speed=speed
            )

        yield report


def _speed(speed: float) -> str:
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.2g}/s"


@contextmanager
def working(doing: str, name: str) -> Iterator[None]:
    """Context of work that the terminal shows."""
    with progress() as report:
        report(doing, 0, 1, name)
        yield
        report(doing, 1, 1, name)


def _progress_lines() -> Report:
    """Progress as lines of text, for logs."""
    # Task -> when it began, and the share and the time at which its next line is due.
    tasks: dict[str, tuple[float, float, float]] = {}

    def report(what: str, done: int, total: int, words: str) -> None:
        now = time.monotonic()
        began, share, due = tasks.setdefault(what, (now, 0.0, now + _LINE_S))
        if (done < share * total or now < due) and done < total:
            return
        tasks[what] = (began, done / max(total, 1) + _LINE_SHARE, now + _LINE_S)
        spent = now - began
        line = f"{what}: {done:,} of {total:,}"
        if spent > 0 and 0 < done < total:
            line += f", {_speed(done / spent)}, {spent * (total - done) / done:.0f} s left"
        print(printable(f"{line}{', ' if words else ''}{words}"), file=console.file, flush=True)

    return report


def note(text: str) -> None:
    """Print a line of plain text."""
    console.print(printable(text), markup=False, emoji=False)


def note_shipped(model: ShippedModel, before: str = "") -> None:
    """Print that a shipped model is used, what it learnt from, and what one of one's own brings."""
    note(f"{before}shipped with the package ({model.motion}); {model.own}")


def next_step(*words: object) -> None:
    """Print the command to type next; where its -o exists already, with another name."""
    if not _hints:
        return
    texts = [str(word) for word in words]
    if "-o" in texts:
        wanted = Path(texts[texts.index("-o") + 1])
        names = (wanted.with_stem(f"{wanted.stem}_{number}") for number in itertools.count(2))
        free = next(path for path in itertools.chain([wanted], names) if not os.path.lexists(path))
        texts[texts.index("-o") + 1] = str(free)
    note(f"next: deepphase {shlex.join(texts)}")


def warn(text: str) -> None:
    """Print a warning to standard error."""
    if not _silent:
        print(f"deepphase: note: {printable(text)}", file=sys.stderr)


def list_left_out(what: str, errors: Iterable[DeepPhaseError]) -> None:
    """Print one warning per reason, with its files; a hint of several reasons is printed once."""
    alike: dict[tuple[str, str], list[DeepPhaseError]] = {}
    for error in errors:
        name = "" if error.path is None else f"{error.path.stem}: "
        alike.setdefault((error.fact.removeprefix(name), error.hint), []).append(error)
    printed: set[str] = set()
    for (reason, hint), (first, *others) in alike.items():
        fact = reason
        if others:
            names = [str(each.path or each.fact) for each in others[:_FILES_LISTED]]
            names += ["..."] if len(others) > _FILES_LISTED else []
            fact = f"{reason}; {counted(len(others), 'more file')}: {', '.join(names)}"
        hint = "" if hint in printed else hint
        warn(f"{what}: {type(first)(fact, hint=hint, path=first.path, line=first.line)}")
        printed.add(hint)


def list_or_refuse(refused: Sequence[DeepPhaseError], total: int, what: str, done: str) -> None:
    """List what was left out of some files."""
    if total == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    if refused and total == len(refused):
        fact = f"none of {total} {what} could be {done}"
        raise FormatError(fact, hint="the reasons are listed above")


def each_clip(
    entries: Sequence[ClipEntry], use: Callable[[ClipEntry], object], doing: str, done: str
) -> list[DeepPhaseError]:
    """Call a function with every clip; the errors of those that it refuses, which are listed."""
    refused: list[DeepPhaseError] = []
    with progress() as report:
        for number, entry in enumerate(entries, start=1):
            try:
                use(entry)
            except DeepPhaseError as error:
                refused.append(error)
            report(doing, number, len(entries), entry.name)
    list_or_refuse(refused, len(entries), "clips", done)
    return refused


def refuse_unwritten(refused: Sequence[DeepPhaseError]) -> None:
    """Raise an error, for the exit status, where results could not be written."""
    unwritten = [each for each in refused if isinstance(each, CheckpointError)]
    if unwritten:
        fact = f"{counted(len(unwritten), 'result')} could not be written"
        raise CheckpointError(fact, hint="the reasons are listed above")


def note_some(texts: Sequence[str], more: str, most: int = 20) -> None:
    """Print the first of many lines, and how many are left, with words on them."""
    for text in texts[:most]:
        note(text)
    if len(texts) > most:
        note(f"... and {len(texts) - most} more {more}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], more: str = "") -> None:
    """Print a table of texts; with words on what is left, the first rows alone."""
    drawn = Table(box=None, pad_edge=False)
    for column in columns:
        drawn.add_column(Text(printable(column)), overflow="fold")
    for row in rows[: _ROWS if more else None]:
        # Text is printed as it is; a string would be read as markup, and :name: as an emoji.
        drawn.add_row(*[Text(printable(cell)) for cell in row])
    console.print(drawn)
    if more and len(rows) > _ROWS:
        note(f"... and {len(rows) - _ROWS} more {more}")


def note_name_labels(found: NameLabels) -> None:
    """Print the labels found in names, their values, and how to read others."""
    counts = found.counts()
    if not counts:
        note("labels: none found in file names; --labels PATTERN reads them")
        return
    patterns = [f"--labels {shlex.quote(each)}" for each in found.patterns]
    if len(patterns) == 1:
        note(f"labels from file names, as by {patterns[0]}; --labels none leaves them out")
    else:
        note("labels from file names; --labels none leaves them out")
        for pattern, files in zip(patterns, found.patterns.values(), strict=True):
            note(f"  as by {pattern} in {files} files")
    for name, values in counts.items():
        note(f"  {name}: {listed_counts(values, 'files')}")


def skeleton_words(groups: Sequence[StoreGroup]) -> tuple[str, ...]:
    """The option that names the skeleton with the most motion, where there are several."""
    longest = max(groups, key=lambda group: group.minutes)
    return ("--skeleton", longest.name) if len(groups) > 1 else ()


def note_groups(groups: Sequence[StoreGroup]) -> None:
    """Print the skeleton groups of a store."""
    rows = [(g.name, str(len(g.joints)), str(g.clips), f"{g.minutes:.1f}") for g in groups]
    table(("skeleton", "joints", "clips", "minutes"), rows)


def note_kinds(shares: Mapping[str, float], before: str = "", of: str = "") -> None:
    """Print the shares of idle, locomotion and actions, with words before and after "moments"."""
    from deepphase.features.moment_kinds import KIND_LABEL

    text = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    note(f"{before}moments{of}: {text}; a label '{KIND_LABEL}' of a clip overrules its kind")


def note_store_kinds(store: dp.ClipStore, before: str = "") -> None:
    """Print the shares of a store, of bodies whose kinds can be found."""
    import numpy as np

    from deepphase.features.moment_kinds import clip_kinds, kind_shares

    step = max(1, math.ceil(int(store.lengths.sum()) / _FRAMES))
    try:
        found = [clip_kinds(store.clip(index)) for index in range(0, len(store), step)]
    except DeepPhaseError:
        return
    note_kinds(
        kind_shares(np.concatenate(found)), before, f" of one clip in {step}" if step > 1 else ""
    )


def listed_counts(values: Counter[str], of: str) -> str:
    """The most frequent values with their counts; a value alone where there is only one."""
    if len(values) == 1:
        return next(iter(values))
    shown = values.most_common(_LISTED_VALUES)
    text = ", ".join(f"{value or 'none'} ({count} {of})" for value, count in shown)
    rest = len(values) - len(shown)
    return f"{text} and {rest} more" if rest else text


def read_corpus(path: Path, **options: Any) -> dp.ClipStore:
    """The clips at a path, see `corpus_of`; prints which skeleton of several is used."""
    corpus = dp.corpus_of(path, **options)
    note_chosen_skeleton(corpus, path)
    return corpus


def note_chosen_skeleton(corpus: dp.ClipStore, path: Path) -> None:
    """Print which skeleton of several at a path is used, where none was named."""
    if others := corpus.other_bodies:
        note(
            f"skeleton: {corpus.group}, the largest of {1 + len(others)} in {path} with these "
            f"joints and other rest frames ({', '.join(others)}); --skeleton NAME chooses another, "
            f"and `deepphase prepare --retarget {corpus.group}` puts all clips on one body"
        )
    elif len(corpus.header.get("groups", ())) > 1:
        note(f"skeleton: {corpus.group}, of {len(corpus.header['groups'])} in {path}")


def clips_of_model(
    model: Path, path: Path, skeleton: str | None, progress: Report
) -> tuple[dp.phase.PhaseExtractor, dp.ClipStore]:
    """A phase model, bound to the clips at a path, and these clips at its rate."""
    loaded = dp.load_model(model)
    joints = loaded.signals.joints
    corpus = read_corpus(path, fps=loaded.fps, joints=joints, skeleton=skeleton, progress=progress)
    return loaded.bound(corpus, corpus.description), corpus
