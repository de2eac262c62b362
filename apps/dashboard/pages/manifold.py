"""Page Manifold: the frames of all clips as points of the phase manifold and of other spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, cloud_view, clouds, encodings, widgets
from deepphase.apps.dashboard.parts.cloud_view import CloudAnswer, Passage, playable
from deepphase.apps.dashboard.parts.clouds import OpenCloud, Places, open_cloud
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.dashboard.parts.messages import plain
from deepphase.apps.dashboard.parts.steerables import steer_on_the_manifold
from deepphase.arrays import Array
from deepphase.phase.parameters import ManifoldProjection, PhaseParameters
from deepphase.phase.rings import Ring
from deepphase.viewer.take import ManifoldCloud, Take, point_colours

# Names of axes: those of the steadiest cycle that plays, of all frames, and principal components.
_OWN_RING, _RINGS, _PCA = "Ring of what plays", "Rings of all frames", "PCA"
_IN_SEQUENCE, _SIDE_BY_SIDE = "In sequence", "Side by side"
_PLAYER_HEIGHT = 760
# Part of the address with the selected passages.
_PASSAGES = "passages"
# Seconds between two pictures while clips are read.
_OFTEN_S = 1.0
# Key of the number of points, and part of the address.
_POINTS = "points"
# Session state: whether the cloud was clicked.
_ANSWERED = "cloud answered"


@dataclass(frozen=True, eq=False)
class _Played:
    """What a player shows: passages in sequence or at once, and whether they were selected."""

    player: str
    passages: list[Passage]
    selected: bool
    at_once: bool = False

    def parts(
        self, read: Encodings, paths: Mapping[str, Callable[[Passage], Array]], *, phases: bool
    ) -> list[dict[str, Any]]:
        """The passages on the player's time axis with their paths in a cloud."""
        parts, start, fps = [], 0, read.extractor.fps
        for passage in self.passages:
            clip, first, stop = passage
            own = {name: path(passage) for name, path in paths.items()}
            parameters = _parameters(read, passage) if phases else None
            when = (start / fps, first / fps, fps)
            parts.append(cloud_view.played_part(self.player, clip, *when, own, parameters))
            start += 0 if self.at_once else stop - first
        return parts

    def ring(self, read: Encodings) -> Ring | None:
        """The steadiest cycle of what plays."""
        parts = [read.phases(clip)[start:stop] for clip, start, stop in self.passages]
        return encodings.steadiest_of(parts)


def page() -> None:
    """Draw the page."""
    read = encodings.open_encodings()
    widgets.heading(
        "Manifold",
        "Each point is a frame; a steady cycle is a ring. Point at a frame for its pose, click "
        "to play it, draw a lasso.",
    )
    left, right = widgets.wide_columns("manifold", [6, 5])
    # The number that the chooser below the player shows, or the address names.
    asked = str(st.session_state.get(_POINTS) or st.query_params.get(_POINTS))
    max_points = next((count for count in clouds.POINTS if str(count) == asked), clouds.POINTS[0])
    with right:
        played = _player(read, max_points)
    read.read_on(played.passages[0].clip)
    with left, st.container(key="stays"):
        every = _OFTEN_S if read.reading and not read.cancelled else None
        # Before the picture: what is beside it draws the frames that the picture sends.
        whole, ring = read.is_whole, played.ring(read)
        st.fragment(_picture, run_every=every)(read, max_points, played, ring, every)
        if whole:
            _other_spaces(read, max_points, played, ring)


def _parameters(read: Encodings, passage: Passage) -> PhaseParameters:
    return read.phases(passage.clip).parameters[passage.start : passage.stop]


def _manifold_of(read: Encodings, passage: Passage) -> Array:
    return _parameters(read, passage).manifold()


def _placed(places: Places, values: Callable[[Passage], Array], passage: Passage) -> Array:
    return places.place(values(passage))


