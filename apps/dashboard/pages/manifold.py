"""Page Manifold: the frames of all clips as points of the phase manifold and of other spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from apps.dashboard.parts.address import choose_clip, clip_chooser, moment_of, put_moment
from apps.dashboard.parts.channel_views import signals
from apps.dashboard.parts.cloud_view import CloudAnswer, CloudPicture, PlayedPart, cloud_view
from apps.dashboard.parts.clouds import (
    MAX_BESIDE,
    POINTS,
    OpenCloud,
    Passage,
    beside_take,
    manifold_view,
    open_cloud,
    passages_of,
    passages_take,
    passages_text,
    playable,
    read_passages,
)
from apps.dashboard.parts.collection import OpenClips, OpenModel, open_clips, open_model
from apps.dashboard.parts.encodings import all_phases, encodings
from apps.dashboard.parts.live_view import steer_on_the_manifold
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.model_comparison import embedding_for
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.umap_maps import cached_map
from apps.dashboard.parts.widgets import offer_figure, offer_player, offer_table, show_player
from apps.reports.player_takes import takes_of_clips
from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring
from deepphase.figures.manifold import axis_title, manifold_2d, manifold_3d
from deepphase.phase.manifold import ManifoldProjection
from deepphase.viewer.take import Take

_PLANE, _SPACE = "Plane", "Space"
_PCA, _UMAP = "PCA", "UMAP"
_IN_SEQUENCE, _SIDE_BY_SIDE = "In sequence", "Side by side"
_FIGURE_HEIGHT, _SMALL_HEIGHT, _PLAYER_HEIGHT = 600, 330, 760
# Length of the part of a clip in the player, and how much of it comes before a chosen moment.
_PLAYED_S, _BEFORE_S = 60.0, 10.0
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
class _Places:
    """Places of the cloud's frames in one space, and the function that gives those of others."""

    points: Array
    axes: Sequence[str]
    of: Callable[[Array], Array]


def _places(
    key: tuple[object, ...],
    values: Array,
    points: Array,
    projection: ManifoldProjection,
    unit: str,
    dimensions: int,
) -> _Places:
    """The projection by PCA that is known, or a map by UMAP of the same values.

    Parameters
    ----------
    key
        Name of the values.
    dimensions
        Those of the map; 0 for PCA.
    """
    if dimensions:
        made = cached_map(key, dimensions, values)
        return _Places(made.points, [f"UMAP {axis + 1}" for axis in range(3)], made)
    axes = [axis_title(axis, projection.explained, unit) for axis in range(3)]
    return _Places(points, axes, projection)


def _phase_places(clips: OpenClips, model: OpenModel, cloud: OpenCloud, dimensions: int) -> _Places:
    """`_places` of a cloud in the latent space of its model."""
    return _places(
        (clips.key, model.key, len(cloud.clip), "phases"),
        cloud.cloud.parameters.manifold(),
        cloud.cloud.points,
        cloud.projection,
        "latent unit",
        dimensions,
    )


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

    phases = all_phases(clips, model)
    places = _phase_places(clips, model, cloud, dimensions)
    cloud_view(
        _pictured(
            clips,
            cloud,
            f"Phase manifold by {colouring.name}",
            places,
            note=cloud.cloud.note,
        ),
        colouring,
        f"cloud {clips.id} {model.id} {len(cloud.clip)}",
        space=space,
        played=played.parts(
            lambda each: places.of(phases[each.clip].parameters[each.start : each.stop].manifold()),
            fps,
        ),
        selected=cloud.points_in(played.passages) if played.selected else None,
        height=_FIGURE_HEIGHT,
        on_answer=done,
    )
    with st.container(horizontal=True):
        draw = manifold_3d if space else manifold_2d
        if not dimensions:
            offer_figure(
                lambda: draw(colour=colouring, **cloud.cloud.figure_arguments),
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


def _pictured(
    clips: OpenClips,
    cloud: OpenCloud,
    title: str,
    places: _Places,
    *,
    note: str = "",
) -> CloudPicture:
    """Places of the cloud's frames in a space, with the clips and poses that belong to them."""
    store = clips.store
    names = [each for each in store.label_names if len({i.get(each) for i in store.labels}) > 1]
    groups = [labels.get(names[0], "") for labels in store.labels] if names else []
    return CloudPicture(
        title,
        places.points,
        places.axes,
        cloud.clip,
        cloud.cloud.time,
        store.names,
        groups,
        note,
        cloud.poses,
    )


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
            [replace(take, manifold=None)], height=_PLAYER_HEIGHT, title=take.name, playing=True
        )
        if at_once:
            st.caption(
                " · ".join(
                    f"**{number}** {plain(store.names[each.clip])} {each.start / fps:.1f} s"
                    for number, each in enumerate(passages[:MAX_BESIDE], 1)
                )
            )
        offer_player(lambda: [take], "selected_frames", "player html")
        return _Played(passages[:MAX_BESIDE] if at_once else passages, True, at_once)
    index = clip_chooser(store.names, label="Play a clip")
    at_s = moment_of(store.names[index])
    first_s = 0.0 if at_s < _PLAYED_S - _BEFORE_S else at_s - _BEFORE_S
    start = min(round(first_s * fps), lengths[index] - 1)
    passage = Passage(index, start, min(lengths[index], start + round(_PLAYED_S * fps)))
    take = _clip_take(clips, model, cloud, colouring, passage)
    show_player(
        [replace(take, manifold=None)],
        height=_PLAYER_HEIGHT,
        title=take.name,
        playing=True,
        at_s=at_s - start / fps,
        clip_from_s=start / fps,
    )
    offer_player(lambda: [take], "clip", "player html")
    return _Played([passage], False)


