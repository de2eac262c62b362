"""Learnt phase over true phase, and the frequencies of channels."""

import numpy as np
import pytest

from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.figures.channel_frequencies import channel_frequencies
from deepphase.figures.phase_and_truth import phase_and_truth
from deepphase.figures.theme import channel_colour

TIME = np.arange(120) / 60.0


def test_the_difference_is_the_shorter_way_round():
    truth = wrapped(1.7 * TIME)
    phase = wrapped(truth + 0.02)
    contacts = np.abs(truth) < 0.2
    chart = phase_and_truth(TIME, phase, truth, channel=3, contacts=contacts, limb="left foot")
    true, learnt, difference = chart.data
    np.testing.assert_allclose(difference.y, 0.02, atol=1e-6)
    assert learnt.line.color == difference.line.color == channel_colour(3)
    assert true.line.width > learnt.line.width
    bands = [shape for shape in chart.layout.shapes if shape.type == "rect"]
    runs = np.count_nonzero(np.diff(np.concatenate([[0], contacts.astype(int)])) == 1)
    assert len(bands) == runs
    assert "left foot" in "".join(note.text for note in chart.layout.annotations)


def test_no_frames_are_no_error():
    nothing = np.zeros(0)
    assert not phase_and_truth(nothing, nothing, nothing, channel=0).data


def test_lengths_must_agree():
    with pytest.raises(ParameterError):
        phase_and_truth(TIME, TIME[:-1], TIME, channel=0)


def test_a_dot_a_channel_its_area_the_amplitude():
    frequency = np.array([[1.0, 2.0, 3.0], [0.5, 1.0, 0.0]])
    amplitude = np.array([[4.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    references = {"once a stride": np.array([1.0, 0.5])}
    chart = channel_frequencies(["<b>walk", "run"], frequency, amplitude, references=references)
    names = [trace.name for trace in chart.data]
    assert names == ["once a stride", "channel 0", "channel 1", "channel 2"]
    dots = chart.data[1:]
    for channel, trace in enumerate(dots):
        np.testing.assert_allclose(trace.y, frequency[:, channel])
        # Within its own motion's column, and beside the other channels.
        assert (np.round(trace.x) == [0, 1]).all()
    assert len({trace.x[0] for trace in dots}) == 3
    largest, middle, smallest = (trace.marker.size[0] for trace in dots)
    assert largest - smallest == pytest.approx(2 * (middle - smallest))
    assert all(np.isfinite(trace.marker.size).all() for trace in dots)
    assert "<b>" not in "".join(chart.layout.xaxis.ticktext)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError):
        channel_frequencies(["a"], np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ParameterError):
        channel_frequencies(["a"], np.ones((1, 3)), np.ones((1, 3)), references={"x": np.ones(2)})
    assert not channel_frequencies([], np.zeros((0, 3)), np.zeros((0, 3))).data
