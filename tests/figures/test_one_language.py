"""All figures speak one language: units on axes, a colour a channel, light and dark."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from deepphase.figures.channel_joints import (
    channel_joints,
    explained_by_joint,
    followed_body,
    followed_parts_bars,
)
from deepphase.figures.colouring import Colouring
from deepphase.figures.learning_curves import LearningCurve, learning_curves
from deepphase.figures.manifold import manifold_change, phase_manifold
from deepphase.figures.phase_parameters import (
    parameter_distributions,
    parameters_over_time,
    phase_strips,
)
from deepphase.figures.similarity import match_distances, similarity_map
from deepphase.figures.theme import DARK, LIGHT, channel_colour, themed
from deepphase.figures.window_fit import WindowExample, window_fit
from deepphase.phase.manifold import ManifoldProjection
from tests.figures.made_phases import FPS, made_phases

CHANNELS = 4
UNITS = ("(s)", "(Hz)", "(cycles)", "(%)", "unit", "m/s", "cycle)", "variance)", "latent", "(m)")
# Axes of names and of shares, which have none.
PLAIN = (
    "Joint",
    "Channel (height: share of frames)",
    "Phase channel",
    "Part of the body",
    "Epoch (passes)",
)


def _figures() -> dict[str, go.Figure]:
    phases = made_phases(240, CHANNELS)
    manifold = phases.manifold()
    projection = ManifoldProjection.fit(manifold)
    times = (np.arange(61) - 30) / FPS
    middle = phases[120]
    latent = middle.sinusoid(times)
    signals = np.stack([np.sin(6 * times), np.cos(6 * times)])
    window = WindowExample(
        times, ("A.x", "B.y"), signals, 0.9 * signals, latent, latent, middle, "clip", 2.0
    )
    cloud = (projection(manifold), projection.explained)
    colour = Colouring("time", np.arange(240) / FPS, unit="s")
    shares, joints = np.array([[0.9, 0.1], [0.0, 0.6]]), ("A", "B")
    body = np.array([[0.1, 1.0, 0.0], [-0.1, 0.2, 0.0]])
    rising = np.arange(1.0, 5.0)
    curve = LearningCurve("one", rising, 1 / rising, rising / 5, rising / 5, 1 / rising)
    found = {"near": (np.array([[0.1, 0.2]]), ["clip at 1 s"])}
    axes = ("Distance in phase (standardised unit)", "Distance in pose (standardised unit)")
    return {
        "followed joints": channel_joints(shares, joints),
        "followed body": followed_body(shares, body, np.array([[0, 1]]), joints),
        "followed parts": followed_parts_bars({"leg": shares[0], "arm": shares[1]}),
        "curves": learning_curves([curve, curve]),
        "change": manifold_change(
            [manifold, 2 * manifold], [0.5, 1.0], colour=Colouring("clip", np.full(240, "a"))
        ),
        "matches": match_distances(found, np.ones((3, 2)), axes),
        "plane": phase_manifold(*cloud, colour=colour),
        "space": phase_manifold(*cloud, dimensions=3, colour=colour),
        "parameters": parameters_over_time(phases, FPS),
        "strips": phase_strips(phases, FPS),
        "distributions": parameter_distributions(phases),
        "window": window_fit(window),
        "similarity": similarity_map({"phase": (manifold, manifold)}, FPS, names=("a", "a")),
        "joints": explained_by_joint({"A": 0.9, "B": 0.2}),
    }


FIGURES = _figures()


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_says_its_unit(name):
    layout = FIGURES[name].layout
    holder = layout.scene if name == "space" else layout
    titles = [
        getattr(holder, axis).title.text
        for axis in holder.to_plotly_json()
        if axis.startswith(("xaxis", "yaxis", "zaxis"))
    ]
    given = [text for text in titles if text]
    # Every figure has at least one along and one up, but for columns of clips.
    assert len(given) >= (1 if name == "frequencies" else 2)
    for text in given:
        assert text in PLAIN or text.endswith(UNITS) or any(unit in text for unit in UNITS), text
    if layout.coloraxis.colorbar.title.text:
        assert layout.coloraxis.colorbar.title.text in (
            "Time (s)",
            "Distance relative to the mean",
        )


@pytest.mark.parametrize("name", FIGURES)
def test_a_channel_has_its_colour_everywhere(name):
    for trace in FIGURES[name].data:
        given = (trace.name or "").removeprefix("learnt: ")
        channel = given.removeprefix("channel ").split()[0].rstrip(":") if given else ""
        if name == "parameters":
            channel = trace.name
        if not channel.isdigit() or "latent" in given or "median" in given:
            continue
        if isinstance(trace, go.Heatmap):
            continue  # a scale from clear to the colour: test_phase_strips
        marked = isinstance(trace, go.Bar) or trace.mode == "markers"
        colour = trace.marker.color if marked else trace.line.color
        assert colour == channel_colour(int(channel)), (name, trace.name)


def test_channels_are_in_the_figures():
    seen = {
        name
        for name, chart in FIGURES.items()
        if sum((t.name or "").startswith("channel") for t in chart.data) >= CHANNELS
    }
    assert seen >= {"strips", "distributions", "window"}


@pytest.mark.parametrize("name", FIGURES)
def test_one_switch_makes_it_dark_and_changes_nothing_else(name):
    chart = FIGURES[name]
    before = json.loads(chart.to_json())
    night = themed(chart, dark=True)
    assert night.layout.template == DARK
    assert json.loads(chart.to_json()) == before
    assert json.loads(themed(night, dark=False).to_json()) == before
    assert chart.layout.template == LIGHT
    # No colour of a page is written into a figure: the template alone decides.
    content = chart.to_plotly_json()
    content["layout"].pop("template")
    own = str(content).lower()
    assert LIGHT.layout.font.color.lower() not in own
    assert "#ffffff" not in own


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_functions_of_their_arrays(name):
    assert json.loads(_figures()[name].to_json()) == json.loads(FIGURES[name].to_json())
