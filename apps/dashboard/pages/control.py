"""Page Control: characters that a controller or motion matching drives along a path."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from deepphase.apps.dashboard.parts import collection, messages, steerables, widgets
from deepphase.apps.dashboard.parts.choosers import ListedSource, chooser
from deepphase.apps.dashboard.parts.drawing import choose_path
from deepphase.apps.dashboard.parts.steerables import RunRequest, ShownRun, Steerable
from deepphase.apps.reports.page import frame_columns
from deepphase.apps.reports.player import in_words
from deepphase.apps.runs import compared_take, write_motions
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.files import temporary_folder
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.motion.root_trajectory import RootMotion

_PLAYER_HEIGHT = 1040
# Runs in the cache that all sessions share.
_CACHED_RUNS = 8
# Limits of one run: characters, characters times seconds, and the seed.
_MAX_CHARACTERS, MAX_CHARACTER_S, _MAX_SEED = 12, 240.0, 2**31 - 1
# Up to this many values of a label are buttons; more are a list.
_MAX_BUTTONS = 6
# Labels of clips that are offered as filters.
_MAX_LABELS = 2
# Session state: whether there was a run, and a character is steered.
_SHOWN, _BY_HAND = "run shown", "by hand"
_ROOT_MOTION: dict[RootMotion, str] = {
    "auto": "on the topmost joint",
    "root": "on a root joint",
    "hips": "on the hips",
    "in_place": "none, in place",
}


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Control",
        "A character follows a path, by a controller or by motion matching; or steer it by hand.",
    )
    left, right = widgets.wide_columns("control", [3, 7])
    result, place = right.container(key="waits"), widgets.PlayerPlace(right)
    if not st.session_state.get(_BY_HAND):
        collection.play_open_clip(place, _PLAYER_HEIGHT, _SHOWN)
    with left:
        source = chooser("Controller or motion", steerables.STEERABLE_KEY, steerables.steerables())
        request = opened = None
        others: dict[str, Steerable] = {}
        by_hand = False
        with messages.shown_errors():
            opened = source.open()
            by_hand = st.toggle(
                "Steer by hand", key=_BY_HAND,
                help="Keys, mouse, gamepad or touch in place of a path",
            )  # fmt: skip
            if not by_hand:
                request = _choose_run(opened, source.id)
                others = _choose_others(source)
        with st.expander("Open a controller or a matcher", icon=":material/upload_file:"):
            kinds = {"controller": steerables.CONTROLLERS, "matching": steerables.MATCHERS}
            for command, kind in kinds.items():
                words = f"A file that `deepphase train {command}` wrote"
                private = "Other users cannot see it."
                kind.offer_upload(words, private, steerables.STEERABLE_KEY, "above")
    if by_hand and opened is not None:
        with result, messages.shown_errors():
            kept = steerables.steer_by_hand(opened)
            if kept is not None:
                widgets.show_measures({"this run": kept.measures})
    elif opened is not None and request is not None:
        with right:
            _show_runs({source.name: opened} | others, request, result, place)


def _choose_run(opened: Steerable, id: str) -> RunRequest | None:
    """Draw the choosers of label, path and settings; None while there is no path."""
    is_controller = opened.controller is not None
    labels = _choose_labels(opened, id)
    desired = choose_path(opened.speed(labels), f"{id} {labels}")
    if is_controller:
        blend = widgets.choose_one(
            "Blending", list(BLENDS), default="balanced", format_func=str.capitalize,
            help="Weight of the desired trajectory against the one that the network predicts: "
            "natural motion, or exact path following", key="blending",
        )  # fmt: skip
    with st.expander("More", icon=":material/tune:"):
        limit = _MAX_CHARACTERS
        if desired is not None:
            limit = max(1, min(limit, int(MAX_CHARACTER_S // desired[1])))
        characters = 1
        if limit > 1:
            characters = st.slider(
                "Characters", 1, limit, 1, key=f"characters {limit}",
                help="They move side by side, each on its own copy of the path. The product of "
                f"seconds and characters is limited to {MAX_CHARACTER_S:g}.",
            )  # fmt: skip
        seed = st.number_input(
            "Seed", 0, _MAX_SEED, 0, key="run seed",
            help="Random seed for the start poses of characters 2 to N and for stochastic networks",
        )  # fmt: skip
        lock = st.toggle("Lock feet on the ground", True, key="hold feet")
        settings: CharacterSettings | PlayerSettings
        if is_controller:
            settings = CharacterSettings(*BLENDS[blend], foot_ik=lock)
        else:
            actions = st.toggle(
                "Actions", key="actions",
                help="Play gestures and other actions, too, not only idle and locomotion",
            )  # fmt: skip
            moments = None if actions else MomentFilter()
            settings = PlayerSettings(foot_lock=lock, moments=moments)
    if desired is None:
        return None
    path, seconds = desired
    return RunRequest(path, seconds, characters, int(seed), labels, settings)


def _choose_labels(opened: Steerable, id: str) -> dict[str, Any]:
    """The value of a controller's label, or the labels of the clips that may be played."""
    chosen: dict[str, Any] = {}
    for name, values in list(opened.labels.items())[:_MAX_LABELS]:
        words, key = messages.plain(in_words(name)), f"label {id} {name}"
        usual = "walk" if "walk" in values else values[0]
        if opened.controller is None:
            some = st.multiselect(f"Only {words.lower()}", values, placeholder="any", key=key)
            chosen |= {name: tuple(some)} if some else {}
        elif len(values) <= _MAX_BUTTONS:
            chosen[name] = widgets.choose_one(words, values, default=usual, key=key)
        else:
            index = values.index(usual)
            chosen[name] = st.selectbox(words, values, index=index, key=key)
    return chosen


