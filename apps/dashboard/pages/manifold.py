"""Page Manifold: the frames of all clips as points of the phase manifold and of other spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.address import (
    choose_clip,
    choose_span,
    clip_chooser,
    moment_of,
    put_moment,
)
from deepphase.apps.dashboard.parts.channel_views import excerpt_take, signals
from deepphase.apps.dashboard.parts.cloud_view import CloudAnswer, PlayedPart, cloud_view
from deepphase.apps.dashboard.parts.clouds import (
    MAX_BESIDE,
    POINTS,
    OpenCloud,
    Passage,
    Places,
    Space,
    beside_take,
    manifold_view,
    open_cloud,
    passages_of,
    passages_take,
    passages_text,
    playable,
    read_passages,
)
from deepphase.apps.dashboard.parts.collection import OpenClips, OpenModel, open_clips, open_model
from deepphase.apps.dashboard.parts.encodings import all_phases, encodings
from deepphase.apps.dashboard.parts.live_view import steer_on_the_manifold
from deepphase.apps.dashboard.parts.messages import plain
from deepphase.apps.dashboard.parts.model_comparison import embedding_for
from deepphase.apps.dashboard.parts.theme import heading, wide_columns
from deepphase.apps.dashboard.parts.widgets import (
    offer_figure,
    offer_player,
    offer_table,
    show_player,
)
from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring

_PLANE, _SPACE = "Plane", "Space"
_PCA, _UMAP = "PCA", "UMAP"
_IN_SEQUENCE, _SIDE_BY_SIDE = "In sequence", "Side by side"
_FIGURE_HEIGHT, _SMALL_HEIGHT, _PLAYER_HEIGHT = 600, 330, 760
# Part of the address with the selected passages.
_PASSAGES = "passages"


def page() -> None:
    """Draw the page."""
    heading(
        "Manifold",
        "Each point is a frame: the phases and amplitudes of all channels, projected to the "
        "directions of largest variance. Periodic motion forms rings, whose angle is the timing "
        "and whose radius is the amplitude. Point at a frame to see its pose, click to play from "
        "there, and draw a lasso or a box to play the frames within.",
    )
    clips = open_clips()
    model = open_model(clips)
    left, right = wide_columns("manifold", [6, 5])
    with left:
        controls = st.columns([5, 4, 3, 4], vertical_alignment="bottom")
        view = controls[1].segmented_control(
            "View", [_PLANE, _SPACE], default=_PLANE, required=True, key="view", bind="query-params"
        )
        max_points = controls[2].selectbox(
            "Points", POINTS, format_func="{:,}".format, key="points", bind="query-params"
        )
        by_umap = controls[3].segmented_control(
            "Projection", [_PCA, _UMAP], default=_PCA, required=True, key="projection",
            bind="query-params",
            help="PCA shows the directions of largest variance. UMAP keeps similar frames "
            "together, in the plane or in space; its distances and directions have no scale.",
        ) == _UMAP  # fmt: skip
        cloud = open_cloud(clips, model, max_points)
        dimensions = (3 if view == _SPACE else 2) if by_umap else 0
        names = list(cloud.colourings)
        name = controls[0].selectbox("Colour", names, key="colour", bind="query-params")
        colouring = cloud.colourings[name]
    with right:
        if st.toggle(
            "Steer by hand", key="by hand on the manifold",
            help="A controller's character, and the point that its phases move to",
        ):  # fmt: skip
            steer_on_the_manifold()
        played = _player(clips, model, cloud, colouring)
    with left, st.container(key="stays"):
        _picture(clips, model, cloud, colouring, view == _SPACE, played, dimensions)
    _other_spaces(clips, model, cloud, colouring, max_points, played, min(dimensions, 2))


@dataclass(frozen=True, eq=False)
class _Played:
    """What the player shows: passages in sequence or at once, and whether they were selected."""

    passages: list[Passage]
    selected: bool
    at_once: bool = False

    def parts(self, path: Callable[[Passage], Array], fps: float) -> list[PlayedPart]:
        """The passages on the player's time axis with their paths in a cloud."""
        parts, start = [], 0
        for each in self.passages:
            parts.append(PlayedPart(each.clip, start / fps, each.start / fps, path(each), fps))
            start += 0 if self.at_once else each.stop - each.start
        return parts


