"""The picture of a manifold: its axes, its colours, its lines."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from deepphase.figures.manifold import Colouring, phase_manifold
from deepphase.figures.theme import channel_colour
from deepphase.phase.parameters import ManifoldProjection
from tests.figures.made_phases import FPS, made_phases

DRAWN = {axes: partial(phase_manifold, dimensions=axes) for axes in (2, 3)}


def _cloud(lengths=(300, 200, 100), channels=5):
    phases = [made_phases(n, channels, speed=1 + i, seed=i) for i, n in enumerate(lengths)]
    manifold = np.concatenate([p.manifold() for p in phases])
    projection = ManifoldProjection.fit(manifold)
    clips = np.repeat([f"clip {i}" for i in range(len(lengths))], lengths)
    time = np.concatenate([np.arange(n) / FPS for n in lengths])
    frequency = np.concatenate([p.frequency[:, 0] for p in phases])
    return projection(manifold), projection.explained, clips, time, frequency


@pytest.mark.parametrize("axes", [2, 3])
def test_axes_say_the_explained_variance(axes):
    points, _, clips, *_ = _cloud()
    chart = DRAWN[axes](points, np.array([0.413, 0.2, 0.05]), colour=Colouring("clip", clips))
    place = chart.layout.scene if axes == 3 else chart.layout
    assert place.xaxis.title.text == "PC 1 (latent unit; 41 % of variance)"
    assert place.yaxis.title.text == "PC 2 (latent unit; 20 % of variance)"
    if axes == 3:
        assert place.zaxis.title.text == "PC 3 (latent unit; 5 % of variance)"
        assert place.aspectmode == "data"
    else:
        assert (place.yaxis.scaleanchor, place.yaxis.scaleratio) == ("x", 1)


@pytest.mark.parametrize("axes", [2, 3])
def test_a_category_is_a_trace_with_its_points_in_order_of_time(axes):
    points, explained, clips, time, _ = _cloud()
    chart = DRAWN[axes](
        points, explained, colour=Colouring("clip", clips), clips=clips, time=time, lines=True
    )
    assert [trace.name for trace in chart.data] == ["clip 0", "clip 1", "clip 2"]
    assert [trace.marker.color for trace in chart.data] == [channel_colour(i) for i in range(3)]
    for name, trace in zip(("clip 0", "clip 1", "clip 2"), chart.data, strict=True):
        np.testing.assert_allclose(trace.x, points[clips == name, 0], rtol=1e-6)
        np.testing.assert_allclose(trace.customdata, time[clips == name], rtol=1e-6)
        assert trace.mode == "lines+markers"


def test_a_line_stops_between_clips_and_between_stretches():
    points, explained, clips, time, _ = _cloud()
    style = np.where(np.arange(600) % 300 < 150, "slow", "fast")
    chart = phase_manifold(
        points, explained, colour=Colouring("style", style), clips=clips, time=time, lines=True
    )
    slow = chart.data[0]
    # Frames 0 to 149 of clip 0; 300 to 449 of clip 1: one gap. Text stands beside each point.
    assert np.flatnonzero(np.isnan(slow.x)).tolist() == [150]
    assert slow.text[0] == "clip 0"
    assert slow.text[150] == ""
    assert slow.text[151] == "clip 1"
    fast = chart.data[1]
    # 150 to 299 of clip 0; 450 to 499 of clip 1; 500 to 599 of clip 2.
    assert np.flatnonzero(np.isnan(fast.x)).tolist() == [150, 201]


@pytest.mark.parametrize("axes", [2, 3])
def test_a_number_is_a_scale_with_its_unit(axes):
    points, explained, clips, time, frequency = _cloud()
    frequency[0] = 1e6
    colour = Colouring("frequency", frequency, unit="Hz")
    chart = DRAWN[axes](points, explained, colour=colour, clips=clips, time=time, lines=True)
    path, cloud = chart.data
    assert path.mode == "lines"
    assert np.isnan(path.x).sum() == 2
    np.testing.assert_allclose(cloud.marker.color, frequency, rtol=1e-6)
    assert chart.layout.coloraxis.colorbar.title.text == "Frequency (Hz)"
    # One wild frame does not take the scale from the others.
    assert chart.layout.coloraxis.cmax < 10


def test_names_are_no_markup():
    points, explained, *_ = _cloud((50,))
    names = np.full(50, "<a href='https://example.org'>x</a>")
    colour = Colouring("clip", names)
    chart = phase_manifold(points, explained, colour=colour, clips=names)
    assert "<a" not in chart.data[0].name
    assert "<a" not in chart.data[0].text[0]
