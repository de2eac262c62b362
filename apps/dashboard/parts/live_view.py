"""Characters that are steered by hand, and the motion that comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.collection import choose_own_clip
from deepphase.apps.dashboard.parts.files import chooser
from deepphase.apps.dashboard.parts.folder import look_again, writable_folder
from deepphase.apps.dashboard.parts.messages import error_sentence, plain, show_error
from deepphase.apps.dashboard.parts.session import UPLOAD_FPS, prepared_upload, session
from deepphase.apps.dashboard.parts.steerables import STEERABLE_KEY, Steerable, steerables
from deepphase.apps.dashboard.parts.theme import is_dark
from deepphase.apps.live.page import driven_run, live_page, read_driven
from deepphase.apps.live.server import save_recording
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.evaluation.measurement import Measure
from deepphase.evaluation.run_measures import measure
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.steering.path import made_path
from deepphase.steering.run import start_on_path
from deepphase.viewer.bundle import component_script

_HEIGHT = 780
# What a page of Streamlit carries without a pause: 931 clips of 20 minutes have 67 MB.
_MAX_ASSET_BYTES = 100_000_000
_component = st.components.v2.component(
    "deepphase_live",
    html='<div class="live"><iframe allow="gamepad; fullscreen"></iframe></div>',
    css=f".live iframe {{ display: block; width: 100%; height: {_HEIGHT}px; border: 1px solid "
    "rgba(133, 137, 143, 0.28); border-radius: 10px; }",
    js=component_script("input/live_view.js"),
)


@dataclass(frozen=True)
class KeptRun:
    """A motion that was steered by hand, among the clips of the session."""

    clip: Clip
    measures: list[Measure]
    file: str = ""


def steer_by_hand(opened: Steerable) -> KeptRun | None:
    """Draw the live page of what is open; return what was kept of it, measured, if anything was."""
    driven = _live(opened, f"live {opened.key}")
    state = f"driven by hand {opened.key}"
    if driven:
        st.session_state[state] = given = keep_driven(driven, opened)
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
    """Draw the live page of what the user chooses, with a large manifold."""
    chosen = chooser("Character", STEERABLE_KEY, steerables())
    try:
        opened = chosen.open()
        _live(opened, f"live manifold {opened.key}", large=True)
    except DeepPhaseError as error:
        show_error(error)
        return
    st.caption(
        "The manifold is that of the phases which the controller or the database has. Click the "
        "character, then steer with W, A, S and D."
    )


def _live(opened: Steerable, key: str, *, large: bool = False) -> Any:
    """Draw the live page; return what was driven, if a browser sent it."""
    page = _page(str(opened.key), is_dark(), opened, large=large)
    data = {"page": page, "title": f"Steer {opened.name}"}
    return _component(data=data, key=key, on_driven_change=lambda: None).driven


def keep_driven(motion: Any, opened: Steerable) -> KeptRun | DeepPhaseError:
    """Add a motion that a browser sent to the clips of the session, and measure it."""
    try:
        runner, _ = start_on_path(opened.source, made_path("wave", 1.0, 1.0))
        text, arrays = read_driven(motion, len(runner.spec.feet))
        own, content = session(), text.encode("utf-8", "replace")
        # It is measured at the rate of the runner, which its goals have.
        prepared = prepared_upload(own, f"{opened.name} by hand.bvh", content, runner.spec.fps)
        if len(prepared.clips) != 1:
            raise FormatError(
                "there is more than one motion in what the page sent", hint="reload the page"
            )
        ((clip, about),) = prepared.clips
        measures = measure(driven_run(clip, arrays, runner.spec), opened.source.data)
        # Only what belongs together is added.
        added, folder, kept = own.add_clip(resample(clip, UPLOAD_FPS), about), writable_folder(), ""
        if folder is not None:
            path, _ = save_recording(folder, opened.name, content)
            look_again()
            kept = path.relative_to(folder).as_posix()
        return KeptRun(added, measures, kept)
    except DeepPhaseError as error:
        return error


@st.cache_resource(max_entries=4, show_spinner="Preparing the page")
def _page(key: str, dark: bool, _opened: Steerable, *, large: bool = False) -> str:
    asset = _opened.asset()
    if len(asset) > _MAX_ASSET_BYTES:
        raise ParameterError(
            f"{_opened.name} makes a page of {len(asset) / 1e6:.0f} MB, and this place takes "
            f"{_MAX_ASSET_BYTES / 1e6:.0f}",
            hint="steer it with `deepphase live FILE`",
        )
    return live_page(
        asset,
        name=_opened.name,
        look="dark" if dark else "light",
        keeps="" if large else "page",
        large_panels=large,
    )
