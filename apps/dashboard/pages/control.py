"""Page Control: characters that a controller or motion matching drives along a path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from apps.dashboard.parts.files import chooser
from apps.dashboard.parts.live_view import steer_by_hand
from apps.dashboard.parts.messages import show_error
from apps.dashboard.parts.result_cache import cancellable_result
from apps.dashboard.parts.steerables import (
    CONTROLLERS,
    OpenController,
    OpenMatching,
    steerables,
)
from apps.dashboard.parts.steered_runs import (
    MeasureRow,
    SteeredRun,
    SteeringRequest,
    run_cache,
    steered_run,
)
from apps.dashboard.parts.steering_choice import choose_run
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.widgets import (
    offer,
    offer_player,
    offer_table,
    show_player,
    show_table,
    state_units,
)
from deepphase.errors import DeepPhaseError
from deepphase.motion.root_motion import RootMotion

_PLAYER_HEIGHT = 1040
_CHOSEN = "steerable"
# Measure -> its title above the table.
_HEADLINES = {
    "path_error": "Off the path",
    "speed": "Speed",
    "found_contact_speed": "Feet slide",
    "contact_speed": "Feet slide",
    "joint_rotation": "Joints turn",
    "jumps_per_s": "Jumps",
    "frozen": "Frozen",
}
_MAX_HEADLINES = 4
_ROOT_MOTION: dict[RootMotion, str] = {
    "auto": "on the topmost joint",
    "root": "on a root joint",
    "hips": "on the hips",
    "in_place": "none, in place",
}
# Below this length in metres, values are shown in centimetres.
_CENTIMETRES_BELOW = 0.1
_UNITS = {"m/s2": "m/s²", "m/s3": "m/s³", "deg/s": "°/s"}


def page() -> None:
    """Draw the page."""
    heading(
        "Control",
        "Choose a path, and a character follows it: a controller generates the motion frame by "
        "frame, or motion matching plays captured motion. Every change starts a new run. "
        "Controllers can be steered by hand, too.",
    )
    left, right = wide_columns("control", [3, 7])
    with left:
        source = chooser("Controller or motion", _CHOSEN, steerables())
        request = opened = None
        by_hand = False
        try:
            opened = source.open()
            by_hand = isinstance(opened, OpenController) and st.toggle(
                "Steer by hand", key="by hand",
                help="Keys, mouse, gamepad or touch in place of a path",
            )  # fmt: skip
            if not by_hand:
                request = choose_run(opened, source.id)
        except DeepPhaseError as error:
            show_error(error)
        with st.expander("Open a controller", icon=":material/upload_file:"):
            CONTROLLERS.offer_upload(
                "A file that `deepphase train controller` wrote",
                "Other users cannot see it.",
                _CHOSEN,
                "above",
            )
    with right:
        if by_hand and isinstance(opened, OpenController):
            try:
                kept = steer_by_hand(opened)
                if kept is not None:
                    _measures(kept.measures)
            except DeepPhaseError as error:
                show_error(error)
        elif opened is not None and request is not None:
            run = _run(opened, request)
            if run is not None:
                _show(run, request)


def _run(opened: OpenController | OpenMatching, request: SteeringRequest) -> SteeredRun | None:
    """The run, from the cache or made now; None if it was cancelled or failed."""
    return cancellable_result(
        run_cache(),
        (type(opened).__name__, opened.key, request.key),
        lambda progress: steered_run(opened, request, progress),
        f"{request.seconds:.0f} s of motion",
    )


def _show(run: SteeredRun, request: SteeringRequest) -> None:
    show_player([run.take], height=_PLAYER_HEIGHT, title="Control")
    if run.note:
        st.warning(run.note, icon=":material/info:")
    _downloads(run, request)
    _measures(run.measures)


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
        for words, suffix, mime in (
            ("BVH", "bvh", "text/plain"),
            ("GLB", "glb", "model/gltf-binary"),
        ):
            offer(
                words,
                lambda suffix=suffix: run.motion(character, suffix, root_motion),  # type: ignore[misc]
                f"{name}.{suffix}",
                mime,
                f"run {suffix}",
            )
        offer("Frames (CSV)", lambda: run.frames(character), f"{name}.csv", "text/csv", "run csv")
        if request.characters > 1:
            offer(
                "All (ZIP)",
                lambda: run.archive(root_motion),
                f"{request.path.name}.zip",
                "application/zip",
                "run zip",
            )
        offer_player(lambda: [run.take], f"{request.path.name}", "run player")
    state_units(run.unit_m)
    st.caption("Tables of frames have seconds, metres, radians, cycles and hertz.")


def _measures(measures: Mapping[str, MeasureRow]) -> None:
    """Measures of a run beside those of the training data or the database."""
    rows = [each for each in measures.values() if each.value is not None]
    if not rows:
        return
    headlines: dict[str, MeasureRow] = {}
    for name, words in _HEADLINES.items():
        measure = measures.get(name)
        if measure is not None and measure.value is not None:
            headlines.setdefault(words, measure)
    headlines = dict(list(headlines.items())[:_MAX_HEADLINES])
    columns = st.columns(len(headlines))
    for column, (words, each) in zip(columns, headlines.items(), strict=True):
        column.metric(
            words, _stated(each.value, each.unit, each.value),
            None if each.data is None else f"data: {_stated(each.data, each.unit, each.value)}",
            delta_color="off", delta_arrow="off", help=each.definition,
        )  # fmt: skip
    with st.expander("All measures, with those of the data", icon=":material/table_chart:"):
        show_table(
            "measures",
            {
                "Measure": [_title(each) for each in rows],
                "This run": [_number(each.value) for each in rows],
                "Data": [_number(each.data) for each in rows],
                "Unit": [_unit(each.unit) for each in rows],
                "Definition": [each.definition for each in rows],
            },
            height=36 * (len(rows) + 1),
        )
        offer_table(*_table(rows), "measures", "measures csv")


def _table(rows: Sequence[MeasureRow]) -> tuple[list[str], list[tuple[object, ...]]]:
    columns = ["measure", "this run", "data", "unit", "definition"]
    return columns, [
        (each.name, each.value, "" if each.data is None else each.data, each.unit, each.definition)
        for each in rows
    ]


def _title(each: MeasureRow) -> str:
    words = each.name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _unit(unit: str) -> str:
    return _UNITS.get(unit, unit)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _stated(value: float | None, unit: str, beside: float | None) -> str:
    """A value with its unit; small ones of `beside`, which it is compared with, are in cm."""
    small = beside is not None and abs(beside) < _CENTIMETRES_BELOW
    if value is not None and unit in ("m", "m/s") and small:
        value, unit = 100 * value, f"c{unit}"
    return f"{_number(value)} {_unit(unit)}".strip()
