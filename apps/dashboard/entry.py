"""The dashboard: the frame around the pages. `deepphase app` starts it."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import streamlit as st

from apps.dashboard.pages import PAGES, PageEntry
from apps.dashboard.parts import theme
from apps.dashboard.parts.collection import (
    CLIPS_KEY,
    MODEL_KEY,
    clip_sources,
    look_again,
    model_sources,
    open_clips,
    open_folder,
)
from apps.dashboard.parts.messages import error_sentence, plain, show_error
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
                st.caption(f":material/warning: {error_sentence(error)}")
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


def page_of(entry: PageEntry) -> Callable[[], None]:
    """What Streamlit runs for a page: errors of ours become sentences."""

    def drawn() -> None:
        try:
            importlib.import_module(f"apps.dashboard.pages.{entry.address}").page()
        except DeepPhaseError as error:
            show_error(error)

    return drawn


def dashboard() -> None:
    """One run of the script: style, navigation, choosers, and the page that is asked for."""
    st.set_page_config("deepphase", theme.icon(), "wide")
    theme.apply_theme()
    pages = [
        st.Page(page_of(each), title=each.name, icon=each.icon, url_path=each.address)
        for each in PAGES
    ]
    # The first page has an address of its own, too; the root leads there.
    root = st.Page(
        lambda: st.switch_page(pages[0]), title="deepphase", default=True, visibility="hidden"
    )
    chosen = st.navigation([root, *pages])
    try:
        sidebar()
    except DeepPhaseError as error:
        show_error(error)
    chosen.run()