def _picture(
    read: Encodings, max_points: int, played: _Played, ring: Ring | None, every: float | None
) -> None:
    """Draw the manifold of the clips read so far; `every` so many seconds until all are read."""
    if st.session_state.pop(_ANSWERED, False) or (every and not read.reading):
        st.rerun()
    known = read.known
    whole = len(known) == len(read.store)
    with st.container(key="reading"):
        if not whole:
            encodings.show_reading(read)
    cloud = open_cloud(read, max_points) if whole else clouds.make_cloud(read, max_points, known)
    if cloud.cloud.padded:
        st.warning(
            "No clip is as long as a window: every frame has the sinusoids of its whole clip.",
            icon=":material/info:",
        )
    seen = {name: st.query_params[name] for name in cloud_view.SEEN if name in st.query_params}
    spaces = {_RINGS: cloud.ring_places, _PCA: cloud.places}
    note = "What plays is too short for its window: whether its cycle is steady cannot be told."
    if any(read.phases(clip).interior[start:stop].any() for clip, start, stop in played.passages):
        note = "No steady cycle in what plays: axes of the cycles of all frames."
    if ring is not None:
        spaces = {_OWN_RING: cloud.along(ring.projection), **spaces}
        note = f"The bold line, from light to dark in time, is {ring}."
    id = clouds.frames_id(read, cloud)
    cloud_view.keep_frames(cloud, id)
    paths = {
        name: lambda passage, space=space: space.place(_manifold_of(read, passage))
        for name, space in spaces.items()
    }
    cloud_view.cloud_view(
        cloud,
        id,
        spaces,
        "Phase manifold",
        "manifold",
        seen=seen,
        ring=ring,
        note=note,
        played=played.parts(read, paths, phases=True),
        selected=cloud_view.points_in(cloud, played.passages) if played.selected else None,
        on_answer=partial(_answered, read, cloud),
    )


def _answered(read: Encodings, cloud: OpenCloud, answer: CloudAnswer) -> None:
    """Keep what was done in the cloud in the address, before the page runs again."""
    st.session_state[_ANSWERED] = True
    if answer.clicked is not None:
        choosers.choose_clip(read.store.names[int(cloud.clip[answer.clicked])])
        choosers.put_moment(float(cloud.cloud.time[answer.clicked]))
        st.query_params.pop(_PASSAGES, None)
    elif answer.selected is not None:
        fps = read.extractor.fps
        chosen = playable(cloud_view.passages_of(cloud, answer.selected, fps, _lengths(read)), fps)
        st.query_params.pop(_PASSAGES, None)
        if chosen:
            st.query_params[_PASSAGES] = cloud_view.passages_text(chosen)


def _lengths(read: Encodings) -> list[int]:
    """Frames of each clip at the model's rate."""
    ratio = read.extractor.fps / read.store.fps
    return [max(1, int(length * ratio)) for length in read.store.lengths]


def _player(read: Encodings, max_points: int) -> _Played:
    """Play the selected frames, or a clip; the moment is drawn in every cloud."""
    passages = cloud_view.read_passages(st.query_params.get(_PASSAGES, ""), _lengths(read))
    take, played = _selected_take(read, passages) if passages else _clip_take(read)
    colour = st.query_params.get("colour", "")

    def whole() -> Take:
        """With the manifold, for pages that are kept."""
        if played.at_once or not read.is_whole:
            return take
        cloud = open_cloud(read, max_points)
        colouring = cloud.colourings.get(colour) or next(iter(cloud.colourings.values()))
        path = np.concatenate([_manifold_of(read, passage) for passage in played.passages])
        own, fps = cloud.cloud, read.extractor.fps
        colours, title = point_colours(colouring), colouring.title
        view = ManifoldCloud(own.points, own.projection(path), fps, own.explained, colours, title)
        return replace(take, manifold=view)

    with st.container(horizontal=True, vertical_alignment="center"):
        widgets.offer_player(whole, "clip")
        st.selectbox(
            "Points", clouds.POINTS, key=_POINTS, bind="query-params", width=130,
            label_visibility="collapsed", format_func=lambda count: f"{count:,} points",
        )  # fmt: skip
        steered = st.toggle(
            "Steer by hand", key="by hand on the manifold",
            help="A character, and the point that its phases move to",
        )  # fmt: skip
    if steered:
        steer_on_the_manifold()
    return played


