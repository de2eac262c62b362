"""Which part of a song is danced to, and its features at a moment."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.music.audio import HOP
from deepphase.music.conditioning import sample_at
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import features_of


@pytest.fixture(scope="module")
def song():
    """Four seconds and a half."""
    return features_of(np.zeros(270 * HOP, np.float32), name="still")


@pytest.mark.parametrize(
    ("dance_request", "fps", "frames"),
    [
        (DanceRequest(), 60.0, 270),
        (DanceRequest(), 25.0, 112),
        (DanceRequest(1.0, 2.0), 60.0, 120),
        (DanceRequest(4.4), 60.0, 6),
        (DanceRequest(0.0, 1e-6), 60.0, 1),
    ],
)
def test_a_dance_ends_with_its_song(song, dance_request, fps, frames):
    notes: list[str] = []
    assert dance_request.frames(song, fps, notes) == frames
    assert not notes


def test_a_song_that_ends_early_is_noted(song):
    notes: list[str] = []
    assert DanceRequest(3.0, 10.0).frames(song, 60.0, notes) == 90
    assert notes == ["the song ends 1.5 s after the start; so does the dance"]
    with pytest.raises(ParameterError, match=r"still has 4.50 s, the dance starts at 5 s"):
        DanceRequest(5.0).frames(song, 60.0, notes)


@pytest.mark.parametrize(
    ("dance_request", "says"),
    [
        ({"start_s": -1.0}, "start must be at least 0 s, not -1"),
        ({"start_s": np.nan}, "start must be at least 0 s, not nan"),
        ({"seconds": 0.0}, "seconds must be positive, not 0"),
        ({"seconds": np.inf}, "seconds must be positive, not inf"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"lock": 1.5}, "lock must lie in 0 to 1, not 1.5"),
        ({"lock": np.nan}, "lock must lie in 0 to 1, not nan"),
    ],
)
def test_impossible_requests_are_refused(dance_request, says):
    with pytest.raises(ParameterError, match=says):
        DanceRequest(**dance_request)


def test_samples_are_of_the_nearest_frame_and_the_ends_repeat():
    values = np.arange(10.0)[:, None]
    moments = np.array([[-3.0, 0.0], [4.4 / 60, 4.6 / 60], [9.0 / 60, 80.0]])
    assert sample_at(values, moments)[..., 0].tolist() == [[0, 0], [4, 5], [9, 9]]
