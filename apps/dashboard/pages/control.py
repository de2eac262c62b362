"""Page Control: characters that a controller or motion matching drives along a path."""

from __future__ import annotations

import streamlit as st

from deepphase.apps.dashboard.parts.files import ListedSource, chooser
from deepphase.apps.dashboard.parts.live_view import steer_by_hand
from deepphase.apps.dashboard.parts.messages import show_error
from deepphase.apps.dashboard.parts.result_cache import cancellable_result, shared_cache
from deepphase.apps.dashboard.parts.steerables import (
    CONTROLLERS,
    MATCHERS,
    STEERABLE_KEY,
    OpenController,
    OpenMatching,
    steerables,
)
from deepphase.apps.dashboard.parts.steered_runs import (
    SteeredRun,
    SteeringRequest,
    steered_run,
    usual_request,
)
from deepphase.apps.dashboard.parts.steering_choice import choose_run
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    offer,
    offer_motion,
    offer_player,
    show_measures,
    show_player,
    state_units,
)
from deepphase.apps.runs.take import compared_take
from deepphase.errors import DeepPhaseError
from deepphase.motion.root_trajectory import RootMotion

Opened = OpenController | OpenMatching

_PLAYER_HEIGHT = 1040
# Runs in the cache that all sessions share.
_CACHED_RUNS = 8
# Measure -> its title above the table, and which values are better.
_HEADLINES = {
    "path_error": ("Off the path", "less"),
    "speed": ("Speed", "near that of the path"),
    "found_contact_speed": ("Feet slide", "less"),
    "contact_speed": ("Feet slide", "less"),
    "rotation_ratio": ("Joints turn", "near 1, the data's at these speeds"),
    "jerk_ratio": ("Jerk", "near 1, the data's at these speeds"),
    "jumps_per_s": ("Jumps", "less"),
    "frozen": ("Frozen", "less"),
}
# Values of the data at all speeds, which do not compare with a run at one of them.
_OF_ALL_SPEEDS = ("speed", "found_contact_speed", "contact_speed", "rotation_ratio", "jerk_ratio")
_ROOT_MOTION: dict[RootMotion, str] = {
    "auto": "on the topmost joint",
    "root": "on a root joint",
    "hips": "on the hips",
    "in_place": "none, in place",
}


def page() -> None:
    """Draw the page."""
    heading(
        "Control",
        "Choose a path, and a character follows it: a controller generates the motion frame by "
        "frame, or motion matching plays captured motion. Every change starts a new run. "
        "Each can be steered by hand, too.",
    )
    left, right = wide_columns("control", [3, 7])
    with left:
        source = chooser("Controller or motion", STEERABLE_KEY, steerables())
        request = opened = None
        others: dict[str, Opened] = {}
        by_hand = False
        try:
            opened = source.open()
            by_hand = st.toggle(
                "Steer by hand", key="by hand",
                help="Keys, mouse, gamepad or touch in place of a path",
            )  # fmt: skip
            if not by_hand:
                request = choose_run(opened, source.id)
                others = _choose_others(source)
        except DeepPhaseError as error:
            show_error(error)
        with st.expander("Open a controller or a matcher", icon=":material/upload_file:"):
            CONTROLLERS.offer_upload(
                "A file that `deepphase train controller` wrote",
                "Other users cannot see it.",
                STEERABLE_KEY,
                "above",
            )
            MATCHERS.offer_upload(
                "A file that `deepphase train matching` wrote",
                "Other users cannot see it.",
                STEERABLE_KEY,
                "above",
            )
    with right:
        if by_hand and opened is not None:
            try:
                kept = steer_by_hand(opened)
                if kept is not None:
                    show_measures(
                        {"this run": kept.measures}, _HEADLINES, "measures csv", _OF_ALL_SPEEDS
                    )
            except DeepPhaseError as error:
                show_error(error)
        elif opened is not None and request is not None:
            run = _run(opened, request)
            if run is not None and others:
                _show_beside({source.name: run}, others, request)
            elif run is not None:
                _show(run, request)


def _choose_others(source: ListedSource[Opened]) -> dict[str, Opened]:
    """What else moves a character along the same path, beside the first: name -> what is open."""
    offered = {each.name: each for each in steerables() if each.id != source.id}
    key = f"beside {source.id}"
    chosen = st.multiselect(
        "Beside it", list(offered), placeholder="nothing", key=key,
        help="Others follow the same path side by side, with their usual settings",
    )  # fmt: skip
    # The first of each other kind: controllers, motion matching, learned matching.
    ways = {_kind(name): name for name in reversed(offered) if _kind(name) != _kind(source.name)}
    if ways and not chosen:
        st.button(
            "Every way beside it", icon=":material/compare:",
            on_click=lambda: st.session_state.update({key: sorted(ways.values())}),
        )  # fmt: skip
    opened: dict[str, Opened] = {}
    for name in chosen:
        try:
            opened[name] = offered[name].open()
        except DeepPhaseError as error:
            show_error(error)
    return opened


def _kind(name: str) -> str:
    return name.partition(": ")[0]


def _run(opened: Opened, request: SteeringRequest) -> SteeredRun | None:
    return cancellable_result(
        shared_cache("runs", _CACHED_RUNS),
        (type(opened).__name__, opened.key, request.key),
        lambda progress: steered_run(opened, request, progress),
        f"{request.seconds:.0f} s of motion",
    )


def _show_beside(
    runs: dict[str, SteeredRun], others: dict[str, Opened], request: SteeringRequest
) -> None:
    """Show the runs of others along the path of a request beside the first."""
    for name, opened in others.items():
        run = _run(opened, usual_request(opened, request))
        if run is None:
            return
        runs[name] = run
    take = compared_take({title: run.take for title, run in runs.items()}, request.path.name)
    measures = {title: run.measures for title, run in runs.items()}
    show_player(take, height=_PLAYER_HEIGHT, title="Control")
    offer_player(take, request.path.name, "run player")
    show_measures(measures, _HEADLINES, "measures csv", _OF_ALL_SPEEDS)


def _show(run: SteeredRun, request: SteeringRequest) -> None:
    show_player(run.take, height=_PLAYER_HEIGHT, title="Control")
    if run.note:
        st.warning(run.note, icon=":material/info:")
    _downloads(run, request)
    show_measures({"this run": run.measures}, _HEADLINES, "measures csv", _OF_ALL_SPEEDS)


def _downloads(run: SteeredRun, request: SteeringRequest) -> None:
    character = 0
    name = request.path.name
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if request.characters > 1:
            character = st.selectbox(
                "Character", range(request.characters), format_func=lambda at: f"{at + 1}",
                key="character", width=110,
            )  # fmt: skip
            name = f"{name}-{character + 1:02d}"
        root_motion: RootMotion = st.selectbox(
            "Root motion", list(_ROOT_MOTION), format_func=_ROOT_MOTION.__getitem__,
            key="root motion", width=190,
            help="The joint of the files that carries the travel",
        )  # fmt: skip
        offer_motion(lambda: run.clip(character, root_motion), name, "run")
        offer("Frames (CSV)", lambda: run.frames(character), f"{name}.csv", "text/csv", "run csv")
        if request.characters > 1:
            offer(
                "All (ZIP)",
                lambda: run.archive(root_motion),
                f"{request.path.name}.zip",
                "application/zip",
                "run zip",
            )
        offer_player(run.take, request.path.name, "run player")
    state_units(run.run.spec.conventions.unit_m)
    st.caption("Tables of frames have seconds, metres, radians, cycles and hertz.")