def _choose_others(source: ListedSource[Steerable]) -> dict[str, Steerable]:
    """What else moves a character along the same path, beside the first: name -> what is open."""
    offered = {other.name: other for other in steerables.steerables() if other.id != source.id}
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
    opened: dict[str, Steerable] = {}
    for name in chosen:
        with messages.shown_errors():
            opened[name] = offered[name].open()
    return opened


def _kind(name: str) -> str:
    return name.partition(": ")[0]


def _show_runs(
    opened: dict[str, Steerable],
    request: RunRequest,
    bar: DeltaGenerator,
    place: widgets.PlayerPlace,
) -> None:
    """Show a run along the path of a request, or several beside it with their usual settings."""
    runs: dict[str, ShownRun] = {}
    for name, steerable in opened.items():
        own = RunRequest(request.path, request.seconds, seed=request.seed) if runs else request
        with bar:
            run = messages.cancellable_result(
                messages.shared_cache("runs", _CACHED_RUNS),
                (steerable.key, steerable.controller is None, own.key),
                lambda progress, of=steerable, own=own: steerables.shown_run(of, own, progress),  # type: ignore[misc]
                f"{request.seconds:.0f} s of motion",
            )
        if run is None:
            return
        runs[name] = run
    st.session_state[_SHOWN] = True
    if len(runs) > 1:
        take = compared_take({name: run.take for name, run in runs.items()}, request.path.name)
        place.show(take, height=_PLAYER_HEIGHT, title="Control", playing=True)
        widgets.offer_player(take, request.path.name)
        widgets.show_measures({name: run.result.measures for name, run in runs.items()})
        return
    (run,) = runs.values()
    place.show(run.take, height=_PLAYER_HEIGHT, title="Control", playing=True)
    if run.note:
        st.warning(run.note, icon=":material/info:")
    _downloads(run)
    widgets.show_measures({"this run": run.result.measures})


def _downloads(shown: ShownRun) -> None:
    run, path = shown.result.run, shown.result.goal
    character, name = 0, path
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if run.characters > 1:
            character = st.selectbox(
                "Character", range(run.characters), format_func=lambda at: f"{at + 1}",
                key="character", width=110,
            )  # fmt: skip
            name = f"{path}-{character + 1:02d}"
        root_motion: RootMotion = st.selectbox(
            "Root motion", list(_ROOT_MOTION), format_func=_ROOT_MOTION.__getitem__,
            key="root motion", width=190,
            help="The joint of the files that carries the travel",
        )  # fmt: skip

        def archive() -> bytes:
            with temporary_folder() as folder:
                write_motions(run, folder, path, root_motion)
                return widgets.zip_of(folder)

        unit_m = run.spec.conventions.unit_m
        widgets.offer_motion(lambda: run.clip(character, path, root_motion), name, unit_m)
        widgets.offer_table(
            lambda: frame_columns(run, character), name, "Frames",
            help="In seconds, metres, radians, cycles and hertz",
        )  # fmt: skip
        if run.characters > 1:
            widgets.offer("All (ZIP)", archive, f"{path}.zip")
        widgets.offer_player(shown.take, path)
