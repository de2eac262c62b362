"""Page Control: a controller, or motion that is matched, goes the way that is wished."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from apps.dashboard.parts.messages import show_error
from apps.dashboard.parts.result_cache import cached_or_made
from apps.dashboard.parts.steerables import (
    OpenController,
    OpenMatching,
    Steerable,
    read_controller_upload,
    steerables,
)
from apps.dashboard.parts.steered_runs import Ask, RunMeasure, SteeredRun, run_cache, steered_run
from apps.dashboard.parts.steering_choice import choose_run
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.uploads import offer_upload
from apps.dashboard.parts.widgets import offer, offer_player, offer_table, show_player
from deepphase.errors import DeepPhaseError

_PLAYER_HEIGHT = 1040
_CHOSEN, _WANTED = "steerable", "steerable to choose"
# Those that stand above the table, and what they are called there.
_FIRST = {
    "path_error": "Off the path",
    "speed": "Speed",
    "found_contact_speed": "Feet slide",
    "contact_speed": "Feet slide",
    "joint_rotation": "Joints turn",
    "jumps_per_s": "Jumps",
    "frozen": "Frozen",
}
_MOST_FIRST = 4
# Below, metres are told in centimetres.
_SMALL = 0.1
_UNITS = {"m/s2": "m/s²", "m/s3": "m/s³", "deg/s": "°/s"}


def page() -> None:
    """Draw the page."""
    heading(
        "Control",
        "Say where to go, and a character goes there: made frame by frame by a controller, or "
        "played out of captured motion. Every change runs it anew.",
    )
    left, right = wide_columns("control", [3, 7])
    with left:
        source = _source()
        ask = opened = None
        try:
            opened = source.open()
            ask = choose_run(opened, source.id)
        except DeepPhaseError as error:
            show_error(error)
        _intake()
    with right:
        if opened is not None and ask is not None:
            run = _run(opened, ask)
            if run is not None:
                _show(run, ask)


def _source() -> Steerable:
    sources = {each.id: each for each in steerables()}
    wanted = st.session_state.pop(_WANTED, None)
    if wanted in sources:
        st.session_state[_CHOSEN] = wanted
    elif st.session_state.get(_CHOSEN) not in sources:
        st.session_state[_CHOSEN] = next(iter(sources))
    chosen = st.selectbox(
        "Who goes", list(sources), format_func=lambda id: sources[id].name, key=_CHOSEN
    )
    return sources[chosen]


def _intake() -> None:
    """A controller from the reader's own disk."""
    with st.expander("Open a controller", icon=":material/upload_file:"):
        offer_upload(
            "A file that `deepphase train controller` wrote",
            "controller",
            "Nobody else sees it.",
            read_controller_upload,
            _want,
            "above",
        )


def _want(name: str) -> None:
    st.session_state[_WANTED] = f"session:{name}"


def _run(opened: OpenController | OpenMatching, ask: Ask) -> SteeredRun | None:
    """The run, from what is kept or made now; None where it was cancelled or is impossible."""
    return cached_or_made(
        run_cache(),
        (type(opened).__name__, opened.key, ask.key),
        lambda progress: steered_run(opened, ask, progress),
        f"{ask.seconds:.0f} s of motion",
    )


def _show(run: SteeredRun, ask: Ask) -> None:
    show_player([run.take], height=_PLAYER_HEIGHT, title="Control")
    if run.note:
        st.warning(run.note, icon=":material/info:")
    _downloads(run, ask)
    _measures(run)


def _downloads(run: SteeredRun, ask: Ask) -> None:
    character = 0
    name = ask.path.name
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if ask.characters > 1:
            character = st.selectbox(
                "Character", range(ask.characters), format_func=lambda at: f"{at + 1}",
                key="character", width=110,
            )  # fmt: skip
            name = f"{name}-{character + 1:02d}"
        for words, suffix, mime in (
            ("BVH", "bvh", "text/plain"),
            ("GLB", "glb", "model/gltf-binary"),
        ):
            offer(
                words,
                lambda suffix=suffix: run.motion(character, suffix),  # type: ignore[misc]
                f"{name}.{suffix}",
                mime,
                f"run {suffix}",
            )
        offer("Frames (CSV)", lambda: run.frames(character), f"{name}.csv", "text/csv", "run csv")
        if ask.characters > 1:
            offer("All (ZIP)", run.archive, f"{ask.path.name}.zip", "application/zip", "run zip")
        offer_player(lambda: [run.take], f"{ask.path.name}", "run player")


def _measures(run: SteeredRun) -> None:
    """What the run is worth, beside the data that it was learnt or taken from."""
    known = [each for each in run.measures.values() if each.value is not None]
    if not known:
        return
    first: dict[str, RunMeasure] = {}
    for name, words in _FIRST.items():
        measure = run.measures.get(name)
        if measure is not None and measure.value is not None:
            first.setdefault(words, measure)
    first = dict(list(first.items())[:_MOST_FIRST])
    for column, (words, each) in zip(st.columns(len(first)), first.items(), strict=True):
        column.metric(
            words, _stated(each.value, each.unit),
            None if each.data is None else f"all data {_stated(each.data, each.unit)}",
            delta_color="off", delta_arrow="off", help=each.definition,
        )  # fmt: skip
    with st.expander("All measures, beside the data's", icon=":material/table_chart:"):
        st.dataframe(
            {
                "Measure": [_title(each) for each in known],
                "This run": [_number(each.value) for each in known],
                "Data": [_number(each.data) for each in known],
                "Unit": [_unit(each.unit) for each in known],
                "What it is": [each.definition for each in known],
            },
            hide_index=True,
            height=36 * (len(known) + 1),
        )
        offer_table(*_table(known), "measures", "measures csv")


def _table(known: Sequence[RunMeasure]) -> tuple[list[str], list[tuple[object, ...]]]:
    columns = ["measure", "this run", "data", "unit", "definition"]
    return columns, [
        (each.name, each.value, "" if each.data is None else each.data, each.unit, each.definition)
        for each in known
    ]


def _title(each: RunMeasure) -> str:
    words = each.name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _unit(unit: str) -> str:
    return _UNITS.get(unit, unit)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _stated(value: float | None, unit: str) -> str:
    if value is not None and unit in ("m", "m/s") and abs(value) < _SMALL:
        value, unit = 100 * value, f"c{unit}"
    return f"{_number(value)} {_unit(unit)}".strip()
