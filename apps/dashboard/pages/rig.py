"""Page Rig: the controls of a rig that give the joints of a clip."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from deepphase.apps.dashboard.parts.address import shown_index
from deepphase.apps.dashboard.parts.collection import open_clips
from deepphase.apps.dashboard.parts.files import FileKind, ListedSource, chooser
from deepphase.apps.dashboard.parts.messages import show_error, working
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.trainings import offer_training
from deepphase.apps.dashboard.parts.widgets import (
    file_bytes,
    offer,
    offer_player,
    show_figure,
    show_player,
    show_table,
)
from deepphase.apps.reports.player_takes import takes_of_clips
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError
from deepphase.figures.theme import channel_colour
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.progress import Progress
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.character_rig import CharacterRig, part_residuals
from deepphase.rigs.examples import motion_on_rig
from deepphase.rigs.inverse import Method, RigInverse, RigSolution
from deepphase.rigs.keying import clip_of_controls, keyed
from deepphase.rigs.keys import RigKeys
from deepphase.viewer.take import Take

RIGS = FileKind("rig", lambda file: RigInverse.load(file.path))
_KEY = "solved rig"
# Longest part of a clip, seconds.
_SOLVED_S = 20.0
_PLAYER_HEIGHT, _CHART_HEIGHT = 620, 260
# Curves that are drawn at first, and at most.
_DRAWN, _MAX_DRAWN = 4, 12


@dataclass(frozen=True, eq=False)
class SolvedClip:
    """A clip with the controls of a rig.

    Parameters
    ----------
    given
        The clip.
    made
        What the controls give.
    rig
        The rig.
    solution
        See `RigSolution`.
    keys
        Curves of the controls.
    """

    given: Clip
    made: Clip
    rig: CharacterRig
    solution: RigSolution
    keys: RigKeys


def page() -> None:
    """Draw the page."""
    heading(
        "Rig",
        "A rig has controls that an animator sets. Find the controls that give the joints of a "
        "clip, look at how far the rig remains from it, and take the curves along.",
    )
    left, right = wide_columns("rig", [3, 7])
    try:
        with left:
            given, solved = _choices()
            with st.expander("Learn a rig", icon=":material/model_training:"):
                st.caption(
                    "Learned in two to three minutes from the poses of the open clips, a rig's "
                    "controls are found from joints alone. `deepphase train rig` does the same."
                )
                _offer_training()
        with right:
            if solved is not None:
                _result(solved)
            else:
                (take,) = takes_of_clips([given])
                title = f"{given.name}, without the rig"
                show_player(take, height=_PLAYER_HEIGHT, title=title, playing=True)
    except DeepPhaseError as error:
        show_error(error)


def _choices() -> tuple[Clip, SolvedClip | None]:
    """Draw the choices; return the clip, and its controls where they were found."""
    by_rule = ListedSource[RigInverse | None]("body", "Of this body, keyed by rule", lambda: None)
    source = chooser("Rig", RIGS.name, [*RIGS.sources(), by_rule])
    inverse = source.open()
    clips = open_clips()
    chosen = st.selectbox(
        "Clip", names := list(clips.store.names), index=shown_index(names), key="rigged clip"
    )
    whole = clips.store.clip(names.index(chosen))
    if inverse is None:
        given = whole.sliced(0, max(1, round(_SOLVED_S * whole.fps)))
        st.caption(
            "An example that needs no training: a rig with FK, IK and rolls for this body, whose "
            "controls a rule sets from the turns of its joints. A learned rig finds them from "
            "joints alone, as of points."
        )
        _state_part(given, whole)
        return given, _keyed(given)
    method = st.selectbox(
        "Method", inverse.methods, index=inverse.methods.index(inverse.best), key="rig method",
        help="What is learned, then what refines it: learned or computed derivatives of the rig.",
    )  # fmt: skip
    smoothing = st.slider(
        "Smoothing (s)", 0.0, 0.2, 0.03, 0.01, key="rig smoothing",
        help="Of the curves, before they are refined.",
    )  # fmt: skip
    given = whole.sliced(0, max(1, round(_SOLVED_S * whole.fps)))
    _state_part(given, whole)
    key = (source.stamp, clips.key, chosen, method, smoothing)
    if st.button("Find controls", type="primary"):
        with working("Finding the controls") as progress:
            progress("finding the controls", 0, 1, chosen)
            found = _solved(inverse, given, method, smoothing)
        st.session_state[_KEY] = (key, found)
    return given, _known(key)


def _state_part(given: Clip, whole: Clip) -> None:
    if len(given) < len(whole):
        st.caption(f"The first {given.duration:.0f} s of {whole.duration:,.0f} s are taken.")


def _known(key: Hashable) -> SolvedClip | None:
    """The session's solution; that of other choices is not shown."""
    known = st.session_state.get(_KEY)
    return cast(SolvedClip, known[1]) if known is not None and known[0] == key else None


