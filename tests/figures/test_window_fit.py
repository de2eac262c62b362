"""One window: signals, latent, sinusoids, reconstruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.figures.explained import WindowExample, window_fit
from deepphase.figures.theme import channel_colour
from tests.figures.made_phases import made_phases


def _example(channels=3, joints=4):
    times = (np.arange(121) - 60) / 60
    parameters = made_phases(10, channels)[5]
    fitted = parameters.sinusoid(times)
    scale = np.arange(1, 3 * joints + 1)[:, None] / 10
    signals = scale * np.sin(2 * np.pi * times)
    return WindowExample(
        times=times,
        names=tuple(f"Joint {j}.{axis}" for j in range(joints) for axis in "xyz"),
        signals=signals,
        reconstruction=0.9 * signals,
        latent=fitted + 0.01,
        fitted=fitted,
        parameters=parameters,
        clip="<i>walk</i>",
        at=1.5,
    )


def test_strongest_signal_of_each_of_the_strongest_joints():
    example = _example()
    assert [example.names[i] for i in example.strongest(2)] == ["Joint 3.z", "Joint 2.z"]
    assert len(example.strongest(99)) == 4


def test_explained_share():
    example = _example()
    assert example.explained == pytest.approx(1 - 0.1**2)
    still = replace(example, signals=np.zeros_like(example.signals))
    assert still.explained == 0


@pytest.mark.parametrize("channels", [1, 12])
def test_one_row_a_channel_with_its_colour_and_numbers(channels):
    example = _example(channels)
    chart = window_fit(example, signals=2)
    assert len(chart.data) == 2 * 2 + 2 * channels
    words = " ".join(a.text for a in chart.layout.annotations)
    for channel in range(channels):
        latent, fit = (t for t in chart.data if t.name.startswith(f"channel {channel} "))
        assert fit.line.color == channel_colour(channel)
        assert latent.yaxis == fit.yaxis
        np.testing.assert_allclose(fit.y, example.fitted[channel], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(latent.y, example.latent[channel], rtol=1e-5, atol=1e-7)
        one = example.parameters[channel]
        numbers = f"F {one.frequency:.2f} Hz,  A {one.amplitude:.2f},  phase {one.phase:+.2f}"
        assert f"channel {channel}:  {numbers},  B {one.offset:+.2f}" in words


def test_input_and_reconstruction_lie_on_the_same_axes():
    example = _example()
    chart = window_fit(example, signals=1)
    given, answer = chart.data[:2]
    assert (given.name, answer.name) == ("Joint 3.z input", "Joint 3.z reconstruction")
    assert (given.xaxis, given.yaxis) == (answer.xaxis, answer.yaxis)
    np.testing.assert_allclose(answer.y, 0.9 * np.asarray(given.y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(given.y, example.signals[-1], rtol=1e-5, atol=1e-6)
