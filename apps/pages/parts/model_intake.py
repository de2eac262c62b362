"""Phase models from the reader's own disk."""

from __future__ import annotations

import secrets

import streamlit as st

from apps.pages.parts.collection import choose
from apps.pages.parts.session import session
from apps.pages.parts.telling import plain, sentence
from deepphase.errors import DeepPhaseError
from deepphase.phase.extractor import load_extractor

MOST_MEGABYTES = 64
_MOST_LETTERS = 40


def take_in_model(name: str, content: bytes) -> str:
    """Keep a model of this session; the name under which it can be chosen.

    Raises CheckpointError where it is none, or damaged.
    """
    # The reader's name is for showing; the file gets one of ours.
    path = session().folder / f"upload-{secrets.token_hex(8)}.model"
    path.write_bytes(content)
    try:
        model = load_extractor(path)
    except DeepPhaseError as error:
        raise type(error)(error.fact, hint=error.hint) from None
    finally:
        path.unlink(missing_ok=True)
    clean = "".join(c if c.isprintable() else " " for c in name.removesuffix(".model"))
    return session().add_model(clean[:_MOST_LETTERS].strip() or "Model", model)


def offer_intake() -> None:
    """Where a model file is dropped; what became of it."""
    file = st.file_uploader(
        "Open a finished model",
        max_upload_size=MOST_MEGABYTES,
        key="model upload",
        help="A file that `deepphase train phase`, `deepphase fit phases` or this page wrote. "
        "Nobody else sees it.",
    )
    if file is None:
        return
    taken: dict[str, str] = st.session_state.setdefault("models taken", {})
    if file.file_id not in taken:
        try:
            name = take_in_model(file.name, bytes(file.getbuffer()))
        except DeepPhaseError as error:
            taken[file.file_id] = f"!Refused. {plain(file.name)}: {sentence(error)}"
        else:
            taken[file.file_id] = f"{plain(name)} can be chosen on the left of every page."
            choose(model=f"session:{name}")
            st.rerun()
    words = taken[file.file_id]
    if words.startswith("!"):
        st.error(words[1:], icon=":material/block:")
    else:
        st.success(words, icon=":material/check:")
