"""Messages that the MP3 decoder of libsndfile, libmpg123, prints on standard error."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STDERR = 2
# "[src/libmpg123/layer3.c:III_get_side_info():202] error: big_values too large!", and what follows
# a bad frame header.
_MESSAGE = re.compile(
    rb"\[[^\]]*libmpg123[^\]]*\]|(Note|Warning): .*|\s*(This is most probably|You should).*"
)
_ERROR = re.compile(rb"\[[^\]]*libmpg123[^\]]*\] error: (.*)")
# First bytes of the formats whose decoders print nothing.
_DECODED_SILENTLY = (b"RIFF", b"OggS", b"fLaC")
# Standard error belongs to the whole process: one decoding at a time redirects it.
_lock = threading.RLock()


@contextmanager
def decoder_errors(content: bytes) -> Iterator[list[str]]:
    """Context of a decoding whose messages are not printed.

    The C library writes to the file descriptor, so that is redirected into a file. What other
    threads write meanwhile is printed at the end.

    Parameters
    ----------
    content
        Bytes of the sound file.

    Yields
    ------
    A list that holds the decoder's error messages once the context has ended.
    """
    errors: list[str] = []
    if content[:4] in _DECODED_SILENTLY:
        yield errors
        return
    with _lock, tempfile.TemporaryFile() as file:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        try:
            saved = os.dup(_STDERR)
        except OSError:  # a process without standard error prints nothing
            yield errors
            return
        try:
            os.dup2(file.fileno(), _STDERR)
            yield errors
        finally:
            with suppress(OSError, ValueError, AttributeError):
                sys.stderr.flush()
            os.dup2(saved, _STDERR)
            os.close(saved)
            file.seek(0)
            for line in file:
                if found := _ERROR.match(line):
                    errors.append(found[1].decode("utf-8", "replace").strip(" .!"))
                elif not _MESSAGE.match(line):
                    os.write(_STDERR, line)
