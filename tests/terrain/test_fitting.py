"""Ground fitted to feet whose ground is known."""

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.formats.load import save
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.fitting import PatchLibrary, fit_cycle, grounds_of_clip, patch_errors
from deepphase.terrain.foot_track import FootTrack
from deepphase.terrain.ground_file import read_ground
from deepphase.terrain.heightmap import made_ground
from deepphase.terrain.laying import lay_on_ground


@pytest.fixture(scope="module")
def library():
    names = ("hills", "stairs", "rocks")
    return PatchLibrary.from_grounds(
        tuple(made_ground(name, size_m=10.0, spacing_m=0.05) for name in names), 600
    )


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 5.0, speed=1.2, variety=0.0).clip


def errors(heights, feet, contacts, jump=0):
    """Of a patch whose points lie under the feet, one metre apart along x."""
    places = np.stack([np.arange(len(feet), dtype=float), np.zeros(len(feet))], axis=1)
    out = np.empty((1, 4))
    patch_errors(
        np.array([heights], np.float32),
        1.0,
        np.zeros(2),
        np.array([[0.0, 0.0, 1.0, 0.0]]),
        places,
        np.array(feet, float),
        np.array(contacts, float),
        jump,
        0.3,
        out,
    )
    return out[0]


def test_errors_are_those_of_hand_made_cases():
    # Contacts at .1 and .3, whose mean is taken off both: the patch is .2 lower.
    found = errors([0.1, 0.3], [-0.1, 0.1], [1, 1])
    np.testing.assert_allclose(found, [0, 0, 0, 0.2], atol=1e-6)
    found = errors([0.0, 0.2], [0.0, 0.0], [1, 1])
    np.testing.assert_allclose(found, [0.02, 0, 0, 0.1], atol=1e-6)
    # A swinging foot .1 below the ground; one above it costs nothing.
    found = errors([0.0, 0.5, 0.0], [0.0, 0.4, 0.2], [1, 0, 0])
    np.testing.assert_allclose(found, [0, 0.01, 0, 0], atol=1e-6)
    # In a jump, half a metre over the ground is .2 too much.
    found = errors([0.0, 0.0], [0.0, 0.5], [1, 0], jump=1)
    np.testing.assert_allclose(found, [0, 0, 0.04, 0], atol=1e-6)


def test_a_patch_is_read_as_the_library_reads_it(library, walk):
    track = FootTrack.from_clip(walk)
    (begin, end), *_ = track.cycles()
    (fit, *_) = fit_cycle(track, begin, end, library, 3)
    places = track.places[begin:end][track.contacts[begin:end]]
    heights = track.heights[begin:end][track.contacts[begin:end]]
    patch = library.at(fit.patch, places - fit.centre) + fit.height
    # The patch, without its deformation, has its mean height at contacts, and the error it says.
    assert (patch - heights).mean() == pytest.approx(0.0, abs=1e-6)
    down = ((patch - heights) ** 2).sum() / track.contacts[begin:end].size
    assert down == pytest.approx(fit.errors[0], rel=1e-5)


def test_the_best_come_first_and_feet_touch_them(library, walk):
    track = FootTrack.from_clip(walk)
    assert np.concatenate([np.arange(*each) for each in track.cycles()]).tolist() == list(
        range(len(track))
    )
    for begin, end in track.cycles():
        fits = fit_cycle(track, begin, end, library, 10)
        assert len(fits) == 10
        totals = [sum(fit.errors) for fit in fits]
        assert totals == sorted(totals)
        standing = track.contacts[begin:end]
        for fit in (*fits, *fit_cycle(track, begin, end, PatchLibrary.level())):
            gaps = fit.at(track.places[begin:end][standing]) - track.heights[begin:end][standing]
            # Frames of one stance are one contact, of their mean height.
            assert np.median(np.abs(gaps)) < 0.001
            assert np.abs(gaps).mean() < 0.006


def test_fitted_ground_has_the_heights_that_feet_stood_on(library, walk):
    stairs = made_ground("stairs", seed=5, size_m=20.0)
    laid = lay_on_ground(walk, stairs).clip
    track = FootTrack.from_clip(laid)
    ground = grounds_of_clip(track, library, 1)[0]
    places = track.places[track.contacts]
    true = stairs.at(places)
    assert np.ptp(true) > 0.3
    away = ground.at(places) - true
    # The lowest ground that was trodden is 0.
    assert np.abs(away - np.median(away)).mean() < 0.03


@pytest.mark.slow
def test_the_command_writes_ground(walk, tmp_path, capsys, monkeypatch):
    save(lay_on_ground(walk, made_ground("hills", seed=1)).clip, tmp_path / "hike.bvh")
    monkeypatch.setattr("deepphase.terrain.fitting.MADE_GROUNDS", {"hills": None})
    words = ["fit", "ground", str(tmp_path / "hike.bvh"), "-o", str(tmp_path / "out")]
    assert main([*words, "--patches", "200"]) == 0
    first = (tmp_path / "out" / "hike.npz").read_bytes()
    assert read_ground(tmp_path / "out" / "hike.npz").spacing_m == 0.04
    assert "&quot;terrain&quot;:{" in (tmp_path / "out" / "index.html").read_text()
    capsys.readouterr()
    assert main([*words, "--patches", "-1"]) == 2
    assert "--patches" in capsys.readouterr().err
    # The plane through the footsteps, without patches.
    assert main([*words, "--patches", "0"]) == 0
    assert (tmp_path / "out" / "hike.npz").read_bytes() != first
    assert main([*words, "--patches", "0", "--fits", "2"]) == 2
    assert "footsteps alone give one ground" in capsys.readouterr().err
