"""Four rows over one time axis."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.figures.phase_parameters import broken_at_wrap, parameters_over_time
from deepphase.figures.theme import channel_colour
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.windows import interior_frames
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


def test_phase_that_stands_is_one_line():
    times, phase = broken_at_wrap(np.arange(4.0), np.full(4, -0.5))
    assert len(times) == 4
    assert not np.isnan(phase).any()


@pytest.mark.parametrize("channels", [1, 12])
def test_every_channel_has_its_colour_and_switch_in_all_rows(channels):
    chart = parameters_over_time(made_phases(200, channels), FPS)
    assert len(chart.data) == 4 * channels
    for channel in range(channels):
        own = [t for t in chart.data if t.legendgroup == f"channel {channel}"]
        assert {t.line.color for t in own} == {channel_colour(channel)}
        assert len({t.yaxis for t in own}) == 4
        assert [t.showlegend for t in own].count(True) == 1
    assert chart.layout.legend.groupclick == "togglegroup"


def test_axes_have_units_and_share_time():
    chart = parameters_over_time(made_phases(200, 2), FPS)
    layout = chart.layout
    words = [getattr(layout, f"yaxis{n}").title.text for n in ("", 2, 3, 4)]
    assert words[:2] == ["Phase (cycles)", "Frequency (Hz)"]
    assert all("unit" in text for text in words[2:])
    assert layout.xaxis4.title.text == "Time (s)"
    assert {getattr(layout, f"xaxis{n}").matches for n in ("", 2, 3)} == {"x4"}


def test_values_and_times_are_those_of_the_clip():
    phases = made_phases(200, 3)
    chart = parameters_over_time(phases, FPS, start=2.0)
    by_row = [t for t in chart.data if t.legendgroup == "channel 1"]
    np.testing.assert_array_equal(by_row[1].y, phases.frequency[:, 1])
    np.testing.assert_array_equal(by_row[2].y, phases.amplitude[:, 1])
    np.testing.assert_array_equal(by_row[3].y, phases.offset[:, 1])
    np.testing.assert_allclose(by_row[1].x, 2 + np.arange(200) / FPS, rtol=1e-6)


def test_weak_channels_are_faint():
    chart = parameters_over_time(made_phases(100, 5), FPS)
    shown = [t.opacity for t in chart.data if t.showlegend]
    assert shown[0] == pytest.approx(1)
    assert min(shown) >= 0.3
    assert np.argmax(shown) == 0
    assert shown[4] < shown[2] < shown[0]


def test_frames_whose_window_leaves_the_clip_are_shaded():
    chart = parameters_over_time(made_phases(200, 1), FPS, interior=interior_frames(200, 41))
    bands = [(s.x0 * FPS, s.x1 * FPS) for s in chart.layout.shapes]
    np.testing.assert_allclose(bands, [(-0.5, 19.5), (179.5, 199.5)], atol=1e-6)
    assert not parameters_over_time(made_phases(50, 1), FPS).layout.shapes


def test_a_clip_without_interior_frames_is_shaded_whole():
    chart = parameters_over_time(made_phases(30, 2), FPS, interior=np.zeros(30, bool))
    assert len(chart.layout.shapes) == 1
    assert len(chart.data) == 8


def test_no_frames_one_frame_and_no_amplitude():
    empty = parameters_over_time(made_phases(0, 3), FPS)
    assert not empty.data
    assert "no frames" in empty.layout.annotations[0].text
    assert len(parameters_over_time(made_phases(1, 3), FPS).data) == 12
    zero = np.zeros((20, 2), np.float32)
    still = parameters_over_time(PhaseParameters(zero, zero, zero, zero), FPS)
    assert all(t.opacity == pytest.approx(0.3) for t in still.data)


def test_long_clips_are_drawn_by_webgl():
    kinds = [
        {type(t) for t in parameters_over_time(made_phases(n, 1), FPS).data} for n in (9, 1200)
    ]
    assert kinds == [{go.Scatter}, {go.Scattergl}]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError):
        parameters_over_time(made_phases(20, 2), FPS, interior=np.ones(19, bool))
    with pytest.raises(ParameterError):
        parameters_over_time(made_phases(20, 2)[0], FPS)
