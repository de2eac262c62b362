"""Shards: shares of a corpus, the same on every machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from deepphase.errors import ParameterError


@dataclass(frozen=True)
class Shard:
    """Share `number` of `count` shares of a corpus.

    A file belongs to the share that the hash of its path relative to the corpus gives. This is the
    same on every machine, needs no reading of files, and does not depend on the other files of the
    corpus; shares differ in size by chance.

    Parameters
    ----------
    number
        From 1 to `count`.
    count
        Number of shares.

    Raises
    ------
    ParameterError
        Where there is no such share.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ParameterError(
                f"there is no shard {self}",
                hint=f"write NUMBER/{self.count} with a number from 1 to {self.count}",
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard of a text such as "2/8". Raises ParameterError where it is not of this form."""
        parts = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip())
        if parts is None:
            raise ParameterError(
                f"{text!r} is not a shard", hint="write NUMBER/COUNT, as in 2/8 for the second of 8"
            )
        return cls(int(parts[1]), int(parts[2]))

    def holds(self, key: str) -> bool:
        """Whether an item of the corpus belongs to this share.

        Parameters
        ----------
        key
            The path of a file relative to the corpus, with slashes, or the name of a clip.
        """
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1
