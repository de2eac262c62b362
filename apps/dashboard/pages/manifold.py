"""Page Manifold: the frames of all clips as points of the phase manifold and of other spaces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from apps.dashboard.parts.clouds import (
    POINTS,
    OpenCloud,
    manifold_view,
    open_cloud,
    passages_of,
    passages_take,
    playable,
    selected_points,
)
from apps.dashboard.parts.collection import OpenClips, OpenModel, needed_model, open_clips
from apps.dashboard.parts.encodings import all_phases
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.model_comparison import embedding_for
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
_LEGEND_BELOW = {"orientation": "h", "x": 0, "y": -0.11, "yanchor": "top", "title": {"text": ""}}
# Factor of the camera's distance: a column is narrower than a page.
_CAMERA_DISTANCE = 1.15
# Length of the part of a clip in the player.
_PLAYED_S = 60.0


def page() -> None:
    """Draw the page."""
    heading(
        "Manifold",
        "Each point is a frame: the phases and amplitudes of all channels, projected to the "
        "directions of largest variance. Periodic motion forms rings, whose angle is the timing "
        "and whose radius is the amplitude. Draw a box or a lasso around points to play those "
        "frames.",
    )
    clips = open_clips()
    model = needed_model(clips)
    left, right = wide_columns("manifold", 2)
    with left:
        controls = st.columns([3, 2, 2], vertical_alignment="bottom")
        view = controls[1].segmented_control(
            "View", [_PLANE, _SPACE], default=_PLANE, required=True, key="view"
        )
        max_points = controls[2].selectbox(
            "Points", POINTS, format_func="{:,}".format, key="points"
        )
        cloud = open_cloud(clips, model, max_points)
        names = list(cloud.colourings)
        name = controls[0].selectbox("Colour", names, key=f"colour {clips.id}")
        colouring = cloud.colourings[name]
        selection = _picture(cloud, colouring, view, f"{clips.id} {model.id} {name} {max_points}")
    with right:
        _player(clips, model, cloud, colouring, selection)
    _other_spaces(clips, model, cloud, colouring, max_points)


def _picture(cloud: OpenCloud, colouring: Colouring, view: str | None, key: str) -> dict[str, Any]:
    """Draw the manifold and its downloads, and return the selection."""
    if cloud.cloud.padded:
        st.warning(
            "No clip is as long as the model's window: all were padded with repeated poses.",
            icon=":material/info:",
        )
    if view == _SPACE:
        chart = manifold_3d(colour=colouring, **cloud.cloud.figure_arguments)
        eye = chart.layout.scene.camera.eye
        away = {axis: _CAMERA_DISTANCE * eye[axis] for axis in "xyz"}
        chart.update_layout(legend=_LEGEND_BELOW, scene_camera_eye=away)
        show_figure(chart, f"space {key}", height=_FIGURE_HEIGHT, alt="Phase manifold in space")
        st.caption("Drag to rotate, scroll to zoom. Frames are selected in the plane.")
        selection = {}
    else:
        chart = manifold_2d(colour=colouring, **cloud.cloud.figure_arguments)
        chart.update_layout(dragmode="lasso", legend=_LEGEND_BELOW)
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
    points = cloud.cloud
    return [
        (clip, int(frame), round(float(time), 4), *map(float, point), value)
        for clip, frame, time, point, value in zip(
            points.clips, cloud.frame, points.time, points.points, colouring.values, strict=True
        )
    ]


def _player(
    clips: OpenClips,
    model: OpenModel,
    cloud: OpenCloud,
    colouring: Colouring,
    selection: dict[str, Any],
) -> None:
    """Play the selected frames, or a clip, with the moving point on the manifold."""
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
            words += f" The first {len(shown):,} are played."
        st.markdown(
            f"**Selected frames** :gray[{words} Double-click the figure to clear the selection.]"
        )
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
    return replace(take, curves=(), manifold=manifold_view(cloud, phases, colouring, frames))


def _other_spaces(
    clips: OpenClips, model: OpenModel, cloud: OpenCloud, colouring: Colouring, max_points: int
) -> None:
    """Draw the same frames as joint velocities and as an embedding without phase layers."""
    st.header("The same frames in other spaces", anchor=False)
    st.markdown(
        ":gray[Colours mean the same in all three figures. Left: joint velocities, the input of "
        "the network. Middle: the embedding of a convolutional autoencoder with fully connected "
        "layers in place of the phase layers. Right: the phase manifold. Compare in which of them "
        "timing (angle) and amplitude (radius) are visible.]"
    )
    columns = wide_columns("beside", 3)
    arguments = cloud.cloud.figure_arguments
    velocities = {
        "points": cloud.velocities,
        "explained": cloud.velocities_explained,
        "unit": "m/s",
    }
    charts = {
        "velocities": manifold_2d(
            colour=colouring, title="Joint velocities", **(arguments | velocities)
        )
    }
    embedding = None
    with columns[1]:
        embedding = embedding_for(clips, model)
    if embedding is not None:
        other = open_cloud(clips, embedding, max_points)
        same = len(other.cloud.points) == len(cloud.cloud.points)
        shown = colouring if same else other.cloud.by_clip()
        charts["embedding"] = manifold_2d(
            colour=shown, title="Autoencoder without phases", **other.cloud.figure_arguments
        )
    charts["phases"] = manifold_2d(colour=colouring, title="Phase manifold", **arguments)
    places = {"velocities": columns[0], "embedding": columns[1], "phases": columns[2]}
    for name, chart in charts.items():
        chart.update_layout(showlegend=False, annotations=[])
        chart.update_layout(coloraxis_showscale=False, margin={"l": 50, "r": 10, "t": 46, "b": 46})
        with places[name]:
            show_figure(chart, f"beside {name}", height=_SMALL_HEIGHT)
            offer_figure(chart, name, f"{name} html")
    if embedding is not None:
        st.caption(f"Autoencoder without phases: {plain(embedding.name)}.")
