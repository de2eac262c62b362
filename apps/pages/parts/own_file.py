"""A file from the reader's own disk: where it is dropped, how it is read, what became of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import streamlit as st

from apps.pages.parts.session import session
from apps.pages.parts.telling import plain, sentence
from deepphase.errors import DeepPhaseError

MOST_MEGABYTES = 64
_MOST_LETTERS = 40
Loaded = TypeVar("Loaded")


def loaded(content: bytes, suffix: str, load: Callable[[Path], Loaded]) -> Loaded:
    """What `load` makes of the bytes of a file; its errors, without a path that is ours."""
    # The reader's name is for showing; the file gets one of ours.
    path = session().folder / f"upload-{secrets.token_hex(8)}{suffix}"
    path.write_bytes(content)
    try:
        return load(path)
    except DeepPhaseError as error:
        raise type(error)(error.fact, hint=error.hint) from None
    finally:
        path.unlink(missing_ok=True)


def name_without(suffix: str, name: str, otherwise: str) -> str:
    """A reader's name for a file as it is shown, without that suffix."""
    clean = "".join(c if c.isprintable() else " " for c in name.removesuffix(suffix))
    return clean[:_MOST_LETTERS].strip() or otherwise


def offer_intake(
    label: str,
    what: str,
    help_: str,
    take_in: Callable[[str, bytes], str],
    chosen: Callable[[str], None],
    where: str,
) -> None:
    """Draw where a file is dropped, and what became of it.

    Parameters
    ----------
    label, help_
        Words of the place.
    what
        Kind of file: a key of the page.
    take_in
        Name and bytes -> the name under which it can be chosen; DeepPhaseError where it is refused.
    chosen
        Called once with that name, before the page is drawn anew.
    where
        Where it can be chosen, in words.
    """
    file = st.file_uploader(label, max_upload_size=MOST_MEGABYTES, key=f"{what} upload", help=help_)
    if file is None:
        return
    taken: dict[str, str] = st.session_state.setdefault(f"{what}s taken", {})
    if file.file_id not in taken:
        try:
            name = take_in(file.name, bytes(file.getbuffer()))
        except DeepPhaseError as error:
            taken[file.file_id] = f"!Refused. {plain(file.name)}: {sentence(error)}"
        else:
            taken[file.file_id] = f"{plain(name)} can be chosen {where}."
            chosen(name)
            st.rerun()
    words = taken[file.file_id]
    if words.startswith("!"):
        st.error(words[1:], icon=":material/block:")
    else:
        st.success(words, icon=":material/check:")
