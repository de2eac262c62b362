"""Labels read out of file names and folders."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from deepphase.errors import ParameterError

_FIELD = re.compile(r"\{([^{}]*)\}")


class LabelPattern:
    """A pattern as '{set}_{action}_{style}_{take}' that file names are read with.

    A field takes what stands before the next literal part of the pattern; the last one takes the
    rest, literal parts included. A field whose name starts with an underscore is read and
    dropped. A pattern with n slashes is held against the last n folders and the file's name.

    Parameters
    ----------
    pattern
        Field names in braces, and what stands between them in the names of the files.

    Raises
    ------
    ParameterError
        Where it has no field, a field twice, a brace that is not closed, or nothing between two
        fields.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern.replace("\\", "/")
        parts = _FIELD.split(self.pattern)
        literals, fields = parts[0::2], parts[1::2]
        self._check(literals, fields)
        self.fields = tuple(name for name in fields if not name.startswith("_"))
        self._names = fields
        expression = re.escape(literals[0])
        for number, literal in enumerate(literals[1:], start=1):
            # No field holds a slash: folders stay folders.
            last = number == len(fields)
            value = r"([^/]+)" if last else rf"((?:(?!{re.escape(literal)})[^/])+)"
            expression += value + re.escape(literal)
        self._expression = re.compile(expression)

    def labels(self, file: str | PurePosixPath) -> dict[str, str] | None:
        """The labels in a file's name; None where the name is not as the pattern says.

        Parameters
        ----------
        file
            The file, relative to the folder that is prepared.
        """
        parts = PurePosixPath(file).with_suffix("").parts
        match = self._expression.fullmatch("/".join(parts[-1 - self.pattern.count("/") :]))
        if match is None:
            return None
        return {
            name: value
            for name, value in zip(self._names, match.groups(), strict=True)
            if not name.startswith("_")
        }

    def _check(self, literals: list[str], fields: list[str]) -> None:
        wrong = ""
        if not fields:
            wrong = "names no field"
        elif any("{" in literal or "}" in literal for literal in literals):
            wrong = "has a brace without its other half"
        elif not all(name.isidentifier() for name in fields):
            wrong = "has a field without a plain name"
        elif len({name for name in fields if name != "_"}) < len(fields) - fields.count("_"):
            wrong = "names a field twice"
        elif "" in literals[1:-1]:
            wrong = "has nothing between two fields"
        if wrong:
            raise ParameterError(
                f"the label pattern {self.pattern!r} {wrong}",
                hint="write it as in '{set}_{action}_{style}_{take}'",
            )


def folder_labels(file: str | PurePosixPath) -> dict[str, str]:
    """The subfolder that a file lies in, as label "folder"; nothing for a file at the top."""
    parent = PurePosixPath(file).parent.as_posix()
    return {} if parent == "." else {"folder": parent}