def _clip_take(
    clips: OpenClips, model: OpenModel, cloud: OpenCloud, colouring: Colouring, played: Passage
) -> Take:
    clip, phases = clips.store.clip(played.clip), all_phases(clips, model)[played.clip]
    start, stop = (round(at * clip.fps / phases.fps) for at in played[1:])
    frames = slice(played.start, played.stop)
    part = phases[frames]
    (take,) = takes_of_clips([clip.sliced(start, min(stop, len(clip)))], [part], model.extractor)
    return replace(take, curves=(), manifold=manifold_view(cloud, phases, colouring, frames))


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
    extractor, fps = model.extractor, model.extractor.fps

    def poses(each: Passage) -> Array:
        values = extractor.signals.poses(clips.store.clip(each.clip))[each.start : each.stop]
        return values.reshape(len(values), -1)

    def velocities(each: Passage) -> Array:
        read = signals(clips.key, model.key, each.clip, clips, model)
        return read[each.start : each.stop]

    spaces = [
        ("Poses", cloud.posture_values, cloud.postures, cloud.posture_view, "m", poses),
        (
            "Joint velocities", cloud.velocity_values, cloud.velocities, cloud.velocity_view,
            "m/s", velocities,
        ),
    ]  # fmt: skip
    for column, (title, values, points, view, unit, part) in zip(columns, spaces, strict=False):
        with column:
            key = (clips.key, model.key, len(cloud.clip), title)
            places = _places(key, values, points, view, unit, dimensions)
            cloud_view(
                _pictured(clips, cloud, title, places),
                colouring,
                f"{title} {clips.id} {model.id} {len(cloud.clip)}",
                # Both functions are called before the next space is drawn.
                played=played.parts(lambda each: places.of(part(each)), fps),  # noqa: B023
                height=_SMALL_HEIGHT,
                small=True,
            )
            if not dimensions:
                _offer_space(cloud, colouring, title, points, view.explained, unit)
    with columns[2]:
        embedding = embedding_for(clips, model)
        if embedding is None:
            return
        other = open_cloud(clips, embedding, max_points)
        same = len(other.cloud.points) == len(cloud.cloud.points)
        read = encodings(clips, embedding)
        title = "Autoencoder without phases"
        places = _phase_places(clips, embedding, other, dimensions)
        cloud_view(
            _pictured(clips, other, title, places),
            colouring if same else other.cloud.by_clip(),
            f"{title} {clips.id} {embedding.id} {len(other.clip)}",
            played=played.parts(
                lambda each: places.of(
                    read.phases(each.clip).parameters[each.start : each.stop].manifold()
                ),
                fps,
            )
            if embedding.extractor.fps == fps
            else (),
            height=_SMALL_HEIGHT,
            small=True,
        )
        shown = colouring if same else other.cloud.by_clip()
        if not dimensions:
            explained = other.cloud.explained
            _offer_space(other, shown, title, other.cloud.points, explained, "latent unit")
        st.caption(f"Autoencoder without phases: {plain(embedding.name)}.")


def _offer_space(
    cloud: OpenCloud,
    colouring: Colouring,
    title: str,
    points: Array,
    explained: Sequence[float] | Array,
    unit: str,
) -> None:
    arguments = cloud.cloud.figure_arguments | {"points": points, "explained": explained}
    offer_figure(
        lambda: manifold_2d(colour=colouring, title=title, unit=unit, **arguments),
        title.lower().replace(" ", "_"),
        f"{title} html",
    )
