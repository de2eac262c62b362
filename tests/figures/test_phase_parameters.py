"""Phase parameters over time, strips of phase and histograms: what is where, in which colour."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from deepphase.arrays import wrapped
from deepphase.figures.phase_parameters import (
    broken_at_wrap,
    parameter_distributions,
    parameters_over_time,
    phase_strips,
    strip,
)
from deepphase.figures.theme import channel_colour, with_opacity
from tests.figures.made_phases import FPS, made_phases


@pytest.mark.parametrize("direction", [1, -1])
def test_phase_reaches_the_edge_and_returns_at_the_other(direction):
    time = np.arange(291) / 60
    # 0.7 cycles a second from 0: it passes half a cycle at 0.5 / 0.7 s, and then every 1 / 0.7 s.
    times, phase = broken_at_wrap(time, wrapped(direction * 0.7 * time))
    gaps = np.flatnonzero(np.isnan(phase))
    np.testing.assert_allclose(times[gaps], [0.5 / 0.7, 1.5 / 0.7, 2.5 / 0.7], atol=1e-9)
    np.testing.assert_array_equal(phase[gaps - 1], 0.5 * direction)
    np.testing.assert_array_equal(phase[gaps + 1], -0.5 * direction)
    assert len(times) == len(time) + 3 * len(gaps)
    assert (np.diff(times) >= 0).all()
    assert np.nanmax(np.abs(np.diff(phase))) < 0.02


@pytest.mark.parametrize("channels", [1, 12])
def test_every_channel_has_its_colour_and_switch_in_all_rows(channels):
    chart = parameters_over_time(made_phases(200, channels), FPS)
    assert len(chart.data) == 4 * channels
    for channel in range(channels):
        own = [t for t in chart.data if t.legendgroup == f"channel {channel}"]
        assert {t.line.color for t in own} == {channel_colour(channel)}
        assert len({t.yaxis for t in own}) == 4
        assert [t.showlegend for t in own].count(True) == 1
    shown = chart.layout.legend.to_plotly_json()
    assert {"groupclick": "togglegroup", "tracegroupgap": 0}.items() <= shown.items()


def test_values_and_times_are_those_of_the_clip():
    phases = made_phases(200, 3)
    chart = parameters_over_time(phases, FPS, start=2.0)
    by_row = [t for t in chart.data if t.legendgroup == "channel 1"]
    np.testing.assert_array_equal(by_row[1].y, phases.frequency[:, 1])
    np.testing.assert_array_equal(by_row[2].y, phases.amplitude[:, 1])
    np.testing.assert_array_equal(by_row[3].y, phases.offset[:, 1])
    np.testing.assert_allclose(by_row[1].x, 2 + np.arange(200) / FPS, rtol=1e-6)


def test_a_strip_is_as_high_as_the_phase_and_as_opaque_as_the_amplitude():
    phase = np.array([-0.5, -0.25, 0.0, 0.25, 0.4999])
    amplitude = np.array([2.0, 2.0, 1.0, 0.5, 0.0])
    drawn = strip(phase, amplitude, 2.0)
    assert drawn.dtype == np.uint8
    filled = (drawn > 0).mean(0)
    np.testing.assert_allclose(filled[:4], [0, 0.25, 0.5, 0.75], atol=0.04)
    # Below the phase: the amplitude's share; above it: nothing.
    assert drawn[0].tolist() == [0, 255, 128, 64, 0]
    assert not drawn[-1].any()
    assert not strip(phase, 0 * amplitude, 0.0).any()


def test_a_row_a_channel_in_its_colour():
    chart = phase_strips(made_phases(200, 4), FPS)
    strips = [trace for trace in chart.data if isinstance(trace, go.Heatmap)]
    assert [s.colorscale[1][1] for s in strips] == [
        with_opacity(channel_colour(i), 1) for i in range(4)
    ]
    assert all(s.colorscale[0][1].endswith(",0)") for s in strips)
    # The first channel on top, none over another.
    bottoms = [s.y0 - s.dy / 2 for s in strips]
    np.testing.assert_allclose(bottoms, [3, 2, 1, 0], atol=1e-9)
    assert all(b + s.dy * len(s.z) < b + 1 for b, s in zip(bottoms, strips, strict=True))
    assert list(chart.layout.yaxis.ticktext) == ["0", "1", "2", "3"]
    assert chart.layout.xaxis.title.text == "Time (s)"
    assert "cycle" in chart.layout.yaxis.title.text
    assert any("amplitude" in note.text for note in chart.layout.annotations)


def test_histograms_hold_every_frame_and_the_median():
    phases = made_phases(2000, 3)
    chart = parameter_distributions(phases)
    assert [bars.marker.color for bars in chart.data] == 2 * [channel_colour(i) for i in range(3)]
    values = [*phases.frequency.T, *phases.amplitude.T]
    for bars, line, own in zip(chart.data, chart.layout.shapes, values, strict=True):
        end = bars.x[-1] + 0.5 * bars.width
        assert float(np.sum(bars.y)) == pytest.approx((own <= end).mean(), abs=1e-4)
        assert line.x0 == pytest.approx(np.median(own), rel=1e-5)
    assert chart.layout.xaxis5.title.text == "Frequency (Hz)"
    assert chart.layout.xaxis6.title.text == "Amplitude (latent unit)"
