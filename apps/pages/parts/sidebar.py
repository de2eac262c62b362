"""The choosers of clips and model beside every page."""

from __future__ import annotations

import streamlit as st

from apps.pages.parts.collection import (
    CLIPS_KEY,
    MODEL_KEY,
    clip_sources,
    look_again,
    model_sources,
    open_clips,
    open_folder,
)
from apps.pages.parts.telling import plain, sentence
from deepphase.errors import DeepPhaseError


def sidebar() -> None:
    """Draw the choosers; what they name, `open_clips` and `open_model` open."""
    wanted = st.session_state.pop("to choose", {})
    with st.sidebar:
        st.subheader("Collection", anchor=False)
        sources = {each.id: each.name for each in clip_sources()}
        if not sources:
            st.caption("Nothing to show yet.")
        else:
            _chooser("Clips", CLIPS_KEY, sources, wanted)
            _models(wanted)
        found = open_folder()
        if found is not None:
            st.caption(f"Folder :material/folder: {plain(found.path.name)}")
            for error in found.refused[:5]:
                st.caption(f":material/warning: {sentence(error)}")
            if found.cut:
                st.caption("More files than are looked at: start on a smaller folder.")
            st.button("Look again", on_click=look_again, icon=":material/refresh:")


def _models(wanted: dict[str, str]) -> None:
    try:
        clips = open_clips()
        models = {each.id: each.name for each in model_sources(clips)}
    except DeepPhaseError:
        # The page says it.
        return
    store = clips.store
    st.caption(
        f"{len(store):,} clips · {store.minutes:,.1f} min · {len(store.skeleton)} joints · "
        f"{store.fps:g} frames/s"
    )
    if models:
        _chooser("Phase model", MODEL_KEY, models, wanted)
    else:
        st.caption("No phase model here reads this skeleton.")


def _chooser(words: str, key: str, options: dict[str, str], wanted: dict[str, str]) -> None:
    if wanted.get(key) in options:
        st.session_state[key] = wanted[key]
    elif st.session_state.get(key) not in options:
        st.session_state[key] = next(iter(options))
    st.selectbox(words, list(options), format_func=options.__getitem__, key=key)
