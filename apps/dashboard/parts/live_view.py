"""Characters that are steered by hand on page Control, and the motion that comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from apps.dashboard.parts.messages import error_sentence, plain
from apps.dashboard.parts.session import session
from apps.dashboard.parts.steerables import OpenController
from apps.dashboard.parts.theme import is_dark
from apps.dashboard.parts.uploads import read_upload
from apps.live.asset import live_asset
from apps.live.bundle import live_page
from deepphase.errors import DeepPhaseError
from deepphase.evaluation.motion_measures import measured_data
from deepphase.motion.clip import Clip

_HEIGHT = 780
# Measure of `measured_data` -> title, unit, factor, decimals.
_MEASURES = {
    "mean_speed": ("Speed", "m/s", 1.0, 2),
    "mean_contact_speed": ("Feet slide", "cm/s", 100.0, 1),
    "joint_rotation": ("Joints turn", "°/s", 1.0, 0),
    "jerk": ("Jerk", "m/s³", 1.0, 0),
}
_component = st.components.v2.component(
    "deepphase_live",
    html='<div class="live"><iframe allow="gamepad; fullscreen"></iframe></div>',
    css=f".live iframe {{ display: block; width: 100%; height: {_HEIGHT}px; border: 1px solid "
    "rgba(133, 137, 143, 0.28); border-radius: 10px; }",
    js=(Path(__file__).parent / "live_view.js").read_text(encoding="utf-8"),
)


def steer_by_hand(opened: OpenController) -> None:
    """Draw the live page of a controller, and keep and measure the motion that it sends back.

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
    state = "driven by hand"
    if answer.driven:
        st.session_state[state] = keep_driven(answer.driven, opened)
    kept = st.session_state.get(state)
    if kept is None:
        st.caption(
            "Click the character, then steer with W, A, S and D. *Keep* adds the last minute to "
            "the clips of this session, and measures it."
        )
    elif isinstance(kept, DeepPhaseError):
        st.error(f"Not kept: {error_sentence(kept)}", icon=":material/block:")
    else:
        clip, measures = kept
        _show_measures(clip, measures, opened)


def keep_driven(
    motion: Any, opened: OpenController
) -> tuple[Clip, dict[str, Any]] | DeepPhaseError:
    """Add a motion that a browser sent, the text of a BVH file, to the clips of the session.

    Returns
    -------
    The clip and its measures as of `measured_data`, or the error.
    """
    content = motion.encode("utf-8", "replace") if isinstance(motion, str) else b""
    result = read_upload(session(), f"{opened.name} by hand.bvh", content)
    if result.error is not None:
        return result.error
    (clip,) = result.clips
    try:
        return clip, measured_data([clip], opened.controller.schema)
    except DeepPhaseError as error:
        return error


@st.cache_data(max_entries=4, show_spinner="Preparing the page")
def _page(key: str, dark: bool, _opened: OpenController) -> str:
    asset = live_asset(_opened.controller, weights="float16")
    return live_page(asset, name=_opened.name, look="dark" if dark else "light", keeps=True)


def _show_measures(clip: Clip, measures: dict[str, Any], opened: OpenController) -> None:
    st.success(
        f"{plain(clip.name)}, {clip.duration:.1f} s, is among the clips of page Data.",
        icon=":material/check:",
    )
    for column, (name, (title, unit, factor, decimals)) in zip(
        st.columns(len(_MEASURES)), _MEASURES.items(), strict=True
    ):
        value, data = (_number(each.get(name)) for each in (measures, opened.controller.data))
        if value is None:
            continue
        beside = f"data: {factor * data:,.{decimals}f} {unit}" if data is not None else None
        column.metric(
            title, f"{factor * value:,.{decimals}f} {unit}", beside,
            delta_color="off", delta_arrow="off",
        )  # fmt: skip


def _number(value: Any) -> float | None:
    """A measure's mean where it is a spread over frames."""
    value = value.get("mean") if isinstance(value, dict) else value
    return None if value is None else float(value)
