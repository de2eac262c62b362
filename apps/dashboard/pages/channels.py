"""Page Channels: the phase channels of one clip, over time and by part of the body."""

from __future__ import annotations

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.address import (
    SHOWN_S,
    choose_span,
    clip_chooser,
    moment_of,
    other_clip_chooser,
)
from deepphase.apps.dashboard.parts.channel_views import (
    clip_window,
    excerpt_take,
    followed,
    phases_file,
    phases_table,
    reconstructs,
    signals,
    with_joints,
)
from deepphase.apps.dashboard.parts.collection import (
    OpenClips,
    OpenModel,
    first_words,
    open_clips,
    open_model,
)
from deepphase.apps.dashboard.parts.encodings import encodings
from deepphase.apps.dashboard.parts.messages import show_error
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    offer,
    offer_player,
    offer_table,
    show_figure,
    show_player,
)
from deepphase.errors import DeepPhaseError
from deepphase.figures.channel_joints import channel_joints, followed_body, followed_parts_bars
from deepphase.figures.phase_parameters import parameters_over_time, phase_strips
from deepphase.figures.similarity import similarity_map
from deepphase.figures.theme import label
from deepphase.figures.window_fit import window_fit
from deepphase.phase.clip_phases import ClipPhases

_PLAYER_HEIGHT = 960
_STRIPS, _WINDOW, _JOINTS, _SIMILAR = (
    "Strips and parameters",
    "Reconstruction",
    "What each channel follows",
    "Similar frames",
)
_ALONE, _SILENT = "Predicted alone", "Lost without it"


def page() -> None:
    """Draw the page."""
    clips = open_clips()
    model = open_model(clips)
    heading(
        "Channels",
        "Each channel describes the movement around a frame by one sinusoid with a phase, a "
        f"frequency and an amplitude. {first_words(clips)}Click on a channel to hide it, with "
        "Shift to see it alone with the joints that it follows.",
    )
    store = clips.store
    choosers = wide_columns("clip", [3, 3, 4])
    index = clip_chooser(store.names, choosers[0])
    beside = other_clip_chooser(store.names, index, choosers[1])
    at_s = moment_of(store.names[index])
    start_s, stop_s = choose_span(
        float(store.lengths[index]) / store.fps, at_s, f"{clips.id} {index}", choosers[2]
    )
    phases = encodings(clips, model).phases(index)
    take = with_joints(excerpt_take(clips, model, index, start_s, stop_s), clips, model, index)
    columns = wide_columns("players", 1 if beside is None else 2)
    with columns[0]:
        show_player(
            take,
            height=_PLAYER_HEIGHT,
            title=take.name,
            playing=True,
            at_s=max(0.0, at_s - start_s),
            clip_from_s=start_s,
        )
    if beside is not None:
        seconds = min(SHOWN_S, float(store.lengths[beside]) / store.fps)
        second = excerpt_take(clips, model, beside, 0.0, seconds)
        with columns[1]:
            show_player(
                with_joints(second, clips, model, beside),
                height=_PLAYER_HEIGHT, title=store.names[beside], playing=True, key="beside",
            )  # fmt: skip
    with st.container(horizontal=True):
        offer_player(take, "channels", "player html")
        offer(
            "Phases (npz)",
            lambda: phases_file(phases, model),
            "clip.phases.npz",
            "application/octet-stream",
            "phases npz",
        )
        names, values = phases_table(phases)
        offer_table(names, values.tolist(), "phases", "phases csv")
    _sections(clips, model, index, phases, start_s, stop_s)


@st.fragment
def _sections(
    clips: OpenClips,
    model: OpenModel,
    index: int,
    phases: ClipPhases,
    start_s: float,
    stop_s: float,
) -> None:
    """Draw the section below the player; another choice does not reload the player."""
    chosen = st.segmented_control(
        "Section",
        [_STRIPS, _WINDOW, _JOINTS, _SIMILAR],
        default=_STRIPS,
        required=True,
        key="section",
        label_visibility="collapsed",
        bind="query-params",
    )
    try:
        if chosen == _WINDOW:
            _reconstruction(clips, model, index, phases)
        elif chosen == _JOINTS:
            _joints(clips, model, index, phases)
        elif chosen == _SIMILAR:
            _similar_frames(clips, model, index)
        else:
            _strips(phases, start_s, stop_s)
    except DeepPhaseError as error:
        show_error(error)