def _selected_take(read: Encodings, passages: list[Passage]) -> tuple[Take, _Played]:
    """Play the selected passages."""
    fps = read.extractor.fps
    for passage in passages:
        # The picture shows the clips that have been read.
        read.phases(passage.clip)
    seconds = sum(passage.stop - passage.start for passage in passages) / fps
    st.markdown(
        f"**Selected frames** :gray[{len(passages):,} passages, {seconds:,.1f} s; short ones "
        "are padded to half a second. Double-click the figure to clear the selection.]"
    )
    at_once = len(passages) > 1 and widgets.choose_one(
        "Passages play", [_IN_SEQUENCE, _SIDE_BY_SIDE], key="order", bind="query-params",
        help="Side by side, the first twelve start together and face one way.",
    ) == _SIDE_BY_SIDE  # fmt: skip
    take = (cloud_view.beside_take if at_once else cloud_view.passages_take)(passages, read)
    player = widgets.show_player(take, height=_PLAYER_HEIGHT, playing=True)
    if at_once:
        passages = passages[: cloud_view.MAX_BESIDE]
        words = [
            f"**{number}** {plain(read.store.names[passage.clip])} {passage.start / fps:.1f} s"
            for number, passage in enumerate(passages, 1)
        ]
        st.caption(" · ".join(words))
    return take, _Played(player, passages, True, at_once)


def _clip_take(read: Encodings) -> tuple[Take, _Played]:
    """Play a clip, with another one beside it where one is chosen."""
    store, fps = read.store, read.extractor.fps
    columns = st.columns([3, 2])
    index = choosers.clip_chooser(store.names, columns[0], "Play a clip")
    words = "Both play from the same second; their paths are drawn in the same space."
    other = choosers.other_clip_chooser(store.names, index, columns[1], words)
    span = choosers.choose_span(store, index, read.clips.id)
    with st.spinner("Reading the phases of the clip", show_time=True):
        take = read.opening_take(index, span)
    if other is not None:
        beside = replace(read.opening_take(other, span).actors[0], ghost=True)
        take = replace(take, actors=(*take.actors, beside))
    player = widgets.show_player(take, height=_PLAYER_HEIGHT, **span.player)
    passages, frames = [], span.frames(fps)
    for clip in [index] if other is None else [index, other]:
        stop = min(len(read.phases(clip)), frames.stop)
        passages.append(Passage(clip, min(frames.start, max(stop - 1, 0)), stop))
    return take, _Played(player, passages, False, at_once=other is not None)


def _other_spaces(read: Encodings, max_points: int, played: _Played, ring: Ring | None) -> None:
    """Draw the same frames as joint velocities, latent curves of the model, and poses."""
    cloud = open_cloud(read, max_points)
    id = clouds.frames_id(read, cloud)

    def posed(passage: Passage) -> Array:
        poses = read.extractor.signals.poses(read.store.clip(passage.clip))
        part = poses[passage.start : passage.stop]
        return part.reshape(len(part), -1)

    def moved(passage: Passage) -> Array:
        return encodings.signals(read, passage.clip)[passage.start : passage.stop]

    def curved(passage: Passage) -> Array:
        return clouds.latent(_parameters(read, passage))

    curves = clouds.latent(cloud.cloud.parameters)
    moves, poses = clouds.other_spaces(read, max_points).items()
    fitted = Places.principal(ManifoldProjection.fit(curves), curves, "latent unit")
    spaces = (*moves, moved), ("Latent curves", fitted, curved), (*poses, posed)
    for column, (name, places, values) in zip(st.columns(3), spaces, strict=True):
        paths = {_PCA: partial(_placed, places, values)}
        with column:
            cloud_view.cloud_view(
                cloud, id, {_PCA: places}, name, name, small=True, ring=ring,
                played=played.parts(read, paths, phases=False),
            )  # fmt: skip
    st.caption(
        "The same frames, colours and moment in other spaces: the velocities that the network "
        "reads, its latent curves before angle and amplitude are read from them, and poses. Only "
        "the phases show timing as an angle and amplitude as a radius."
    )
