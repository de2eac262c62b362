"""The dashboard: the frame around the pages. `deepphase app` starts it."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import streamlit as st

from apps.pages import PAGES, PageEntry
from apps.pages.parts import look
from apps.pages.parts.sidebar import sidebar
from apps.pages.parts.telling import show_error
from deepphase.errors import DeepPhaseError


def page_of(entry: PageEntry) -> Callable[[], None]:
    """What Streamlit runs for a page: errors of ours become sentences."""

    def drawn() -> None:
        try:
            importlib.import_module(f"apps.pages.{entry.address}").page()
        except DeepPhaseError as error:
            show_error(error)

    return drawn


def dashboard() -> None:
    """One run of the script: style, navigation, choosers, and the page that is asked for."""
    st.set_page_config("deepphase", look.icon(), "wide")
    look.put_on()
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
