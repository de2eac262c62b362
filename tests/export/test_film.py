"""Films of moving bodies with sound."""

import sys

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.export.film import FILM_FPS, FilmSize, check_film, write_film
from tests.music.made_sounds import clicks

PARENTS = (-1, 0, 1)
SMALL = FilmSize(160, 96)


def moving(seconds, fps=20.0):
    """(frames, 3, 3) a body that stands, and moves by 2 m to its left at its middle."""
    frames = round(seconds * fps)
    positions = np.zeros((frames, 3, 3))
    positions[:, :, 1] = [0.0, 0.8, 1.6]
    positions[frames // 2 :, :, 0] += 2.0
    return positions


def body(picture):
    """Share of the width at which blue limbs stand."""
    pixels = picture.astype(int)
    return np.flatnonzero((pixels[..., 2] - pixels[..., 0] > 35).any(axis=0)).mean() / 160


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_pictures_and_sound_are_at_their_moments(tmp_path, suffix):
    av = pytest.importorskip("av", reason="PyAV, the extra `av`, is not installed")
    sound, moments = clicks(60, 5.0)
    path = tmp_path / f"film{suffix}"
    write_film(path, moving(4.0), PARENTS, 20.0, sound=sound, sound_rate=30_720, size=SMALL)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with av.open(str(path)) as file:
        pictures = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert len(pictures) == 4 * FILM_FPS
    assert pictures[0].shape == (96, 160, 3)
    places = np.array([body(each) for each in pictures])
    assert places[0] == pytest.approx(0.5, abs=0.03)
    # The camera follows softly: the jump to the right is seen at once, then it is caught up with.
    assert places[2 * FILM_FPS + 1] - places[2 * FILM_FPS - 2] > 0.2
    assert places[-1] == pytest.approx(0.5, abs=0.05)
    with av.open(str(path)) as file:
        planes = av.AudioResampler(format="fltp", layout="mono", rate=48_000)
        parts = [
            (part.time, part.to_ndarray()[0])
            for frame in file.decode(audio=0)
            for part in planes.resample(frame)
        ]
    samples = np.concatenate([part for _, part in parts])
    loud = np.flatnonzero(np.abs(samples) > 0.2) / 48_000 + parts[0][0]
    begins = loud[np.diff(loud, prepend=-1.0) > 0.5]
    np.testing.assert_allclose(begins, moments[moments < 4.0], atol=0.03)


def test_what_is_no_film_is_refused(monkeypatch):
    with pytest.raises(ParameterError, match=r"dance\.gif: a film must be a \.mp4 or \.webm file"):
        check_film("dance.gif")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ParameterError, match="av is needed for films and is not installed") as said:
        check_film("dance.mp4")
    assert said.value.hint == "install it with pip install 'deepphase[av]'"


@pytest.mark.parametrize(
    ("positions", "fps", "said"),
    [
        (np.zeros((4, 2, 3)), 30.0, "must have shape"),
        (np.zeros((0, 3, 3)), 30.0, "must have shape"),
        (np.full((4, 3, 3), np.nan), 30.0, "positions must be finite"),
        (np.zeros((4, 3, 3)), 0.0, r"fps must be a finite number above 0, not 0\.0"),
    ],
)
def test_positions_that_are_no_motion_are_refused(tmp_path, monkeypatch, positions, fps, said):
    monkeypatch.setattr("deepphase.export.film.check_film", lambda path: None)
    with pytest.raises(ParameterError, match=said):
        write_film(tmp_path / "film.mp4", positions, PARENTS, fps)
    assert not any(tmp_path.iterdir())


def test_odd_pictures_are_refused():
    with pytest.raises(
        ParameterError, match="a film must have an even width and height from 16 to 4096"
    ):
        FilmSize(161, 96)
