"""The exceptions that reach a user.

Every one is a :class:`DeepPhaseError`: the program prints it as one error and one hint and
ends with status 2. Anything else that escapes is a bug in deepphase.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

# Characters: facts quote what a file says, which may be of any length.
_LONGEST_FACT = 600


class DeepPhaseError(Exception):
    """A mistake that the user can mend.

    `fact` says what is wrong, `hint` the way out, each in one sentence without a full stop; `path`
    and `line` (from 1) are what the fact is about.
    """

    def __init__(
        self, fact: str, *, hint: str = "", path: str | Path | None = None, line: int | None = None
    ) -> None:
        if len(fact) > _LONGEST_FACT:
            fact = f"{fact[:_LONGEST_FACT]}..."
        super().__init__(fact)
        self.fact, self.hint, self.line = fact, hint, line
        self.path = None if path is None else Path(path)

    def __str__(self) -> str:
        place = "" if self.path is None else f"{self.path}:"
        if self.line is not None:
            place = f"{place or 'line '}{self.line}:"
        text = f"{place} {self.fact}" if place else self.fact
        return f"{text}\n  {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple:
        # Errors cross process borders in parallel preparation; keyword arguments need help there.
        return partial(type(self), hint=self.hint, path=self.path, line=self.line), (self.fact,)


class FormatError(DeepPhaseError):
    """A file does not hold what its format promises."""


class SkeletonError(DeepPhaseError):
    """A skeleton lacks something, or is not the one that was asked for."""


class ParameterError(DeepPhaseError):
    """An option, a configuration value or a combination of them is impossible."""


class UnregisteredError(ParameterError):
    """A config or a file names a network that is not registered."""


class CheckpointError(DeepPhaseError):
    """A file of ours is damaged, foreign or of another version, or a file cannot be written."""


class OutOfMemoryError(DeepPhaseError):
    """The memory does not suffice for a file."""
