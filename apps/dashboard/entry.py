"""Frame of the dashboard around its pages: style, navigation and the choosers of the sidebar."""

from __future__ import annotations

import gc
import importlib
import itertools
import sys
import threading
from collections.abc import Callable

import streamlit as st

from deepphase.apps.dashboard.pages import PAGES, PageEntry
from deepphase.apps.dashboard.parts import collection, folder, messages
from deepphase.apps.dashboard.parts.choosers import chooser, open_address
from deepphase.apps.dashboard.parts.encodings import read_ahead, suggest_clip
from deepphase.apps.dashboard.parts.widgets import ICON, apply_theme
from deepphase.arrays import counted
from deepphase.errors import DeepPhaseError

# Modules that Streamlit imports at their first use, and one that compiles itself on a new machine.
_LAZY_IMPORTS = (
    *("pandas", "pyarrow", "plotly.graph_objects", "deepphase.matching.search.exact"),
    "streamlit.web.server.starlette.starlette_server",
)
# What a first run or dance imports: a second, while the first page is read.
_LATER_IMPORTS = ("scipy.signal", "scipy.stats")
# Seconds that the server waits for the clips of its folder; pages show how far larger ones are.
_AHEAD_S = 3.0
# Seconds between two looks at what a thread has prepared.
_LOOK_S = 0.5
# Session state: its number, and the preparation that its user does not wait for.
_NUMBER, _LEFT = "session number", "preparation left"
_numbers = itertools.count()
# Modules that were loaded when objects were last frozen.
_frozen_modules = 0


def freeze_modules() -> None:
    """Leave the objects of all loaded modules out of garbage collection.

    Streamlit collects garbage after every run. With torch and plotly loaded that takes up to half a
    second, in which the server sends nothing to any session. Pages load their modules when they are
    first opened, so this is repeated whenever modules were added.
    """
    global _frozen_modules
    if len(sys.modules) != _frozen_modules:
        _frozen_modules = len(sys.modules)
        gc.freeze()


def warm_up() -> None:
    """Load what the first pages need, which sessions that start at once could see half imported."""
    import torch

    given = folder.configured_folder()
    ahead = None if given is None else folder.prepare_ahead(given, read_ahead)
    # The sessions of a server share the processor; one session must not use all of it.
    torch.set_num_threads(max(1, min(4, torch.get_num_threads())))
    for name in (*_LAZY_IMPORTS, *(entry.module for entry in PAGES.values())):
        importlib.import_module(name)
    collection.demo_model().encode(collection.demo_store().clip(0))
    if ahead is not None:
        ahead.join(_AHEAD_S)
    later = map(importlib.import_module, _LATER_IMPORTS)
    threading.Thread(target=list, args=(later,), name="import", daemon=True).start()
    # The browser opens now.
    messages.page_runs()


def _sidebar() -> None:
    """Draw the choosers of clips and model, which `open_clips` and `open_model` read."""
    st.subheader("Collection", anchor=False)
    found = folder.open_folder()
    # Looked at before the clips are opened as well, as the work may end between.
    preparing = found is not None and folder.preparation(found) is not None
    sources = collection.clip_sources()
    if sources:
        chooser("Clips", collection.CLIPS_KEY, sources, addressed=True)
        _models()
    else:
        st.caption("Nothing to show yet.")
    if found is not None:
        st.caption(f"Folder :material/folder: {messages.plain(found.path.name)}")
        if preparing or folder.preparation(found) is not None:
            st.fragment(_await_files, run_every=_LOOK_S)(found)
        for error in found.refused[:5]:
            st.caption(f":material/warning: {messages.error_sentence(error)}")
        if found.cut:
            st.caption(
                "The folder has too many files; some are not listed. Start on a smaller folder."
            )
        st.button("Look again", on_click=folder.look_again, icon=":material/refresh:")


def _await_files(found: folder.FoundFolder) -> None:
    """Say how many motion files are prepared, while the first one is shown; then open them all."""
    own, count = folder.preparation(found), len(found.motion)
    state = st.session_state
    session = state.setdefault(_NUMBER, next(_numbers))
    if own is None:
        # What is chosen on the page stays, as all of the files have it too.
        st.rerun()
    elif own.cancelled or state.get(_LEFT) == own.began:
        st.caption(f"Cancelled: of {count:,} motion files, the first one is shown.")
        if st.button("Prepare all of them", icon=":material/play_arrow:"):
            state.pop(_LEFT, None)
            if own.cancelled:
                folder.prepare_again(found)
            st.rerun()
    else:
        own.show_to(session)
        messages.draw_bar("Preparing the motion files", own.done, count, own.began)
        if st.button("Cancel", icon=":material/stop:", key="cancel preparing"):
            # Other sessions may wait for it.
            own.leave(session)
            state[_LEFT] = own.began


def _models() -> None:
    try:
        clips = collection.open_clips()
        sources = collection.model_sources(clips)
    except DeepPhaseError:
        # The page shows the error.
        return
    store = clips.store
    st.caption(
        f"{counted(len(store), 'clip')} · {store.minutes:,.1f} min · "
        f"{len(store.skeleton)} joints · {store.fps:g} frames/s"
    )
    chooser("Phase model", collection.MODEL_KEY, sources, addressed=True)
    suggest_clip()


def _page_of(entry: PageEntry) -> Callable[[], None]:
    """The function that Streamlit runs for a page; its module is imported at the first run."""

    def draw() -> None:
        with messages.shown_errors():
            importlib.import_module(entry.module).page()

    return draw


def dashboard() -> None:
    """Run the script once: style, navigation, choosers and the current page."""
    freeze_modules()
    messages.page_runs()
    st.set_page_config("deepphase", ICON, "wide")
    apply_theme()
    pages = [
        st.Page(_page_of(entry), title=entry.name, icon=entry.icon, url_path=address)
        for address, entry in PAGES.items()
    ]
    # Every page has its own address; the root redirects to the first page.
    root = st.Page(
        lambda: st.switch_page(pages[0]), title="deepphase", default=True, visibility="hidden"
    )
    chosen = st.navigation([root, *pages])
    entry = PAGES.get(chosen.url_path)
    open_address(chosen.url_path, reads_on=entry is not None and entry.reads_on)
    # Errors are outside the sidebar, which would be too narrow for them.
    with messages.shown_errors(), st.sidebar:
        _sidebar()
    chosen.run()
