"""Page Manifold: the frames of all clips as points, beside the spaces that tell less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from apps.dashboard.parts.clouds import (
    POINTS,
    OpenCloud,
    on_manifold,
    open_cloud,
    passages_of,
    passages_take,
    playable,
    selected_points,
)
from apps.dashboard.parts.collection import OpenClips, OpenModel, needed_model, open_clips
from apps.dashboard.parts.encodings import all_phases
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.model_comparison import compared_embedding
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.widgets import (
    offer_figure,
    offer_player,
    offer_table,
    show_figure,
    show_player,
)
from apps.reports.player_takes import takes_of_clips
from deepphase.figures.colouring import Colouring
from deepphase.figures.manifold import manifold_2d, manifold_3d
from deepphase.figures.player.take import Take

_PLANE, _SPACE = "Plane", "Space"
_FIGURE_HEIGHT, _SMALL_HEIGHT, _PLAYER_HEIGHT = 660, 400, 1000
_BELOW = {"orientation": "h", "x": 0, "y": -0.11, "yanchor": "top", "title": {"text": ""}}
_STEP_BACK = 1.15
# What the player gets of a long clip.
_PLAYED_S = 60.0


def page() -> None:
    """Draw the page."""
    heading(
        "Manifold",
        "Every point is a frame: the phases and amplitudes of all channels, seen from the side "
        "where they vary most. Motion that repeats draws rings; angle is its timing, radius its "
        "size. Draw a box or a lasso around points, and the skeleton plays those frames.",
    )
    clips = open_clips()
    model = needed_model(clips)
    left, right = wide_columns("manifold", 2)
    with left:
        controls = st.columns([3, 2, 2], vertical_alignment="bottom")
        view = controls[1].segmented_control(
            "View", [_PLANE, _SPACE], default=_PLANE, required=True, key="view"
        )
        most = controls[2].selectbox("Points", POINTS, format_func="{:,}".format, key="points")
        cloud = open_cloud(clips, model, most)
        names = list(cloud.colourings)
        name = controls[0].selectbox("Colour", names, key=f"colour {clips.id}")
        colouring = cloud.colourings[name]
        selection = _picture(cloud, colouring, view, f"{clips.id} {model.id} {name} {most}")
    with right:
        _player(clips, model, cloud, colouring, selection)
    _beside(clips, model, cloud, colouring, most)


def _picture(cloud: OpenCloud, colouring: Colouring, view: str | None, key: str) -> dict[str, Any]:
    """The phase manifold, what it offers, and what is selected in it."""
    if cloud.cloud.padded:
        st.warning(
            "No clip is as long as the model's window: every frame was read with repeated poses.",
            icon=":material/info:",
        )
    if view == _SPACE:
        chart = manifold_3d(colour=colouring, **cloud.cloud.given)
        eye = chart.layout.scene.camera.eye
        # A column is narrower than a page.
        away = {axis: _STEP_BACK * eye[axis] for axis in "xyz"}
        chart.update_layout(legend=_BELOW, scene_camera_eye=away)
        show_figure(chart, f"space {key}", height=_FIGURE_HEIGHT, alt="Phase manifold in space")
        st.caption("Drag to turn it, scroll to come closer. Select frames in the plane.")
        selection = {}
    else:
        chart = manifold_2d(colour=colouring, **cloud.cloud.given)
        chart.update_layout(dragmode="lasso", legend=_BELOW)
        selection = show_figure(
            chart,
            f"plane {key}",
            select=("points", "box", "lasso"),
            height=_FIGURE_HEIGHT,
            alt="Phase manifold in the plane",
        )
    with st.container(horizontal=True):
        offer_figure(chart, "phase_manifold", "manifold html")
        offer_table(
            ["clip", "frame", "time_s", "pc1", "pc2", "pc3", _plain_title(colouring)],
            _rows(cloud, colouring),
            "phase_manifold",
            "manifold csv",
        )
    return selection


def _plain_title(colouring: Colouring) -> str:
    return f"{colouring.name} ({colouring.unit})" if colouring.unit else colouring.name


def _rows(cloud: OpenCloud, colouring: Colouring) -> list[tuple[object, ...]]:
    shown = cloud.cloud
    return [
        (clip, int(frame), round(float(time), 4), *map(float, point), value)
        for clip, frame, time, point, value in zip(
            shown.clips, cloud.frame, shown.time, shown.points, colouring.values, strict=True
        )
    ]


def _player(
    clips: OpenClips,
    model: OpenModel,
    cloud: OpenCloud,
    colouring: Colouring,
    selection: dict[str, Any],
) -> None:
    """The selected frames, or a whole clip, and the point that moves on the manifold."""
    store, phases = clips.store, all_phases(clips, model)
    points = selected_points(selection, colouring)
    fps = model.extractor.fps
    passages = passages_of(cloud, points, fps, [len(each) for each in phases])
    if passages:
        shown = playable(passages, fps)
        take = passages_take(shown, store, phases, cloud, colouring)
        seconds = sum(each.stop - each.start for each in passages) / fps
        words = f"{len(points):,} points selected: {len(passages):,} passages, {seconds:,.1f} s."
        if shown != passages:
            words += f" The first {len(shown):,} play."
        st.markdown(f"**Selected frames** :gray[{words} Double-click the picture to let go.]")
    else:
        index = st.selectbox(
            "Play a clip",
            range(len(store)),
            format_func=store.names.__getitem__,
            key=f"played {clips.id}",
        )
        take = _clip_take(clips, model, cloud, colouring, index)
    show_player([take], height=_PLAYER_HEIGHT, title=take.name)
    offer_player(lambda: [take], "selected_frames" if passages else "clip", "player html")


def _clip_take(
    clips: OpenClips, model: OpenModel, cloud: OpenCloud, colouring: Colouring, index: int
) -> Take:
    clip = clips.store.clip(index)
    part = clip.sliced(0, round(_PLAYED_S * clip.fps))
    (take,) = takes_of_clips([part])
    phases = all_phases(clips, model)[index]
    frames = slice(0, round(_PLAYED_S * phases.fps))
    return replace(take, curves=(), manifold=on_manifold(cloud, phases, colouring, frames))


def _beside(
    clips: OpenClips, model: OpenModel, cloud: OpenCloud, colouring: Colouring, most: int
) -> None:
    """The same frames as joint velocities, and as the embedding without phase layers."""
    st.header("The same frames in other spaces", anchor=False)
    st.markdown(
        ":gray[A colour means the same in all three. Left, what the network is given: joint "
        "velocities. In the middle, what a convolutional autoencoder makes of them that has fully "
        "connected layers in place of the phase layers. Compare where timing (angle) and size "
        "(radius) can be read off.]"
    )
    columns = wide_columns("beside", 3)
    given = cloud.cloud.given
    moved = {"points": cloud.velocities, "explained": cloud.velocities_explained, "unit": "m/s"}
    charts = {
        "velocities": manifold_2d(colour=colouring, title="Joint velocities", **(given | moved))
    }
    embedding = None
    with columns[1]:
        embedding = compared_embedding(clips, model)
    if embedding is not None:
        other = open_cloud(clips, embedding, most)
        same = len(other.cloud.points) == len(cloud.cloud.points)
        shown = colouring if same else other.cloud.by_clip()
        charts["embedding"] = manifold_2d(
            colour=shown, title="Autoencoder without phases", **other.cloud.given
        )
    charts["phases"] = manifold_2d(colour=colouring, title="Phase manifold", **given)
    places = {"velocities": columns[0], "embedding": columns[1], "phases": columns[2]}
    for name, chart in charts.items():
        chart.update_layout(showlegend=False, annotations=[])
        chart.update_layout(coloraxis_showscale=False, margin={"l": 50, "r": 10, "t": 46, "b": 46})
        with places[name]:
            show_figure(chart, f"beside {name}", height=_SMALL_HEIGHT)
            offer_figure(chart, name, f"{name} html")
    if embedding is not None:
        st.caption(f"Autoencoder without phases: {plain(embedding.name)}.")
