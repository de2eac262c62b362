"""Characters that are steered by hand on page Control, and the motion that comes back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.collection import choose_own_clip
from deepphase.apps.dashboard.parts.files import chooser
from deepphase.apps.dashboard.parts.folder import configured_folder, look_again
from deepphase.apps.dashboard.parts.messages import error_sentence, plain, show_error
from deepphase.apps.dashboard.parts.session import session
from deepphase.apps.dashboard.parts.steerables import (
    OpenController,
    controller_sources,
    demo_controller,
)
from deepphase.apps.dashboard.parts.steered_runs import run_table
from deepphase.apps.dashboard.parts.theme import is_dark
from deepphase.apps.dashboard.parts.uploads import UPLOAD_FPS, prepared_upload
from deepphase.apps.live.asset import live_asset
from deepphase.apps.live.driven_run import driven_run, read_driven
from deepphase.apps.live.page import live_page
from deepphase.apps.live.recordings import save_recording
from deepphase.apps.reports.measure_table import MeasureTable
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.evaluation.measured_runs import run_measures
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.viewer.bundle import component_script

_HEIGHT = 780
_component = st.components.v2.component(
    "deepphase_live",
    html='<div class="live"><iframe allow="gamepad; fullscreen"></iframe></div>',
    css=f".live iframe {{ display: block; width: 100%; height: {_HEIGHT}px; border: 1px solid "
    "rgba(133, 137, 143, 0.28); border-radius: 10px; }",
    js=component_script("input/live_view.js"),
)


@dataclass(frozen=True)
class KeptRun:
    """A motion that was steered by hand, among the clips of the session.

    Parameters
    ----------
    clip, measures
        The motion, and its measures.
    file
        Its file in the folder, by its path there; empty without a folder that can be written.
    """

    clip: Clip
    measures: MeasureTable
    file: str = ""


def steer_by_hand(opened: OpenController) -> KeptRun | None:
    """Draw the live page of a controller; return what was kept of it, measured, if anything was.

    Raises
    ------
    ParameterError
        If the page cannot run the controller's network.
    """
    page = _page(str(opened.key), is_dark(), opened)
    answer = _component(
        data={"page": page, "title": f"Steer {opened.name}"},
        key=f"live {opened.key}",
        on_driven_change=lambda: None,
    )
    state = f"driven by hand {opened.key}"
    if answer.driven:
        st.session_state[state] = given = keep_driven(answer.driven, opened)
        if isinstance(given, KeptRun):
            # Page Data opens on it.
            choose_own_clip(given.clip.name)
    kept = st.session_state.get(state)
    if kept is None:
        st.caption(
            "Click the character, then steer with W, A, S and D. What is steered from *Record* to "
            "*Stop* is then among the clips of all pages, and measured here."
        )
    elif isinstance(kept, DeepPhaseError):
        st.error(f"Not kept: {error_sentence(kept)}", icon=":material/block:")
    else:
        where = f" Its file is {plain(kept.file)} in the folder." if kept.file else ""
        st.success(
            f"{plain(kept.clip.name)}, {kept.clip.duration:.1f} s, is among the clips of all "
            f"pages.{where}",
            icon=":material/check:",
        )
        return kept
    return None


def steer_on_the_manifold() -> None:
    """Draw the live page of a controller of the user's choice, with a large manifold."""
    chosen = chooser("Character", "character", [*controller_sources(), demo_controller()])
    try:
        opened = chosen.open()
        page = _page(str(opened.key), is_dark(), opened, large=True)
    except DeepPhaseError as error:
        show_error(error)
        return
    _component(
        data={"page": page, "title": f"Steer {opened.name}"},
        key=f"live manifold {opened.key}",
        on_driven_change=lambda: None,
    )
    st.caption(
        "The manifold is that of the phases which the controller was trained with. Click the "
        "character, then steer with W, A, S and D."
    )


def keep_driven(motion: Any, opened: OpenController) -> KeptRun | DeepPhaseError:
    """Add a motion that a browser sent to the clips of the session, and measure it.

    Parameters
    ----------
    motion
        Text that the page sent; see `deepphase.apps.live.driven_run`.
    """
    try:
        text, arrays = read_driven(motion, len(opened.controller.schema.feet))
        own, data = session(), opened.controller.data
        file, content = f"{opened.name} by hand.bvh", text.encode("utf-8", "replace")
        # It is measured at the rate of the controller, which its goals have.
        prepared = prepared_upload(own, file, content, fps=opened.controller.fps)
        if len(prepared.clips) != 1:
            raise FormatError(
                "there is more than one motion in what the page sent", hint="reload the page"
            )
        ((clip, about),) = prepared.clips
        run = driven_run(clip, arrays, opened.controller)
        measures = run_table(run_measures(run, data), data)
        # Only what belongs together is added.
        added, folder = own.add_clip(resample(clip, UPLOAD_FPS), about), configured_folder()
        kept = ""
        if folder is not None and os.access(folder, os.W_OK):
            path, _ = save_recording(folder, opened.name, content)
            look_again()
            kept = path.relative_to(folder).as_posix()
        return KeptRun(added, measures, kept)
    except DeepPhaseError as error:
        return error


@st.cache_data(max_entries=4, show_spinner="Preparing the page")
def _page(key: str, dark: bool, _opened: OpenController, *, large: bool = False) -> str:
    asset = live_asset(_opened.controller, weights="float16")
    return live_page(
        asset,
        name=_opened.name,
        look="dark" if dark else "light",
        keeps="" if large else "page",
        large_panels=large,
    )