def _picture(
    clips: OpenClips,
    model: OpenModel,
    cloud: OpenCloud,
    colouring: Colouring,
    space: bool,
    played: _Played,
    dimensions: int,
) -> None:
    """Draw the manifold and its downloads."""
    if cloud.cloud.padded:
        st.warning(
            "No clip is as long as a window: every frame has the sinusoids of its whole clip.",
            icon=":material/info:",
        )
    fps, lengths = model.extractor.fps, [len(each) for each in all_phases(clips, model)]

    def done(answer: CloudAnswer) -> None:
        if answer.clicked is not None:
            choose_clip(clips.store.names[int(cloud.clip[answer.clicked])])
            put_moment(float(cloud.cloud.time[answer.clicked]))
            st.query_params.pop(_PASSAGES, None)
        elif answer.selected is not None:
            chosen = playable(passages_of(cloud, answer.selected, fps, lengths), fps)
            st.query_params.pop(_PASSAGES, None)
            if chosen:
                st.query_params[_PASSAGES] = passages_text(chosen)

    places = _draw(
        clips,
        model,
        cloud,
        cloud.phases,
        colouring,
        played,
        dimensions,
        f"Phase manifold by {colouring.name}",
        space=space,
        selected=cloud.points_in(played.passages) if played.selected else None,
        on_answer=done,
    )
    with st.container(horizontal=True):
        if not dimensions:
            offer_figure(
                lambda: cloud.cloud.figure(colouring, dimensions=3 if space else 2),
                "phase_manifold",
                "manifold html",
            )
        axes = (
            [f"umap{axis}" for axis in (1, 2, 3)]
            if dimensions
            else [f"pc{axis} (latent unit)" for axis in (1, 2, 3)]
        )
        offer_table(
            ["clip", "frame", "time_s", *axes, _plain_title(colouring)],
            lambda: _rows(cloud, colouring, places.points),
            "phase_manifold",
            "manifold csv",
        )


def _draw(
    clips: OpenClips,
    model: OpenModel,
    cloud: OpenCloud,
    space_: Space,
    colouring: Colouring,
    played: _Played,
    dimensions: int,
    title: str,
    **options: Any,
) -> Places:
    """Draw a cloud in one of its spaces with the path of what is played; `model` is the cloud's."""
    extractor = model.extractor

    def values(each: Passage) -> Array:
        if space_ is cloud.phases:
            read = encodings(clips, model).phases(each.clip)
            return read.parameters[each.start : each.stop].manifold()
        if space_ is cloud.postures:
            poses = extractor.signals.poses(clips.store.clip(each.clip))[each.start : each.stop]
            return poses.reshape(len(poses), -1)
        velocities = signals(clips, model, each.clip)
        return velocities[each.start : each.stop]

    places = space_.places((clips.key, model.key, len(cloud.clip)), dimensions)
    cloud_view(
        cloud,
        places,
        colouring,
        title,
        f"{space_.name} {clips.id} {model.id} {len(cloud.clip)}",
        played=played.parts(lambda each: places.of(values(each)), extractor.fps),
        **({"height": _FIGURE_HEIGHT} | options),
    )
    return places


def _plain_title(colouring: Colouring) -> str:
    return f"{colouring.name} ({colouring.unit})" if colouring.unit else colouring.name


def _rows(cloud: OpenCloud, colouring: Colouring, places: Array) -> list[tuple[object, ...]]:
    points = cloud.cloud
    return [
        (clip, int(frame), round(float(time), 4), *map(float, point), value)
        for clip, frame, time, point, value in zip(
            points.clips, cloud.frame, points.time, places, colouring.values, strict=True
        )
    ]


