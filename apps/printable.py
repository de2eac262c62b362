"""Text for a terminal, without control characters."""

from __future__ import annotations

import re

# Control characters but tab and line feed, which a terminal obeys; marks that reverse the order of
# letters; line separators; halves of characters, which cannot be encoded.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object) -> str:
    r"""Write control characters of a text as escapes, as in \x1b; names of files may hold them."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], str(text))