def _strips(phases: ClipPhases, start_s: float, stop_s: float) -> None:
    frames = slice(round(start_s * phases.fps), round(stop_s * phases.fps))
    part, inside = phases.parameters[frames], phases.interior[frames]
    st.markdown(
        ":gray[Each row is a channel: the height is its phase, which rises over each cycle, and "
        "the opacity its amplitude. In a steady movement phases rise in straight lines, and the "
        "slope is the frequency.]"
    )
    for draw, key in ((phase_strips, "strips"), (parameters_over_time, "parameters")):
        chart = draw(part, phases.fps, interior=inside, start=start_s)
        show_figure(chart, key, file=f"phase_{key}")


def _reconstruction(clips: OpenClips, model: OpenModel, index: int, phases: ClipPhases) -> None:
    if not reconstructs(model):
        st.info(
            f"{model.name} reconstructs no window, as it has no decoder of sinusoids. Choose a "
            "trained phase model on the left.",
            icon=":material/info:",
        )
        return
    st.markdown(
        ":gray[The encoder turns the joint velocities of a window into one latent curve per "
        "channel. Each curve is replaced by the sinusoid that fits it, and the decoder "
        "reconstructs the velocities from these sinusoids.]"
    )
    inside = np.flatnonzero(phases.interior)
    first, last = (int(inside[0]), int(inside[-1])) if inside.size else (0, len(phases) - 1)
    at_s = first / phases.fps
    if last > first:
        at_s = st.slider(
            "Middle of the window (s)",
            first / phases.fps,
            last / phases.fps,
            (first + last) / 2 / phases.fps,
            step=1.0 / phases.fps,
            format="%.2f",
            key=f"window {clips.id} {index}",
        )
    show_figure(window_fit(clip_window(clips, model, index, at_s)), "window", file="window")


def _joints(clips: OpenClips, model: OpenModel, index: int, phases: ClipPhases) -> None:
    measures = [_SILENT, _ALONE] if reconstructs(model) else [_ALONE]
    words = st.segmented_control(
        "Measure", measures, default=measures[0], required=True, key=f"measure {model.id}"
    )
    alone = words != _SILENT
    st.markdown(
        ":gray[Share of a joint's velocity that a linear regression predicts from the channel's "
        "phase and amplitude. Joints that move at the channel's frequency have high shares, "
        "whatever their phase lag.]"
        if alone
        else ":gray[Share of a joint's velocity that the reconstruction loses when the channel is "
        "set to zero before the decoder. It exceeds 100 % where the remaining channels mislead the "
        "decoder, and is 0 where the reconstruction improves.]"
    )
    result = followed(clips, model, index, "alone" if alone else "silent")
    inside = phases.interior if phases.interior.any() else np.ones(len(phases), bool)
    frequencies = np.median(phases.parameters.frequency[inside], axis=0)
    st.markdown("\n".join(f"- {sentence}" for sentence in result.sentences(frequencies)))
    left, right = st.columns(2, gap="medium")
    body = followed_body(result.shares, result.positions, result.links, result.joints)
    bars = followed_parts_bars(result.parts, result.energy)
    map_ = channel_joints(result.shares, result.joints)
    with left:
        show_figure(body, "followed body", file="body_by_channel")
        show_figure(bars, "followed parts", file="parts_by_channel")
    with right:
        show_figure(map_, "followed joints", file="joints_by_channel")
        offer_table(
            ["joint", *(f"channel_{channel}" for channel in range(len(result.shares)))],
            [
                (joint, *map(float, row))
                for joint, row in zip(result.joints, result.shares.T, strict=True)
            ],
            "joints_by_channel",
            "joints csv",
        )


def _similar_frames(clips: OpenClips, model: OpenModel, index: int) -> None:
    store = clips.store
    st.markdown(
        ":gray[Similarity of every frame of the clip above to every frame of another clip, or of "
        "itself; bright means similar. Lines along the diagonal are similar passages, one per "
        "cycle. Lines across it are poses that recur in reverse order: the phase manifold should "
        "have none.]"
    )
    other = st.selectbox(
        "Compared with",
        range(len(store)),
        index=index,
        format_func=store.names.__getitem__,
        key=f"other {clips.id} {index}",
    )
    manifolds, velocities = [], []
    for each in (index, other):
        phases = encodings(clips, model).phases(each)
        inside = phases.interior if phases.interior.any() else np.ones(len(phases), bool)
        manifolds.append(phases.parameters.manifold()[inside])
        velocities.append(signals(clips, model, each)[inside])
    names = (store.names[index], store.names[other])
    chart = similarity_map(
        {
            "phase manifold": (manifolds[0], manifolds[1]),
            "joint velocities": (velocities[0], velocities[1]),
        },
        model.extractor.fps,
        names=names,
        title=f"{label(names[0], 30)} with {label(names[1], 30) if index != other else 'itself'}",
    )
    show_figure(chart, "alike", file="frames_alike")
