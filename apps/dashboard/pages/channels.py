"""Page Channels: the phase channels of one clip, over time and by part of the body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, collection, encodings, widgets
from deepphase.apps.dashboard.parts.choosers import Span
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.dashboard.parts.messages import ResultCache, shared_cache, shown_errors
from deepphase.apps.reports.phase_pages import example_window
from deepphase.apps.reports.player import takes_of_clips
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.phase_measures import (
    followed_parts,
    joint_energy,
    joints_followed,
    part_energy,
)
from deepphase.figures.explained import WindowExample, channel_joints, window_fit
from deepphase.figures.phase_parameters import parameters_over_time, phase_strips
from deepphase.figures.similarity import similarity_map
from deepphase.motion.roles import body_parts, find_roles
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.paper_autoencoder import EmbeddingAutoencoder
from deepphase.phase.parameters import ClipPhases, save_phases
from deepphase.viewer.take import Take

_PLAYER_HEIGHT = 960
# Clips whose shares are cached for all sessions.
_CACHED_CLIPS = 32
# Smaller shares of a part that moves most mean that no channel follows it.
_LITTLE = 0.2
# Parts with less of a clip's movement count as still: shares of them say nothing.
_STILL = 0.02
# Smaller shares are not named, nor more than so many parts.
_NAMED, _MAX_NAMED = 0.1, 3
_UNITS = {"phase": "cycles", "frequency": "Hz", "amplitude": "latent", "offset": "latent"}


@dataclass(frozen=True, eq=False)
class FollowedJoints:
    """Joints and body parts that the channels follow in one clip."""

    shares: Array  # (channels, joints) share of each joint's movement
    joints: tuple[str, ...]
    parts: dict[str, Array]  # part of the body -> (channels,) share of its movement
    energy: dict[str, float]  # part of the body -> share of the clip's movement that it has

    def sentences(self, frequencies: Array) -> list[str]:
        """Sentences on what moves, and on each channel: its frequency in Hz and its body parts."""
        ordered = sorted(self.energy, key=lambda part: -self.energy[part])
        shares = ", ".join(
            f"{100 * self.energy[part]:.0f} % is of the {part}" for part in ordered[:_MAX_NAMED]
        )
        sentences = [f"Of the movement, {shares}."]
        most = ordered[0]
        largest = float(self.parts[most].max()) if most in self.parts else 0.0
        if largest < _LITTLE:
            sentences.append(
                f"No channel follows the {most}, which moves most: by {100 * max(largest, 0.0):.0f}"
                " % at best. The model may not have learnt such movement."
            )
        moving = [part for part in self.parts if self.energy.get(part, 0.0) >= _STILL]
        for channel, frequency in enumerate(frequencies):
            own = {part: self.parts[part][channel] for part in moving}
            strong = [part for part in sorted(own, key=lambda p: -own[p]) if own[part] >= _NAMED]
            words = ", ".join(f"{part} ({100 * own[part]:.0f} %)" for part in strong[:_MAX_NAMED])
            words = words or "no part of the body by more than 10 %"
            sentences.append(f"Channel {channel}, {frequency:.2f} Hz: {words}")
        return sentences


def reconstructing(extractor: PhaseExtractor) -> PhaseModel | None:
    """The model if it reconstructs windows from sinusoids, unlike baselines and embeddings."""
    if not isinstance(extractor, PhaseModel) or isinstance(extractor.network, EmbeddingAutoencoder):
        return None
    return extractor


def take_with_joints(read: Encodings, index: int, span: Span) -> Take:
    """Some seconds of a clip with the joints that each channel follows in them."""
    velocities, phases = read.part(index, span)
    part = collection.shown_part(read.store, index, span)
    (take,) = takes_of_clips([part], [phases], read.extractor)
    if velocities is None:
        velocities = read.extractor.signals.read(read.store.clip(index))[span.frames(phases.fps)]
    inside = phases.interior if phases.interior.any() else np.ones(len(phases), bool)
    try:
        found = joints_followed(phases.parameters[inside], velocities[: len(inside)][inside])
    except ParameterError:
        return take
    names = take.actors[0].joint_names
    shares = np.zeros((len(found), len(names)), np.float32)
    for joint, share in zip(read.extractor.signals.joints, found.T, strict=True):
        if joint in names:
            shares[:, names.index(joint)] = share
    assert take.channels is not None, "an excerpt has phases"
    return replace(take, channels=replace(take.channels, joint_shares=shares))


def clip_window(read: Encodings, network: PhaseModel, index: int, at_s: float) -> WindowExample:
    """The window around a time with its latent and reconstruction."""
    values = encodings.signals(read, index)
    frame = min(max(round(at_s * network.fps), 0), len(values) - 1)
    return example_window(network, values, frame, clip=read.store.names[index])


def followed(read: Encodings, index: int) -> FollowedJoints:
    """Joints that each channel follows in a clip: the variance that it predicts by itself."""
    extractor, clip = read.extractor, read.store.clip(index)
    values, inside = encodings.signals(read, index), read.inside(index)
    shares = joints_followed(read.phases(index).parameters[inside], values[inside])
    joints = extractor.signals.joints
    roles = find_roles(clip.skeleton, description=dict(extractor.signals.body), clip=clip)
    parts = dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))
    part_of = [parts[joint] for joint in joints]
    energy = joint_energy(values[inside])
    return FollowedJoints(
        shares, joints, followed_parts(shares, energy, part_of), part_energy(energy, part_of)
    )


def phases_table(phases: ClipPhases) -> dict[str, list[float]]:
    """Column -> value of each frame: time and the parameters of all channels."""
    columns = {"time_s": phases.time.tolist()}
    for name, unit in _UNITS.items():
        for channel, values in enumerate(getattr(phases.parameters, name).T):
            columns[f"{name}_{channel} ({unit})"] = values.tolist()
    return columns


def phases_file(phases: ClipPhases, extractor: PhaseExtractor) -> bytes:
    """Content of a phases file, as `deepphase encode` writes it."""
    window_s = extractor.window / extractor.fps
    return widgets.file_bytes(
        lambda path: save_phases(phases, path, window_s=window_s, model_sha256=extractor.sha256),
        "clip.phases.npz",
    )


def page() -> None:
    """Draw the page."""
    read = encodings.open_encodings()
    store = read.store
    widgets.heading(
        "Channels",
        "Each channel is a sinusoid that describes the movement around a frame. Click on one to "
        "hide it, with Shift for its joints.",
    )
    columns = st.columns([3, 3, 4])
    index = choosers.clip_chooser(store.names, columns[0])
    beside = choosers.other_clip_chooser(store.names, index, columns[1])
    span = choosers.choose_span(store, index, read.clips.id, columns[2])
    with st.spinner("Reading the phases of the clip", show_time=True):
        take = take_with_joints(read, index, span)
    columns = widgets.wide_columns("players", 1 if beside is None else 2)
    with columns[0]:
        widgets.show_player(take, height=_PLAYER_HEIGHT, **span.player)
    if beside is not None:
        seconds = min(choosers.SHOWN_S, float(store.lengths[beside]) / store.fps)
        with columns[1], st.spinner("Reading the phases of the clip", show_time=True):
            other = take_with_joints(read, beside, Span(0.0, seconds, 0.0))
            widgets.show_player(other, height=_PLAYER_HEIGHT, playing=True, key="beside")
    phases = read.phases(index)
    with st.container(horizontal=True):
        widgets.offer_player(take, "channels")
        widgets.offer(
            "Phases (npz)", lambda: phases_file(phases, read.extractor), "clip.phases.npz"
        )
        widgets.offer_table(phases_table(phases), "phases")
    _sections(read, index, span)


@st.fragment
def _sections(read: Encodings, index: int, span: Span) -> None:
    """Draw the section below the player; another choice does not reload the player."""
    chosen = widgets.choose_one(
        "Section", list(_SECTIONS), key="section", label_visibility="collapsed",
        bind="query-params",
    )  # fmt: skip
    with shown_errors():
        _SECTIONS[chosen](read, index, span)


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
        widgets.show_figure(chart, key, file=f"phase_{key}")


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
    widgets.show_figure(
        window_fit(clip_window(read, network, index, at_s)), "window", file="window"
    )


def _joints(read: Encodings, index: int, _: Span) -> None:
    st.markdown(
        ":gray[Share of a joint's velocity that a linear regression predicts from the channel's "
        "phase and amplitude. Joints that move at the channel's frequency have high shares, "
        "whatever their phase lag.]"
    )
    cache: ResultCache[FollowedJoints] = shared_cache("followed joints", _CACHED_CLIPS)
    what = "Measuring the joints of each channel"
    result = cache.find_or_make((read.key, index), lambda _: followed(read, index), what)
    parameters = read.phases(index).parameters[read.inside(index)]
    sentences = result.sentences(np.median(parameters.frequency, axis=0))
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences))
    joints = channel_joints(result.shares, result.joints)
    columns = {f"channel_{channel}": own.tolist() for channel, own in enumerate(result.shares)}
    with widgets.show_figure(joints, "followed joints", file="joints_by_channel"):
        widgets.offer_table({"joint": result.joints, **columns}, "joints_by_channel")


def _similar_frames(read: Encodings, index: int, _: Span) -> None:
    store = read.store
    st.markdown(
        ":gray[Similarity of every frame of the clip above to every frame of another clip, or of "
        "itself; bright means similar. Lines along the diagonal are similar passages, one per "
        "cycle. Lines across it are poses that recur in reverse order: the phase manifold should "
        "have none.]"
    )
    other = st.selectbox(
        "Compared with", range(len(store)), index=index, format_func=store.names.__getitem__,
        key=f"other {read.clips.id} {index}",
    )  # fmt: skip

    def of_both(values: Callable[[int], Array]) -> tuple[Array, Array]:
        """The interior frames of both clips."""
        return values(index)[read.inside(index)], values(other)[read.inside(other)]

    spaces = {
        "phase manifold": of_both(lambda clip: read.phases(clip).parameters.manifold()),
        "joint velocities": of_both(lambda clip: encodings.signals(read, clip)),
    }
    names = (store.names[index], store.names[other])
    chart = similarity_map(spaces, read.extractor.fps, names=names)
    widgets.show_figure(chart, "alike", file="frames_alike")


_SECTIONS: dict[str, Callable[[Encodings, int, Span], None]] = {
    "Strips and parameters": _strips,
    "Reconstruction": _reconstruction,
    "What each channel follows": _joints,
    "Similar frames": _similar_frames,
}
