"""Page Channels: the phase channels of one clip, over time and by part of the body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.address import (
    SHOWN_S,
    Span,
    choose_span,
    clip_chooser,
    other_clip_chooser,
)
from deepphase.apps.dashboard.parts.channel_views import (
    clip_window,
    followed,
    phases_file,
    phases_table,
    reconstructing,
    take_with_joints,
)
from deepphase.apps.dashboard.parts.collection import first_words
from deepphase.apps.dashboard.parts.encodings import Encodings, open_encodings, signals
from deepphase.apps.dashboard.parts.messages import show_error
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    choose_one,
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

_PLAYER_HEIGHT = 960
# Measure of the joints that channels follow -> what it is.
_ALONE, _REMOVED = "Predicted alone", "Lost without it"
_MEASURES = {
    _REMOVED: "Share of a joint's velocity that the reconstruction loses when the channel is set "
    "to zero before the decoder. It exceeds 100 % where the remaining channels mislead the "
    "decoder, and is 0 where the reconstruction improves.",
    _ALONE: "Share of a joint's velocity that a linear regression predicts from the channel's "
    "phase and amplitude. Joints that move at the channel's frequency have high shares, whatever "
    "their phase lag.",
}


def page() -> None:
    """Draw the page."""
    read = open_encodings()
    store = read.store
    heading(
        "Channels",
        "Each channel describes the movement around a frame by one sinusoid with a phase, a "
        f"frequency and an amplitude. {first_words(read.clips)}Click on a channel to hide it, with "
        "Shift to see it alone with the joints that it follows.",
    )
    choosers = wide_columns("clip", [3, 3, 4])
    index = clip_chooser(store.names, choosers[0])
    beside = other_clip_chooser(store.names, index, choosers[1])
    span = choose_span(store, index, read.clips.id, choosers[2])
    take = take_with_joints(read, index, span)
    columns = wide_columns("players", 1 if beside is None else 2)
    with columns[0]:
        show_player(take, height=_PLAYER_HEIGHT, **span.player)
    if beside is not None:
        seconds = min(SHOWN_S, float(store.lengths[beside]) / store.fps)
        other = take_with_joints(read, beside, Span(0.0, seconds, 0.0))
        with columns[1]:
            show_player(other, height=_PLAYER_HEIGHT, playing=True, key="beside")
    phases = read.phases(index)
    with st.container(horizontal=True):
        offer_player(take, "channels")
        offer("Phases (npz)", lambda: phases_file(phases, read.extractor), "clip.phases.npz")
        names, values = phases_table(phases)
        offer_table(names, values.tolist(), "phases")
    _sections(read, index, span)


@st.fragment
def _sections(read: Encodings, index: int, span: Span) -> None:
    """Draw the section below the player; another choice does not reload the player."""
    chosen = choose_one(
        "Section", list(_SECTIONS), key="section", label_visibility="collapsed",
        bind="query-params",
    )  # fmt: skip
    try:
        _SECTIONS[chosen](read, index, span)
    except DeepPhaseError as error:
        show_error(error)


def _strips(read: Encodings, index: int, span: Span) -> None:
    phases = read.phases(index)
    frames = span.frames(phases.fps)
    st.markdown(
        ":gray[Each row is a channel: the height is its phase, which rises over each cycle, and "
        "the opacity its amplitude. In a steady movement phases rise in straight lines, and the "
        "slope is the frequency.]"
    )
    for draw, key in ((phase_strips, "strips"), (parameters_over_time, "parameters")):
        chart = draw(
            phases.parameters[frames], phases.fps,
            interior=phases.interior[frames], start=span.start_s,
        )  # fmt: skip
        show_figure(chart, key, file=f"phase_{key}")


def _reconstruction(read: Encodings, index: int, _: Span) -> None:
    network = reconstructing(read.extractor)
    if network is None:
        st.info(
            "This model reconstructs no window, as it has no decoder of sinusoids. Choose a "
            "trained phase model on the left.",
            icon=":material/info:",
        )
        return
    st.markdown(
        ":gray[The encoder turns the joint velocities of a window into one latent curve per "
        "channel. Each curve is replaced by the sinusoid that fits it, and the decoder "
        "reconstructs the velocities from these sinusoids.]"
    )
    inside = np.flatnonzero(read.inside(index)) / network.fps
    at_s = first = float(inside[0])
    last = float(inside[-1])
    if last > first:
        at_s = st.slider(
            "Middle of the window (s)", first, last, (first + last) / 2, step=1.0 / network.fps,
            format="%.2f", key=f"window {read.clips.id} {index}",
        )  # fmt: skip
    show_figure(window_fit(clip_window(read, network, index, at_s)), "window", file="window")


def _joints(read: Encodings, index: int, _: Span) -> None:
    measures = [_ALONE] if reconstructing(read.extractor) is None else list(_MEASURES)
    measure = choose_one("Measure", measures, key=f"measure {read.key}")
    st.markdown(f":gray[{_MEASURES[measure]}]")
    result = followed(read, index, removed=measure == _REMOVED)
    parameters = read.phases(index).parameters[read.inside(index)]
    sentences = result.sentences(np.median(parameters.frequency, axis=0))
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences))
    left, right = st.columns(2, gap="medium")
    body = followed_body(result.shares, result.positions, result.links, result.joints)
    with left:
        show_figure(body, "followed body", file="body_by_channel")
        bars = followed_parts_bars(result.parts, result.energy)
        show_figure(bars, "followed parts", file="parts_by_channel")
    with right:
        joints = channel_joints(result.shares, result.joints)
        show_figure(joints, "followed joints", file="joints_by_channel")
        names = ["joint", *(f"channel_{channel}" for channel in range(len(result.shares)))]
        rows = list(zip(result.joints, *result.shares.tolist(), strict=True))
        offer_table(names, rows, "joints_by_channel")


def _similar_frames(read: Encodings, index: int, _: Span) -> None:
    store = read.store
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
        key=f"other {read.clips.id} {index}",
    )
    pair = (index, other)
    manifolds = [read.phases(clip).parameters.manifold()[read.inside(clip)] for clip in pair]
    velocities = [signals(read, clip)[read.inside(clip)] for clip in pair]
    names = (store.names[index], store.names[other])
    chart = similarity_map(
        {
            "phase manifold": (manifolds[0], manifolds[1]),
            "joint velocities": (velocities[0], velocities[1]),
        },
        read.extractor.fps,
        names=names,
        title=f"{label(names[0], 30)} with {label(names[1], 30) if index != other else 'itself'}",
    )
    show_figure(chart, "alike", file="frames_alike")


_SECTIONS: dict[str, Callable[[Encodings, int, Span], None]] = {
    "Strips and parameters": _strips,
    "Reconstruction": _reconstruction,
    "What each channel follows": _joints,
    "Similar frames": _similar_frames,
}