def _offer_training() -> None:
    """Draw the training of a rig for the open clips; DeepPhaseError where they do not fit."""

    def train(store: ClipStore, folder: Path, progress: Progress) -> RigInverse | None:
        from deepphase.rigs.training import train_rig

        rig = BodyRig.of_clip(store.clip(0))
        return train_rig(store, rig, folder=folder, progress=progress, accelerator="cpu")

    offer_training(RIGS, train)


def _keyed(given: Clip) -> SolvedClip:
    """A clip with the controls that a rule sets."""
    rig = BodyRig.of_clip(given)
    motion = motion_on_rig(given, rig)
    values = np.clip(keyed(motion, rig), rig.lower, rig.upper)
    errors = np.linalg.norm(rig.evaluate(values) - motion.positions, axis=-1)
    solution = RigSolution(values, errors, np.ones(len(values), bool))
    return _solved_clip(given, rig, solution, motion.placement)


def _solved_clip(
    given: Clip, rig: CharacterRig, solution: RigSolution, placement: RootTrajectory
) -> SolvedClip:
    made = clip_of_controls(solution.values, rig, placement, given.fps)
    keys = RigKeys.of_rig(rig, solution.values, placement, given.fps)
    return SolvedClip(given, made, rig, solution, keys)


def _solved(inverse: RigInverse, given: Clip, method: Method, smoothing: float) -> SolvedClip:
    rig = inverse.rig
    assert isinstance(rig, CharacterRig)
    motion = motion_on_rig(given, rig)
    solution = inverse.solve(motion.positions, method, fps=given.fps, smoothing_s=smoothing)
    return _solved_clip(given, rig, solution, motion.placement)


def _result(solved: SolvedClip) -> None:
    """Draw the player with clip and rig, the curves, the distances, and the downloads."""
    rig = solved.rig
    take = Take.of({"clip": solved.given, "rig": solved.made}, solved.given.name, ghost=True)
    show_player(take, height=_PLAYER_HEIGHT, title=solved.given.name, playing=True)
    values = solved.solution.values
    missed = int((~solved.solution.reached).sum())
    if missed:
        st.warning(f"{missed} of {len(values)} poses are out of the rig's reach.")
    show_table(
        "distances by part of the body",
        [
            {
                "Part": each.part,
                "Mean (cm)": round(100.0 * each.mean, 2),
                "Largest (cm)": round(100.0 * each.largest, 2),
            }
            for each in part_residuals(rig, solved.solution.errors)
        ],
    )
    moving = np.argsort(-np.ptp(values, axis=0), kind="stable")
    moving = moving[np.ptp(values[:, moving], axis=0) > 1e-6]
    names = [rig.names[column] for column in moving]
    drawn = st.multiselect(
        "Curves", names, names[:_DRAWN], max_selections=_MAX_DRAWN, key="curves",
        help="Controls that move, those that move most first.",
    )  # fmt: skip
    show_figure(_curves(rig, solved, drawn), "rig curves", height=_CHART_HEIGHT, alt="Curves")
    with st.container(horizontal=True):
        keys = partial(file_bytes, solved.keys.save, "keys.json")
        offer("Keys (JSON)", keys, "keys.json", "application/json", "rig keys")
        offer_player(take, "rig", "rig html")


def _curves(rig: CharacterRig, solved: SolvedClip, names: list[str]) -> go.Figure:
    chart = go.Figure()
    times = np.arange(len(solved.given)) / solved.given.fps
    for number, name in enumerate(names):
        unit = rig.controls[rig.index(name)].unit
        words = name if unit == "1" else f"{name} ({unit})"
        values = solved.solution.values[:, rig.index(name)]
        chart.add_scatter(
            x=times, y=values, mode="lines", name=words, line={"color": channel_colour(number)}
        )
    chart.update_xaxes(title="Time (s)")
    chart.update_layout(margin={"t": 8, "b": 8, "l": 8, "r": 8}, showlegend=True)
    return chart