def _player(clips: OpenClips, model: OpenModel, cloud: OpenCloud, colouring: Colouring) -> _Played:
    """Play the selected frames, or a clip; the moment is drawn in every cloud."""
    store, phases = clips.store, all_phases(clips, model)
    fps, lengths = model.extractor.fps, [len(each) for each in phases]
    passages = read_passages(st.query_params.get(_PASSAGES, ""), lengths)
    if passages:
        seconds = sum(each.stop - each.start for each in passages) / fps
        st.markdown(
            f"**Selected frames** :gray[{len(passages):,} passages, {seconds:,.1f} s; short ones "
            "are padded to half a second. Double-click the figure to clear the selection.]"
        )
        at_once = len(passages) > 1 and st.segmented_control(
            "Passages play", [_IN_SEQUENCE, _SIDE_BY_SIDE], default=_IN_SEQUENCE, required=True,
            key="order", bind="query-params",
            help="Side by side, the first twelve start together and face one way.",
        ) == _SIDE_BY_SIDE  # fmt: skip
        if at_once:
            take = beside_take(passages, store, phases, model.extractor.signals.body)
        else:
            take = passages_take(passages, store, phases, cloud, colouring)
        show_player(
            replace(take, manifold=None), height=_PLAYER_HEIGHT, title=take.name, playing=True
        )
        if at_once:
            st.caption(
                " · ".join(
                    f"**{number}** {plain(store.names[each.clip])} {each.start / fps:.1f} s"
                    for number, each in enumerate(passages[:MAX_BESIDE], 1)
                )
            )
        offer_player(take, "selected_frames", "player html")
        return _Played(passages[:MAX_BESIDE] if at_once else passages, True, at_once)
    index = clip_chooser(store.names, label="Play a clip")
    at_s = moment_of(store.names[index])
    start_s, stop_s = choose_span(
        float(store.lengths[index]) / store.fps, at_s, f"{clips.id} {index}"
    )
    passage = Passage(index, round(start_s * fps), min(lengths[index], round(stop_s * fps)))
    frames = slice(passage.start, passage.stop)
    take = replace(
        excerpt_take(clips, model, index, start_s, stop_s),
        curves=(),
        manifold=manifold_view(cloud, phases[index], colouring, frames),
    )
    show_player(
        replace(take, manifold=None),
        height=_PLAYER_HEIGHT,
        title=take.name,
        playing=True,
        at_s=max(at_s - start_s, 0.0),
        clip_from_s=start_s,
    )
    offer_player(take, "clip", "player html")
    return _Played([passage], False)


def _other_spaces(
    clips: OpenClips,
    model: OpenModel,
    cloud: OpenCloud,
    colouring: Colouring,
    max_points: int,
    played: _Played,
    dimensions: int,
) -> None:
    """Draw the same frames as poses, joint velocities and an embedding without phase layers."""
    st.header("The same frames in other spaces", anchor=False)
    st.markdown(
        ":gray[Colours and the moving point mean the same as above. Left: poses. Middle: joint "
        "velocities, the input of the network. Right: the embedding of a convolutional autoencoder "
        "with fully connected layers in place of the phase layers. Compare in which of them timing "
        "(angle) and amplitude (radius) are visible.]"
    )
    columns = wide_columns("beside", 3)
    small = {"height": _SMALL_HEIGHT, "small": True}
    for column, each in zip(columns, (cloud.postures, cloud.velocities), strict=False):
        with column:
            _draw(clips, model, cloud, each, colouring, played, dimensions, each.name, **small)
            if not dimensions:
                _offer_space(cloud, each, colouring, each.name)
    with columns[2]:
        embedding = embedding_for(clips, model)
        if embedding is None:
            return
        other = open_cloud(clips, embedding, max_points)
        shown, title = colouring, "Autoencoder without phases"
        if len(other.clip) != len(cloud.clip):
            shown = other.cloud.by_clip()
        if embedding.extractor.fps != model.extractor.fps:
            played = _Played([], False)
        _draw(clips, embedding, other, other.phases, shown, played, dimensions, title, **small)
        if not dimensions:
            _offer_space(other, other.phases, shown, title)
        st.caption(f"Autoencoder without phases: {plain(embedding.name)}.")


def _offer_space(cloud: OpenCloud, space: Space, colouring: Colouring, title: str) -> None:
    places = (space.points, space.projection.explained)
    offer_figure(
        lambda: cloud.cloud.figure(colouring, places, title=title, unit=space.unit),
        title.lower().replace(" ", "_"),
        f"{title} html",
    )
